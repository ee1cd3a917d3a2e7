"""The systems, one row each: the paper's, and those that go on from them.

Plain data, no torch. Every system is an encoder, a decoder, an attention, a head and an objective.
A row names its parts, ``hardalign.networks.build`` composes what learns from them and
``hardalign.runtime`` what answers; nothing about a system is decided anywhere else.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from hardalign.errors import HardalignError

ScoreKind = Literal["exact", "decoding rule", "best path"]

SCORES: dict[ScoreKind, str] = {
    "exact": "log p(y | x), exact",
    "decoding rule": "the probability of the string under the rule that feeds back the most "
    "probable source position at each step",
    "best path": "a lower bound of log p(y | x): the probability of one way to write the string "
    "or, from a beam search, of those ways that it found",
}
"""What the scores of a system are, in words for its users."""

CHAINS = ("chain", "monotone chain")
"""Attentions whose next position depends on the last one."""


@dataclass(frozen=True)
class Builders:
    """Names what builds a system of another package by import paths, ``package.module:name``.

    Paths and not functions, since nothing that answers may import torch.
    """

    network: str
    """From a ``ModelConfig`` and a ``Vocabulary`` to a ``hardalign.networks.Transducer``."""
    runtime: str
    """From a ``ModelConfig`` and a model's tensors by name to a ``hardalign.runtime.Runtime``."""
    shapes: str
    """From a ``ModelConfig`` and a ``Vocabulary`` to the shapes of the tensors by name."""


@dataclass(frozen=True)
class System:
    """Names the parts that a system is made of.

    Raises:
        HardalignError: If the parts do not fit together.
    """

    paper: str
    """Its name in the paper; – if it is not there."""
    summary: str
    attention: Literal["content", "prior", "chain", "monotone chain", "pointer"] = "content"
    """What says where to look: what is there to see; besides that how far along source and target
    are; or where the last symbol came from, and whether one may go back; or a pointer."""
    head: Literal["hard", "soft", "pointer"] = "hard"
    """Where the weights α go: outside the softmax (hard) or inside it (soft). A pointer has none,
    it is at one position at a time."""
    feeding: Literal["merged", "concatenated", "pointed"] | None = None
    """How the decoder learns what attention saw: by a linear map of no extra parameters in total,
    by a wider LSTM, by the encoder state that is pointed at, or not at all."""
    objective: Literal["likelihood", "reinforce", "particles", "oracle"] = "likelihood"
    """What training raises: the exact likelihood, REINFORCE's bound, a particle filter's bound, or
    the likelihood of a character aligner's paths."""
    advice: str = ""
    """What the system is recommended for; empty if for nothing but comparison."""

    builders: Builders | None = None
    """What builds it, where the parts above only describe it: for systems of other packages."""

    def __post_init__(self) -> None:
        if problem := self._problem():
            raise HardalignError(f"a system cannot be {self._parts()}: {problem}")

    @property
    def alignment(self) -> Literal["posterior", "attention", "path"]:
        """What its alignments are: p(a_i = j | x, y), mere weights, or one path."""
        kinds: dict[str, Literal["posterior", "attention", "path"]]
        kinds = {"hard": "posterior", "soft": "attention", "pointer": "path"}
        return kinds[self.head]

    @property
    def score(self) -> ScoreKind:
        """What its log-likelihood is; ``SCORES`` says it in words."""
        if self.head == "pointer":
            return "best path"
        return "decoding rule" if self.feedback else "exact"

    @property
    def feedback(self) -> Literal["alpha", "posterior"] | None:
        """By what the one position is chosen that hard attention feeds back when it decodes.

        The largest α_j(i), before the symbol is known, where training draws from α; the largest
        posterior α_j(i) p(y_i | j) given the symbol that was chosen, where training draws from
        that. None where no single position is fed back.
        """
        if self.head != "hard" or self.feeding is None:
            return None
        return "posterior" if self.objective == "particles" else "alpha"

    @property
    def exportable(self) -> bool:
        """Whether ``hardalign export`` can write it."""
        return self.feeding is None and self.builders is None

    @property
    def can_copy(self) -> bool:
        """Whether its positions may also emit their own symbols; see ``hardalign.options``."""
        return self.head == "hard" and self.can_part_tags

    @property
    def can_copy_unseen(self) -> bool:
        """Whether letters can be copied that were never seen: where it may look anywhere.

        One that never goes back could not write two of them in another order, so that it would find
        strings impossible that others have.
        """
        return self.can_copy and self.attention != "monotone chain"

    @property
    def can_part_tags(self) -> bool:
        """Whether tags can be beside words; see ``hardalign.options``."""
        return self.feeding is None and self.builders is None

    def _parts(self) -> str:
        feeding = f"{self.feeding} feeding" if self.feeding else "no feeding"
        return f"{self.attention} attention, {self.head} head, {feeding}, {self.objective}"

    def _problem(self) -> str:
        """Returns why the parts do not fit together; empty if they do."""
        parts = (self.attention, self.head, self.feeding, self.objective)
        pointer = ("pointer", "pointer", "pointed", "oracle")
        if parts == pointer:
            return ""
        if any(part == of_pointer for part, of_pointer in zip(parts, pointer, strict=True)):
            return "pointer, pointer, pointed and oracle go together"
        if self.head == "soft":
            if self.objective != "likelihood":
                return "soft attention has no positions to draw; its likelihood is exact"
            if self.attention in CHAINS:
                return "soft attention is at no position from which a chain could go on"
        if self.feeding is None:
            if self.objective == "particles":
                return "without feeding there is nothing to draw; the likelihood is exact"
            if self.objective == "reinforce" and self.attention in CHAINS:
                return "positions of a chain cannot be drawn each for itself"
            return ""
        if self.attention != "content":
            return "feeding is written for content attention only"
        if self.head == "hard" and self.objective == "likelihood":
            return "with feeding every alignment has a decoder of its own, too many to sum over"
        return ""


