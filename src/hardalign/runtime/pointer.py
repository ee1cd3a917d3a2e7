"""Hard monotonic attention: a pointer that only moves right (paper, section 8.2, system M)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hardalign.aligner import align_actions
from hardalign.data.vocabulary import BEGIN, END, PAD, Encoded
from hardalign.runtime.encoder import Encoder
from hardalign.runtime.interface import Runtime, Step
from hardalign.runtime.lattice import Lattice, Weighted
from hardalign.runtime.lstm import LSTM, Hidden, begin_layers, step_layers
from hardalign.runtime.numbers import Floats, Ints, log_softmax, unwarned
from hardalign.runtime.words import Targets, Words, pad, source_columns
from hardalign.shapes import ALIGNER_TABLE


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
        self._alignments = tensors[ALIGNER_TABLE]
        self._tags = _tag_vectors(tensors)
        self._tag_bias = tensors.get("tags.merge.bias")
        self._first_tag = len(tensors["encoder.embedding.weight"]) - len(self._tags)
        self.silent = len(embedding) - 1
        self.symbols = len(self._bias)

    @unwarned
    def read(self, words: Words) -> PointerMemory:
        """Reads source words."""
        letters = words.letters_only()
        states = self._encoder(letters)
        first = self._layers[0]
        end = self._split + states.ahead.shape[1] + states.back.shape[1]
        attended = states.project(first.input[self._split : end]).all
        if self._tag_bias is not None:
            present = words.count_tags(self._first_tag, len(self._tags)) > 0  # [B, tags]
            features = present.astype(self._tags.dtype) @ self._tags + self._tag_bias
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
        hidden = step_layers(self._layers, projected, state.hidden, rows)
        logits = hidden[-1].h @ self._weight
        logits += self._bias
        logits[pointer == memory.last[word], -1] = -np.inf  # there is nowhere left to step
        alpha = np.zeros((len(rows), memory.words.symbols.shape[1]), logits.dtype)
        columns = source_columns(pointer, memory.words.tag_counts[word])
        alpha[np.arange(len(rows)), columns] = 1
        after = PointerState(memory, word, pointer, hidden)
        return Step(log_softmax(logits), alpha, after)

    def follow(self, memory: PointerMemory, targets: Targets) -> Lattice:
        """Returns the aligner's paths; their scores are lower bounds of log p(y | x)."""
        actions = self.actions(memory, targets)
        every = np.arange(len(actions))
        state, previous = self._start(memory, targets.word), np.full(len(actions), BEGIN)
        scores = np.zeros(targets.symbols.shape, self._bias.dtype)
        alpha = np.zeros((*scores.shape, memory.words.symbols.shape[1]), scores.dtype)
        symbol = np.zeros(len(actions), np.intp)  # how many symbols each pair has written
        for action in actions.T:
            step = self.step(state, every, previous)
            state, previous = step.state, action
            rows = np.flatnonzero(action != PAD)
            scores[rows, symbol[rows]] += step.log_probs[rows, action[rows] - END]
            rows = rows[action[rows] != self.silent]
            alpha[rows, symbol[rows]] = step.alpha[rows]
            symbol[rows] += 1
        return Weighted(scores, alpha)

    def _start(self, memory: PointerMemory, word: Ints) -> PointerState:
        hidden = begin_layers(self._layers, len(word))
        return PointerState(memory, word, np.zeros(len(word), np.intp), hidden)

    def actions(self, memory: PointerMemory, targets: Targets) -> Ints:
        """Returns the aligner's actions [P, K] of given pairs."""
        words = memory.words
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
        return pad(align_actions(self._alignments, pairs, self.silent))[0]


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
