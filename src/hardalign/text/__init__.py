"""Applications of a model: dictionaries, running text, IPA and error reports."""
