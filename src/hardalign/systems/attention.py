"""Systems without input feeding: `hard`, `soft` and the extensions of `hard`.

    e = encoder(x)                                    [B, J, 2H]     (paper, section 4.1)
    h = decoder(y_<i)                                 [P, I, H]      (4.3)
    α_j(i) = softmax over j of h_i · T e_j            [P, I, J]      (eq. 3)
    p(y | j) = softmax(W tanh(S (h_i ⊕ e_j)))_y       [P, I, J, V]   (4.2)

S (h ⊕ e) splits into a decoder half, the query, and an encoder half, the key, so that the large
products are computed once per prefix and once per source symbol.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import END, Vocabulary
from hardalign.systems import parameters
from hardalign.systems.lattice import (
    HMMLattice,
    IndependentLattice,
    Lattice,
    TagsBesideLattice,
    WeightedLattice,
    insert_tags,
    quiet,
)
from hardalign.systems.model import (
    Model,
    Step,
    Targets,
    Words,
    copied_symbols,
    previous_symbols,
    tags_beside,
)
from hardalign.systems.ops import Array, Cells, Hidden, Ops, Output
from hardalign.systems.parameters import Parameter, Parameters

ATTENTION = "head.attention"
"""Prefix of the names of T, S and W in model folders."""

KINDS = ("score", "combine", "output", "gate", "jump")
Weights = dict[str, tuple[Array, "Array | None"]]
"""Matrices [in, out] and biases [out] of the attention, as the equations use them."""


@dataclass(frozen=True)
class Memory:
    """Encoded source words."""

    weights: Weights
    words: Words  # as attention sees them: without any tags beside the word
    mask: Array  # [B, J] false at padding
    score_key: Array  # [B, J, hidden] T e_j
    key: Array  # [B, J, d_s] the encoder half of S(h ⊕ e)
    copied: Array | None = None  # [B, J] the column that each position may copy; negative if none
    jump: Array | None = None  # [B, J, jumps] K e_k + b, `hard-hmm` only
    tags: Array | None = None  # [B, embedding] the sum of the embeddings of tags beside the word
    columns: Array | None = None  # [B, J] ``Words.columns``, if tags are beside the word


class State(NamedTuple):
    """The state of N hypotheses."""

    memory: Memory
    word: Array | None  # [N] the word of each; None if in order
    hidden: Hidden
    step: Any  # number of symbols so far
    cells: Any = None  # `hard-hmm` only: origins of the last symbol, for every possible one


class AttentionModel(Model):
    """A system with an encoder, a decoder, and T, S and W."""

    attention: ClassVar[str] = ATTENTION

    def __init__(
        self, xp: Ops, config: ModelConfig, vocabulary: Vocabulary, p: Mapping[str, Array]
    ) -> None:
        super().__init__(xp, config, vocabulary, p)
        self.encoder, self.decoder = xp.encoder(p), xp.decoder(p)
        self.symbols = len(vocabulary.target) - END
        self.tags = tags_beside(config, vocabulary)
        copied = copied_symbols(config, vocabulary)
        self._copied = np.array(copied) - END if copied else None
        self._weights = None if xp.learns else self.cut()

    def cut(self) -> Weights:
        """Split S and (G, K) into halves, and restrict W to the symbols that can be produced."""
        xp, name, hidden = self.xp, self.attention, self.config.decoder
        kinds = [kind for kind in KINDS if f"{name}.{kind}.weight" in self.p]
        matrix = {kind: self.p[f"{name}.{kind}.weight"] for kind in kinds}
        bias = {kind: self.p[f"{name}.{kind}.bias"] for kind in kinds}
        weights: Weights = {
            "score": (xp.matrix(matrix["score"]), bias["score"]),
            "query": (xp.matrix(matrix["combine"][:, :hidden]), bias["combine"]),
            "key": (xp.matrix(matrix["combine"][:, hidden:]), None),
            "output": (xp.matrix(matrix["output"][END:]), bias["output"][END:]),
        }
        if "gate" in matrix:
            weights["gate"] = xp.matrix(matrix["gate"]), bias["gate"]
        if "jump" in matrix:
            weights["jump_by"] = xp.matrix(matrix["jump"][:, :hidden]), None
            weights["jump_from"] = xp.matrix(matrix["jump"][:, hidden:]), bias["jump"]
        return weights

    @quiet
    def read(self, words: Words) -> Memory:
        xp, beside = self.xp, {}
        if self.tags:
            beside = {"tags": self._tag_vectors(words), "columns": words.columns(xp)}
            words = words.letters_only(xp)
        w = self._weights or self.cut()
        e = self.encoder(words.symbols, words.lengths)
        return Memory(
            w,
            words,
            words.mask(xp),
            score_key=xp.project(e, *w["score"]),
            key=xp.project(e, *w["key"]),
            copied=None if self._copied is None else xp.lookup(self._copied, words.symbols, END),
            jump=xp.project(e, *w["jump_from"]) if "jump_from" in w else None,
            **beside,
        )

    def _tag_vectors(self, words: Words) -> Array:
        """Sum the embeddings of each word's tags, [B, embedding]; unknown tags add 0."""
        xp, table = self.xp, self.p["encoder.embedding.weight"]
        known = words.is_tag(xp) & (words.symbols >= len(self.vocabulary.source) - self.tags)
        vectors = xp.embed(table, xp.where(known, words.symbols, 0))
        return xp.where(known[:, :, None], vectors, 0.0).sum(1)

    def scores(self, h: Array, memory: Memory, word: Array | None) -> Array:
        """Return h_i · T e_j [N, I, J] for decoder states [N, I, hidden]; ``never`` at padding."""
        xp = self.xp
        scores = xp.dense(h) @ xp.rows(memory.score_key, word).swapaxes(1, 2)
        return xp.masked(scores, xp.rows(memory.mask, word)[:, None])

    def output(self, query: Array, memory: Memory, word: Array | None) -> Output:
        """Return the output layer for queries [N, I, d_s]."""
        w, lengths = memory.weights, memory.words.lengths
        gate = w.get("gate", (None, None))
        return Output(query, memory.key, word, lengths, *w["output"], *gate, memory.copied)

    def emit(
        self, log_alpha: Array, query: Array, memory: Memory, word: Array | None, tolerance: float
    ) -> tuple[Array, Cells]:
        """Return log p(· | y_<i, x) [N, V] and its cells from log α [N, J] and queries [N, 1, d_s].

        This is hard attention: the mixture Σ_j α_j p(· | j).
        """
        return self.xp.mixture(log_alpha, self.output(query, memory, word), tolerance)

    def emit_soft(
        self, log_alpha: Array, query: Array, memory: Memory, word: Array | None, tolerance: float
    ) -> tuple[Array, Cells]:
        """Return the same for soft attention, which has no cells."""
        alpha = self.xp.exp(log_alpha)[:, None]
        return self.xp.log_softmax(self.soft_logits(query, alpha, memory, word))[:, 0], None

    def soft_logits(self, query: Array, alpha: Array, memory: Memory, word: Array | None) -> Array:
        """Return W tanh(S (h_i ⊕ c_i)) [N, I, V]; the key half of S commutes with the mixing."""
        joint = self.xp.tanh(query + alpha @ self.xp.rows(memory.key, word))
        return self.xp.project(joint, *memory.weights["output"])


