"""What a system is: a class of these methods, written once over the operations of an engine.

read(words) → memory                   encode source words once
follow(memory, targets) → lattice      given targets: loss, scores, posteriors, paths, samples
step(state, rows, symbols) → Step      one symbol more: searches; recorded, the ONNX graph
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hardalign.config import ModelConfig
from hardalign.data.vocabulary import Vocabulary
from hardalign.systems.batch import Targets, Words
from hardalign.systems.lattice import Lattice
from hardalign.systems.ops import Array, Ops
from hardalign.systems.parameters import Parameters

LENGTH_LIMIT = 4
"""No prediction is longer than this many times its source, begin and end included."""

AlignmentKind = Literal["posterior", "attention", "path"]
Objective = Literal["likelihood", "positions", "paths", "particles"]
ScoreKind = Literal["exact", "decoding rule", "best path"]


@dataclass(frozen=True)
class Step:
    """One step of a search, one row per hypothesis."""

    log_probs: Array
    """[N, V] of the next symbol: column 0 is the end, column k the letter numbered END + k. A
    system with a silent action has one more column for it; letters out of vocabulary that words
    have and a model copies follow all others."""
    alpha: Array
    """[N, J] where the model looks before the next symbol is known."""
    state: Any
    """After this step, still to be told which hypotheses go on and by which symbol."""


class Answering(ABC):
    """A distribution over target strings for each source string: what searches know of a model.

    Nothing that is computed for a word may depend on the other words of its batch, nor on padding.
    """

    symbols: int
    """How many symbols can be produced, the end included."""
    silent: int = -1
    """Number of an action that writes nothing, so that a string can be written in many ways; −1 if
    there is none. A model takes silent actions at most as often as there are source symbols."""

    @abstractmethod
    def read(self, words: Words) -> Any:
        """Reads source words, once for all searches, scores and alignments."""

    @abstractmethod
    def start(self, memory: Any) -> Any:
        """Returns the state before the first step: one hypothesis for each word."""

    @abstractmethod
    def step(self, state: Any, rows: Array | None, symbols: Array, tolerance: float = 0.0) -> Step:
        """Continues hypotheses and says what may come next.

        Args:
            state: Of the hypotheses there were.
            rows: [N] those that go on; one may go on in several ways. None: all, in order.
            symbols: [N] by which symbol each goes on; BEGIN at the first step.
            tolerance: How much of the probability may be left out where that saves time.
        """

    @abstractmethod
    def follow(self, memory: Any, targets: Targets) -> Lattice:
        """Returns the alignments of given targets with the words they belong to."""

    def actions(self, memory: Any, targets: Targets) -> Array:  # noqa: ARG002
        """Returns the numbers of the actions [P, K] that write given targets, then padding."""
        return targets.symbols

    def estimate(self, memory: Any, targets: Targets, noise: Array) -> Array:  # noqa: ARG002
        """Returns log p(y | x) [P] of given targets, by sampling where it cannot be computed.

        Args:
            memory: The source words.
            targets: P of them.
            noise: [P, I, S] independent and uniform in [0, 1), for S samples.
        """
        return self.follow(memory, targets).log_probs().sum(1)


class Model(Answering):
    """A system: everything about it is defined by a subclass."""

    alignment: ClassVar[AlignmentKind] = "posterior"
    """What its alignments are: p(a_i = j | x, y), mere weights, or one path."""
    score: ClassVar[ScoreKind] = "exact"
    """What its log-likelihood is; ``table.SCORES`` says it in words."""
    objective: ClassVar[Objective] = "likelihood"
    """What training maximises: the likelihood, REINFORCE's bound (of positions drawn one by one or
    of whole paths), or a particle filter's bound."""
    can_copy: ClassVar[bool] = False
    """Whether positions may also emit their own symbols."""
    can_copy_oov: ClassVar[bool] = False
    """Whether letters out of both vocabularies can be copied: where it may look anywhere. One that
    never goes back could not write two of them in another order, so that it would find strings
    impossible that others have."""
    can_set_tags_beside: ClassVar[bool] = False
    can_export: ClassVar[bool] = False
    """Whether ``hardalign export`` can write it."""

    def __init__(
        self, xp: Ops, config: ModelConfig, vocabulary: Vocabulary, parameters: Mapping[str, Array]
    ) -> None:
        """Makes a model.

        Args:
            xp: The engine.
            config: Sizes and options.
            vocabulary: Its symbols.
            parameters: What ``parameters`` declares; NumPy keeps views of them.
        """
        self.xp, self.config, self.p = xp, config, parameters
        self.vocabulary = vocabulary

    @classmethod
    @abstractmethod
    def parameters(cls, config: ModelConfig, vocabulary: Vocabulary) -> Parameters:
        """Declares every tensor of the model."""
