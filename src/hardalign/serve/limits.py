"""What one request may ask, so that nobody can keep the others waiting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of a server. A request beyond one of them is told which."""

    body: int = 1 << 20
    """Bytes of a request's body."""
    words: int = 500
    """Words of a request."""
    aligned: int = 20
    """Words of a request that asks for alignments, whose size is length squared."""
    symbols: int = 100
    """Symbols of a word, its tags included."""
    beam: int = 20
    """Width of a beam, and so also strings for one word."""
    seconds: float = 10.0
    """From a request's head to its answer."""
    waiting: int = 20_000
    """Words of all requests that have not been answered yet."""
