"""Text to tensors: formats, symbols, vocabulary, batches, corpora."""
