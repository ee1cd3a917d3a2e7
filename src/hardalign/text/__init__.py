"""The jobs people come with: known words, dictionaries, running text, IPA, errors, comparisons."""
