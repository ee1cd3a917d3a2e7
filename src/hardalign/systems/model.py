"""What a system is: a class with these methods, written once over the operations of an engine.

read(words) → memory                   encode source words once
follow(memory, targets) → lattice      given targets: loss, scores, posteriors, paths, samples
step(state, rows, symbols) → Step      one more symbol: for search; when recorded, the ONNX graph

Two options, which do nothing if the vocabulary has no use for them. Copying: a source position may
also emit its own symbol, if both sides have it,

    p(y | j) = (1 − g_j) · softmax(W f)_y + g_j · [y = x_j],      g_j = sigmoid(w · f + b),

where f = tanh(S (h_i ⊕ e_j)), and g_j = 0 if the target side does not have the symbol. Letters in
neither vocabulary are read as unknown, and can be written only by copying. Tags beside the word:
encoder and attention see only begin, letters and end, and the decoder reads the sum of the tags'
embeddings at every step, together with the previous symbol.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

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
        """Pad source words into NumPy arrays."""
        symbols, lengths = pad([source.source for source in sources])
        return cls(symbols, lengths, np.array([source.tags for source in sources], np.intp))

    def __len__(self) -> int:
        return len(self.lengths)

    def mask(self, xp: Ops) -> Array:
        """Return the padding mask [B, J], false at padding."""
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
        """Return a mask [B, J], true at tags."""
        column = xp.arange(self.symbols.shape[1], self.symbols)
        return (column > 0) & (column < self.tag_counts[:, None] + 1)

    def columns(self, xp: Ops) -> Array:
        """Return the index [B, J] of each symbol in ``letters_only``; −1 for tags."""
        position = xp.arange(self.symbols.shape[1], self.symbols)
        letter = xp.where(position > 0, position - self.tag_counts[:, None], 0)
        return xp.where(self.is_tag(xp), -1, letter)


@dataclass(frozen=True)
class Targets:
    """Target strings, each belonging to a word of the batch."""

    word: Array | None  # [P] the word of each target; None if each word has one, in order
    symbols: Array  # [P, I] letters, end, padding
    lengths: Array  # [P]

    @classmethod
    def of(cls, word: Sequence[int] | None, targets: Sequence[Sequence[int]]) -> Targets:
        """Pad targets, each ending with END, into NumPy arrays."""
        symbols, lengths = pad(targets)
        return cls(None if word is None else np.array(word, np.intp), symbols, lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def mask(self, xp: Ops) -> Array:
        """Return the padding mask [P, I], false at padding."""
        return xp.arange(self.symbols.shape[1], self.symbols) < self.lengths[:, None]

    @cached_property
    def classes(self) -> Array:
        """[P, I] columns of the output layer, where END is column 0; arbitrary at padding."""
        return (self.symbols - END).clip(0)


class Step(NamedTuple):
    """One step of a search, one row per hypothesis."""

    log_probs: Array
    """[N, V] of the next symbol: column 0 is the end, column k the letter numbered END + k. A
    STEP action has one more column; copied out-of-vocabulary letters come last."""
    alpha: Array
    """[N, J] where the model looks before the next symbol is known."""
    state: Any
    """The state after this step, before hypotheses and symbols are selected."""


class Answering(ABC):
    """A distribution over target strings for each source string: the interface of searches.

    Results for a word never depend on padding or on the rest of its batch.
    """

    symbols: int
    """Number of symbols that can be produced, including the end."""
    step_action: int = -1
    """Number of the action that moves a pointer without writing, which lets one string be written
    in many ways; −1 if there is none. It occurs at most once per source symbol."""

    @abstractmethod
    def read(self, words: Words) -> Any:
        """Encode source words, once for all searches, scores and alignments."""

    @abstractmethod
    def start(self, memory: Any) -> Any:
        """Return the state before the first step: one hypothesis for each word."""

    @abstractmethod
    def step(self, state: Any, rows: Array | None, symbols: Array, tolerance: float = 0.0) -> Step:
        """Extend hypotheses and return the distribution of the next symbol.

        Args:
            state: The state of the previous hypotheses.
            rows: [N] the hypotheses to extend, possibly repeated. None: all, in order.
            symbols: [N] the symbol to extend each by; BEGIN at the first step.
            tolerance: Probability mass that may be left out to save time.
        """

    @abstractmethod
    def follow(self, memory: Any, targets: Targets) -> Lattice:
        """Return the lattice of alignments of given targets with their words."""

    def actions(self, memory: Any, targets: Targets) -> Array:
        """Return the actions [P, K] that write given targets, as a padded NumPy array."""
        return targets.symbols

    def estimate(self, memory: Any, targets: Targets, noise: Array) -> Array:
        """Return log p(y | x) [P] of given targets, estimated by sampling if it is intractable.

        ``noise`` is [P, I, S], independent and uniform in [0, 1), for S samples.
        """
        return self.follow(memory, targets).log_probs().sum(1)


class Model(Answering):
    """The base class of all systems."""

    alignment: ClassVar[AlignmentKind] = "posterior"
    """What its alignments are: p(a_i = j | x, y), attention weights, or a single path."""
    score: ClassVar[ScoreKind] = "exact"
    """The kind of score its log-likelihood is; ``SCORES`` describes each kind."""
    objective: ClassVar[Objective] = "likelihood"
    """What training maximises: the likelihood, REINFORCE's bound (sampling single positions or
    whole paths), or a particle filter's bound."""
    can_copy: ClassVar[bool] = False
    """Whether positions may also emit their own symbols."""
    can_copy_oov: ClassVar[bool] = False
    """Whether out-of-vocabulary letters can be copied. A system that never goes back could not
    write two of them in another order, and would rule out strings that other systems allow."""
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
    """Shift symbols [P, I] right by one, starting with BEGIN, for teacher forcing."""
    return xp.concatenate([symbols[:, :1] * 0 + BEGIN, symbols[:, :-1]], 1)


