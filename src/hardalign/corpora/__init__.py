"""Corpora by name: the registry, downloads, and toys made on the spot."""
