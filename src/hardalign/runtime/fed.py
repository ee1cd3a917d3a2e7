"""Systems with input feeding: what attention sees at a step, the next step reads (section 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hardalign.runtime.attention import Attention, Memory
from hardalign.runtime.encoder import Encoder
from hardalign.runtime.interface import Runtime, State, Step
from hardalign.runtime.lattice import Independent, Lattice, Weighted, draw
from hardalign.runtime.lstm import LSTM, Hidden, begin_layers, step_layers
from hardalign.runtime.numbers import Floats, Ints, log_softmax, logsumexp, rows_of, unwarned
from hardalign.runtime.output import Mixture, Output
from hardalign.runtime.words import Targets, Words


class FedDecoder:
    """An LSTM over y_<i and c̄_<i, one step at a time; starts from zeros."""

    def __init__(self, tensors: Mapping[str, Floats], layers: int, joint: int) -> None:
        self._layers = [LSTM(tensors, f"decoder.cells.{k}", "") for k in range(layers)]
        self._joint = joint
        embedding = tensors["decoder.embedding.weight"]
        split = embedding.shape[1]
        if "decoder.feeding.merge.weight" in tensors:
            merge = tensors["decoder.feeding.merge.weight"]
            self._merge: Floats | None = merge[:, split:].T
            embedding = embedding @ merge[:, :split].T + tensors["decoder.feeding.merge.bias"]
            self._columns = slice(None)
        else:
            self._merge, self._columns = None, slice(split, None)
        self._table = self._layers[0].project(embedding, slice(0, split))  # [V, 4H]

    def begin(self, rows: int) -> tuple[Hidden, Floats]:
        """Returns the zero state, and c̄_0 [rows, d_s], zero as well."""
        fed = np.zeros((rows, self._joint), self._table.dtype)
        return begin_layers(self._layers, rows), fed

    def step(self, hidden: Hidden, rows: Ints, symbols: Ints, fed: Floats) -> Hidden:
        """Continues hypotheses ``rows`` [N] by symbols [N] and attentional vectors [N, d_s]."""
        merged = fed if self._merge is None else fed @ self._merge
        projected = self._layers[0].project(merged, self._columns, bias=False)
        projected += self._table[symbols]
        return step_layers(self._layers, projected, hidden, rows)


class Fed(Runtime[Memory, State]):
    """A system whose decoder reads what attention saw."""

    def __init__(
        self, encoder: Encoder, decoder: FedDecoder, attention: Attention, output: Output
    ) -> None:
        self._encoder, self._decoder = encoder, decoder
        self._attention, self._output = attention, output
        self.symbols = output.symbols

    @unwarned
    def read(self, words: Words) -> Memory:
        """Reads source words."""
        return self._attention.remember(words, self._encoder(words), self._output)

    def _look(self, memory: Memory, word: Ints, hidden: Hidden) -> tuple[Floats, Floats]:
        """Returns log α [N, J] and the decoder half of S(h ⊕ e) [N, d_s]."""
        decoded = hidden[-1].h
        log_alpha = self._attention.log_alpha(memory, word, decoded[:, None], 0)[:, 0]
        return log_alpha, self._output.queries(decoded)


@dataclass(frozen=True)
class SoftFedState:
    """Hypotheses of a soft system."""

    memory: Memory
    word: Ints
    """[N]"""
    hidden: Hidden
    fed: Floats
    """[N, d_s] c̄ of the last step."""


class SoftFed(Fed[SoftFedState]):
    """Soft attention: c̄_i is what the symbol is produced from, and what is fed back."""

    def start(self, memory: Memory) -> SoftFedState:
        """Returns the state before the first step."""
        every = np.arange(len(memory.words))
        return SoftFedState(memory, every, *self._decoder.begin(len(every)))

    @unwarned
    def step(
        self, state: SoftFedState, rows: Ints, symbols: Ints, tolerance: float = 0.0
    ) -> Step[SoftFedState]:
        """Returns log softmax(W c̄_i); nothing of the mix is left out."""
        del tolerance
        word = state.word[rows]
        hidden = self._decoder.step(state.hidden, rows, symbols, state.fed[rows])
        log_alpha, queries = self._look(state.memory, word, hidden)
        alpha = np.exp(log_alpha)
        joint = (alpha[:, None] @ rows_of(state.memory.output_keys.vectors.all, word))[:, 0]
        joint += queries
        np.tanh(joint, out=joint)
        after = SoftFedState(state.memory, word, hidden, joint)
        return Step(self._output.log_probs(joint), alpha, after)

    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns attention weights, and scores that are exact."""
        every = np.arange(len(targets.word))
        state = SoftFedState(memory, targets.word, *self._decoder.begin(len(every)))
        scores, alphas = [], []
        for symbols, classes in zip(targets.previous.T, targets.classes.T, strict=True):
            step = self.step(state, every, symbols)
            scores.append(step.log_probs[every, classes])
            alphas.append(step.alpha)
            state = step.state
        return Weighted(np.where(targets.steps, np.stack(scores, 1), 0), np.stack(alphas, 1))


