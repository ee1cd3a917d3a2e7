"""What a system is: a class of these methods, written once over the operations of an engine.

read(words) → memory                   encode source words once
follow(memory, targets) → lattice      given targets: loss, scores, posteriors, paths, samples
step(state, rows, symbols) → Step      one symbol more: searches; recorded, the ONNX graph

Two options do nothing where the vocabulary has no use for them. Copying: a source position may also
emit its own symbol, where both sides have it,

    p(y | j) = (1 − g_j) · softmax(W f)_y + g_j · [y = x_j],      g_j = sigmoid(w · f + b),

f being tanh(S (h_i ⊕ e_j)). Where the target side does not have the symbol, g_j = 0. Letters out
of both vocabularies are read as unknown, and can be written only by copying them. Tags beside the
word: encoder and attention see begin, letters and end only, and the decoder reads the sum of the
tags' embeddings at every step, together with the previous symbol.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from hardalign.config import ModelConfig
from hardalign.data.formats import Format
from hardalign.data.vocabulary import BEGIN, END, PAD, RESERVED, Encoded, Indexer, Vocabulary
from hardalign.systems import find_system, model_class
from hardalign.systems.lattice import Lattice, quiet
from hardalign.systems.ops import Array, Ops
from hardalign.systems.ops.numpy import NumpyOps
from hardalign.systems.parameters import Parameters

AlignmentKind = Literal["posterior", "attention", "path"]
Objective = Literal["likelihood", "positions", "paths", "particles"]
ScoreKind = Literal["exact", "decoding rule", "best path"]


@dataclass(frozen=True)
class Words:
    """The source words of a batch."""

    symbols: Array  # [B, J] begin, tags, letters, end, padding
    lengths: Array  # [B]
    tag_counts: Array  # [B]

    @classmethod
    def of(cls, sources: Sequence[Encoded]) -> Words:
        """Pad source words, as NumPy arrays."""
        symbols, lengths = pad([source.source for source in sources])
        return cls(symbols, lengths, np.array([source.tags for source in sources], np.intp))

    def __len__(self) -> int:
        return len(self.lengths)

    def mask(self, xp: Ops) -> Array:
        """Return [B, J], false at padding."""
        return xp.arange(self.symbols.shape[1], self.symbols) < self.lengths[:, None]

    def letters_only(self, xp: Ops) -> Words:
        """Return the words without their tags: begin, letters, end, padding."""
        lengths = self.lengths - self.tag_counts
        position = xp.arange(lengths.max(), self.symbols)
        column = position + xp.where(position > 0, self.tag_counts[:, None], 0)  # [B, J']
        inside = position < lengths[:, None]
        letters = xp.take(self.symbols, xp.where(inside, column, 0), 1)
        return Words(xp.where(inside, letters, PAD), lengths, self.tag_counts * 0)

    def is_tag(self, xp: Ops) -> Array:
        """Return [B, J], true at tags."""
        column = xp.arange(self.symbols.shape[1], self.symbols)
        return (column > 0) & (column < self.tag_counts[:, None] + 1)

    def columns(self, xp: Ops) -> Array:
        """Return the index [B, J] of each symbol in ``letters_only``; −1 for tags."""
        position = xp.arange(self.symbols.shape[1], self.symbols)
        letter = xp.where(position > 0, position - self.tag_counts[:, None], 0)
        return xp.where(self.is_tag(xp), -1, letter)


@dataclass(frozen=True)
class Targets:
    """Target strings, each of one of the words of a batch."""

    word: Array | None  # [P] the word of each target; None where each word has one, in order
    symbols: Array  # [P, I] letters, end, padding
    lengths: Array  # [P]

    @classmethod
    def of(cls, word: Sequence[int] | None, targets: Sequence[Sequence[int]]) -> Targets:
        """Pad targets, each of which ends with END, as NumPy arrays."""
        symbols, lengths = pad(targets)
        return cls(None if word is None else np.array(word, np.intp), symbols, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def mask(self, xp: Ops) -> Array:
        """Return [P, I], false at padding."""
        return xp.arange(self.symbols.shape[1], self.symbols) < self.lengths[:, None]

    @cached_property
    def classes(self) -> Array:
        """[P, I] columns of the output layer, which begins with END; any at padding."""
        return (self.symbols - END).clip(0)


@dataclass(frozen=True)
class Step:
    """One step of a search, one row per hypothesis."""

    log_probs: Array
    """[N, V] of the next symbol: column 0 is the end, column k the letter numbered END + k. A
    system with a STEP action has one more column for it; out-of-vocabulary letters that a model
    copies follow all others."""
    alpha: Array
    """[N, J] where the model looks before the next symbol is known."""
    state: Any
    """After this step, before it is known which hypotheses go on and by which symbol."""


class Answering(ABC):
    """A distribution over target strings for each source string: what searches know of a model.

    What is computed for a word never depends on the rest of its batch, nor on padding.
    """

    symbols: int
    """How many symbols can be produced, the end included."""
    step_action: int = -1
    """Number of an action that moves a pointer and writes nothing, so that a string can be written
    in many ways; −1 if there is none. It occurs at most as often as there are source symbols."""

    @abstractmethod
    def read(self, words: Words) -> Any:
        """Encode source words, once for all searches, scores and alignments."""

    @abstractmethod
    def start(self, memory: Any) -> Any:
        """Return the state before the first step: one hypothesis for each word."""

    @abstractmethod
    def step(self, state: Any, rows: Array | None, symbols: Array, tolerance: float = 0.0) -> Step:
        """Extend hypotheses and return the distribution of what comes next.

        Args:
            state: Of the previous hypotheses.
            rows: [N] those that go on; one may go on in several ways. None: all, in order.
            symbols: [N] the symbol that each is extended by; BEGIN at the first step.
            tolerance: How much of the probability may be left out where that saves time.
        """

    @abstractmethod
    def follow(self, memory: Any, targets: Targets) -> Lattice:
        """Return the alignments of given targets with their words."""

    def actions(self, memory: Any, targets: Targets) -> Array:
        """Return the actions [P, K] that write given targets, padded; a NumPy array."""
        return targets.symbols

    def estimate(self, memory: Any, targets: Targets, noise: Array) -> Array:
        """Return log p(y | x) [P] of given targets, by sampling where it cannot be computed.

        ``noise`` is [P, I, S], independent and uniform in [0, 1), for S samples.
        """
        return self.follow(memory, targets).log_probs().sum(1)


class Model(Answering):
    """A system: everything about it is defined by a subclass."""

    alignment: ClassVar[AlignmentKind] = "posterior"
    """What its alignments are: p(a_i = j | x, y), mere weights, or one path."""
    score: ClassVar[ScoreKind] = "exact"
    """What its log-likelihood is; ``SCORES`` says it in words."""
    objective: ClassVar[Objective] = "likelihood"
    """What training maximises: the likelihood, REINFORCE's bound (of positions drawn one by one or
    of whole paths), or a particle filter's bound."""
    can_copy: ClassVar[bool] = False
    """Whether positions may also emit their own symbols."""
    can_copy_oov: ClassVar[bool] = False
    """Whether out-of-vocabulary letters can be copied. A system that never goes back could not
    write two of them in another order, and would find strings impossible that others have."""
    can_set_tags_beside: ClassVar[bool] = False
    can_export: ClassVar[bool] = False
    """Whether ``hardalign export`` can write it."""

    def __init__(
        self, xp: Ops, config: ModelConfig, vocabulary: Vocabulary, p: Mapping[str, Array]
    ) -> None:
        """Create a model from an engine and the tensors that ``parameters`` declares."""
        self.xp, self.config, self.vocabulary, self.p = xp, config, vocabulary, p

    @classmethod
    @abstractmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        """Declare every tensor of the model."""


