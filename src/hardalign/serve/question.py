"""The body of ``POST /predict``: read, checked, and cut into symbols."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

from hardalign.data.example import Example
from hardalign.decoding import Search
from hardalign.errors import HardalignError
from hardalign.predictor import Predictor
from hardalign.serve.limits import Limits


@dataclass(frozen=True)
class Question:
    """What one request asks."""

    model: str
    search: Search
    words: list[Example]
    alignments: bool = False

    @property
    def group(self) -> tuple[str, Search]:
        """Questions of the same group can be answered together."""
        return self.model, self.search


KEYS: dict[str, type] = {
    "model": str,
    "words": list,
    "nbest": int,
    "beam": int,
    "alignments": bool,
}
"""What a question may say, and the type of each."""


def read_question(body: bytes, models: Mapping[str, Predictor], limits: Limits) -> Question:
    """Take a question out of a request's body.

    Raises:
        HTTPException: With what is wrong; its status is 400 for what is no JSON, 404 for a model
            that is not there, 413 for too much, 422 for the rest.
    """
    content = _content(body)
    model = content.get("model", next(iter(models)))
    if model not in models:
        raise HTTPException(404, f"no model is called {model!r}; there are {', '.join(models)}")
    texts, aligned = content["words"], content.get("alignments", False)
    most = limits.aligned if aligned else limits.words
    if len(texts) > most:
        what = "words with alignments" if aligned else "words"
        raise HTTPException(413, f"{len(texts)} {what}; the limit of a request is {most}")
    try:
        search = Search(beam=content.get("beam"), nbest=content.get("nbest"))
    except HardalignError as error:
        raise HTTPException(422, str(error)) from error
    if search.width > limits.beam:
        raise HTTPException(422, f"a beam of {search.width}; the limit is {limits.beam}")
    words = [_word(k, text, models[model], limits) for k, text in enumerate(texts)]
    return Question(model, search, words, aligned)


def _content(body: bytes) -> dict[str, Any]:
    """The JSON object, with the keys and types that it should have."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise HTTPException(422, "the body should be a JSON object")
    if "words" not in content:
        raise HTTPException(422, "words is missing: a list of what to predict")
    for key, value in content.items():
        if key not in KEYS:
            raise HTTPException(422, f"no such key: {key!r:.40}; there are {', '.join(KEYS)}")
        if type(value) is not KEYS[key]:
            raise HTTPException(422, f"{key} should be of type {KEYS[key].__name__}")
    return content


def _word(position: int, text: object, predictor: Predictor, limits: Limits) -> Example:
    if not isinstance(text, str):
        raise HTTPException(422, f"words[{position}] should be of type str")
    try:
        word = predictor.example(text)
    except HardalignError as error:
        raise HTTPException(422, f"words[{position}]: {error}") from error
    size = len(word.source) + len(word.tags)
    if size > limits.symbols:
        message = f"words[{position}] has {size} symbols; the limit is {limits.symbols}"
        raise HTTPException(413, message)
    return word