class WithoutInputFeeding(AttentionModel):
    """A system whose steps depend only on the prefix and the source word."""

    can_set_tags_beside = True
    can_export = True

    @classmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        """Declare encoder, decoder, T, S and W, and a gate for copying."""
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

    def start(self, memory: Memory) -> State:
        return State(memory, None, self.decoder.begin(memory.mask.shape[0], memory.tags), 0)

    @quiet
    def step(
        self, state: State, rows: Array | None, symbols: Array, tolerance: float = 0.0
    ) -> Step:
        xp, memory = self.xp, state.memory
        word = rows if state.word is None else xp.rows(state.word, rows)
        origin = None if state.cells is None else xp.origins(state.cells, rows, symbols)
        h, hidden = self.decoder.step(state.hidden, rows, symbols)
        query = xp.project(h, *memory.weights["query"])
        log_alpha = self.next_log_alpha(h, memory, word, state.step, origin)
        alpha = xp.exp(log_alpha)
        log_probs, cells = self.emit(log_alpha, query, memory, word, tolerance)
        if memory.columns is not None:
            alpha = insert_tags(xp, alpha, xp.rows(memory.columns, word), 1)
        cells = None if origin is None else cells
        return Step(log_probs, alpha, State(memory, word, hidden, state.step + 1, cells))

    def next_log_alpha(
        self, h: Array, memory: Memory, word: Array | None, step: Any, origin: Array | None
    ) -> Array:
        """Return log p(a_i = j | y_<i, x) [N, J].

        ``origin`` [N, J], for `hard-hmm` only, is log p(a_{i-1} = j, y_{i-1} | y_<i-1, x).
        """
        return self.log_alpha(h, memory, word, step)[:, 0]

    @quiet
    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        xp, word = self.xp, targets.word
        tags = None if memory.tags is None else xp.rows(memory.tags, word)
        h = self.decoder.follow(previous_symbols(xp, targets.symbols), tags)
        query = xp.project(h, *memory.weights["query"])
        lattice = self.lattice(h, query, memory, targets)
        if memory.columns is None:
            return lattice
        return TagsBesideLattice(xp, lattice, xp.rows(memory.columns, word))

    @abstractmethod
    def lattice(self, h: Array, query: Array, memory: Memory, targets: Targets) -> Lattice:
        """Return the lattice for decoder states [P, I, hidden] and queries [P, I, d_s]."""

    def log_alpha(self, h: Array, memory: Memory, word: Array | None, first: Any) -> Array:
        """Return log α_j(i) [N, I, J] for steps i from ``first`` on; ``never`` at padding."""
        return self.xp.log_softmax(self.scores(h, memory, word))


