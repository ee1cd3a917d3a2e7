"""Alignments: which source symbol each target symbol came from, and how that is written.

*Pharaoh*: ``source-target`` indices from 0, in the order of the target: ``0-0 1-1 2-2 4-3 5-4``.

*Aligned symbols*: every source symbol, a colon, and the target symbols that come from it, joined by
``|``: *action* → *AE K SH AH N* is ``a:AE c:K t:SH i: o:AH n:N``. What comes from a tag stands at
``+PL:``, from the frame at ``⊢:`` and ``⊣:``, from nothing at ``:``. A target symbol that does not
follow the one written before it carries its place (``m@3``); what would be misread is escaped.
"""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
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
"""How the frame of a source is shown: its begin, its end, and what marks a tag."""
EDGE = 0.1
"""A source and a target symbol are connected where the weight is larger (the paper's threshold)."""
KINDS = {
    "posterior": "posterior p(a_i = j | x, y)",
    "attention": "attention weights",
    "path": "path",
}
"""What an alignment's weights are, and how that is put in words."""


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """The alignment of one pair of strings.

    What its weights are depends on the system: ``kind`` says whether they are the exact posterior
    p(a_i = j | x, y), mere attention weights, or one path.

    >>> alignment = g2p.align("action", "AE K SH AH N")
    >>> alignment.pairs
    [(0, 0), (1, 1), (2, 2), (4, 3), (5, 4)]
    >>> print(alignment.symbol_text())
    a:AE c:K t:SH i: o:AH n:N

    In a notebook it shows itself as a heat map; ``print`` draws one in the terminal.
    """

    source: Symbols
    target: Symbols
    tags: Symbols
    """The tags that stand before the source, if any."""
    weights: NDArray[np.float64]
    """[target symbols, end; begin, tags, source symbols, end] each row sums to 1."""
    kind: str
    """"posterior", "attention" or "path"."""
    system: str = ""
    """The name of the system that made it."""
    path: list[int] | None = None
    """The most probable alignment, as columns of ``weights``. None: each row's largest weight."""

    @property
    def posterior(self) -> NDArray[np.float64]:
        """[target symbols, source symbols]; what a row lacks of 1 fell on begin, tags or end.

        A posterior only where ``kind`` says so, otherwise the weights that stand in for it.
        """
        return self.weights[: len(self.target), 1 + len(self.tags) : -1]

    @property
    def best(self) -> list[int]:
        """For each target symbol a column of ``weights``: the most probable alignment of all."""
        path = self.weights.argmax(1).tolist() if self.path is None else self.path
        return list(path[: len(self.target)])

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(source index, target index) of the most probable alignment, both from 0.

        A target symbol that comes from begin, end or a tag has no pair.
        """
        return self._links.pairs

    def unaligned(self, least: int = 3) -> list[str]:
        """Return runs of at least so many source symbols from which no target symbol comes."""
        aligned = {index for index, _ in self.pairs}
        runs = groupby(range(len(self.source)), key=aligned.__contains__)
        found = [[self.source[k] for k in run] for is_aligned, run in runs if not is_aligned]
        return ["".join(run) for run in found if len(run) >= least]

    @property
    def entropy(self) -> NDArray[np.float64]:
        """[target symbols] uncertainty of each symbol's origin, in nats."""
        weights = self.weights[: len(self.target)]
        logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
        return np.asarray(-(weights * logs).sum(1)) + 0.0  # no -0.0

    def edges(self, threshold: float = EDGE) -> list[tuple[int, int]]:
        """Return (source index, target index) wherever the weight exceeds the threshold.

        There are none to begin, end and tags: these are no place in the source string.
        """
        return edges(self.posterior, threshold)

    def is_monotonic(self, threshold: float = EDGE) -> bool:
        """Return whether no two of the ``edges`` cross."""
        return not cross(self.edges(threshold))

    def pharaoh(self) -> str:
        """Return the ``pairs`` as text: ``0-0 1-1 2-2 4-3 5-4``."""
        return write_pharaoh(self.pairs)

    def symbol_text(self) -> str:
        """Return the best alignment as text that ``read_symbols`` reads back."""
        return write_symbols(self._links)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for JSON: the weights of begin, tags and end apart from the source's.

        ``stop`` is the row of the end of the target: where the model looked when it stopped.
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
        """Draw a heat map into a file, SVG, PNG or PDF by its suffix; needs matplotlib.

        Args:
            path: The file to write, whole or not at all.
            beside: Another alignment to draw on the right, such as another model's.

        Raises:
            HardalignError: If matplotlib is missing, or the file is of another kind.
        """
        panels = [self._panel, *([] if beside is None else [beside._panel])]
        if missing := save_heat_maps(Path(path), panels):
            warnings.warn(missing, stacklevel=2)

    @property
    def title(self) -> str:
        """What the weights are, in words: ``hard: posterior p(a_i = j | x, y)``."""
        words = KINDS.get(self.kind, self.kind)
        return f"{self.system}: {words}" if self.system else words

    def __repr__(self) -> str:
        return f"<Alignment {self.symbol_text()} ({self.kind})>"

    def __str__(self) -> str:
        """Draw a heat map for the terminal; ``⊢`` and ``⊣`` are begin and end."""
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
    """Return (source index, target index) wherever weights [target, source] exceed a threshold."""
    rows, columns = np.nonzero(weights > threshold)
    return list(zip(columns.tolist(), rows.tolist(), strict=True))


