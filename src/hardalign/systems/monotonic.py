"""Hard monotonic attention: a pointer that only moves right (paper, section 8.2, system M).

The decoder reads the source symbol under the pointer and chooses an action: write a symbol, STEP to
the next position, or end. It is trained on the actions of a character aligner (Aharoni & Goldberg
2017). Many sequences of actions write the same string, so the score of one of them is a lower bound
on log p(y | x), tight if the model is sure of when to step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hardalign import aligner
from hardalign.aligner import align_actions, aligner_pair
from hardalign.config import ModelConfig
from hardalign.data.vocabulary import END, PAD, Encoded, Vocabulary
from hardalign.systems import parameters
from hardalign.systems.lattice import Lattice, WeightedLattice, quiet
from hardalign.systems.model import Model, Step, Targets, Words, pad, previous_symbols
from hardalign.systems.ops import Array, Hidden, Ops
from hardalign.systems.parameters import ALIGNER_TABLE, Parameter, Parameters

CACHED_PAIRS = 1 << 18
"""Maximum number of pairs whose actions are cached, since scoring may run for a long time."""


@dataclass(frozen=True)
class Memory:
    """Encoded source words."""

    words: Words  # with their tags
    states: Array  # [B, J, 2H] e_j of begin, letters and end
    tags: Array | None  # [B, embedding] a word's tags as the decoder reads them, if any
    last: Array  # [B] the position of the end symbol
    columns: Array  # [B, J] ``Words.columns``


class State(NamedTuple):
    """The state of N hypotheses."""

    memory: Memory
    word: Array  # [N]
    pointer: Array  # [N]
    hidden: Hidden


class Monotonic(Model):
    """An encoder, a decoder over actions and attended states, and an aligner to learn from."""

    alignment = "path"
    score = "best path"

    def __init__(
        self, xp: Ops, config: ModelConfig, vocabulary: Vocabulary, p: Mapping[str, Array]
    ) -> None:
        super().__init__(xp, config, vocabulary, p)
        self.encoder, self.decoder = xp.encoder(p), xp.decoder(p)
        self.tags = len(vocabulary.source.tags)
        self.step_action = len(vocabulary.target)  # STEP, numbered after the target's symbols
        self.symbols = self.step_action + 1 - END
        self._cache: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
        self._cached_by = b""

    @classmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        """Declare encoder, decoder, output and the aligner's table."""
        actions, tags = len(vocabulary.target) + 1, len(vocabulary.source.tags)
        width, layers = config.embedding, config.decoder_layers
        hidden = cls.decoder_width(config, actions, tags)
        inputs = width + 2 * config.encoder + (width if tags else 0)
        declared = (
            parameters.encoder(config, len(vocabulary.source))
            | parameters.embedding("decoder.embedding", actions, width)
            | parameters.lstm("decoder.lstm", inputs, hidden, layers)
            | parameters.linear("decoder.output", hidden, actions)
        )
        if tags:
            declared |= parameters.linear("tags.merge", tags * width, width)
        letters = (len(vocabulary.source.letters) + 2, len(vocabulary.target.letters) + 2)
        return declared | {ALIGNER_TABLE: Parameter(letters, trained=False)}

    @classmethod
    def decoder_width(cls, config: ModelConfig, actions: int, tags: int) -> int:
        """Return the decoder width that uses up the parameters of T and S in `soft` (8.2).

        Both count STEP among their symbols here, as in the paper. Many tags, with a slot each, can
        cost more than T and S, but the width never falls below the configured one.
        """
        width, encoded, layers = config.embedding, 2 * config.encoder, config.decoder_layers
        joint = parameters.full_joint(config)
        merge = (tags * width + 1) * width if tags else 0
        attended = encoded + (width if tags else 0)

        def size(inputs: int, hidden: int, seen: int) -> int:
            lstm = parameters.count(parameters.lstm("", inputs, hidden, layers))
            return lstm + (width + seen + 1) * actions  # embedding and output

        attention = (encoded + 1) * config.decoder + (joint + 1) * joint  # T and S
        goal = size(width, config.decoder, joint) + attention - merge
        found = parameters.closest(lambda hidden: size(width + attended, hidden, hidden), goal)
        return max(found, config.decoder)

    def fit(self, pairs: Sequence[Encoded]) -> Array:
        """Train an aligner on pairs; return its table in stored form."""
        sizes = self.p[ALIGNER_TABLE].shape[0] - 1, self.p[ALIGNER_TABLE].shape[1] - 1
        table = aligner.fit([aligner_pair(pair) for pair in pairs], *sizes)
        stored = np.asarray(table, np.float32)
        stored[0, 0] = 0.0  # its only infinite entry, which is never read
        return stored

    @quiet
    def read(self, words: Words) -> Memory:
        letters = words.letters_only(self.xp)
        states = self.xp.dense(self.encoder(letters.symbols, letters.lengths))
        tags = self._tag_vectors(words) if self.tags else None
        return Memory(words, states, tags, letters.lengths - 1, words.columns(self.xp))

    def _tag_vectors(self, words: Words) -> Array:
        """Return tag vectors [B, embedding]; each known tag has a slot, so order is irrelevant."""
        xp, table = self.xp, self.p["encoder.embedding.weight"]
        first = len(self.vocabulary.source) - self.tags
        slots = xp.arange(self.tags, words.symbols) + first
        number = xp.where(words.is_tag(xp), words.symbols, PAD)
        has = (number[:, :, None] == slots).any(1)[:, :, None]  # [B, tags, 1]
        slotted = xp.dropout(xp.where(has, table[first:], 0.0))
        matrix = xp.matrix(self.p["tags.merge.weight"])
        return xp.project(slotted.reshape(len(words), -1), matrix, self.p["tags.merge.bias"])

    def start(self, memory: Memory) -> State:
        rows = len(memory.words)
        word = self.xp.arange(rows, memory.words.symbols)
        return State(memory, word, word * 0, self.decoder.begin(rows))

    @quiet
    def step(
        self, state: State, rows: Array | None, symbols: Array, tolerance: float = 0.0
    ) -> Step:
        xp, memory, word = self.xp, state.memory, self.xp.rows(state.word, rows)
        pointer = xp.rows(state.pointer, rows) + (symbols == self.step_action)
        seen = self._seen(memory, word, pointer[:, None])[:, 0]
        h, hidden = self.decoder.step(state.hidden, rows, symbols, seen)
        at_end = pointer == xp.rows(memory.last, word)
        columns = xp.rows(memory.columns, word)
        alpha = xp.where(columns == pointer[:, None], 1.0, xp.zeros(seen, 1))
        after = State(memory, word, pointer, hidden)
        log_probs = xp.log_softmax(self._logits(h, at_end[:, None]))
        return Step(log_probs[:, 0], alpha, after)

    def _seen(self, memory: Memory, word: Array | None, pointer: Array) -> Array:
        """Return the decoder's extra inputs [P, K, ·] at pointers [P, K]."""
        xp = self.xp
        states = xp.take(xp.rows(memory.states, word), pointer[:, :, None], 1)
        if memory.tags is None:
            return states
        tags = xp.rows(memory.tags, word)[:, None]
        return xp.concatenate([states, tags + xp.zeros(tags, *pointer.shape, 1)], 2)

    def _logits(self, h: Array, at_end: Array) -> Array:
        """Return logits [..., V] of end, letters and finally STEP, impossible ``at_end``."""
        xp = self.xp
        weight, bias = (self.p[f"decoder.output.{name}"][END:] for name in ("weight", "bias"))
        logits = xp.project(h, xp.matrix(weight), bias)
        is_step = xp.arange(self.symbols, at_end) == self.symbols - 1
        return xp.masked(logits, ~(at_end[..., None] & is_step))

    @quiet
    def follow(self, memory: Memory, targets: Targets) -> Lattice:
        """Return the aligner's paths; a symbol's score includes the STEPs before it."""
        xp, word = self.xp, targets.word
        actions = xp.array(self.actions(memory, targets), targets.symbols)  # [P, K]
        stepped = actions == self.step_action
        pointer = stepped.cumsum(1) - stepped * 1  # before each action
        h = self.decoder.follow(previous_symbols(xp, actions), self._seen(memory, word, pointer))
        at_end = pointer == xp.rows(memory.last, word)[:, None]
        classes = (actions - END).clip(0)
        scores = xp.log_prob(self._logits(h, at_end), classes)
        scores = xp.where(actions == PAD, 0.0, scores)
        written = ((~stepped) * 1).cumsum(1) - (~stepped) * 1  # symbols before each action
        place = written[:, :, None] == xp.arange(targets.symbols.shape[1], actions)  # [P, K, I]
        scores = xp.where(place, scores[:, :, None], 0.0).sum(1)
        writes = ~stepped & (actions != PAD)
        at = xp.where(place & writes[:, :, None], pointer[:, :, None], 0).sum(1)  # [P, I]
        columns = xp.rows(memory.columns, word)[:, None]  # [P, 1, J]
        is_there = (columns == at[:, :, None]) & targets.mask(xp)[:, :, None]
        return WeightedLattice(scores, xp.where(is_there, 1.0, xp.zeros(scores, 1)))

    def actions(self, memory: Memory, targets: Targets) -> Array:
        """Return the actions [P, K] of the aligner's best alignments, as a NumPy array."""
        words = memory.words
        every: Sequence[int] = range(len(words)) if targets.word is None else targets.word.tolist()
        symbols, lengths, tags = (
            part.tolist() for part in (words.symbols, words.lengths, words.tag_counts)
        )
        pairs = [
            Encoded(symbols[word][: lengths[word]], tags[word], target[:length])
            for word, target, length in zip(
                every, targets.symbols.tolist(), targets.lengths.tolist(), strict=True
            )
        ]
        return pad(self._aligned(pairs))[0]

    def _aligned(self, pairs: Sequence[Encoded]) -> list[list[int]]:
        """Return the actions of pairs, aligning those that are not cached in one batch."""
        table = self.xp.numpy(self.p[ALIGNER_TABLE])
        if len(self._cache) > CACHED_PAIRS or self._cached_by != table.tobytes():
            self._cache, self._cached_by = {}, table.tobytes()
        # Another thread may replace the cache meanwhile.
        cache = self._cache
        # An alignment depends only on the letters.
        keys = [(tuple(p.source[1 + p.tags : -1]), tuple(p.target[:-1])) for p in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in cache}
        actions = align_actions(table, list(new.values()), self.step_action)
        cache.update(zip(new, actions, strict=True))
        return [cache[key] for key in keys]
