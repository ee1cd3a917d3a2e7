"""Which source symbol each target symbol came from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardalign.data.text import Symbols
from hardalign.notation import BEGIN, END, Links, write_pharaoh, write_symbols
from hardalign.plot.panel import Panel, draw_html, draw_text

EDGE = 0.1
"""A source and a target symbol are connected where the weight is larger (the paper's threshold)."""

KINDS = {
    "posterior": "posterior p(a_i = j | x, y)",
    "attention": "attention weights",
    "path": "path",
}
"""What an alignment's weights are, and how that is put in words."""


@dataclass(frozen=True, eq=False)
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
    """The source's symbols."""
    target: Symbols
    """The target's symbols."""
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

    @property
    def entropy(self) -> NDArray[np.float64]:
        """[target symbols] uncertainty of each symbol's origin, in nats."""
        weights = self.weights[: len(self.target)]
        logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
        return np.asarray(-(weights * logs).sum(1)) + 0.0  # no -0.0

    def edges(self, threshold: float = EDGE) -> list[tuple[int, int]]:
        """Returns (source index, target index) wherever the weight exceeds the threshold.

        There are none to begin, end and tags: these are no place in the source string.
        """
        return edges(self.posterior, threshold)

    def is_monotonic(self, threshold: float = EDGE) -> bool:
        """Returns whether no two of the ``edges`` cross."""
        return not cross(self.edges(threshold))

    def pharaoh(self) -> str:
        """Returns the ``pairs`` as text: ``0-0 1-1 2-2 4-3 5-4``."""
        return write_pharaoh(self.pairs)

    def symbol_text(self) -> str:
        """Returns the best alignment as text that can be read back; see ``hardalign.notation``."""
        return write_symbols(self._links)

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it for JSON: the weights of begin, tags and end apart from the source's.

        ``stop`` is the row of the end of the target: where the model looked when it stopped.
        """
        first = 1 + len(self.tags)
        weights = self.weights.round(6).tolist()
        columns = {"begin": 0, "tags": slice(1, first), "source": slice(first, -1), "end": -1}
        *rows, stop = ({name: row[at] for name, at in columns.items()} for row in weights)
        return {
            "source": self.source,
            "target": self.target,
            "tags": self.tags,
            "system": self.system,
            "kind": self.kind,
            "pairs": self.pairs,
            "weights": [row["source"] for row in rows],
            "begin": [row["begin"] for row in rows],
            "tag_weights": [row["tags"] for row in rows],
            "end": [row["end"] for row in rows],
            "stop": stop,
            "entropy": self.entropy.round(6).tolist(),
        }

    def plot(self, path: str | Path, beside: Alignment | None = None) -> None:
        """Draw a heat map into a file, SVG or PNG by its suffix; needs matplotlib.

        Args:
            path: The file to write, whole or not at all.
            beside: Another alignment to draw on the right, such as another model's.

        Raises:
            HardalignError: If matplotlib is missing, or the file is neither SVG nor PNG.
        """
        from hardalign.plot.figure import save_figure

        panels = [self._panel, *([] if beside is None else [beside._panel])]
        if missing := save_figure(Path(path), panels):
            warnings.warn(missing, stacklevel=2)

    @property
    def title(self) -> str:
        """What the weights are, in words: ``hard: posterior p(a_i = j | x, y)``."""
        words = KINDS.get(self.kind, self.kind)
        return f"{self.system}: {words}" if self.system else words

    def __str__(self) -> str:
        """Draws a heat map for the terminal; ``⊢`` and ``⊣`` are begin and end."""
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


def edges(weights: NDArray[Any], threshold: float = EDGE) -> list[tuple[int, int]]:
    """Returns (source index, target index) wherever weights [target, source] exceed a threshold."""
    rows, columns = np.nonzero(weights > threshold)
    return list(zip(columns.tolist(), rows.tolist(), strict=True))


def cross(links: list[tuple[int, int]]) -> bool:
    """Returns whether two of some links cross; they are in the order of their targets."""
    rightmost, row, reached = -1, -1, -1
    for source, target in links:
        if target != row:
            row, rightmost = target, max(rightmost, reached)
        if source < rightmost:
            return True
        reached = max(reached, source)
    return False
