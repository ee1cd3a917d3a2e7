"""The JSON messages of the API as types: read, written and described (OpenAPI) by msgspec."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from hardalign import __version__


def about(text: str) -> Meta:
    """Describe a field."""
    return Meta(description=text)


Whole = Annotated[int, Meta(ge=0)]
Width = Annotated[int, Meta(ge=1)]
Weight = Annotated[float, Meta(ge=0, le=1)]
Kind = Literal["posterior", "attention", "path"]
From = Annotated[Literal["lexicon", "model"], about("From the lexicon or the model")]
ModelName = Annotated[str | None, about("Name of the model; by default the first")]


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """A JSON object with exactly the fields of its type."""


class WordsRequest(Message):
    """The words to predict."""

    words: Annotated[list[str], about("Words; for a model with tags, each is lemma<TAB>TAG;TAG")]
    model: ModelName = None
    nbest: Annotated[Width | None, about("Candidates for each word; by default one")] = None
    beam: Annotated[Width | None, about("Beam width; by default 1; with nbest, at least 5")] = None
    alignments: Annotated[bool, about("Add alignments to predictions; off by default")] = False


class TextRequest(Message):
    """The running text to pronounce."""

    text: Annotated[str, about("The text; line breaks and punctuation are kept")]
    model: ModelName = None
    ipa: Annotated[bool, about("Write IPA, if the model writes ARPAbet; off by default")] = False


class Stop(Message):
    """Weights of the step at which the model stopped, as in Alignment."""

    begin: Annotated[Weight, about("Weight of the mark before the word")]
    tags: Annotated[list[Weight], about("Weights of the tags")]
    source: Annotated[list[Weight], about("Weights of the source symbols")]
    end: Annotated[Weight, about("Weight of the mark after the word")]


class Alignment(Message):
    """Which source symbol each symbol of a prediction came from."""

    source: Annotated[tuple[str, ...], about("Source symbols")]
    target: Annotated[tuple[str, ...], about("Predicted symbols")]
    tags: Annotated[tuple[str, ...], about("Tags of the word")]
    system: Annotated[str, about("System of the model")]
    kind: Annotated[Kind, about("What the weights are")]
    pairs: Annotated[list[tuple[Whole, Whole]], about("Best alignment: source, target, from 0")]
    weights: Annotated[list[list[Weight]], about("A row for each target symbol, by source symbol")]
    begin: Annotated[list[Weight], about("Weights of the mark before the word")]
    tag_weights: Annotated[list[list[Weight]], about("Weights of the tags")]
    end: Annotated[list[Weight], about("Weights of the mark after the word")]
    stop: Annotated[Stop, about("Weights of the step at which the model stopped")]
    entropy: Annotated[list[Annotated[float, Meta(ge=0)]], about("Entropy of each row, in nats")]


class Prediction(Message):
    """One candidate."""

    text: Annotated[str, about("The predicted string")]
    symbols: Annotated[tuple[str, ...], about("The same as a list of symbols")]
    log_prob: Annotated[float, about("Natural logarithm of its probability")]
    finished: Annotated[bool, about("False if cut off at the length limit")]
    origin: From
    ipa: Annotated[str | UnsetType, about("The same in IPA, if the model writes ARPAbet")] = UNSET
    alignment: Annotated[Alignment | UnsetType, about("If alignments were requested")] = UNSET


class WordAnswer(Message):
    """The answer to one word."""

    source: Annotated[str, about("The word, without its tags")]
    tags: Annotated[tuple[str, ...], about("Its tags")]
    origin: Annotated[From, about("Origin of the first prediction")]
    unknown: Annotated[list[str], about("Symbols that are not in the vocabulary")]
    predictions: Annotated[list[Prediction], about("The lexicon's, then the model's; best first")]


class WordsAnswer(Message):
    """An answer to each word, in order."""

    model: Annotated[str, about("The model that answered")]
    answers: Annotated[list[WordAnswer], about("One for each word")]


class TextWord(Message):
    """A pronounced word of a text."""

    text: Annotated[str, about("The word as written in the text")]
    symbols: Annotated[tuple[str, ...], about("Its pronunciation")]
    origin: From


class TextAnswer(Message):
    """The text with its words pronounced. What the model cannot read, such as numbers, is kept."""

    model: Annotated[str, about("The model that answered")]
    text: Annotated[str, about("Pronunciations with blanks between symbols are in braces")]
    words: Annotated[list[TextWord], about("Each pronounced word, in order")]


class ModelDescription(Message):
    """What clients need to know about a model."""

    name: Annotated[str, about("Its name in requests")]
    system: Annotated[str, about("Its system, such as hard-hmm")]
    summary: Annotated[str, about("The system in a sentence")]
    alignment: Annotated[Kind, about("What the weights of its alignments are")]
    score: Annotated[str, about("What log_prob is")]
    exact: Annotated[bool, about("Whether that is log p(y | x) exactly")]
    source_separator: Annotated[str, about("If empty, each character is a symbol")]
    target_separator: Annotated[str, about("Separator between predicted symbols")]
    tag_separator: Annotated[str, about("Separator between tags")]
    tags: Annotated[list[str], about("The tags it knows; if empty, words have no tags")]
    examples: Annotated[list[str], about("Example words")]
    known: Annotated[Whole, about("Number of words in its lexicon")] = 0
    ipa: Annotated[bool, about("Whether it writes ARPAbet, so answers have ipa")] = False


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of a server. A request that exceeds one is refused, and told the limit."""

    body: Annotated[int, about("Bytes in the body of a request")] = 1 << 17
    words: Annotated[int, about("Words per request")] = 500
    characters: Annotated[int, about("Characters per word, as sent")] = 1000
    symbols: Annotated[int, about("Symbols per word, including tags")] = 100
    beam: Annotated[int, about("Beam width, and candidates per word")] = 20
    # The bundled model does 7,500 units per second on one core. The limits assume a quarter of
    # that, so that every accepted request is answered well before the deadline.
    work: Annotated[
        int,
        about(
            "Work per request. A word of n symbols counts (n + 2)(n + 27)/25 times "
            "the beam width, a known form of m symbols (m + 1)(n + 27)/25; twice with alignments"
        ),
    ] = 24_000
    waiting: Annotated[int, about("Work of all waiting requests")] = 60_000
    seconds: Annotated[float, about("Time for a request, from its head to the answer")] = 30.0


