"""Pure tensor functions with gradients, without parameters of their own; see ``README.md``."""
