"""Systems whose decoder never sees the attention: `hard`, `soft` and what goes on from `hard`.

    e = encoder(x)                                    [B, J, 2H]     (paper, section 4.1)
    h = decoder(y_<i)                                 [P, I, H]      (4.3)
    α_j(i) = softmax over j of h_i · T e_j            [P, I, J]      (eq. 3)
    p(y | j) = softmax(W tanh(S (h_i ⊕ e_j)))_y       [P, I, J, V]   (4.2)

S (h ⊕ e) falls into a half from the decoder, the query, and a half from the encoder, the key, so
that the large products are done once for each prefix and once for each source symbol.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import END, Vocabulary
from hardalign.systems import parameters
from hardalign.systems.batch import Targets, Words
from hardalign.systems.lattice import (
    BesideTags,
    Chain,
    Independent,
    Lattice,
    Weighted,
    quiet,
    spread,
)
from hardalign.systems.model import Model, Step
from hardalign.systems.ops import Array, Hidden, Ops, Output
from hardalign.systems.options import copied_symbols, tags_beside
from hardalign.systems.parameters import Parameter, Parameters

ATTENTION = "head.attention"
"""The name of T, S and W in model folders."""


@dataclass(frozen=True)
class Weights:
    """T, S, W and what else attention has, cut as the equations use them."""

    look: Array
    """[2H, hidden] T, and its bias."""
    look_bias: Array
    query: Array
    """[hidden, d_s] the decoder half of S, and the bias of S."""
    query_bias: Array
    key: Array
    """[2H, d_s] the encoder half of S."""
    output: Array
    """[d_s, V] W of what can be produced: the end and the letters, never a reserved symbol."""
    output_bias: Array
    gate: Array | None = None
    """[d_s, 1] of models that copy, and its bias."""
    gate_bias: Array | None = None
    jump_by: Array | None = None
    """[hidden, jumps] G of chains."""
    jump_from: Array | None = None
    """[2H, jumps] K, and its bias."""
    jump_bias: Array | None = None

    @classmethod
    def of(cls, xp: Ops, p: Mapping[str, Array], name: str, hidden: int) -> Weights:
        """Cuts the parameters of an attention."""
        combine = p[f"{name}.combine.weight"]
        more = {}
        if f"{name}.gate.weight" in p:
            more["gate"] = xp.matrix(p[f"{name}.gate.weight"])
            more["gate_bias"] = p[f"{name}.gate.bias"]
        if f"{name}.jump.weight" in p:
            jump = p[f"{name}.jump.weight"]
            more["jump_by"] = xp.matrix(jump[:, :hidden])
            more["jump_from"] = xp.matrix(jump[:, hidden:])
            more["jump_bias"] = p[f"{name}.jump.bias"]
        return cls(
            look=xp.matrix(p[f"{name}.score.weight"]),
            look_bias=p[f"{name}.score.bias"],
            query=xp.matrix(combine[:, :hidden]),
            query_bias=p[f"{name}.combine.bias"],
            key=xp.matrix(combine[:, hidden:]),
            output=xp.matrix(p[f"{name}.output.weight"][END:]),
            output_bias=p[f"{name}.output.bias"][END:],
            **more,
        )


@dataclass(frozen=True)
class Memory:
    """Source words that have been read."""

    weights: Weights
    words: Words
    """As attention sees them: without tags where these are beside words."""
    mask: Array
    """[B, J] false at padding."""
    look: Array
    """[B, J, hidden] T e_j."""
    key: Array
    """[B, J, d_s] the encoder half of S(h ⊕ e)."""
    copied: Array | None = None
    """[B, J] the column of the symbol that a position may copy; negative where there is none."""
    jump: Array | None = None
    """[B, J, jumps] K e_k + b of a chain."""
    tags: Array | None = None
    """[B, embedding] the sum of the embeddings of a word's tags, where they are beside it."""
    columns: Array | None = None
    """[B, J] then, where each symbol of the whole word is among those that attention sees."""
    tag_counts: Array | None = None
    """[B] then, how many tags there are."""


@dataclass(frozen=True)
class State:
    """Hypotheses."""

    memory: Memory
    word: Array | None
    """[N] the word of each."""
    hidden: Hidden
    step: Any
    """How many symbols they have."""
    cells: Any = None
    """Where the last symbol may have come from, whichever symbol it is: for chains."""


