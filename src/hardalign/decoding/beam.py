"""Beam search: several hypotheses side by side, for a batch of words at once."""

from __future__ import annotations

from itertools import islice, zip_longest

import torch
from torch import Tensor

from hardalign.data.vocabulary import BEGIN, END
from hardalign.decoding.finalists import Finalists
from hardalign.decoding.grid import Grid
from hardalign.decoding.history import History, Hypothesis, limits
from hardalign.decoding.walk import greedy_from
from hardalign.networks.batch import Batch
from hardalign.networks.transducer import Transducer

SLACK = 1e-4
"""How far apart the log-probabilities of one string may be that were computed in other company."""


@torch.inference_mode()
def beam_search(
    model: Transducer, batch: Batch, width: int, keep: int = 1, mass: float = 1.0
) -> list[list[Hypothesis]]:
    """The most probable strings among those that a beam of some width meets.

    At every step the ``width`` best continuations of a word go on; an end that is among the
    ``width`` best of all is kept. A word is done as soon as nothing that goes on can still be
    among the strings asked for: log-probabilities only fall. Ties go to the better hypothesis,
    then to the lower symbol, so that a beam of width 1 is greedy search.

    Where a model has a silent action, hypotheses are paths, and paths that write the same string
    are added up as they end: the sum is over the paths that were found, a lower bound. Otherwise,
    where a single string is asked for, greedy search goes first: of what is less probable than its
    answer, nothing is followed, which halves the work.

    Args:
        model: Takes its steps with the hypotheses of all words as rows.
        batch: Source words.
        width: Of the beam.
        keep: How many different strings to find for each word, at most ``width``.
        mass: Fewer will do, if together they have this probability.

    Returns:
        For each word up to ``keep`` strings, best first. Where none was finished, the best that the
        length limit cut off is the only answer.
    """
    device, paths = batch.source.device, model.silent >= 0
    history = History(model.silent)
    finished, cut_off = (Finalists(len(batch), width, paths, device) for _ in range(2))
    limit = limits(batch)
    shortest, position = int(limit.min()), 0
    grid = Grid.start(len(batch), device)
    state = model.begin(batch)
    quick = [] if paths or not width > keep == 1 else greedy_from(state, model, batch)
    floor = _floor(quick, len(batch), device)
    previous = torch.full((len(batch),), BEGIN, device=device)  # [N]
    prefixes = torch.full_like(previous, -1)  # [N]
    while len(previous):
        step = model.step(state, previous)
        prefixes = history.visit(prefixes, previous, step.alignment)
        # Every hypothesis ends in one way: of twice the width, at least half goes on.
        grid = grid.continued(step.log_probs, 2 * width, model.silent)
        ends = grid.action == END
        rank = torch.arange(ends.shape[1], device=device)
        finished.add(grid.where(ends & (rank < width)), prefixes)
        grid = grid.where(~ends).columns(ends.byte().sort(dim=1, stable=True).indices[:, :width])
        position += 1
        if position >= shortest:
            over = grid.written >= limit[grid.word].unsqueeze(1)
            cut_off.add(grid.where(over), prefixes)
            grid = grid.where(~over)
        grid = grid.where(_promising(grid, finished, keep, mass, paths))
        grid = grid.where(grid.scores >= floor[grid.word].unsqueeze(1))
        grid, row, previous = grid.compacted()
        state, prefixes = step.state.select(row), prefixes[row]
    found = _answers(history, finished, cut_off, keep)
    return [own or [greedy] for own, greedy in zip_longest(found, quick)]


def _floor(quick: list[Hypothesis], words: int, device: torch.device) -> Tensor:
    """[words] the log-probability of each word's greedy answer, if it has one."""
    if not quick:
        return torch.full((words,), -torch.inf, dtype=torch.float64, device=device)
    scores = [best.log_prob - SLACK if best.finished else -torch.inf for best in quick]
    return torch.tensor(scores, dtype=torch.float64, device=device)


def _promising(grid: Grid, finished: Finalists, keep: int, mass: float, paths: bool) -> Tensor:
    """[W, B] which hypotheses may still lead to a string that is wanted."""
    to_beat = finished.to_beat(grid.word, keep, mass).unsqueeze(1)
    if not paths:
        return grid.scores > to_beat
    # All of a word's paths may yet write one string, even one that others have written before.
    joined = grid.scores.logsumexp(1).logaddexp(finished.runner_up(grid.word, keep))
    return (joined.unsqueeze(1) > to_beat).expand_as(grid.scores)


def _answers(
    history: History, finished: Finalists, cut_off: Finalists, keep: int
) -> list[list[Hypothesis]]:
    """Read off the best finished strings of each word or, if it has none, the best cut off."""
    done = finished.scores[:, :1] > -torch.inf
    scores, prefix, last = (
        torch.where(done, one, other)[:, :keep]
        for one, other in (
            (finished.scores, cut_off.scores),
            (finished.prefix, cut_off.prefix),
            (finished.last, cut_off.last),
        )
    )
    found = scores > -torch.inf
    found[:, 1:] &= done
    strings = iter(history.hypotheses(prefix[found], last[found], scores[found]))
    return [list(islice(strings, count)) for count in found.sum(1).tolist()]
