"""Text to numbers: formats, symbols, vocabulary, batches."""