class Attentive(Model):
    """A system of an encoder, a decoder, and T, S and W."""

    attention: ClassVar[str] = ATTENTION

    def __init__(
        self, xp: Ops, config: ModelConfig, vocabulary: Vocabulary, p: Mapping[str, Array]
    ) -> None:
        super().__init__(xp, config, vocabulary, p)
        self.encoder, self.decoder = xp.encoder(p), xp.decoder(p)
        self.symbols = len(vocabulary.target) - END
        self._weights = None if xp.learns else self.cut()

    def cut(self) -> Weights:
        """Returns the parameters of attention as the equations use them."""
        return Weights.of(self.xp, self.p, self.attention, self.config.decoder)

    def looks(self, h: Array, memory: Memory, word: Array | None) -> Array:
        """Returns h_i · T e_j [N, I, J] of decoder states [N, I, hidden]; ``never`` at padding."""
        xp = self.xp
        scores = xp.dense(h) @ xp.transpose(xp.rows(memory.look, word))
        return xp.masked(scores, xp.rows(memory.mask, word)[:, None])

    def output(self, query: Array, memory: Memory, word: Array | None) -> Output:
        """Returns the output layer for queries [N, I, d_s]."""
        w = memory.weights
        gate = (w.gate, w.gate_bias, memory.copied)
        layer = (memory.key, word, memory.words.lengths, w.output, w.output_bias)
        return Output(query, *layer, *gate)


class Unfed(Attentive):
    """A system whose steps depend on the prefix and the source words alone."""

    can_set_tags_beside = True
    can_export = True

    def __init__(
        self, xp: Ops, config: ModelConfig, vocabulary: Vocabulary, p: Mapping[str, Array]
    ) -> None:
        super().__init__(xp, config, vocabulary, p)
        self.tags = tags_beside(config, vocabulary)
        copied = copied_symbols(config, vocabulary)
        self._copied = np.array(copied) - END if copied else None

    @classmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        """Declares encoder, decoder, T, S and W, and a gate for copying."""
        symbols, joint = len(vocabulary.target), parameters.full_joint(config)
        width = 2 * config.embedding if tags_beside(config, vocabulary) else config.embedding
        declared = (
            parameters.encoder(config, len(vocabulary.source))
            | parameters.embedding("decoder.embedding", symbols, config.embedding)
            | parameters.lstm("decoder.lstm", width, config.decoder, config.decoder_layers)
            | parameters.attention(ATTENTION, config, joint, symbols)
        )
        if copied_symbols(config, vocabulary):
            declared |= parameters.linear(f"{ATTENTION}.gate", joint, 1)
        return declared

    @quiet
    def read(self, words: Words) -> Memory:
        """Reads source words."""
        xp, beside = self.xp, {}
        if self.tags:
            beside = {
                "tags": self._tag_vectors(words),
                "columns": words.columns(xp),
                "tag_counts": words.tag_counts,
            }
            words = words.letters_only(xp)
        w = self._weights or self.cut()
        e = self.encoder(words.symbols, words.lengths)
        return Memory(
            w,
            words,
            words.mask(xp),
            look=xp.project(e, w.look, w.look_bias),
            key=xp.project(e, w.key),
            copied=None if self._copied is None else xp.lookup(self._copied, words.symbols, END),
            jump=None if w.jump_from is None else xp.project(e, w.jump_from, w.jump_bias),
            **beside,
        )

    def _tag_vectors(self, words: Words) -> Array:
        """Returns the sum [B, embedding] of the embeddings of a word's tags; unknown ones are 0."""
        xp, table = self.xp, self.p["encoder.embedding.weight"]
        known = words.is_tag(xp) & (words.symbols >= len(self.vocabulary.source) - self.tags)
        vectors = xp.embed(table, xp.where(known, words.symbols, 0))
        return xp.sum(xp.where(known[:, :, None], vectors, 0.0), 1)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first step."""
        rows = len(memory.words)
        word = self.xp.arange(rows, memory.mask)
        return State(memory, word, self.decoder.begin(rows, memory.tags), 0)

    @quiet
    def step(
        self, state: State, rows: Array | None, symbols: Array, tolerance: float = 0.0
    ) -> Step:
        """Continues hypotheses and says what may come next."""
        xp, memory = self.xp, state.memory
        word = None if state.word is None else xp.rows(state.word, rows)
        came_from = None if state.cells is None else xp.origins(state.cells, rows, symbols)
        h, hidden = self.decoder.step(state.hidden, rows, symbols)
        query = xp.project(h, memory.weights.query, memory.weights.query_bias)
        now = State(memory, word, hidden, state.step)
        log_probs, alpha, cells = self.next_symbol(h, query, now, came_from, tolerance)
        if memory.columns is not None:
            alpha = spread(xp, alpha, xp.rows(memory.columns, word), 1)
        return Step(log_probs, alpha, replace(now, step=state.step + 1, cells=cells))

    @abstractmethod
    def next_symbol(
        self, h: Array, query: Array, state: State, came_from: Array | None, tolerance: float
    ) -> tuple[Array, Array, Any]:
        """Returns log p(· | y_<i, x) [N, V], α [N, J] and, for chains, what ``State.cells`` is.

        Args:
            h: [N, 1, hidden] the decoder's states.
            query: [N, 1, d_s] the decoder half of S(h ⊕ e).
            state: The hypotheses, and the number of this step.
            came_from: [N, J] of chains, log p(a_{i-1} = j, y_{i-1} | y_<i-1, x).
            tolerance: See ``Model.step``.
        """

    @quiet
    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns the alignments of given targets with the words they belong to."""
        xp, word = self.xp, targets.word
        tags = None if memory.tags is None else xp.rows(memory.tags, word)
        h = self.decoder.follow(targets.previous(xp), tags)
        query = xp.project(h, memory.weights.query, memory.weights.query_bias)
        lattice = self.lattice(h, query, memory, targets)
        if memory.columns is None or memory.tag_counts is None:
            return lattice
        columns, counts = (xp.rows(part, word) for part in (memory.columns, memory.tag_counts))
        return BesideTags(xp, lattice, columns, counts)

    @abstractmethod
    def lattice(self, h: Array, query: Array, memory: Memory, targets: Targets) -> Lattice:
        """Returns the alignments by decoder states [P, I, hidden] and queries [P, I, d_s]."""

    def log_alpha(self, h: Array, memory: Memory, word: Array | None, first: Any) -> Array:
        """Returns log α_j(i) [N, I, J] of steps i from ``first`` on; ``never`` at padding."""
        del first  # what is seen is the same at every step
        return self.xp.log_softmax(self.looks(h, memory, word))