class Models(Message):
    """The models, the default first, and the limits of requests."""

    models: Annotated[list[ModelDescription], about("All models served")]
    limits: Annotated[Limits, about("The limits of requests")]


class Health(Message):
    """The server is up."""

    version: Annotated[str, about("Version of hardalign")]
    waiting: Annotated[Whole, about("Waiting work, as the limits count it")]
    status: Annotated[Literal["ok"], about("Always ok")] = "ok"


class Refusal(Message):
    """Why a request was refused."""

    error: Annotated[str, about("The reason, naming the limit if there is one")]


Schema = dict[str, Any]
REFUSALS = {
    "400": "Not a valid HTTP request, or the body is not JSON",
    "403": "The request comes from a page of another site, see --allow-origin",
    "404": "No such path, or no model of that name",
    "405": "The path does not support this method",
    "413": "One of the limits is exceeded",
    "415": "The content type is not application/json",
    "421": "A server on a loopback address was called by another name",
    "422": "Something in the body is wrong, such as a word without symbols",
    "500": "The server failed; its log says why",
    "503": "Too busy, or no answer in time; try again later",
}
"""Statuses of refused requests."""
ANY_REQUEST = ("400", "404", "405", "421", "500", "503")
"""Those possible for a request without a body."""


def describe_api() -> Schema:
    """Return the API as an OpenAPI 3.1 document."""
    types = [WordsRequest, TextRequest, WordsAnswer, TextAnswer, Models, Health, Refusal]
    schemas, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    content = [{"application/json": {"schema": schema}} for schema in schemas]
    words, text, words_answer, text_answer, models, health, refusal = content
    page = {"text/html": {"schema": {"type": "string"}}}

    def operation(summary: str, answer: Schema, body: Schema | None = None) -> Schema:
        responses = {"200": {"description": "The answer", "content": answer}}
        if answer is page:
            responses["304"] = {"description": "Unchanged since If-None-Match"}
        for status in REFUSALS if body else ANY_REQUEST:
            responses[status] = {"description": REFUSALS[status], "content": refusal}
        described: Schema = {"summary": summary, "responses": responses}
        if not body:
            return {"get": described}
        return {"post": {**described, "requestBody": {"required": True, "content": body}}}

    return {
        "openapi": "3.1.0",
        "info": {"title": "hardalign", "version": __version__},
        "paths": {
            "/": operation("The page", page),
            "/docs": operation("This API as a page", page),
            "/health": operation("Whether the server is up", health),
            "/models": operation("The models and the limits", models),
            "/openapi.json": operation(
                "This API as OpenAPI", {"application/json": {"schema": {"type": "object"}}}
            ),
            "/predict": operation("Predict words", words_answer, words),
            "/text": operation("Pronounce the words of a running text", text_answer, text),
        },
        "components": {"schemas": components},
    }
