"""Which source symbol each target symbol came from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardalign.data.example import Symbols
from hardalign.errors import HardalignError
from hardalign.notation import BEGIN, END, Links, write_pharaoh, write_symbols
from hardalign.plot.html import draw_html
from hardalign.plot.panel import Panel
from hardalign.plot.text import draw_text

Draw = Callable[[NDArray[np.float64]], NDArray[np.int64]]
"""From noise in [0, 1), a column per sample and a row per step, to positions in the same places."""

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
    """The most probable alignment, as columns of ``weights``, where the rows do not tell it: where
    a symbol's origin depends on the origin of the symbol before."""
    draw: Draw | None = field(default=None, repr=False)
    """How whole alignments are drawn; given wherever ``path`` is, and for the same reason."""

    @property
    def posterior(self) -> NDArray[np.float64]:
        """[target symbols, source symbols]; what a row lacks of 1 fell on begin, tags or end.

        A posterior only where ``kind`` says so, otherwise the weights that stand in for it.
        """
        return self.weights[: len(self.target), 1 + len(self.tags) : -1]

    @cached_property
    def best(self) -> list[int]:
        """For each target symbol a column of ``weights``: the most probable alignment of all.

        That is the ``path``, where there is one. Elsewhere the origins of the target's symbols are
        independent of one another given both strings, and it is the column with the most weight.
        """
        if self.path is not None:
            return self.path[: len(self.target)]
        return [int(column) for column in self.weights[: len(self.target)].argmax(1)]

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

    def samples(self, n: int, seed: int = 0) -> NDArray[np.int64]:
        """Draw whole alignments: [n, target symbols] columns of ``weights``, as ``best`` has them.

        Exactly, from p(a | x, y): where the origins of the target's symbols are independent of one
        another given both strings, each is drawn from its row; elsewhere the model draws the last
        one first, and then where each of the others came from.

        Args:
            n: How many to draw.
            seed: The same seed gives the same samples.

        Raises:
            HardalignError: If the weights are not a posterior: there is nothing to sample from; or
                if it has a ``path`` but no ``draw``: its rows do not say what goes together.
        """
        if self.kind != "posterior":
            raise HardalignError(f"only a posterior can be sampled from; this is {self.kind}")
        if self.draw is not None:
            noise = np.random.default_rng(seed).random((len(self.weights), n))
            return self.draw(noise)[: len(self.target)].T
        if self.path is not None:
            raise HardalignError("origins that depend on one another are drawn by their model only")
        below = self.weights[: len(self.target)].cumsum(1)  # [I, J]
        draws = np.random.default_rng(seed).random((n, len(self.target), 1)) * below[:, -1:]
        return np.asarray((draws >= below).sum(-1), dtype=np.int64)

    def edges(self, threshold: float = EDGE) -> list[tuple[int, int]]:
        """(source index, target index) wherever the weight exceeds the threshold.

        There are none to begin, end and tags: these are no place in the source string.
        """
        rows, columns = np.nonzero(self.posterior > threshold)
        return list(zip(columns.tolist(), rows.tolist(), strict=True))

    def is_monotonic(self, threshold: float = EDGE) -> bool:
        """Whether no two of the ``edges`` cross."""
        rightmost = -1
        for row in self.posterior > threshold:
            columns = np.flatnonzero(row)
            if len(columns):
                if columns[0] < rightmost:
                    return False
                rightmost = max(rightmost, int(columns[-1]))
        return True

    def pharaoh(self) -> str:
        """The ``pairs`` as text: ``0-0 1-1 2-2 4-3 5-4``."""
        return write_pharaoh(self.pairs)

    def symbol_text(self) -> str:
        """The most probable alignment as text that can be read back; see ``hardalign.notation``."""
        return write_symbols(self._links)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it: weights of begin, tags and end apart from the source's.

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
        """A heat map for the terminal; ``⊢`` and ``⊣`` are begin and end."""
        return draw_text(self._panel)

    def _repr_html_(self) -> str:
        return draw_html(self._panel)

    @property
    def _links(self) -> Links:
        return Links(self.source, self.tags, self.target, list(self.best))

    @property
    def _panel(self) -> Panel:
        columns = (BEGIN, *self.tags, *self.source, END)
        return Panel(self.title, (*self.target, END), columns, self.weights)