class Hard(WithoutInputFeeding):
    """α outside the softmax: p(y_i | y_<i, x) = Σ_j α_j(i) p(y_i | j, y_<i, x) (eq. 1d)."""

    can_copy = can_copy_oov = True

    def lattice(self, h: Array, query: Array, memory: Memory, targets: Targets) -> Lattice:
        log_alpha = self.log_alpha(h, memory, targets.word, 0)
        output, mask = self.output(query, memory, targets.word), targets.mask(self.xp)
        log_joint = self.xp.log_joint(log_alpha, output, targets.classes, mask)
        return IndependentLattice(self.xp, log_joint, mask)


class HardSampled(Hard):
    """`hard` trained by REINFORCE (section 5.2)."""

    objective = "positions"


class HardPrior(Hard):
    """`hard` with a learned bias for the offset between source and target position.

        α_j(i) = softmax over j of h_i · T e_j + b[place_j − i]

    Places count from the first letter, so leading tags do not shift them. The bias starts at 0.
    """

    reach = 10

    @classmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        bias = {f"{ATTENTION}.bias": Parameter((2 * cls.reach + 1,))}
        return super().parameters(config, vocabulary) | bias

    def log_alpha(self, h: Array, memory: Memory, word: Array | None, first: Any) -> Array:
        xp, scores = self.xp, self.scores(h, memory, word)
        tags = xp.rows(memory.words.tag_counts, word)
        place = xp.arange(scores.shape[2], scores) - 1 - tags[:, None]  # [N, J]
        step = xp.arange(scores.shape[1], scores)[:, None]
        ahead = (place[:, None] - step - first).clip(-self.reach, self.reach)  # [N, I, J]
        bias = xp.embed(self.p[f"{ATTENTION}.bias"], ahead + self.reach)
        return xp.log_softmax(scores + bias)