class Hard(Unfed):
    """α outside the softmax: p(y_i | y_<i, x) = Σ_j α_j(i) p(y_i | j, y_<i, x) (eq. 1d)."""

    can_copy = can_copy_oov = True

    def next_symbol(
        self, h: Array, query: Array, state: State, came_from: Array | None, tolerance: float
    ) -> tuple[Array, Array, Any]:
        log_alpha = self.next_log_alpha(h, state, came_from)
        output = self.output(query, state.memory, state.word)
        log_probs, cells = self.xp.mixture(log_alpha, output, tolerance)
        return log_probs, self.xp.exp(log_alpha), None if came_from is None else cells

    def next_log_alpha(self, h: Array, state: State, came_from: Array | None) -> Array:
        """Returns log p(a_i = j | y_<i, x) [N, J]."""
        del came_from
        return self.log_alpha(h, state.memory, state.word, state.step)[:, 0]

    def lattice(self, h: Array, query: Array, memory: Memory, targets: Targets) -> Lattice:
        log_alpha = self.log_alpha(h, memory, targets.word, 0)
        output, steps = self.output(query, memory, targets.word), targets.steps(self.xp)
        log_joint = self.xp.log_joint(log_alpha, output, targets.classes, steps)
        return Independent(self.xp, log_joint, steps)


class HardSampled(Hard):
    """The same model trained by REINFORCE (section 5.2)."""

    objective = "positions"


class HardPrior(Hard):
    """`hard` with a learned bias for how far ahead of the target's place a position is.

        α_j(i) = softmax over j of h_i · T e_j + b[place_j − i]

    Places are counted from the first letter, so that tags before it do not shift the others. At
    first it prefers nothing.
    """

    reach = 10

    @classmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        bias = {f"{ATTENTION}.bias": Parameter((2 * cls.reach + 1,))}
        return super().parameters(config, vocabulary) | bias

    def log_alpha(self, h: Array, memory: Memory, word: Array | None, first: Any) -> Array:
        xp, scores = self.xp, self.looks(h, memory, word)
        tags = xp.rows(memory.words.tag_counts, word)
        place = xp.arange(scores.shape[2], scores) - 1 - tags[:, None]  # [N, J]
        step = xp.arange(scores.shape[1], scores)[:, None]
        ahead = (place[:, None] - step - first).clip(-self.reach, self.reach)  # [N, I, J]
        bias = xp.embed(self.p[f"{ATTENTION}.bias"], ahead + self.reach)
        return xp.log_softmax(scores + bias)


