"""The systems, each defined once over array operations that exist in NumPy, torch and ONNX.

This module is their table: the paper's seven and the extensions. Each row names the class that
defines a system, which is imported only when the system is used. ``model`` defines the interface,
``attention``, ``input_feeding`` and ``monotonic`` the systems, ``lattice`` all alignments of a
pair, and ``ops`` the engines.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hardalign.config import ModelConfig
from hardalign.errors import HardalignError

if TYPE_CHECKING:
    from hardalign.systems.model import AlignmentKind, Model, ScoreKind

SCORES: dict[ScoreKind, str] = {
    "exact": "log p(y | x), exact",
    "decoding rule": "the probability of the string under the rule that feeds back the most "
    "probable source position at each step",
    "best path": "a lower bound on log p(y | x): the probability of one way to write the string "
    "or, from a beam search, of all the ways it found",
}
"""What each kind of score means, in words for users."""


@dataclass(frozen=True)
class System:
    """A row of the table."""

    definition: str
    """Import path of its class, ``package.module:Class``; imported lazily for speed."""
    summary: str
    paper: str = "–"
    """Its name in the paper; – if it has none."""
    advice: str = ""
    """What the system is recommended for; empty if it is only for comparison."""

    @property
    def model(self) -> type[Model]:
        """The class that defines the system."""
        from hardalign.systems.model import Model

        module, _, name = self.definition.partition(":")
        try:
            model = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise HardalignError(f"cannot import {self.definition}: {error}") from error
        if not (isinstance(model, type) and issubclass(model, Model)):
            raise HardalignError(f"{self.definition} is not a subclass of hardalign's Model")
        return model

    @property
    def score(self) -> ScoreKind:
        """The kind of score its log-likelihood is; ``SCORES`` describes each kind."""
        return self.model.score

    @property
    def alignment(self) -> AlignmentKind:
        """The kind of alignments it has."""
        return self.model.alignment


_ATTENTION, _FEEDING = "hardalign.systems.attention", "hardalign.systems.input_feeding"

SYSTEMS = {
    "hard": System(
        f"{_ATTENTION}:Hard",
        "exact hard attention: every alignment is summed over",
        paper="4",
        advice="any task, including those that reorder the source",
    ),
    "soft": System(
        f"{_ATTENTION}:Soft", "soft attention: each symbol comes from a mix of source states", "3"
    ),
    "soft-feed": System(
        f"{_FEEDING}:SoftFeed", "soft attention with input feeding, no larger than soft", "1"
    ),
    "soft-feed-large": System(
        f"{_FEEDING}:SoftFeedLarge", "soft attention with input feeding, with more parameters", "U"
    ),
    "hard-feed": System(
        f"{_FEEDING}:HardFeed",
        "hard attention with input feeding, trained by a particle filter's bound",
        paper="2",
        advice="tasks where a symbol depends on where the symbols before it came from",
    ),
    "hard-feed-reinforce": System(
        f"{_FEEDING}:HardFeedReinforce",
        "hard-feed trained by REINFORCE as the paper describes it (existing code feeds back "
        "a renormalised mix of the sampled states)",
        paper="2",
    ),
    "hard-sampled": System(
        f"{_ATTENTION}:HardSampled",
        "hard attention trained by REINFORCE, predicting like hard",
        "R",
    ),
    "monotonic": System(
        "hardalign.systems.monotonic:Monotonic",
        "a pointer that only moves right, trained on a character aligner's paths",
        paper="M",
    ),
    "hard-prior": System(
        f"{_ATTENTION}:HardPrior", "hard with a position prior, as in IBM Model 2"
    ),
    "hard-hmm": System(
        f"{_ATTENTION}:HardHMM",
        "hard whose alignments are a first-order Markov chain, as in an HMM aligner",
        advice="any task; where to look depends on where the last symbol came from",
    ),
    "hard-monotonic": System(
        f"{_ATTENTION}:HardMonotonic",
        "hard-hmm that never goes back, all its alignments summed over",
        advice="tasks in which the alignment never goes back, such as pronunciation",
    ),
}
"""All built-in systems, by the name that users type."""


def find_system(name: str) -> System:
    """Return a system by name, built in or from an installed package."""
    system = SYSTEMS.get(name) or outside_systems().get(name)
    if system is None:
        known = ", ".join([*SYSTEMS, *outside_systems()])
        raise HardalignError(f"no system is called {name!r}; there are {known}")
    return system


@cache
def outside_systems() -> dict[str, System]:
    """Return the systems of installed packages, from the ``hardalign.systems`` entry points."""
    from importlib.metadata import entry_points

    systems = {}
    for entry in entry_points(group="hardalign.systems"):
        try:
            system = entry.load()
        except Exception as error:
            raise HardalignError(f"the system {entry.name} ({entry.value}): {error}") from error
        if not isinstance(system, System) or entry.name in SYSTEMS:
            raise HardalignError(f"{entry.value} is not a System, or {entry.name} is taken")
        systems[entry.name] = system
    return systems


def model_class(config: ModelConfig) -> type[Model]:
    """Return the class of a model's system, checking that it supports the options."""
    model = find_system(config.system).model
    for wanted, able, what in (
        (config.copying, "can_copy", "cannot copy"),
        (config.tags == "beside", "can_set_tags_beside", "cannot have tags beside the word"),
    ):
        if wanted and not getattr(model, able):
            others = ", ".join(name for name, row in SYSTEMS.items() if getattr(row.model, able))
            raise HardalignError(f"{config.system} {what}; the systems that can are {others}")
    return model
