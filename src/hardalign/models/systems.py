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


SYSTEMS = {
    "hard": System("4", "hard", "exact hard attention: every alignment is summed over"),
    "soft": System("3", "soft", "soft attention: each symbol comes from a mix of source states"),
}
"""Every system by the name its users type."""
