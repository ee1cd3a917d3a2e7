"""The systems of the paper, one row each, and how they differ. Plain data, no torch.

Every system is an encoder, a decoder and a head; ``build.py`` puts them together as a row says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class System:
    """How a system differs from the others."""

    paper: str
    """Its name in the paper."""
    head: Literal["hard", "soft"]
    """Where the alignment weights α go: outside the softmax (hard) or inside it (soft)."""
    summary: str
    alignment: Literal["posterior", "attention", "path"] = "posterior"
    """What its alignments are: p(a_i = j | x, y), mere weights, or one path."""
    score: Literal["exact", "decoding rule", "best path"] = "exact"
    """What its log-likelihood is: of the string, of the string under the rule by which this system
    decodes, or of one path that spells the string (a lower bound)."""


SYSTEMS = {
    "hard": System("4", "hard", "exact hard attention: every alignment is summed over"),
    "soft": System(
        "3", "soft", "soft attention: each symbol comes from a mix of source states", "attention"
    ),
}
"""Every system by the name its users type."""
