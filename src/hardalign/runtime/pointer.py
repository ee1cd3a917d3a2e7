"""Hard monotonic attention: a pointer that only moves right (paper, section 8.2, system M)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hardalign import aligner
from hardalign.actions import aligner_pair, oracle_actions
from hardalign.data.encoding import Encoded
from hardalign.data.vocabulary import BEGIN, END, PAD
from hardalign.runtime.encoder import Encoder, letters_only, source_columns
from hardalign.runtime.fed import Hidden
from hardalign.runtime.interface import Runtime, Step
from hardalign.runtime.lattice import Lattice, Path
from hardalign.runtime.lstm import LSTM
from hardalign.runtime.numbers import Floats, Ints, log_softmax, unwarned
from hardalign.runtime.words import Targets, Words, pad


@dataclass(frozen=True)
class PointerMemory:
    """Source words that have been read, without their tags."""

    words: Words
    attended: Floats
    """[B, J, 4H] what the decoder's gates see at begin, letters and end, and of the word's tags."""
    last: Ints
    """[B] the position of the end symbol."""


@dataclass(frozen=True)
class PointerState:
    """Hypotheses: where their pointers are, and what the decoder remembers."""

    memory: PointerMemory
    word: Ints
    """[N]"""
    pointer: Ints
    """[N]"""
    hidden: Hidden


class Pointer(Runtime[PointerMemory, PointerState]):
    """The decoder reads the source symbol under the pointer and chooses what to do."""

    def __init__(self, tensors: Mapping[str, Floats], layers: tuple[int, int]) -> None:
        encoder_layers, decoder_layers = layers
        self._encoder = Encoder(tensors, encoder_layers)
        self._layers = [LSTM(tensors, "decoder.lstm", f"_l{k}") for k in range(decoder_layers)]
        embedding = tensors["decoder.embedding.weight"]
        self._split = embedding.shape[1]
        self._table = self._layers[0].project(embedding, slice(0, self._split))  # [actions, 4H]
        self._weight = tensors["decoder.output.weight"][END:].T
        self._bias = tensors["decoder.output.bias"][END:]
        self._alignments = tensors["oracle.table"]
        self._tags = _tag_vectors(tensors)
        self._tag_bias = tensors.get("tags.merge.bias")
        self._first_tag = len(tensors["encoder.embedding.weight"]) - len(self._tags)
        self.silent = len(embedding) - 1
        self.symbols = len(self._bias)

    @unwarned
    def read(self, words: Words) -> PointerMemory:
        """Reads source words."""
        letters = letters_only(words)
        states = self._encoder(letters)
        first = self._layers[0]
        end = self._split + states.ahead.shape[1] + states.back.shape[1]
        attended = states.project(first.source_weight(slice(self._split, end))).all
        if self._tag_bias is not None:
            features = self._has_tag(words) @ self._tags + self._tag_bias
            attended += first.project(features, slice(end, None), bias=False)[:, None]
        return PointerMemory(words, attended, letters.lengths - 1)

    def start(self, memory: PointerMemory) -> PointerState:
        """Returns the state before the first step: pointers are at the begin symbols."""
        return self._start(memory, np.arange(len(memory.words)))

    @unwarned
    def step(
        self, state: PointerState, rows: Ints, symbols: Ints, tolerance: float = 0.0
    ) -> Step[PointerState]:
        """Returns the distribution of the next action: an end, a letter, or STEP."""
        del tolerance
        memory, word = state.memory, state.word[rows]
        pointer = state.pointer[rows] + (symbols == self.silent)
        projected = memory.attended[word, pointer]
        projected += self._table[symbols]
        hidden: list[tuple[Floats, Floats]] = []
        for lstm, (h, c) in zip(self._layers, state.hidden, strict=True):
            if hidden:
                projected = lstm.project(hidden[-1][0])
            hidden.append(lstm.step(projected, h[rows], c[rows]))
        logits = hidden[-1][0] @ self._weight
        logits += self._bias
        logits[pointer == memory.last[word], -1] = -np.inf  # there is nowhere left to step
        alpha = np.zeros((len(rows), memory.words.symbols.shape[1]), logits.dtype)
        columns = source_columns(pointer, memory.words.tag_counts[word])
        alpha[np.arange(len(rows)), columns] = 1
        after = PointerState(memory, word, pointer, tuple(hidden))
        return Step(log_softmax(logits), alpha, after)

    def follow(self, memory: PointerMemory, targets: Targets) -> Lattice:
        """Returns the aligner's paths; their scores are lower bounds of log p(y | x)."""
        actions = self._oracle(memory.words, targets)  # [P, K]
        every = np.arange(len(actions))
        state, previous = self._start(memory, targets.word), np.full(len(actions), BEGIN)
        scores = np.zeros(targets.symbols.shape, self._bias.dtype)
        path = np.zeros(targets.symbols.shape, np.intp)
        symbol = np.zeros(len(actions), np.intp)  # how many symbols each pair has written
        for action in actions.T:
            step = self.step(state, every, previous)
            state, previous = step.state, action
            rows = np.flatnonzero(action != PAD)
            scores[rows, symbol[rows]] += step.log_probs[rows, action[rows] - END]
            rows = rows[action[rows] != self.silent]
            columns = source_columns(state.pointer, memory.words.tag_counts[targets.word])
            path[rows, symbol[rows]] = columns[rows]
            symbol[rows] += 1
        return Path(scores, path, memory.words.symbols.shape[1])

    def _start(self, memory: PointerMemory, word: Ints) -> PointerState:
        hidden = tuple((lstm.zeros(len(word)), lstm.zeros(len(word))) for lstm in self._layers)
        return PointerState(memory, word, np.zeros(len(word), np.intp), hidden)

    def _oracle(self, words: Words, targets: Targets) -> Ints:
        """Returns the aligner's actions [P, K] of given pairs."""
        pairs = [
            Encoded(
                words.symbols[word, : words.lengths[word]].tolist(),
                int(words.tag_counts[word]),
                symbols[:length].tolist(),
            )
            for word, symbols, length in zip(
                targets.word, targets.symbols, targets.lengths, strict=True
            )
        ]
        paths = aligner.align(self._alignments, [aligner_pair(pair) for pair in pairs])
        actions = [
            oracle_actions(path, pair.target, self.silent)
            for path, pair in zip(paths, pairs, strict=True)
        ]
        return pad(actions)[0]

    def _has_tag(self, words: Words) -> Floats:
        """Returns [B, tags] 1 where a word has a tag; unknown tags have no slot."""
        column = np.arange(words.symbols.shape[1])
        slot = words.symbols - self._first_tag
        row, place = np.nonzero((column <= words.tag_counts[:, None]) & (slot >= 0))
        present = np.zeros((len(words), len(self._tags)), self._bias.dtype)
        present[row, slot[row, place]] = 1
        return present


def _tag_vectors(tensors: Mapping[str, Floats]) -> Floats:
    """Returns what each tag adds to a word's features, [tags, embedding]: its slot, merged."""
    embedding = tensors["encoder.embedding.weight"]
    if "tags.merge.weight" not in tensors:
        return embedding[:0]
    size = embedding.shape[1]
    merge = tensors["tags.merge.weight"]  # [embedding, tags · embedding]
    count = merge.shape[1] // size
    slots = merge.reshape(-1, count, size)
    return np.asarray(np.einsum("otk,tk->to", slots, embedding[len(embedding) - count :]))
