"""The body of ``POST /predict``: read, checked, and cut into symbols."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from starlette.exceptions import HTTPException

from hardalign.data.formats import Example
from hardalign.errors import HardalignError
from hardalign.predictor import Predictor
from hardalign.search import Search
from hardalign.serve.messages import Limits, Request


@dataclass(frozen=True)
class Question:
    """What one request asks."""

    model: str
    search: Search
    words: list[Example]
    alignments: bool = False

    @property
    def group(self) -> tuple[str, Search, bool]:
        """Returns what questions have in common that can be answered together."""
        return self.model, self.search, self.alignments

    @cached_property
    def work(self) -> list[int]:
        """Returns the work of each word: a step for each symbol, and in each a look at all."""
        sizes = [_size(word) + 2 for word in self.words]  # begin and end are looked at too
        times = self.search.width * (1 + self.alignments)
        return [size * (size + 25) // 25 * times for size in sizes]


def read_question(body: bytes, models: Mapping[str, Predictor], limits: Limits) -> Question:
    """Reads a question from a request's body.

    Raises:
        HTTPException: With what is wrong; its status is 400 for what is no JSON, 404 for a model
            that is not there, 413 for too much, 422 for the rest.
    """
    request = _request(body)
    model = next(iter(models)) if request.model is None else request.model
    if model not in models:
        raise HTTPException(404, f"no model is called {model!r:.80}; there are {', '.join(models)}")
    if len(request.words) > limits.words:
        raise HTTPException(
            413, f"{len(request.words)} words; the limit of a request is {limits.words}"
        )
    try:
        search = Search(beam=request.beam, nbest=request.nbest)
    except HardalignError as error:
        raise HTTPException(422, str(error)) from error
    if search.width > limits.beam:
        raise HTTPException(422, f"a beam of {search.width}; the limit is {limits.beam}")
    words = [_word(k, text, models[model], limits) for k, text in enumerate(request.words)]
    question = Question(model, search, words, request.alignments)
    if (work := sum(question.work)) > limits.work:
        raise HTTPException(
            413,
            f"too much for one request: the work (symbols times beam, see /docs) is {work}, the "
            f"limit {limits.work}; send the words in several requests",
        )
    return question


def _request(body: bytes) -> Request:
    """Returns the JSON object with the fields and types that it should have."""
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from error
    if b"\\ud" in body.lower() and not _is_text(value):
        raise HTTPException(422, "the body has half a character: a surrogate without its other")
    try:
        return msgspec.convert(value, Request)
    except msgspec.ValidationError as error:
        raise HTTPException(422, _plain(error)) from error


def _is_text(value: Any) -> bool:
    """Tells whether all strings are made of characters, so that they can be sent back."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(error: msgspec.ValidationError) -> str:
    """Returns the reason without marks: ``words[0]: expected str, got int``."""
    message, _, place = str(error).replace("`", "").partition(" - at $")
    if place:
        return f"{place.lstrip('.')}: {message[0].lower()}{message[1:]}"
    keys = ", ".join(Request.__struct_fields__)
    return f"the body: {message[0].lower()}{message[1:]:.80}; it should be an object with {keys}"


def _word(position: int, text: str, predictor: Predictor, limits: Limits) -> Example:
    try:
        word = predictor.example(text)
    except HardalignError as error:
        raise HTTPException(422, f"words[{position}]: {error}") from error
    if (size := _size(word)) > limits.symbols:
        message = f"words[{position}] has {size} symbols; the limit is {limits.symbols}"
        raise HTTPException(413, message)
    return word


def _size(word: Example) -> int:
    return len(word.source) + len(word.tags)
