"""What one request may ask, so that nobody can keep the others waiting."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a server; a request beyond one of them is told which.

    Work is counted in source symbols, those of long words more often, times the width of the beam,
    twice with alignments; see ``work_of``. The bundled model does 7,500 of that in a second of one
    core's time, whatever the words, and the limits are made for a quarter of it: a request within
    them is far from the deadline, and what may wait is done before it.
    """

    body: Annotated[int, Meta(description="Bytes of a request's body")] = 1 << 20
    words: Annotated[int, Meta(description="Words of a request")] = 500
    symbols: Annotated[int, Meta(description="Symbols of a word, its tags included")] = 100
    beam: Annotated[int, Meta(description="Width of a beam, and strings for one word")] = 20
    work: Annotated[
        int,
        Meta(
            description="Work of a request: of each word of n symbols (n + 2)(n + 27)/25, times the"
            " width of the beam, twice that with alignments"
        ),
    ] = 24_000
    waiting: Annotated[int, Meta(description="Work of all requests that wait")] = 60_000
    seconds: Annotated[float, Meta(description="From a request's head to its answer")] = 30.0


def work_of(symbols: int, width: int, alignments: bool) -> int:
    """Returns the work of a word: a step for each symbol, and in each a look at all of them."""
    size = symbols + 2  # begin and end are looked at too
    return size * (size + 25) // 25 * width * (1 + alignments)
