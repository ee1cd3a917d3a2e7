"""Ensembles and temperature scaling.

An ensemble averages its members' probabilities of the next symbol at every step:

    p(y_i | y_<i, x) = 1/M Σ_m p_m(y_i | y_<i, x)

This is a proper distribution over strings, whose log p(y | x) is exact. (Mixing probabilities of
whole strings was tried, and gave a lower development likelihood.) Given both strings, a member's
share in a symbol is p(m_i = m | x, y) ∝ p_m(y_i | y_<i, x), and the posterior is

    p(a_i = j | x, y) = Σ_m p(m_i = m | x, y) p_m(a_i = j | x, y)

A temperature T flattens or sharpens the final distribution of each step, after mixing over
positions and members, so that it means the same for every system:

    p_T(y_i | y_<i, x) = p(y_i | y_<i, x)^(1/T) / Σ_y p(y | y_<i, x)^(1/T)

It changes neither a step's most probable symbol nor p(a | x, y). T is fitted on development data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hardalign.data.vocabulary import BEGIN, END, PAD, Encoded, batches_by_symbols
from hardalign.errors import HardalignError
from hardalign.systems.lattice import Lattice, draw, quiet
from hardalign.systems.model import Answering, Step, Targets, Words
from hardalign.systems.ops import Array
from hardalign.systems.ops.numpy import Floats, Ints, log_softmax, logsumexp, pad_columns

RANGE = (0.2, 5.0)
"""The lowest and highest temperature to fit."""
PRECISION = 1e-4
"""Precision of the fitted 1 / T."""
FEW = 10
"""With fewer right or fewer wrong answers than this, fit the likelihood instead."""
SURE = 1e-12
"""Log-probabilities of wrong answers are clipped to at most −SURE, so that scores are finite."""
BATCH_SYMBOLS = 4096
MOST_NUMBERS = 1 << 26
"""Log-probabilities to collect: enough to fit one number, and few enough for memory."""


class Ensemble(Answering):
    """The mean of one or more models with the same symbols, at a temperature."""

    def __init__(self, members: Sequence[Answering], temperature: float = 1.0) -> None:
        if not 0 < temperature < math.inf:
            raise HardalignError(f"the temperature must be above 0 and finite, not {temperature}")
        if len({(member.symbols, member.step_action) for member in members}) != 1:
            raise HardalignError(
                "members of an ensemble must write the same symbols, and all or none of them must "
                "use a pointer"
            )
        self.members, self.temperature = tuple(members), temperature
        self.symbols, self.step_action = members[0].symbols, members[0].step_action

    def read(self, words: Words) -> tuple[Any, ...]:
        return tuple(member.read(words) for member in self.members)

    def start(self, memory: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(member.start(own) for member, own in zip(self.members, memory, strict=True))

    def step(
        self, state: tuple[Any, ...], rows: Array | None, symbols: Array, tolerance: float = 0.0
    ) -> Step:
        steps = [
            member.step(own, rows, symbols, tolerance)
            for member, own in zip(self.members, state, strict=True)
        ]
        log_probs, alpha = steps[0].log_probs, steps[0].alpha
        if len(steps) > 1:
            # Members that copy may write out-of-vocabulary letters that others cannot.
            columns = max(step.log_probs.shape[1] for step in steps)
            log_probs = _mean(np.stack([pad_columns(step.log_probs, columns) for step in steps]))
            alpha = np.mean([step.alpha for step in steps], 0)
        if self.temperature != 1:
            log_probs = log_softmax(log_probs / self.temperature)
        return Step(log_probs, alpha, tuple(step.state for step in steps))

    def actions(self, memory: tuple[Any, ...], targets: Targets) -> Array:
        return self.members[0].actions(memory[0], targets)

    def follow(self, memory: tuple[Any, ...], targets: Targets) -> Lattice:
        return EnsembleLattice(self, memory, targets)


@dataclass(frozen=True)
class EnsembleLattice(Lattice):
    """Alignments and scores of an ensemble; its temperature affects only the scores."""

    model: Ensemble
    memory: tuple[Any, ...]
    targets: Targets

    @cached_property
    def _lattices(self) -> list[Lattice]:
        members = zip(self.model.members, self.memory, strict=True)
        return [member.follow(own, self.targets) for member, own in members]

    @cached_property
    def _scores(self) -> Array:
        """The members' log p_m(y_i | y_<i, x), [M, P, I]."""
        return np.stack([lattice.log_probs() for lattice in self._lattices])

    @cached_property
    def _shares(self) -> Array:
        """The members' shares in each symbol p(m_i = m | x, y), [M, P, I]."""
        if len(self._scores) == 1:
            return np.ones_like(self._scores)  # also for impossible symbols
        return np.exp(log_softmax(self._scores, 0))

    def log_probs(self) -> Array:
        # With a pointer, actions are averaged, and several of them may belong to a symbol.
        if self.model.temperature == 1 and self.model.step_action < 0:
            return _mean(self._scores)
        scores = np.zeros(self.targets.symbols.shape)
        for step in steps_along(self.model, self.memory, self.targets):
            chosen = step.log_probs[np.arange(len(step.target)), step.column]
            scores[step.target, step.symbol] += chosen
        return scores

    def weights(self) -> Array:
        weights = [lattice.weights() for lattice in self._lattices]
        return np.einsum("mpi,mpij->pij", self._shares, weights)

    def best_path(self) -> Array:
        return self._lattices[0].best_path() if len(self._lattices) == 1 else super().best_path()

    def samples(self, noise: Array) -> Array:
        """Draw a member for each symbol, and its position from an alignment of that member.

        Each position follows the posterior, but neighbours may come from different members.
        """
        shares = np.moveaxis(self._shares, 0, -1)  # [P, I, M]
        member = draw(shares[:, :, None], noise)  # [P, I, S]
        share = np.take_along_axis(shares, member, 2)
        below = np.take_along_axis(shares.cumsum(2), member, 2) - share
        # Within the share of the chosen member, the noise is again uniform.
        rest = np.clip((noise - below) / share, 0, np.nextafter(1, 0))
        positions = np.stack([lattice.samples(rest) for lattice in self._lattices])  # [M, P, I, S]
        return np.take_along_axis(positions, member[None], 0)[0]


