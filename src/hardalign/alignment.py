r"""Alignments of target symbols with source symbols, and their text formats.

*Pharaoh*: ``source-target`` index pairs from 0, in target order: ``0-0 1-1 2-2 4-3 5-4``.

*Aligned symbols*: each source symbol, a colon, and the target symbols aligned with it, joined by
``|``: *action* → *AE K SH AH N* is ``a:AE c:K t:SH i: o:AH n:N``. Targets aligned with a tag follow
``+PL:``, those aligned with the begin or end of the source ``⊢:`` or ``⊣:``, and unaligned ones
``:``. A target symbol out of order carries its index (``m@3``). Characters that would be misread
are escaped as ``\u{3a}``, a blank as ``\s``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardalign.data.text import Symbols
from hardalign.errors import HardalignError
from hardalign.plot import Panel, draw_html, draw_text, save_heat_maps

BEGIN, END, TAG = "⊢", "⊣", "+"
"""Markers of the begin and end of a source, and the prefix of a tag."""
EDGE = 0.1
"""Weight above which a source and a target symbol have an edge (the paper's threshold)."""
KINDS = {
    "posterior": "posterior p(a_i = j | x, y)",
    "attention": "attention weights",
    "path": "path",
}
"""Kinds of weights, and their descriptions."""


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """The alignment of one pair of strings.

    ``kind`` says what its weights are, which depends on the system: the exact posterior
    p(a_i = j | x, y), attention weights, or one path.

    >>> alignment = g2p.align("action", "AE K SH AH N")
    >>> alignment.pairs
    [(0, 0), (1, 1), (2, 2), (4, 3), (5, 4)]
    >>> print(alignment.symbol_text())
    a:AE c:K t:SH i: o:AH n:N

    It is displayed as a heat map in notebooks, and by ``print`` in the terminal.
    """

    source: Symbols
    target: Symbols
    tags: Symbols
    """The tags that stand before the source, if any."""
    weights: NDArray[np.float64]
    """[target symbols + end, begin + tags + source symbols + end]; each row sums to 1."""
    kind: str
    """"posterior", "attention" or "path"."""
    system: str = ""
    """Name of the system it comes from."""
    path: list[int] | None = None
    """The most probable alignment, as columns of ``weights``; if None, each row's argmax."""

    @property
    def posterior(self) -> NDArray[np.float64]:
        """[target symbols, source symbols]: ``weights`` without begin, tags and end.

        A true posterior only if ``kind`` says so; otherwise attention weights or a path.
        """
        return self.weights[: len(self.target), 1 + len(self.tags) : -1]

    @property
    def best(self) -> list[int]:
        """Column of ``weights`` of each target symbol in the most probable alignment."""
        path = self.weights.argmax(1).tolist() if self.path is None else self.path
        return list(path[: len(self.target)])

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(source index, target index) pairs of the most probable alignment, both from 0.

        Target symbols aligned with begin, end or a tag are left out.
        """
        return self._links.pairs

    def unaligned(self, least: int = 3) -> list[str]:
        """Return the runs of at least ``least`` unaligned source symbols."""
        used = {index for index, _ in self.pairs}
        runs = groupby(range(len(self.source)), key=used.__contains__)
        unused = [list(run) for is_used, run in runs if not is_used]
        return ["".join(self.source[k] for k in run) for run in unused if len(run) >= least]

    @property
    def entropy(self) -> NDArray[np.float64]:
        """[target symbols] entropy of each symbol's weights, in nats."""
        weights = self.weights[: len(self.target)]
        logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
        return np.asarray(-(weights * logs).sum(1)) + 0.0  # no -0.0

    def edges(self, threshold: float = EDGE) -> list[tuple[int, int]]:
        """Return (source index, target index) of weights above the threshold.

        Begin, end and tags have no edges, as they are not positions in the source string.
        """
        return edges(self.posterior, threshold)

    def is_monotonic(self, threshold: float = EDGE) -> bool:
        """Return whether no two of the ``edges`` cross."""
        return not cross(self.edges(threshold))

    def pharaoh(self) -> str:
        """Return the ``pairs`` as text: ``0-0 1-1 2-2 4-3 5-4``."""
        return write_pharaoh(self.pairs)

    def symbol_text(self) -> str:
        """Return the best alignment as aligned symbols, for ``read_symbols``."""
        return write_symbols(self._links)

    def to_dict(self) -> dict[str, Any]:
        """Return the alignment for JSON, with separate weights for begin, tags, source and end.

        ``stop`` is the row of the target's end.
        """
        first = 1 + len(self.tags)
        weights = self.weights.round(6).tolist()
        columns = {"begin": 0, "tags": slice(1, first), "source": slice(first, -1), "end": -1}
        *rows, stop = ({name: row[at] for name, at in columns.items()} for row in weights)
        names = ("source", "target", "tags", "system", "kind", "pairs")
        return {
            **{name: getattr(self, name) for name in names},
            "weights": [row["source"] for row in rows],
            "begin": [row["begin"] for row in rows],
            "tag_weights": [row["tags"] for row in rows],
            "end": [row["end"] for row in rows],
            "stop": stop,
            "entropy": self.entropy.round(6).tolist(),
        }

    def plot(self, path: str | Path, beside: Alignment | None = None) -> None:
        """Save a heat map as SVG, PNG or PDF, depending on the suffix; needs matplotlib.

        Args:
            path: The file to write.
            beside: Another alignment to draw on the right, such as another model's.

        Raises:
            HardalignError: If matplotlib is missing or the suffix is not supported.
        """
        panels = [self._panel, *([] if beside is None else [beside._panel])]
        save_heat_maps(Path(path), panels)

    @property
    def title(self) -> str:
        """System and kind of weights: ``hard: posterior p(a_i = j | x, y)``."""
        words = KINDS.get(self.kind, self.kind)
        return f"{self.system}: {words}" if self.system else words

    def __repr__(self) -> str:
        return f"<Alignment {self.symbol_text()} ({self.kind})>"

    def __str__(self) -> str:
        """Return a heat map for the terminal; ``⊢`` and ``⊣`` are begin and end."""
        return draw_text(self._panel)

    def _repr_html_(self) -> str:
        return draw_html(self._panel)

    @property
    def _links(self) -> Links:
        return Links(self.source, self.tags, self.target, [*self.best])

    @property
    def _panel(self) -> Panel:
        columns = (BEGIN, *self.tags, *self.source, END)
        return Panel(self.title, (*self.target, END), columns, self.weights)


def edges(weights: NDArray[np.floating], threshold: float = EDGE) -> list[tuple[int, int]]:
    """Return (source index, target index) of weights [target, source] above a threshold."""
    rows, columns = np.nonzero(weights > threshold)
    return list(zip(columns.tolist(), rows.tolist(), strict=True))


def cross(links: list[tuple[int, int]]) -> bool:
    """Return whether two links, ordered by target index, cross."""
    rightmost, row, reached = -1, -1, -1
    for source, target in links:
        if target != row:
            row, rightmost = target, max(rightmost, reached)
        if source < rightmost:
            return True
        reached = max(reached, source)
    return False


@dataclass(frozen=True)
class AnalyzedPrediction:
    """A prediction with its edges, for ``Breakdown``."""

    source: str
    prediction: str
    references: list[str]
    correct: bool
    monotonic: bool  # no two edges cross
    edges: list[tuple[int, int]]  # (source index, target index)


class Breakdown(NamedTuple):
    """Correct/incorrect × monotonic/non-monotonic predictions, as in a table of the paper."""

    counts: Counter[tuple[bool, bool]]  # by (correct, monotonic)
    crossing: list[AnalyzedPrediction]
    threshold: float

    @classmethod
    def of(cls, items: Iterable[AnalyzedPrediction], threshold: float = EDGE) -> Breakdown:
        """Count items, and keep the non-monotonic ones."""
        counts, crossing = Counter[tuple[bool, bool]](), []
        for item in items:
            counts[item.correct, item.monotonic] += 1
            if not item.monotonic:
                crossing.append(item)
        return cls(counts, crossing, threshold)

    def table(self) -> str:
        """Return the counts as text, laid out as in the paper."""
        lines = [f"{'':<14}{'correct':>10}{'incorrect':>10}"]
        for name, monotonic in (("monotonic", True), ("non-monotonic", False)):
            correct, incorrect = self.counts[True, monotonic], self.counts[False, monotonic]
            lines.append(f"{name:<14}{correct:>10}{incorrect:>10}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the breakdown for JSON."""

        def by_monotonicity(correct: bool) -> dict[str, int]:
            counts = self.counts
            return {"monotonic": counts[correct, True], "non_monotonic": counts[correct, False]}

        return {
            "n": self.counts.total(),
            "correct": by_monotonicity(True),
            "incorrect": by_monotonicity(False),
            "threshold": self.threshold,
            "non_monotonic_items": [asdict(item) for item in self.crossing],
        }


_UNWRITABLE = r"[\s\x00-\x1f\x7f-\x9f\\]"
_IN_SOURCE = re.compile(rf"{_UNWRITABLE}|:|^[{TAG}{BEGIN}{END}]")
_IN_TARGET = re.compile(rf"{_UNWRITABLE}|\||@(?=[0-9]{{1,9}}\Z)")
_TARGET = re.compile(r"(.+?)(?:@([0-9]{1,9}))?", re.DOTALL)
_ESCAPE = re.compile(r"\\(s|u\{([0-9a-f]+)\})?")


class Links(NamedTuple):
    """The best alignment of a pair: a source column for each target symbol."""

    source: Symbols
    tags: Symbols
    target: Symbols
    columns: list[int | None]
    """For each target symbol, an index into begin, tags, source symbols, end; None: unaligned."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(source index, target index), both from 0, of links with a source symbol."""
        first = 1 + len(self.tags)
        return [
            (column - first, row)
            for row, column in enumerate(self.columns)
            if column is not None and 0 <= column - first < len(self.source)
        ]


def write_pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Return (source index, target index) pairs in Pharaoh format: ``0-0 1-1``."""
    return " ".join(f"{source}-{target}" for source, target in pairs)


def write_symbols(links: Links) -> str:
    """Return an alignment as aligned symbols, which ``read_symbols`` parses."""
    heads = [
        BEGIN,
        *(TAG + _escape(_IN_SOURCE, tag) for tag in links.tags),
        *(_escape(_IN_SOURCE, symbol) for symbol in links.source),
        END,
    ]
    contents: list[list[int]] = [[] for _ in heads]
    unaligned: dict[int, list[int]] = {}  # by the column they are written after
    previous = 0
    for place, column in enumerate(links.columns):
        if column is None:
            unaligned.setdefault(previous, []).append(place)
        else:
            contents[column].append(place)
            previous = column
    written: list[tuple[str, list[int]]] = []
    for column, (head, places) in enumerate(zip(heads, contents, strict=True)):
        if places or 0 < column < len(heads) - 1:
            written.append((head, places))
        written.extend(("", [place]) for place in unaligned.get(column, ()))
    words, expected = [], 0
    for head, places in written:
        symbols = []
        for place in places:
            mark = "" if place == expected else f"@{place}"
            symbols.append(_escape(_IN_TARGET, links.target[place]) + mark)
            expected = place + 1
        words.append(f"{head}:{'|'.join(symbols)}")
    return " ".join(words)


def read_symbols(text: str) -> Links:
    """Parse the text that ``write_symbols`` returns.

    Raises:
        HardalignError: If the text is not in this format.
    """
    source: list[str] = []
    tags: list[str] = []
    entries: list[tuple[int, str, int | None]] = []  # target index, target symbol, column
    for item in text.split(" ") if text else ():
        head, colon, body = item.partition(":")
        if not colon:
            raise HardalignError(f"{item!r} is not an aligned symbol: it has no colon")
        column: int | None = 1 + len(tags) + len(source)
        if head == "":
            column = None
        elif head == BEGIN:
            column = 0
        elif head.startswith(TAG):
            if source:
                raise HardalignError(f"the tag {head!r} comes after a source symbol")
            tags.append(_unescape(head.removeprefix(TAG)))
        elif head != END:
            source.append(_unescape(head))
        for written in body.split("|") if body else ():
            match = _TARGET.fullmatch(written)
            if match is None:
                raise HardalignError(f"{item!r} has an empty target symbol")
            expected = entries[-1][0] + 1 if entries else 0
            index = expected if match[2] is None else int(match[2])
            entries.append((index, _unescape(match[1]), column))
    entries.sort(key=lambda entry: entry[0])
    if [entry[0] for entry in entries] != list(range(len(entries))):
        raise HardalignError(f"the target symbols of {text!r} skip or repeat an index")
    target = tuple(entry[1] for entry in entries)
    return Links(tuple(source), tuple(tags), target, [entry[2] for entry in entries])


def _escape(special: re.Pattern[str], symbol: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        return r"\s" if match[0] == " " else f"\\u{{{ord(match[0]):x}}}"

    return special.sub(escaped, symbol)


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        try:
            return " " if match[1] == "s" else chr(int(match[2], 16))
        except (TypeError, ValueError, OverflowError):
            raise HardalignError(f"{text!r} has an invalid backslash escape") from None

    return _ESCAPE.sub(character, text)
