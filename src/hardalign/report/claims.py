"""The five findings of the paper, as claims that runs can decide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """One system is said to be better than another."""

    better: str
    worse: str
    differs: str
    """What the comparison holds equal or changes, in a few words."""


@dataclass(frozen=True)
class Finding:
    """What the paper found, and the claims that it consists of."""

    title: str
    statement: str
    claims: tuple[Claim, ...]


FINDINGS = (
    Finding(
        "Input feeding hurts",
        "Systems 3 and 4 are better than 1 and 2, in all settings and all tasks.",
        (
            Claim("soft", "soft-feed", "input feeding; soft attention, equally large"),
            Claim("hard", "hard-feed-reinforce", "input feeding, and REINFORCE instead of the sum"),
            Claim("hard-sampled", "hard-feed-reinforce", "input feeding; both by REINFORCE"),
            Claim("hard", "hard-feed", "input feeding, trained by a particle filter's bound"),
        ),
    ),
    Finding(
        "Hard attention beats soft attention",
        "4 is better than 3 when trained exactly; trained by REINFORCE, hard attention is worse "
        "(2 than 1).",
        (
            Claim("hard", "soft", "attention; both trained exactly"),
            Claim("soft-feed", "hard-feed-reinforce", "attention, with input feeding; REINFORCE"),
        ),
    ),
    Finding(
        "Non-monotonic beats monotonic",
        "The monotonic M is worse than the non-monotonic 3 (and 4).",
        (
            Claim("soft", "monotonic", "monotonic hard attention instead of soft attention"),
            Claim("hard", "monotonic", "monotonicity; hard attention both"),
        ),
    ),
    Finding(
        "Exact marginalisation beats REINFORCE",
        "4 is better than R, in every setting and on every data set.",
        (Claim("hard", "hard-sampled", "training; the same model"),),
    ),
    Finding(
        "Parameters, not input feeding, explain its success",
        "U, with more parameters, is better than 1; at equal size, input feeding (1) does not "
        "help (3).",
        (
            Claim("soft-feed-large", "soft-feed", "more parameters; both with input feeding"),
            Claim("soft", "soft-feed", "input feeding; equally large"),
        ),
    ),
)
