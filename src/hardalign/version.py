"""The version, in a place that everything may import."""

__version__ = "0.3.0"
