"""What a search has seen, and the strings that come out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hardalign.data.vocabulary import END
from hardalign.networks.batch import Batch

LENGTH_LIMIT = 4
"""A search stops at this many times the source length, begin and end symbols included."""


def limits(batch: Batch) -> Tensor:
    """[B] how many symbols may be written for each source word."""
    return LENGTH_LIMIT * batch.source_lengths


@dataclass(frozen=True)
class Hypothesis:
    """A target string that a search found."""

    symbols: list[int]
    """Numbers of its letters, without the end."""
    log_prob: float
    """log p(y | x), end included."""
    finished: bool
    """False where the length limit cut it off before the model produced an end; its probability
    is then that of all strings that begin with it."""
    alignment: Tensor
    """[len(symbols) + 1 or less, J] where the model looked at each step, the end's included."""


class History:
    """Every prefix that a search has continued, as a tree: each knows the one before it.

    Nothing is copied while hypotheses multiply and die; strings are read off at the end.
    """

    def __init__(self, silent: int) -> None:
        self._silent = silent
        self._parents: list[Tensor] = []
        self._actions: list[Tensor] = []
        self._looked: list[Tensor] = []
        self._size = 0

    def visit(self, parents: Tensor, actions: Tensor, looked: Tensor) -> Tensor:
        """Remember prefixes that are about to be continued.

        Args:
            parents: [N] the prefixes that these continue, −1 for none.
            actions: [N] by what: the numbers of symbols, or the model's silent action.
            looked: [N, J] where the model looks next.

        Returns:
            [N] their numbers.
        """
        self._parents.append(parents)
        self._actions.append(actions)
        self._looked.append(looked)
        first, self._size = self._size, self._size + len(parents)
        return torch.arange(first, self._size, device=parents.device)

    def hypotheses(self, prefixes: Tensor, last: Tensor, scores: Tensor) -> list[Hypothesis]:
        """Read off strings: ``prefixes`` [E], each continued by one ``last`` action [E]."""
        parents, actions = (torch.cat(p).cpu().numpy() for p in (self._parents, self._actions))
        looked = torch.cat(self._looked).float().cpu()
        ancestors = [prefixes.cpu().numpy()]
        while (ancestors[-1] >= 0).any():
            node = ancestors[-1]
            ancestors.append(np.where(node >= 0, parents[node], -1))
        paths = np.stack(ancestors[::-1], 1)  # [E, T], −1 before the first
        found = []
        for path, end, score in zip(paths, last.tolist(), scores.tolist(), strict=True):
            path = path[path >= 0]
            chosen = np.append(actions[path[1:]], end)  # after each of the path's prefixes
            writing = chosen != self._silent
            symbols = chosen[writing].tolist()
            finished = end == END
            alignment = looked[torch.from_numpy(path[writing])]
            symbols = symbols[:-1] if finished else symbols
            found.append(Hypothesis(symbols, score, finished, alignment))
        return found