@dataclass(frozen=True)
class GivenStep:
    """One step along given targets: the distribution of the next symbol, and the actual one."""

    target: Array  # [N] the targets that are not finished yet
    symbol: Array  # [N] the index of the symbol that each is about to write
    column: Array  # [N] of the actual next symbol
    log_probs: Array  # [N, V]


def steps_along(model: Answering, memory: Any, targets: Targets) -> Iterator[GivenStep]:
    """Yield the full distribution at every step along given targets (teacher forcing)."""
    actions = model.actions(memory, targets)  # [P, K]
    lengths = (actions != PAD).sum(1)
    target, rows = np.arange(len(actions)), targets.word
    symbol = np.zeros(len(actions), np.intp)
    state, previous = model.start(memory), np.full(len(actions), BEGIN)
    for position, action in enumerate(actions.T):
        step = model.step(state, rows, previous)
        yield GivenStep(target, symbol[target], action[target] - END, step.log_probs)
        symbol += action != model.step_action
        state, rows = step.state, np.flatnonzero(lengths[target] > position + 1)
        target = target[rows]
        previous = action[target]


@quiet
def _mean(log_probs: Array) -> Array:
    """Return the logarithm of the mean probability over members, the first axis."""
    return logsumexp(log_probs, 0) - np.log(len(log_probs)).astype(log_probs.dtype)


def fit_temperature(
    model: Answering, answers: Sequence[Encoded], right: Sequence[bool], pairs: Sequence[Encoded]
) -> float:
    """Return the temperature that calibrates a model best on the development set.

    It maximises the log score of the probabilities of the model's ``answers`` as forecasts of
    which are ``right``. If too few are right or wrong, it maximises the likelihood of the
    development ``pairs`` instead; 1 if there are none.
    """
    correct = np.array(right, bool)

    def log_score(log_probs: Floats) -> float:
        wrong = np.minimum(log_probs[~correct], -SURE)
        return float(log_probs[correct].sum() + np.log(-np.expm1(wrong)).sum())

    if min(correct.sum(), (~correct).sum()) >= FEW:
        return _fit(model, answers, log_score)
    return _fit(model, pairs, np.sum)


def _fit(model: Answering, pairs: Sequence[Encoded], score: Callable[[Floats], float]) -> float:
    """Return the temperature that maximises a score of the log-probabilities of pairs."""
    if not pairs:
        return 1.0
    log_probs, columns, owners = _steps(model, pairs)
    chosen = log_probs[np.arange(len(columns)), columns]
    if not np.isfinite(chosen).all():
        return 1.0  # no temperature makes impossible symbols possible

    def loss(inverse: float) -> float:
        steps = chosen * inverse - logsumexp(log_probs * inverse)
        # Pairs left out have probability 1 at any temperature, and so have no influence.
        return -score(np.bincount(owners, steps, len(pairs)))

    low, high = RANGE
    return 1 / _minimum(loss, 1 / high, 1 / low)


@quiet
def _steps(model: Answering, pairs: Sequence[Encoded]) -> tuple[Floats, Ints, Ints]:
    """Return log-probabilities [steps, V] along pairs, the actual columns and indices of pairs."""
    distributions: list[Floats] = []
    columns: list[Ints] = []
    owners: list[Ints] = []
    lengths = [max(len(pair.source), len(pair.target)) for pair in pairs]
    batches = list(batches_by_symbols(lengths, BATCH_SYMBOLS))  # sorted by length
    for places in (batch for first in range(4) for batch in batches[first::4]):
        batch = [pairs[place] for place in places]
        memory = model.read(Words.of(batch))
        targets = Targets.of(range(len(batch)), [pair.target for pair in batch])
        for step in steps_along(model, memory, targets):
            distributions.append(step.log_probs)
            columns.append(step.column)
            owners.append(np.array(places)[step.target])
        if sum(one.size for one in distributions) > MOST_NUMBERS:
            break
    most = max(one.shape[1] for one in distributions)
    log_probs = np.concatenate([pad_columns(one, most) for one in distributions])
    return log_probs, np.concatenate(columns), np.concatenate(owners)


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the argmin of a unimodal function on an interval, by golden-section search."""
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > PRECISION:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
    return (low + high) / 2
