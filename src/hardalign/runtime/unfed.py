"""Systems without input feeding: they read sources and prefixes apart from each other."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from hardalign.runtime.attention import Attention, Memory
from hardalign.runtime.decoder import Decoder, Prefixes
from hardalign.runtime.encoder import Encoder
from hardalign.runtime.interface import Runtime, Step
from hardalign.runtime.lattice import BesideLattice, Independent, Lattice, Weighted, in_columns
from hardalign.runtime.numbers import Floats, Ints, rows_of, unwarned
from hardalign.runtime.output import Mixture, Output
from hardalign.runtime.words import Targets, Words


@dataclass(frozen=True)
class State:
    """Hypotheses: the words they are of, what they have written, and how many steps that took."""

    memory: Memory
    word: Ints
    """[N]"""
    prefixes: Prefixes
    steps: int
    mixture: Mixture | None = None
    """Where the last symbol may have come from, whichever symbol it is: for chains, after the first
    step."""

    @property
    def decoded(self) -> Floats:
        """[N, 1, H] h_i of each hypothesis."""
        return self.prefixes.states[self.prefixes.row][:, None]


class Unfed(Runtime[Memory, State]):
    """A system whose steps depend on the prefix and the source words alone.

    Where tags are beside words, attention sees begin, letters and end. What is said about these is
    told in the columns that all systems have, begin, tags, letters and end.
    """

    def __init__(
        self, encoder: Encoder, decoder: Decoder, attention: Attention, output: Output
    ) -> None:
        self._encoder, self._decoder = encoder, decoder
        self._attention, self._output = attention, output
        self.symbols = output.symbols

    @unwarned
    def read(self, words: Words) -> Memory:
        """Reads source words."""
        tags = self._decoder.tags(words)
        if tags is not None:
            words = words.letters_only()
        memory = self._attention.remember(words, self._encoder(words), self._output)
        return replace(memory, tags=tags)

    def start(self, memory: Memory) -> State:
        """Returns the state before the first step."""
        every = np.arange(len(memory.words))
        return State(memory, every, self._decoder.begin(len(every), memory.tags), 0)

    @unwarned
    def step(self, state: State, rows: Ints, symbols: Ints, tolerance: float = 0.0) -> Step[State]:
        """Continues hypotheses and says what may come next."""
        step = self._step(state, rows, symbols, tolerance)
        if state.memory.tags is None:
            return step
        columns = in_columns(step.alpha[:, None], state.memory.tags.words, step.state.word)
        return replace(step, alpha=columns[:, 0])

    @unwarned
    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns the alignments of given targets with the words they belong to."""
        lattice = self._follow(memory, targets)
        if memory.tags is None:
            return lattice
        return BesideLattice(lattice, memory.tags.words, targets.word)

    @abstractmethod
    def _step(self, state: State, rows: Ints, symbols: Ints, tolerance: float) -> Step[State]: ...

    @abstractmethod
    def _follow(self, memory: Memory, targets: Targets) -> Lattice: ...

    def _advance(self, state: State, rows: Ints, symbols: Ints) -> State:
        """Continues hypotheses ``rows`` [N] by one symbol [N] each."""
        prefixes = self._decoder.step(state.prefixes, rows, symbols)
        return State(state.memory, state.word[rows], prefixes, state.steps + 1)

    def _log_alpha(self, state: State) -> Floats:
        """Returns log α [N, J] of the step that led to a state."""
        first = state.steps - 1
        return self._attention.log_alpha(state.memory, state.word, state.decoded, first)[:, 0]

    def _queries(self, prefixes: Prefixes) -> Floats:
        """Returns the decoder half of S(h ⊕ e) of each hypothesis, [N, d_s]."""
        return np.asarray(self._output.queries(prefixes.states)[prefixes.row])

    def _mixture(self, state: State, log_alpha: Floats, tolerance: float) -> Mixture:
        """Mixes what the positions of each hypothesis emit; see ``Mixture.of``."""
        queries, keys = self._queries(state.prefixes), state.memory.output_keys
        return Mixture.of(self._output, queries, keys, state.word, log_alpha, tolerance)

    def _emission(self, states: Floats, row: Ints, memory: Memory, targets: Targets) -> Floats:
        """Returns log p(y_i | j, y_<i, x) [P, I, J] by what ``Decoder.follow`` returns."""
        queries = self._output.queries(states)
        return self._output.emission_of(queries, row, memory.output_keys, targets)


class Hard(Unfed):
    """Hard attention: α outside the softmax, a mixture over positions, exactly (section 3)."""

    def _step(self, state: State, rows: Ints, symbols: Ints, tolerance: float) -> Step[State]:
        """Returns log Σ_j α_j(i) p(· | j, y_<i, x)."""
        state = self._advance(state, rows, symbols)
        log_alpha = self._log_alpha(state)
        mixture = self._mixture(state, log_alpha, tolerance)
        return Step(mixture.log_probs, np.exp(log_alpha), state)

    def _follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns the exact lattice: positions are independent given both strings."""
        states, row = self._decoder.follow(targets, memory.tags)
        log_alpha = self._attention.log_alpha(memory, targets.word, states[row], 0)
        log_joint = self._emission(states, row, memory, targets)
        log_joint += log_alpha
        return Independent(log_joint, targets.steps)


class Soft(Unfed):
    """Soft attention: α inside the softmax, one mixed context vector (section 5)."""

    def _step(self, state: State, rows: Ints, symbols: Ints, tolerance: float) -> Step[State]:
        """Returns log softmax(W f(h_i, c_i)); nothing of the mix is left out."""
        del tolerance
        state = self._advance(state, rows, symbols)
        alpha = np.exp(self._log_alpha(state))
        queries = self._queries(state.prefixes)
        log_probs = self._log_probs(queries[:, None], alpha[:, None], state.memory, state.word)
        return Step(log_probs[:, 0], alpha, state)

    def _follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Returns attention weights, and scores that are exact (eq. 8)."""
        states, row = self._decoder.follow(targets, memory.tags)
        alpha = np.exp(self._attention.log_alpha(memory, targets.word, states[row], 0))
        queries = self._output.queries(states)[row]
        log_probs = self._log_probs(queries, alpha, memory, targets.word)
        chosen = np.take_along_axis(log_probs, targets.classes[..., None], -1)[..., 0]
        return Weighted(np.where(targets.steps, chosen, 0), alpha)

    def _log_probs(self, queries: Floats, alpha: Floats, memory: Memory, word: Ints) -> Floats:
        """Returns [N, I, V]; the encoder half of S commutes with the mixing of states."""
        joint = alpha @ rows_of(memory.output_keys.vectors.all, word)
        joint += queries
        return self._output.log_probs(np.tanh(joint, out=joint))
