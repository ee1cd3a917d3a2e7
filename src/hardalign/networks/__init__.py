"""The neural networks: encoder, decoder, one file per head, and the table of systems."""