def pad(rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Pad rows into one array [B, longest]; return it with their lengths [B]."""
    lengths = np.array([len(row) for row in rows], np.intp)
    padded = np.full((len(rows), int(lengths.max(initial=0))), PAD, np.intp)
    for place, row in zip(padded, rows, strict=True):
        place[: len(row)] = row
    return padded, lengths


def copied_symbols(config: ModelConfig, vocabulary: Vocabulary) -> list[int]:
    """Return the target number that each source number is copied to; PAD if it has none.

    The list is empty if nothing can be copied or the model does not copy.
    """
    if not config.copying:
        return []
    target = vocabulary.target.letter_numbers
    copied = [target.get(letter, PAD) for letter in vocabulary.source.letters]
    if not any(copied):
        return []
    return [PAD] * RESERVED + copied + [PAD] * len(vocabulary.source.tags)


def tags_beside(config: ModelConfig, vocabulary: Vocabulary) -> int:
    """Return the number of tags beside the word; 0 if they are ordinary source symbols."""
    return len(vocabulary.source.tags) if config.tags == "beside" else 0


def indexer(config: ModelConfig, vocabulary: Vocabulary, layout: Format) -> Indexer:
    """Return the indexer that turns examples into a model's numbers."""
    can_copy = find_system(config.system).model.can_copy_oov
    copies = can_copy and bool(copied_symbols(config, vocabulary))
    return Indexer(vocabulary, layout.writes if copies else None)


@quiet  # weights of a diverged training run overflow in the first product
def build_model(config: ModelConfig, tensors: Mapping[str, Array], vocabulary: Vocabulary) -> Model:
    """Build a model for inference, in NumPy; it keeps views of its tensors."""
    model = model_class(config)(NumpyOps(), config, vocabulary, tensors)
    # Saves half of the memory: the engine's LSTMs have their own copies of the weights.
    model.p = {name: one for name, one in tensors.items() if ".weight_" not in name}
    return model


def build_members(
    members: Sequence[tuple[ModelConfig, Mapping[str, Array]]],
    vocabulary: Vocabulary,
    temperature: float = 1.0,
) -> Answering:
    """Build one model, or an ensemble of several, at a temperature."""
    models = [build_model(config, tensors, vocabulary) for config, tensors in members]
    if len(models) == 1 and temperature == 1:
        return models[0]
    from hardalign.systems.ensemble import Ensemble

    return Ensemble(models, temperature)
