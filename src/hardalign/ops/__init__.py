"""Pure tensor functions, without parameters of their own."""