SYSTEMS = {
    "hard": System(
        paper="4",
        summary="exact hard attention: every alignment is summed over",
        advice="any task, also where source and target are ordered differently",
    ),
    "soft": System(
        paper="3",
        head="soft",
        summary="soft attention: each symbol comes from a mix of source states",
    ),
    "soft-feed": System(
        paper="1",
        head="soft",
        feeding="merged",
        summary="soft attention with input feeding, no larger than soft",
    ),
    "soft-feed-large": System(
        paper="U",
        head="soft",
        feeding="concatenated",
        summary="soft attention with input feeding, with more parameters",
    ),
    "hard-feed": System(
        paper="2",
        feeding="merged",
        objective="particles",
        summary="hard attention with input feeding, trained by a particle filter's bound",
        advice="tasks where a symbol depends on where the symbols before it came from",
    ),
    "hard-feed-reinforce": System(
        paper="2",
        feeding="merged",
        objective="reinforce",
        summary="hard-feed trained by REINFORCE as the paper's text has it (code in circulation "
        "feeds back a renormalised mix of the drawn states)",
    ),
    "hard-sampled": System(
        paper="R",
        objective="reinforce",
        summary="hard attention trained by REINFORCE, predicting like hard",
    ),
    "monotonic": System(
        paper="M",
        attention="pointer",
        head="pointer",
        feeding="pointed",
        objective="oracle",
        summary="a pointer that only moves right, trained on a character aligner's paths",
    ),
    "hard-prior": System(
        paper="–",
        attention="prior",
        summary="hard with a position prior, as IBM Model 2 has one",
    ),
    "hard-hmm": System(
        paper="–",
        attention="chain",
        summary="hard whose alignments are a first-order chain, as in an HMM aligner",
        advice="any task; where a symbol is looked for depends on where the last one was",
    ),
    "hard-monotonic": System(
        paper="–",
        attention="monotone chain",
        summary="hard-hmm that never goes back, all its alignments summed over",
        advice="tasks in which the alignment never goes back, such as pronunciation",
    ),
}
"""Every system by the name its users type."""

DEFAULT_SYSTEM = "hard-hmm"
"""The system that is trained when none is named.

With seed 0 both chains beat `hard` on all five data sets on which they were compared, at 1.1 times
its cost. Of the two this is the one that may go back, so that it suits any task.
"""


def find_system(name: str) -> System:
    """Returns the row of a system, also of one that an installed package brings.

    Raises:
        HardalignError: If there is none of that name.
    """
    system = SYSTEMS.get(name) or outside_systems().get(name)
    if system is None:
        known = ", ".join([*SYSTEMS, *outside_systems()])
        raise HardalignError(f"no system is called {name!r}; there are {known}")
    return system


@cache
def outside_systems() -> dict[str, System]:
    """Returns the systems that installed packages bring, by entry points ``hardalign.systems``.

    Raises:
        HardalignError: If one of them cannot be loaded, or is no system.
    """
    from importlib.metadata import entry_points

    systems = {}
    for entry in entry_points(group="hardalign.systems"):
        try:
            system = entry.load()
        except Exception as error:
            raise HardalignError(f"the system {entry.name} ({entry.value}): {error}") from error
        if not isinstance(system, System) or entry.name in SYSTEMS:
            raise HardalignError(f"{entry.value} is not a System, or not a new one: {entry.name}")
        systems[entry.name] = system
    return systems


def imported(path: str) -> Any:
    """Returns what an import path of ``Builders`` means."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
