"""Everything that the API reads and writes, as types.

JSON is checked against them, written from them, and described by them in OpenAPI.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Whole = Annotated[int, Meta(ge=0)]
Width = Annotated[int, Meta(ge=1)]
Weight = Annotated[float, Meta(ge=0, le=1)]
Kind = Literal["posterior", "attention", "path"]
From = Literal["lexicon", "model"]


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """A JSON object that has the fields of its type and no others."""


class Request(Message):
    """The words to predict, and how."""

    words: Annotated[
        list[str],
        Meta(
            description="The words; for a model with tags, each is lemma<TAB>TAG;TAG",
            examples=[["action", "knight"]],
        ),
    ]
    model: Annotated[str | None, Meta(description="Which model; if not given, the first")] = None
    nbest: Annotated[
        Width | None, Meta(description="How many strings for each word; if not given, one")
    ] = None
    beam: Annotated[
        Width | None,
        Meta(description="Width of the beam; if not given, 1 (greedy), with nbest at least 5"),
    ] = None
    alignments: Annotated[
        bool,
        Meta(description="Add to each prediction where its symbols came from; if not given, no"),
    ] = False


class Stop(Message):
    """Where the model looked when it stopped."""

    begin: Weight
    tags: list[Weight]
    source: list[Weight]
    end: Weight


class AlignmentAnswer(Message):
    """Where the symbols of one prediction came from."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    tags: tuple[str, ...]
    system: str
    kind: Annotated[Kind, Meta(description="What the weights are")]
    pairs: Annotated[
        list[tuple[Whole, Whole]],
        Meta(description="Source and target index of the most probable alignment, from 0"),
    ]
    weights: Annotated[
        list[list[Weight]],
        Meta(description="A row for each target symbol, a number for each source symbol"),
    ]
    begin: list[Weight]
    tag_weights: list[list[Weight]]
    end: list[Weight]
    stop: Stop
    entropy: Annotated[
        list[Annotated[float, Meta(ge=0)]],
        Meta(description="Uncertainty of each symbol's origin, in nats"),
    ]


class PredictionAnswer(Message):
    """One string that the model predicts."""

    text: str
    symbols: tuple[str, ...]
    log_prob: Annotated[float, Meta(description="Natural logarithm of its probability")]
    finished: Annotated[bool, Meta(description="False where the length limit cut it off")]
    ipa: Annotated[
        str | UnsetType, Meta(description="The same as IPA, if the model writes ARPAbet")
    ] = UNSET
    alignment: Annotated[
        AlignmentAnswer | UnsetType, Meta(description="If alignments were asked for")
    ] = UNSET


class WordAnswer(Message):
    """The answer to one word."""

    source: str
    tags: tuple[str, ...]
    origin: Annotated[
        From, Meta(description="Whether the word is known from a lexicon, or the model answers")
    ]
    unknown: Annotated[list[str], Meta(description="Symbols never seen in training")]
    predictions: Annotated[
        list[PredictionAnswer],
        Meta(description="Best first; of a known word all that the lexicon has, in its order"),
    ]


class Answers(Message):
    """An answer to each word, in the order of the words."""

    model: str
    answers: list[WordAnswer]


class ModelAnswer(Message):
    """What to know of a model before asking it."""

    name: str
    system: str
    summary: str
    alignment: Kind
    score: Annotated[str, Meta(description="What log_prob is")]
    exact: Annotated[bool, Meta(description="Whether that is log p(y | x) exactly")]
    source_separator: Annotated[str, Meta(description="Empty: each character is a symbol")]
    target_separator: str
    tag_separator: str
    tags: list[str]
    examples: Annotated[list[str], Meta(description="Words to begin with")]
    known: Annotated[Whole, Meta(description="Words that a lexicon answers")] = 0
    ipa: Annotated[
        bool, Meta(description="Whether it writes ARPAbet, and so predictions have ipa")
    ] = False


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a server; a request beyond one of them is told which.

    Work is counted in source symbols, those of long words more often, times the width of the beam,
    twice with alignments; see ``Question.work``. The bundled model does 7,500 of that in a second
    of one core's time, whatever the words, and the limits are made for a quarter of it: a request
    within them is far from the deadline, and what may wait is done before it.
    """

    body: Annotated[int, Meta(description="Bytes of a request's body")] = 1 << 20
    words: Annotated[int, Meta(description="Words of a request")] = 500
    symbols: Annotated[int, Meta(description="Symbols of a word, its tags included")] = 100
    beam: Annotated[int, Meta(description="Width of a beam, and strings for one word")] = 20
    work: Annotated[
        int,
        Meta(
            description="Work of a request: of each word of n symbols (n + 2)(n + 27)/25, times the"
            " width of the beam, twice that with alignments"
        ),
    ] = 24_000
    waiting: Annotated[int, Meta(description="Work of all requests that wait")] = 60_000
    seconds: Annotated[float, Meta(description="From a request's head to its answer")] = 30.0


class Models(Message):
    """The models, the first one first, and the limits of requests."""

    models: list[ModelAnswer]
    limits: Limits


class Health(Message):
    """That the server works."""

    version: str
    waiting: Annotated[Whole, Meta(description="Work that waits, as the limits count it")]
    status: Literal["ok"] = "ok"


class Refusal(Message):
    """What is wrong, in a sentence, with the limit, if there is one."""

    error: str
