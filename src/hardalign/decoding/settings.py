"""What to search for, checked before anything is searched."""

from __future__ import annotations

from dataclasses import dataclass

from hardalign.errors import HardalignError

DEFAULT_BEAM = 5
"""Width of the beam where several strings are asked for and no width is given."""
MASS_BEAM_LIMIT = 256
"""Width at which a search for probability mass gives up."""
MOST = 10_000
"""The widest beam, and the most strings for one word: all of them are in memory at a time."""


@dataclass(frozen=True)
class Search:
    """How answers are found, and how many. The default is greedy: the best symbol at every step.

    Raises:
        HardalignError: If the settings are impossible or contradict each other.
    """

    beam: int | None = None
    """Hypotheses followed side by side; 1 is greedy. None: 1, or more where ``nbest`` asks it."""
    nbest: int | None = None
    """How many different strings, the most probable ones found. None: 1."""
    mass: float | None = None
    """As many of the most probable strings as together have this probability; the beam is widened
    until they do, at most to ``MASS_BEAM_LIMIT``."""
    samples: int | None = None
    """How many strings to draw from the model's distribution, equal ones included."""
    seed: int = 0
    """Of the samples: the same seed draws the same strings for a word at the same place."""

    def __post_init__(self) -> None:
        for name in ("beam", "nbest", "samples"):
            value = getattr(self, name)
            if value is not None and not (hasattr(value, "__index__") and 1 <= value <= MOST):
                raise HardalignError(f"{name} must be from 1 to {MOST}, not {value!r}")
        if self.seed < 0:
            raise HardalignError(f"the seed must be at least 0, not {self.seed}")
        if self.mass is not None and not 0 < self.mass < 1:
            raise HardalignError(f"mass must be between 0 and 1, not {self.mass}")
        if self.beam is not None and self.nbest is not None and self.nbest > self.beam:
            raise HardalignError(
                f"a beam of {self.beam} finds no more than {self.beam} strings, not {self.nbest}; "
                "widen the beam"
            )
        width = self.beam is not None or self.nbest is not None
        if (width, self.mass is not None, self.samples is not None).count(True) > 1:
            raise HardalignError(
                "choose one of: a beam (with nbest), mass (which finds its own beam), samples"
            )

    @property
    def keep(self) -> int:
        """How many strings a beam search is to find."""
        return self.nbest or 1

    @property
    def most(self) -> int:
        """How many answers a word may have."""
        return self.samples or (MASS_BEAM_LIMIT if self.mass else self.keep)

    @property
    def width(self) -> int:
        """The beam to search with."""
        if self.beam is not None:
            return self.beam
        return 1 if self.nbest is None else max(self.nbest, DEFAULT_BEAM)
