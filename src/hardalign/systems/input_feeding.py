"""Systems with input feeding: the decoder reads the attention output of the previous step (5.1).

    h_i = decoder(y_{i-1}, c̄_{i-1}),      c̄_i = tanh(S (h_i ⊕ c_i)),      c_i a mix of source states

Soft attention mixes by α and produces symbols from c̄_i. Hard attention feeds back one position at
a time, and produces symbols by the exact mixture Σ_j α_j(i) p(y_i | j, y_<i, x). Its p(y | x) is
intractable: a sum over |x|^|y| alignments, each with its own decoder states. Scores and predictions
follow a deterministic rule instead: feed back the most probable position. This rule defines a
proper distribution over strings, which is neither p(y | x) of the latent-variable model nor the
bound that training maximises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.systems import parameters
from hardalign.systems.attention import AttentionModel, Memory
from hardalign.systems.lattice import IndependentLattice, Lattice, WeightedLattice, draw, quiet
from hardalign.systems.model import Objective, Step, Targets, previous_symbols
from hardalign.systems.ops import Array, Hidden
from hardalign.systems.parameters import Parameters

Rule = Callable[[int, Array, Array], Array]
"""Maps a step's index i, log α(i) [P, k, J] and the queries [P, k, d_s] of k particles per pair to
the weights [P, k, J] of the source states to feed back."""
Choice = Callable[[Array], Array]
"""Maps unnormalised log-probabilities [P, k, J] to positions [P, k]."""


@dataclass(frozen=True)
class Trace:
    """The steps of k particles per pair."""

    log_alpha: Array  # [P, I, k, J]
    query: Array  # [P, I, k, d_s] the decoder half of S(h ⊕ e)
    weights: Array  # [P, I, k, J] of the source states that were mixed and fed back
    joint: Array  # [P, I, k, d_s] c̄_i


class State(NamedTuple):
    """The state of N hypotheses, including the attention of the last step."""

    memory: Memory
    word: Array | None  # [N] the word of each; None if in order
    hidden: Hidden
    query: Array  # [N, 1, d_s]
    log_alpha: Array | None = None  # [N, 1, J] of the last step; None before the first
    cells: Any = None  # origins of the last symbol, for every possible one


class InputFeeding(AttentionModel):
    """A system whose decoder reads the attention output of the previous step."""

    merged: ClassVar[bool] = True
    """Whether e(y_{i-1}) ⊕ c̄_{i-1} is mapped to the embedding width, so that the LSTM stays as it
    is, and d_s is reduced to compensate; otherwise the LSTM is wider."""

    @classmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        """Declare encoder, decoder, T, S and W."""
        width, symbols = config.embedding, len(vocabulary.target)
        joint = cls.joint_width(config, symbols)
        declared = parameters.encoder(config, len(vocabulary.source))
        declared |= parameters.embedding("decoder.embedding", symbols, width)
        inputs = width if cls.merged else width + joint
        if cls.merged:
            declared |= parameters.linear("decoder.feeding.merge", width + joint, width)
        for layer in range(config.decoder_layers):
            inputs = config.decoder if layer else inputs
            declared |= parameters.cell(f"decoder.cells.{layer}", inputs, config.decoder)
        return declared | parameters.attention(cls.attention, config, joint, symbols)

    @classmethod
    def joint_width(cls, config: ModelConfig, symbols: int) -> int:
        """Return d_s; if c̄ is merged, reduced to compensate for the map (paper, section 8.2)."""
        read, width = parameters.full_joint(config), config.embedding
        if not cls.merged:
            return read

        def output(joint: int) -> int:
            return (read + 1) * joint + (joint + 1) * symbols  # S and W

        def merge(joint: int) -> int:
            return (width + joint + 1) * width

        return parameters.closest(lambda joint: output(joint) + merge(joint), output(read))

    def start(self, memory: Memory) -> State:
        rows, _, joint = memory.key.shape
        query = self.xp.zeros(memory.key, rows, 1, joint)
        return State(memory, None, self.decoder.begin(rows), query)

    @quiet
    def step(
        self, state: State, rows: Array | None, symbols: Array, tolerance: float = 0.0
    ) -> Step:
        xp, memory = self.xp, state.memory
        word = rows if state.word is None else xp.rows(state.word, rows)
        fed = xp.rows(state.query, rows)
        if state.log_alpha is not None:
            weights = self.fed_back(state, rows, symbols)
            fed = xp.tanh(fed + weights @ xp.rows(memory.key, word))
        h, hidden = self.decoder.step(state.hidden, rows, symbols, fed[:, 0])
        log_alpha, query = self.attend(h, memory, word)
        now = State(memory, word, hidden, query)
        log_probs, cells = self.emit(log_alpha[:, 0], query, memory, word, tolerance)
        after = now._replace(log_alpha=log_alpha, cells=cells)
        return Step(log_probs, xp.exp(log_alpha)[:, 0], after)

    def attend(self, h: Array, memory: Memory, word: Array | None) -> tuple[Array, Array]:
        """Return log α [N, k, J] and queries [N, k, d_s] for decoder states [N, k, hidden]."""
        query = self.xp.project(h, *memory.weights["query"])
        return self.xp.log_softmax(self.scores(h, memory, word)), query

    def fed_back(self, state: State, rows: Array | None, symbols: Array) -> Array:
        """Return the weights [N, 1, J] of the states to feed back, given the chosen symbols."""
        return self.xp.exp(self.xp.rows(state.log_alpha, rows))

    @quiet
    def trace(self, memory: Memory, targets: Targets, rule: Rule, particles: int = 1) -> Trace:
        """Run k particles along each target (teacher forcing), feeding back by a rule."""
        xp, word, rows = self.xp, targets.word, len(targets)
        key = xp.rows(memory.key, word)
        feed = self.decoder.feed(xp.repeat(previous_symbols(xp, targets.symbols), particles))
        hidden = self.decoder.begin(rows * particles)
        fed = xp.zeros(key, rows * particles, key.shape[2])
        steps: list[tuple[Array, ...]] = []
        for i in range(targets.symbols.shape[1]):
            h, hidden = feed(i, hidden, fed)  # [P·k, 1, hidden]
            log_alpha, query = self.attend(h.reshape(rows, particles, -1), memory, word)
            weights = rule(i, log_alpha, query)
            joint = xp.tanh(query + weights @ key)  # [P, k, d_s]
            fed = joint.reshape(rows * particles, -1)
            steps.append((log_alpha, query, weights, joint))
        return Trace(*(xp.stack(column, 1) for column in zip(*steps, strict=True)))


class SoftFeed(InputFeeding):
    """Soft attention: the symbol is produced from c̄_i, which is also fed back (eq. 8)."""

    alignment = "attention"
    emit = AttentionModel.emit_soft

    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        xp = self.xp
        trace = self.trace(memory, targets, lambda _i, log_alpha, _query: xp.exp(log_alpha))
        logits = xp.project(trace.joint[:, :, 0], *memory.weights["output"])
        log_probs = xp.where(targets.mask(xp), xp.log_prob(logits, targets.classes), 0.0)
        return WeightedLattice(log_probs, trace.weights[:, :, 0])


class SoftFeedLarge(SoftFeed):
    """`soft-feed` with a wider LSTM, and thus more parameters."""

    merged = False


class HardFeed(InputFeeding):
    """Hard attention: the position fed back is chosen by its posterior given the symbol."""

    attention = "head.mixture.attention"
    score = "decoding rule"
    objective: ClassVar[Objective] = "particles"

    def fed_back(self, state: State, rows: Array | None, symbols: Array) -> Array:
        origin = self.xp.origins(state.cells, rows, symbols)
        return self.xp.one_hot(origin.argmax(-1), origin)[:, None]

    def rule(self, choose: Choice, memory: Memory, targets: Targets) -> Rule:
        """Return the rule that feeds back one position, chosen by log α_j(i) + log p(y_i | j)."""
        mask = targets.mask(self.xp)

        def rule(i: int, log_alpha: Array, query: Array) -> Array:
            zeros = self.xp.zeros(targets.lengths, 1, log_alpha.shape[1])
            output = self.output(query, memory, targets.word)
            classes, inside = targets.classes[:, i, None] + zeros, mask[:, i, None] | (zeros > 0)
            log_joint = self.xp.log_joint(log_alpha, output, classes, inside)
            return self.xp.one_hot(choose(log_joint), log_joint)

        return rule

    def log_joint(self, trace: Trace, memory: Memory, targets: Targets) -> Array:
        """Return log α_j(i) + log p(y_i | j, y_<i, x) [P, I, k, J] for each particle."""
        xp = self.xp
        rows, steps, k, positions = trace.log_alpha.shape
        output = self.output(trace.query.reshape(rows, steps * k, -1), memory, targets.word)
        repeated = (xp.repeat(part, k, 1) for part in (targets.classes, targets.mask(xp)))
        log_alpha = trace.log_alpha.reshape(rows, steps * k, positions)
        return xp.log_joint(log_alpha, output, *repeated).reshape(rows, steps, k, positions)

    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Return the lattice under the rule: given what is fed back, steps are independent."""
        rule = self.rule(lambda log_joint: log_joint.argmax(-1), memory, targets)
        trace = self.trace(memory, targets, rule)
        log_joint = self.log_joint(trace, memory, targets)[:, :, 0]
        return IndependentLattice(self.xp, log_joint, targets.mask(self.xp))

    @quiet
    def estimate(self, memory: Memory, targets: Targets, noise: Array) -> Array:
        """Return the log of the particles' mean weight [P], an unbiased estimate of p(y | x).

        Each particle sums every step exactly and feeds back a position drawn from the posterior;
        its weight is the product of the sums.
        """
        xp, step = self.xp, iter(range(noise.shape[1]))

        def drawn(log_joint: Array) -> Array:
            return draw(xp.exp(xp.log_softmax(log_joint)), noise[:, next(step)])

        rule = HardFeed.rule(self, drawn, memory, targets)  # also in subclasses
        trace = self.trace(memory, targets, rule, noise.shape[2])
        sums = xp.logsumexp(self.log_joint(trace, memory, targets))  # [P, I, k]
        weights = np.where(targets.mask(xp)[:, :, None], sums, 0).sum(1)
        return xp.logsumexp(weights) - np.log(noise.shape[2])


class HardFeedReinforce(HardFeed):
    """The paper's version: the position fed back is chosen by α, before the symbol is known."""

    objective: ClassVar[Objective] = "paths"

    def fed_back(self, state: State, rows: Array | None, symbols: Array) -> Array:
        log_alpha = self.xp.rows(state.log_alpha, rows)
        return self.xp.one_hot(log_alpha.argmax(-1), log_alpha)

    def rule(self, choose: Choice, memory: Memory, targets: Targets) -> Rule:
        return lambda _i, log_alpha, _query: self.xp.one_hot(choose(log_alpha), log_alpha)