def previous_symbols(xp: Ops, symbols: Array) -> Array:
    """Return the symbol before each of the symbols [P, I]; BEGIN at first."""
    return xp.concatenate([symbols[:, :1] * 0 + BEGIN, symbols[:, :-1]], 1)


def pad(rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Return rows as one array [B, longest], and their lengths [B]."""
    lengths = np.array([len(row) for row in rows], np.intp)
    padded = np.full((len(rows), int(lengths.max(initial=0))), PAD, np.intp)
    for place, row in zip(padded, rows, strict=True):
        place[: len(row)] = row
    return padded, lengths


def copied_symbols(config: ModelConfig, vocabulary: Vocabulary) -> list[int]:
    """Return the target number that each source number is copied to, PAD where there is none.

    The list is empty where nothing can be copied, or the model does not copy.
    """
    if not config.copying:
        return []
    target = vocabulary.target.letter_numbers
    copied = [target.get(letter, PAD) for letter in vocabulary.source.letters]
    if not any(copied):
        return []
    return [PAD] * RESERVED + copied + [PAD] * len(vocabulary.source.tags)


def tags_beside(config: ModelConfig, vocabulary: Vocabulary) -> int:
    """Return the number of tags beside words; 0 where they are symbols among the others."""
    return len(vocabulary.source.tags) if config.tags == "beside" else 0


def indexer(config: ModelConfig, vocabulary: Vocabulary, layout: Format) -> Indexer:
    """Return how a model numbers what it reads and writes."""
    can_copy = find_system(config.system).model.can_copy_oov
    copies = can_copy and bool(copied_symbols(config, vocabulary))
    return Indexer(vocabulary, layout.writes if copies else None)


@quiet  # weights of a training that diverges overflow in the first product
def build_model(config: ModelConfig, tensors: Mapping[str, Array], vocabulary: Vocabulary) -> Model:
    """Return a model that answers, in NumPy; views of its tensors are kept."""
    model = model_class(config)(NumpyOps(), config, vocabulary, tensors)
    # Half of the memory: the engine's LSTMs have weights of their own.
    model.p = {name: one for name, one in tensors.items() if ".weight_" not in name}
    return model


def build_members(
    members: Sequence[tuple[ModelConfig, Mapping[str, Array]]],
    vocabulary: Vocabulary,
    temperature: float = 1.0,
) -> Answering:
    """Return one model, or an ensemble of several, at a temperature."""
    models = [build_model(config, tensors, vocabulary) for config, tensors in members]
    if len(models) == 1 and temperature == 1:
        return models[0]
    from hardalign.systems.ensemble import Ensemble

    return Ensemble(models, temperature)
