"""The strings that a beam search has found so far."""

from __future__ import annotations

import torch
from torch import Tensor

from hardalign.decoding.grid import Grid


class Finalists:
    """For each word the best strings that are complete, best first."""

    def __init__(self, words: int, width: int, merge: bool, device: torch.device) -> None:
        """Make room.

        Args:
            words: In the batch.
            width: How many strings to keep for each.
            merge: Whether paths may write the same string, so that they must be added up.
            device: Of all tensors.
        """
        self.scores = torch.full((words, width), -torch.inf, dtype=torch.float64, device=device)
        """[words, width], −inf where there is no string yet."""
        # Of each string: the prefix before its last action, that action, and its hash.
        self.prefix, self.last, self._spelled = (
            torch.zeros(words, width, dtype=torch.long, device=device) for _ in range(3)
        )
        self._merge = merge

    def add(self, found: Grid, prefixes: Tensor) -> None:
        """Take in hypotheses that continue ``prefixes`` [N], the rows of the state."""
        word, width = found.word, self.scores.shape[1]
        scores = torch.cat([self.scores[word], found.scores], 1)
        columns = [
            torch.cat([old[word], new], 1)
            for old, new in (
                (self.prefix, prefixes[found.row]),
                (self.last, found.action),
                (self._spelled, found.spelled),
            )
        ]
        if self._merge:
            scores = _merged(scores, columns[2])
        scores, order = scores.sort(dim=1, descending=True, stable=True)
        order = order[:, :width]
        self.scores[word] = scores[:, :width]
        for old, new in zip((self.prefix, self.last, self._spelled), columns, strict=True):
            old[word] = new.gather(1, order)

    def to_beat(self, word: Tensor, keep: int, mass: float) -> Tensor:
        """[W] the score below which a string of these words is not wanted any more.

        That of the last of the ``keep`` best, or of the last that is needed for the ``mass``.
        """
        scores = self.scores[word, :keep]
        last = (scores.exp().cumsum(1) < mass).sum(1, keepdim=True).clamp(max=keep - 1)
        return scores.gather(1, last).squeeze(1)

    def runner_up(self, word: Tensor, keep: int) -> Tensor:
        """[W] the best score that is not among the ``keep`` best."""
        if keep == self.scores.shape[1]:
            return self.scores.new_full(word.shape, -torch.inf)
        return self.scores[word, keep]


def _merged(scores: Tensor, spelled: Tensor) -> Tensor:
    """Scores [W, M] where the first cell of a string has the sum of all, and the others none."""
    same = spelled.unsqueeze(2) == spelled.unsqueeze(1)  # [W, M, M]
    sums = scores.unsqueeze(1).masked_fill(~same, -torch.inf).logsumexp(2)
    earlier = same.tril(-1) & (scores > -torch.inf).unsqueeze(1)
    return sums.masked_fill(earlier.any(2) | (scores == -torch.inf), -torch.inf)
