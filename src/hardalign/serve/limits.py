"""What one request may ask, so that nobody can keep the others waiting."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a server; a request beyond one of them is told which.

    Work is counted in source symbols (of each word two more, its begin and end) times the width of
    the beam, twice with alignments. A core that is shared with others does 2,000 of that in a
    second, a free one ten times as many: a request within the limits is far from the deadline, and
    what may wait is done before it.
    """

    body: Annotated[int, Meta(description="Bytes of a request's body")] = 1 << 20
    words: Annotated[int, Meta(description="Words of a request")] = 500
    symbols: Annotated[int, Meta(description="Symbols of a word, its tags included")] = 100
    beam: Annotated[int, Meta(description="Width of a beam, and strings for one word")] = 20
    work: Annotated[
        int,
        Meta(
            description="Work of a request: symbols of all its words, each word two more, times the"
            " width of the beam; twice that with alignments"
        ),
    ] = 12_000
    waiting: Annotated[int, Meta(description="Work of all requests that wait")] = 48_000
    seconds: Annotated[float, Meta(description="From a request's head to its answer")] = 30.0
