"""The bodies of requests: parsed, checked against the limits, and cut into symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec
from starlette.exceptions import HTTPException

from hardalign.data.formats import Example
from hardalign.errors import HardalignError
from hardalign.predictor import Predictor
from hardalign.search import Search
from hardalign.serve.messages import (
    Limits,
    TextAnswer,
    TextRequest,
    TextWord,
    WordAnswer,
    WordsAnswer,
    WordsRequest,
)
from hardalign.serve.models import answer_words, pronounce, writes_arpabet
from hardalign.text.running import Line

R = TypeVar("R", WordsRequest, TextRequest)
_BLANKS = re.compile(r"(\s+)")


class Group(NamedTuple):
    """What questions have in common that can be answered in one batch."""

    model: str
    search: Search = Search()
    alignments: bool = False
    text: bool = False
    """Whether the items are pieces of running text, not words."""
    ipa: bool = False

    def ask(self, model: Predictor, items: Sequence[Example]) -> list[WordAnswer] | list[Line]:
        """Returns the model's answer to each item."""
        if self.text:
            return pronounce(model, [item.text for item in items], self.ipa)
        return answer_words(model, items, self.search, self.alignments)


@dataclass(frozen=True)
class Question:
    """What one request asks: items that can be answered one by one, and the work of each."""

    group: Group
    items: list[Example]
    work: list[int]
    text: str = ""
    """The running text whose pieces the items are."""

    def message(self, answers: list[Any]) -> WordsAnswer | TextAnswer:
        """Puts the answers to all items together."""
        if not self.group.text:
            return WordsAnswer(model=self.group.model, answers=answers)
        pieces = dict(zip((item.text for item in self.items), answers, strict=True))
        text = _BLANKS.split(self.text)
        return TextAnswer(
            model=self.group.model,
            text="".join(pieces[one].text if one in pieces else one for one in text),
            words=[
                TextWord(word.text, word.symbols, "lexicon" if word.known else "model")
                for one in text
                if one in pieces
                for word in pieces[one].words
            ],
        )


def read_words(body: bytes, models: Mapping[str, Predictor], limits: Limits) -> Question:
    """Reads the body of ``POST /predict``.

    Raises:
        HTTPException: 400 for what is not JSON, 404 for an unknown model, 413 for too much, 422 for
            anything else that is wrong.
    """
    request = _parse(body, WordsRequest)
    name, model = _model(request.model, models)
    if len(request.words) > limits.words:
        raise _too_much(f"{len(request.words)} words", limits.words)
    try:
        search = Search(beam=request.beam, nbest=request.nbest)
    except HardalignError as error:
        raise HTTPException(422, str(error)) from error
    if search.width > limits.beam:
        raise HTTPException(422, f"a beam of {search.width}; the limit is {limits.beam}")
    words = [_word(k, text, model, limits) for k, text in enumerate(request.words)]
    times = 1 + request.alignments
    work = [_work(word, model, search) * times for word in words]
    return _within(Question(Group(name, search, request.alignments), words, work), limits)


def read_text(body: bytes, models: Mapping[str, Predictor], limits: Limits) -> Question:
    """Reads the body of ``POST /text``; each different piece between blanks is asked once."""
    request = _parse(body, TextRequest)
    name, model = _model(request.model, models)
    if "tags" in model.description.format.columns:
        raise HTTPException(422, f"{name} cannot read text: it needs tags with each word")
    if request.ipa and not writes_arpabet(model):
        raise HTTPException(422, f"ipa: {name} does not write ARPAbet")
    pieces = list(dict.fromkeys(request.text.split()))
    if (longest := max(map(len, pieces), default=0)) > limits.characters:
        raise _too_much(f"the text has {longest} characters without a blank", limits.characters)
    items = [Example((), text=piece) for piece in pieces]
    work = [_steps(len(piece) + 2, len(piece)) for piece in pieces]
    group = Group(name, text=True, ipa=request.ipa)
    return _within(Question(group, items, work, request.text), limits)


def _parse(body: bytes, kind: type[R]) -> R:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).replace("`", "").partition(" - at $")
        keys = ", ".join(kind.__struct_fields__)
        where = place.lstrip(".") or f"the body, an object with {keys}"
        raise HTTPException(422, f"{where}: {message[0].lower()}{message[1:80]}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from error


def _model(name: str | None, models: Mapping[str, Predictor]) -> tuple[str, Predictor]:
    name = next(iter(models)) if name is None else name
    if name not in models:
        raise HTTPException(404, f"no model is called {name!r:.80}; there are {', '.join(models)}")
    return name, models[name]


def _word(position: int, text: str, model: Predictor, limits: Limits) -> Example:
    # Before anything is done to it: normalising takes quadratic time for some strings.
    if len(text) > limits.characters:
        raise _too_much(f"words[{position}] has {len(text)} characters", limits.characters)
    try:
        word = model.example(text)
    except HardalignError as error:
        raise HTTPException(422, f"words[{position}]: {error}") from error
    if (size := len(word.source) + len(word.tags)) > limits.symbols:
        raise _too_much(f"words[{position}] has {size} symbols", limits.symbols)
    return word


def _work(word: Example, model: Predictor, search: Search) -> int:
    """Returns the work of a word; of a known one, that of scoring its forms and finding others."""
    size = len(word.source) + len(word.tags)
    forms = model.look_up(word).targets
    work = sum(_steps(len(form) + 1, size) for form in forms)
    return work if len(forms) >= search.most else work + _steps(size + 2, size) * search.width


def _steps(steps: int, size: int) -> int:
    """Returns the work of so many decoder steps, each of which looks at the whole source."""
    return steps * (size + 27) // 25


def _within(question: Question, limits: Limits) -> Question:
    if (work := sum(question.work)) > limits.work:
        raise HTTPException(
            413,
            f"too much for one request: the work (symbols times beam, see /docs) is {work}, the "
            f"limit {limits.work}; send it in several requests",
        )
    return question


def _too_much(what: str, limit: int) -> HTTPException:
    return HTTPException(413, f"{what}; the limit is {limit}")