class HardHMM(Hard):
    """`hard` as a first-order HMM: each position depends on the last; all paths summed exactly.

        p(a_i = j | a_{i-1} = k, y_<i, x) = softmax_j h_i · T e_j + [G h_i + K e_k + b]_{j−k}

    G, K and b have a row for each distance up to ``reach``, forward or back; longer jumps are
    clipped to it. With G = K = b = 0 this is `hard`. Paths start at the begin symbol.
    """

    reach = 5
    monotone = False

    @classmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        width = config.decoder + 2 * config.encoder
        jump = parameters.linear(f"{ATTENTION}.jump", width, 2 * cls.reach + 1)
        return super().parameters(config, vocabulary) | jump

    def transitions(self, scores: Array, by: Array, jump: Array, mask: Array) -> Array:
        """Return log p(a_i = j | a_{i-1} = k, y_<i, x) [N, I, J, J] at [:, i, k, j].

        Args:
            scores: [N, I, J] h_i · T e_j, ``never`` at padding.
            by: [N, I, jumps] G h_i.
            jump: [N, J, jumps] K e_k + b.
            mask: [N, J]
        """
        xp = self.xp
        position = xp.arange(mask.shape[1], mask)
        distance = position - position[:, None]  # [J, J] of j from k
        index = distance.clip(-self.reach, self.reach) + self.reach
        bias = xp.take(by[:, :, None] + jump[:, None], index[None, None], 3)  # [N, I, J, J]
        scores = bias + scores[:, :, None]
        if self.monotone:
            # Padding, where no path is, may go anywhere: softmax needs a finite entry.
            forward = (distance >= 0) | ~mask[:, :, None]
            scores = xp.masked(scores, forward[:, None])
        return xp.log_softmax(scores)

    def start(self, memory: Memory) -> State:
        cells = self.xp.begin_cells(memory.score_key, self.symbols)
        return super().start(memory)._replace(cells=cells)

    def next_log_alpha(
        self, h: Array, memory: Memory, word: Array | None, step: Any, origin: Array | None
    ) -> Array:
        xp = self.xp
        before = xp.log_softmax(origin)  # log p(a_{i-1} = k | y_<i, x)
        scores, mask = self.scores(h, memory, word), xp.rows(memory.mask, word)
        by, jump = xp.project(h, *memory.weights["jump_by"]), xp.rows(memory.jump, word)
        transitions = self.transitions(scores, by, jump, mask)[:, 0]
        return xp.logsumexp(before[:, :, None] + transitions, 1)

    def lattice(self, h: Array, query: Array, memory: Memory, targets: Targets) -> Lattice:
        xp, word, steps = self.xp, targets.word, targets.mask(self.xp)
        scores, by = self.scores(h, memory, word), xp.project(h, *memory.weights["jump_by"])
        jump, mask = xp.rows(memory.jump, word), xp.rows(memory.mask, word)
        # Uniform weights, so that no position is left out, whatever the tolerance.
        uniform = xp.masked(xp.zeros(query, *scores.shape), mask[:, None])
        output = self.output(query, memory, word)
        emission = xp.log_joint(uniform, output, targets.classes, steps)

        def transitions(part: slice) -> Array:
            return self.transitions(scores[:, part], by[:, part], jump, mask)

        return HMMLattice(xp, transitions, emission, steps)


class HardMonotonic(HardHMM):
    """`hard-hmm` that never goes back."""

    monotone = True
    can_copy_oov = False


class Soft(WithoutInputFeeding):
    """α inside the softmax: one context vector c_i = Σ_j α_j(i) e_j (section 5, eq. 8)."""

    alignment = "attention"
    emit = AttentionModel.emit_soft

    def lattice(self, h: Array, query: Array, memory: Memory, targets: Targets) -> Lattice:
        alpha = self.xp.exp(self.log_alpha(h, memory, targets.word, 0))
        logits = self.soft_logits(query, alpha, memory, targets.word)
        log_probs = self.xp.log_prob(logits, targets.classes)
        return WeightedLattice(self.xp.where(targets.mask(self.xp), log_probs, 0.0), alpha)
