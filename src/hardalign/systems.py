"""The systems, one row each, and how they differ: the paper's seven and three that go on from them.

Plain data, no torch.

Every system is an encoder, a decoder and a head; ``build.py`` puts them together as a row says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True)
class System:
    """How a system differs from the others."""

    paper: str
    """Its name in the paper; – if it is not there."""
    head: Literal["hard", "soft", "pointer"]
    """Where the alignment weights α go: outside the softmax (hard) or inside it (soft); a pointer
    has none, it is at one position at a time."""
    summary: str
    alignment: Literal["posterior", "attention", "path"] = "posterior"
    """What its alignments are: p(a_i = j | x, y), mere weights, or one path."""
    score: ScoreKind = "exact"
    """What its log-likelihood is: of the string, of the string under the rule by which this system
    decodes, or of one path that spells the string (a lower bound)."""
    feeding: Literal["merged", "concatenated", "pointed"] | None = None
    """How the decoder is told what attention saw: by a linear map of no extra parameters in total,
    by a wider LSTM, by the encoder state that is pointed at, or not at all."""
    training: Literal["exact", "reinforce", "oracle"] = "exact"
    """By likelihood, on sampled alignments, or on the best alignments of a character aligner."""
    attention: Literal["content", "prior", "chain", "monotone chain"] = "content"
    """What says where to look besides what is there to see: nothing, how far along source and
    target are, or where the last symbol came from; and there, whether one may go back."""

    @property
    def exportable(self) -> bool:
        """Whether it can be exported to ONNX."""
        return self.feeding is None


SYSTEMS = {
    "hard": System(
        paper="4",
        head="hard",
        summary="exact hard attention: every alignment is summed over",
    ),
    "soft": System(
        paper="3",
        head="soft",
        alignment="attention",
        summary="soft attention: each symbol comes from a mix of source states",
    ),
    "soft-feed": System(
        paper="1",
        head="soft",
        feeding="merged",
        alignment="attention",
        summary="soft attention with input feeding, no larger than soft",
    ),
    "soft-feed-large": System(
        paper="U",
        head="soft",
        feeding="concatenated",
        alignment="attention",
        summary="soft attention with input feeding, with more parameters",
    ),
    "hard-feed": System(
        paper="2",
        head="hard",
        feeding="merged",
        training="reinforce",
        score="decoding rule",
        summary="hard attention with input feeding, trained by REINFORCE",
    ),
    "hard-sampled": System(
        paper="R",
        head="hard",
        training="reinforce",
        summary="hard attention trained by REINFORCE, predicting like hard",
    ),
    "monotonic": System(
        paper="M",
        head="pointer",
        feeding="pointed",
        training="oracle",
        alignment="path",
        score="best path",
        summary="a pointer that only moves right, trained on a character aligner's paths",
    ),
    "hard-prior": System(
        paper="–",
        head="hard",
        attention="prior",
        summary="hard with a position prior, as IBM Model 2 has one",
    ),
    "hard-hmm": System(
        paper="–",
        head="hard",
        attention="chain",
        summary="hard whose alignments are a first-order chain, as in an HMM aligner",
    ),
    "hard-monotonic": System(
        paper="–",
        head="hard",
        attention="monotone chain",
        summary="hard-hmm that never goes back, all its alignments summed over",
    ),
}
"""Every system by the name its users type."""


def find_system(name: str) -> System:
    """The row of a system.

    Raises:
        HardalignError: If there is none of that name.
    """
    if name not in SYSTEMS:
        raise HardalignError(f"no system is called {name!r}; there are {', '.join(SYSTEMS)}")
    return SYSTEMS[name]