def cross(links: list[tuple[int, int]]) -> bool:
    """Return whether two links cross; they are in the order of their targets."""
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
    """One prediction, whether it is right, and what its symbols are connected with."""

    source: str
    prediction: str
    references: list[str]
    correct: bool
    monotonic: bool
    """Whether no two edges cross."""
    edges: list[tuple[int, int]]
    """(source index, target index), both from 0."""


class Breakdown(NamedTuple):
    """How many predictions are correct and monotonic (the paper's table of confusion)."""

    counts: Counter[tuple[bool, bool]]
    """By (correct, monotonic)."""
    crossing: list[AnalyzedPrediction]
    threshold: float

    @classmethod
    def of(cls, items: Iterable[AnalyzedPrediction], threshold: float = EDGE) -> Breakdown:
        """Count a stream of items; only those that are not monotonic are kept."""
        counts, crossing = Counter[tuple[bool, bool]](), []
        for item in items:
            counts[item.correct, item.monotonic] += 1
            if not item.monotonic:
                crossing.append(item)
        return cls(counts, crossing, threshold)

    def table(self) -> str:
        """Return the table as the paper has it."""
        lines = [f"{'':<14}{'correct':>10}{'incorrect':>10}"]
        for name, monotonic in (("monotonic", True), ("non-monotonic", False)):
            correct, incorrect = self.counts[True, monotonic], self.counts[False, monotonic]
            lines.append(f"{name:<14}{correct:>10}{incorrect:>10}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        names = {True: "monotonic", False: "non_monotonic"}
        outcomes = {"correct": True, "incorrect": False}
        return {
            "n": self.counts.total(),
            **{
                outcome: {name: self.counts[correct, key] for key, name in names.items()}
                for outcome, correct in outcomes.items()
            },
            "threshold": self.threshold,
            "non_monotonic_items": [asdict(item) for item in self.crossing],
        }


_IN_SOURCE = re.compile(rf"[:\\]|^[{TAG}{BEGIN}{END}]")
_IN_TARGET = re.compile(r"[|\\]|@(?=[0-9]+\Z)")
_ITEM = re.compile(r"((?:[^:\\]|\\.)*):(.*)", re.DOTALL)
_TARGET = re.compile(r"(?:[^|\\]|\\.)+", re.DOTALL)
_PLACE = re.compile(r"((?:[^\\]|\\.)+?)(?:@([0-9]+))?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))", re.DOTALL)


class Links(NamedTuple):
    """Where each target symbol comes from."""

    source: Symbols
    tags: Symbols
    target: Symbols
    columns: list[int | None]
    """For each target symbol its place among begin, tags, source symbols and end; None: nowhere."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(source index, target index), both from 0, of what comes from a source symbol."""
        first = 1 + len(self.tags)
        return [
            (column - first, row)
            for row, column in enumerate(self.columns)
            if column is not None and 0 <= column - first < len(self.source)
        ]


def write_pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Write (source index, target index) pairs as Pharaoh does: ``0-0 1-1``."""
    return " ".join(f"{source}-{target}" for source, target in pairs)


def write_symbols(links: Links) -> str:
    """Write an alignment as aligned symbols; ``read_symbols`` takes them apart again."""
    heads = [
        BEGIN,
        *(TAG + _escape(_IN_SOURCE, tag) for tag in links.tags),
        *(_escape(_IN_SOURCE, symbol) for symbol in links.source),
        END,
    ]
    contents: list[list[int]] = [[] for _ in heads]
    nowhere: dict[int, list[int]] = {}  # the columns that what comes from nothing is shown after
    previous = 0
    for place, column in enumerate(links.columns):
        if column is None:
            nowhere.setdefault(previous, []).append(place)
        else:
            contents[column].append(place)
            previous = column
    written: list[tuple[str, list[int]]] = []
    for column, (head, places) in enumerate(zip(heads, contents, strict=True)):
        if places or 0 < column < len(heads) - 1:
            written.append((head, places))
        written.extend(("", [place]) for place in nowhere.get(column, ()))
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
    """Take back what ``write_symbols`` wrote.

    Raises:
        HardalignError: If the text is not in this notation.
    """
    source: list[str] = []
    tags: list[str] = []
    entries: list[tuple[int, str, int | None]] = []  # places in the target, symbols, columns
    for item in text.split(" ") if text else ():
        match = _ITEM.fullmatch(item)
        if match is None:
            raise HardalignError(f"{item!r} is not an aligned symbol: it has no colon")
        head, body = match.groups()
        column: int | None = 1 + len(tags) + len(source)
        if head == "":
            column = None
        elif head == BEGIN:
            column = 0
        elif head.startswith(TAG):
            if source:
                raise HardalignError(f"the tag {head!r} stands after a source symbol")
            tags.append(_unescape(head.removeprefix(TAG)))
        elif head != END:
            source.append(_unescape(head))
        for symbol, place in _targets(body):
            expected = entries[-1][0] + 1 if entries else 0
            entries.append((expected if place is None else place, symbol, column))
    entries.sort(key=lambda entry: entry[0])
    if [entry[0] for entry in entries] != list(range(len(entries))):
        raise HardalignError(f"the target symbols of {text!r} leave a place out, or fill one twice")
    target = tuple(entry[1] for entry in entries)
    return Links(tuple(source), tuple(tags), target, [entry[2] for entry in entries])


def _targets(body: str) -> Iterator[tuple[str, int | None]]:
    """Yield the symbols after a colon, each with its place if that is written."""
    texts = _TARGET.findall(body)
    if "|".join(texts) != body:
        raise HardalignError(f"{body!r} has an empty target symbol, or ends in a backslash")
    for text in texts:
        match = _PLACE.fullmatch(text)
        assert match is not None  # it takes whatever _TARGET found
        symbol, place = match.groups()
        yield _unescape(symbol), None if place is None else int(place)


def _escape(special: re.Pattern[str], symbol: str) -> str:
    r"""Put a backslash before what is special; write white space as ``\s`` or ``\u{a0}``."""

    def shown(character: str) -> str:
        if character == " ":
            return r"\s"
        if character.isspace() or unicodedata.category(character) == "Cc":
            return f"\\u{{{ord(character):x}}}"
        return character

    return "".join(map(shown, special.sub(r"\\\g<0>", symbol)))


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code, plain = match.groups()
        if code is None:
            return " " if plain == "s" else str(plain)
        if int(code, 16) > sys.maxunicode:
            raise HardalignError(f"{match.group()} is no character")
        return chr(int(code, 16))

    return _ESCAPE.sub(character, text)