@dataclass(frozen=True)
class HardFedState:
    """Hypotheses of a hard system; what is fed back depends on the symbol to be chosen."""

    memory: Memory
    word: Ints
    """[N]"""
    hidden: Hidden
    queries: Floats
    """[N, d_s] the decoder half of S(h ⊕ e) at the last step."""
    log_alpha: Floats
    """[N, J] of the last step."""
    mixture: Mixture | None
    """Of the last step; None before the first."""


class HardFed(Fed[HardFedState]):
    """Hard attention: one position is fed back, yet what is produced is an exact mixture.

    The model's own p(y | x) sums over |x|^|y| alignments, each with a decoder of its own. To score
    and predict without chance there is a rule: feed back f(h_i, e_j) of the best position j, and
    produce the symbol by Σ_j α_j(i) p(y_i | j, y_<i, x). That is a proper distribution over
    strings. The best position is that of the posterior, given the symbol that was chosen.
    """

    _knows_symbol = True

    def start(self, memory: Memory) -> HardFedState:
        """Returns the state before the first step."""
        every = np.arange(len(memory.words))
        hidden, fed = self._decoder.begin(len(every))
        nowhere = np.zeros((len(every), memory.present.shape[1]), fed.dtype)
        return HardFedState(memory, every, hidden, fed, nowhere, None)

    @unwarned
    def step(
        self, state: HardFedState, rows: Ints, symbols: Ints, tolerance: float = 0.0
    ) -> Step[HardFedState]:
        """Returns log Σ_j α_j(i) p(· | j, y_<i, x), after the best positions were fed back."""
        memory, word, fed = state.memory, state.word[rows], state.queries[rows]
        if state.mixture is not None:
            weights = state.log_alpha[rows]
            if self._knows_symbol:
                weights = state.mixture.positions(rows, symbols)
            fed = self._attended(memory, word, fed, weights.argmax(1))
        hidden = self._decoder.step(state.hidden, rows, symbols, fed)
        log_alpha, queries = self._look(memory, word, hidden)
        mixture = Mixture.of(self._output, queries, memory.output_keys, word, log_alpha, tolerance)
        after = HardFedState(memory, word, hidden, queries, log_alpha, mixture)
        return Step(mixture.log_probs, np.exp(log_alpha), after)

    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns the lattice under the rule: positions are independent given what is fed back."""

        def choose(log_alpha: Floats, log_joint: Floats, _: int) -> Ints:
            return np.asarray((log_joint if self._knows_symbol else log_alpha).argmax(1))

        return Independent(self._walk(memory, targets, choose), targets.steps)

    @unwarned
    def estimate(self, memory: Memory, targets: Targets, noise: Floats) -> Floats:
        """Returns the logarithm of the particles' mean weight, [P]: that mean is unbiased.

        A particle sums each step exactly and feeds back a position drawn from the posterior; its
        weight is the product of the steps' sums.
        """
        pairs, steps, count = noise.shape
        fields = (targets.word, targets.symbols, targets.lengths)
        particles = Targets(*(np.repeat(field, count, 0) for field in fields))
        chance = noise.transpose(0, 2, 1).reshape(pairs * count, steps)

        def choose(_: Floats, log_joint: Floats, i: int) -> Ints:
            return draw(np.exp(log_softmax(log_joint)), chance[:, i])

        lattice = Independent(self._walk(memory, particles, choose), particles.steps)
        weights = lattice.log_probs().sum(1)
        return np.asarray(logsumexp(weights.reshape(pairs, count)) - np.log(count))

    @unwarned
    def _walk(
        self, memory: Memory, targets: Targets, choose: Callable[[Floats, Floats, int], Ints]
    ) -> Floats:
        """Follows targets, feeding back the positions that are chosen at each step.

        Args:
            memory: The source words.
            targets: P of them.
            choose: From log α [P, J], log α + log p(y_i | j) [P, J] and the number of the step to
                positions [P].

        Returns:
            [P, I, J] log α_j(i) + log p(y_i | j, y_<i, x).
        """
        word = targets.word
        every = np.arange(len(word))
        hidden, fed = self._decoder.begin(len(word))
        joints = []
        for i, symbols in enumerate(targets.previous.T):
            hidden = self._decoder.step(hidden, every, symbols, fed)
            log_alpha, queries = self._look(memory, word, hidden)
            keys, symbol = memory.output_keys, targets.at(i)
            log_joint = self._output.emission_of(queries, every[:, None], keys, symbol)[:, 0]
            log_joint += log_alpha
            joints.append(log_joint)
            fed = self._attended(memory, word, queries, choose(log_alpha, log_joint, i))
        return np.stack(joints, 1)

    def _attended(self, memory: Memory, word: Ints, queries: Floats, position: Ints) -> Floats:
        """Returns c̄ = f(h, e_j), [N, d_s], at one position of each row."""
        return np.asarray(np.tanh(queries + memory.output_keys.vectors.at(word, position)))


class AlphaFed(HardFed):
    """The same, but the best position is that of α, before the symbol is known."""

    _knows_symbol = False