class HardHMM(Hard):
    """`hard` where the next position depends on the last one, all paths summed exactly.

        p(a_i = j | a_{i-1} = k, y_<i, x) = softmax_j h_i · T e_j + [G h_i + K e_k + b]_{j−k}

    G, K and b have a row for each distance up to ``reach``, ahead or back; farther jumps count as
    the farthest. With G = K = b = 0 this is `hard`. The chain begins at the begin symbol.
    """

    reach = 5
    monotone = False

    @classmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        width = config.decoder + 2 * config.encoder
        jump = parameters.linear(f"{ATTENTION}.jump", width, 2 * cls.reach + 1)
        return super().parameters(config, vocabulary) | jump

    def moves(self, looks: Array, by: Array, jump: Array, mask: Array) -> Array:
        """Returns log p(a_i = j | a_{i-1} = k, y_<i, x) [N, I, J, J] at [:, i, k, j].

        Args:
            looks: [N, I, J] h_i · T e_j, ``never`` at padding.
            by: [N, I, jumps] G h_i.
            jump: [N, J, jumps] K e_k + b.
            mask: [N, J]
        """
        xp = self.xp
        position = xp.arange(mask.shape[1], mask)
        distance = position - position[:, None]  # [J, J] of j from k
        index = distance.clip(-self.reach, self.reach) + self.reach
        scores = xp.take(by[:, :, None] + jump[:, None], index[None, None], 3)  # [N, I, J, J]
        scores = scores + looks[:, :, None]
        if self.monotone:
            # From padding, where nobody is, one may go anywhere: softmax needs somewhere to go.
            forward = (distance >= 0) | ~mask[:, :, None]
            scores = xp.masked(scores, forward[:, None])
        return xp.log_softmax(scores)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first step: the chain begins at the begin symbol."""
        cells = self.xp.begin_cells(memory.look, self.symbols)
        return replace(super().start(memory), cells=cells)

    def next_log_alpha(self, h: Array, state: State, came_from: Array | None) -> Array:
        xp, memory, word = self.xp, state.memory, state.word
        before = xp.log_softmax(came_from)  # log p(a_{i-1} = k | y_<i, x)
        looks, mask = self.looks(h, memory, word), xp.rows(memory.mask, word)
        by, jump = xp.project(h, memory.weights.jump_by), xp.rows(memory.jump, word)
        moves = self.moves(looks, by, jump, mask)[:, 0]
        return xp.logsumexp(before[:, :, None] + moves, 1)

    def lattice(self, h: Array, query: Array, memory: Memory, targets: Targets) -> Lattice:
        xp, word, steps = self.xp, targets.word, targets.steps(self.xp)
        looks, by = self.looks(h, memory, word), xp.project(h, memory.weights.jump_by)
        jump, mask = xp.rows(memory.jump, word), xp.rows(memory.mask, word)
        # Every position weighs the same here: none is left out, whatever the tolerance.
        everywhere = xp.masked(xp.zeros(query, *looks.shape), mask[:, None])
        output = self.output(query, memory, word)
        emission = xp.log_joint(everywhere, output, targets.classes, steps)

        def transitions(part: slice) -> Array:
            return self.moves(looks[:, part], by[:, part], jump, mask)

        return Chain(xp, transitions, emission, steps)


class HardMonotonic(HardHMM):
    """`hard-hmm` that never goes back."""

    monotone = True
    can_copy_oov = False


class Soft(Unfed):
    """α inside the softmax: one context vector c_i = Σ_j α_j(i) e_j (section 5, eq. 8)."""

    alignment = "attention"

    def joint(self, query: Array, alpha: Array, memory: Memory, word: Array | None) -> Array:
        """Returns tanh(S (h_i ⊕ c_i)) [N, I, d_s]; the key half of S commutes with the mixing."""
        return self.xp.tanh(query + alpha @ self.xp.rows(memory.key, word))

    def next_symbol(
        self, h: Array, query: Array, state: State, came_from: Array | None, tolerance: float
    ) -> tuple[Array, Array, Any]:
        del came_from, tolerance
        xp, memory, w = self.xp, state.memory, state.memory.weights
        alpha = xp.exp(self.log_alpha(h, memory, state.word, state.step))
        joint = self.joint(query, alpha, memory, state.word)[:, 0]
        return xp.log_softmax(xp.project(joint, w.output, w.output_bias)), alpha[:, 0], None

    def lattice(self, h: Array, query: Array, memory: Memory, targets: Targets) -> Lattice:
        xp, w = self.xp, memory.weights
        alpha = xp.exp(self.log_alpha(h, memory, targets.word, 0))
        joint = self.joint(query, alpha, memory, targets.word)
        log_probs = xp.log_prob(xp.project(joint, w.output, w.output_bias), targets.classes)
        return Weighted(xp.where(targets.steps(xp), log_probs, 0.0), alpha)
