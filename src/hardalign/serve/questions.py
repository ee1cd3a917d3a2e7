"""Questions in requests: parsed, checked against the limits, answered by a model in batches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec
from starlette.exceptions import HTTPException

from hardalign.data.formats import Example
from hardalign.errors import HardalignError
from hardalign.known_words import look_up, respond
from hardalign.predictor import Predictor
from hardalign.search import Prediction, Search
from hardalign.serve import messages
from hardalign.serve.messages import (
    Limits,
    ModelDescription,
    TextAnswer,
    TextRequest,
    TextWord,
    WordAnswer,
    WordsAnswer,
    WordsRequest,
)
from hardalign.systems import SCORES
from hardalign.text.ipa import arpabet_to_ipa, is_arpabet
from hardalign.text.running import Line, pronounce_text

R = TypeVar("R", WordsRequest, TextRequest)
NAMES = ("Barcelona", "Victoria", "Hamilton", "Robert", "Martin")
"""Examples for models that write characters, not sounds."""
EXAMPLES = (
    ("þjóð", "fjall", "hestur", "norðurljós", "jökull"),
    ("kjærlighet", "skje", "sjokolade", "bjørn", "hjerte"),
    ("château", "oiseau", "garçon", "fille", "œil"),
    ("psychology", "knight", "thought", "queue", "rhythm"),
    ("walk\tV;PST", "study\tV;PST", "city\tN;PL", "box\tN;PL", "plan\tV;V.PTCP;PRS"),
    ("김민준", "서울", "한국", "사람", "사랑"),
    ("さくら", "とうきょう", "おはよう", "ねこ", "いぬ"),
    ("Москва", "книга", "спасибо", "человек", "солнце"),
    ("cab", "bad", "add"),
)
"""Examples by language. A model is shown those words of a line that it can spell: of the line with
the most such words, the first in a tie."""


class Group(NamedTuple):
    """What questions must have in common to be answered in one batch."""

    model: str
    search: Search = Search()
    alignments: bool = False
    text: bool = False
    """Whether the items are pieces of running text, not words."""
    ipa: bool = False

    def ask(self, model: Predictor, items: Sequence[Example]) -> list[WordAnswer] | list[Line]:
        """Return the model's answer to each item."""
        if not self.text:
            return answer_words(model, items, self.search, self.alignments)
        return list(pronounce_text(model, [item.text for item in items], ipa=self.ipa))


@dataclass(frozen=True)
class Question:
    """A request's items, which can be answered independently, and the work of each."""

    group: Group
    items: list[Example]
    work: list[int]
    text: str = ""
    """The running text, if the items are pieces of one."""

    def message(self, answers: list[Any]) -> WordsAnswer | TextAnswer:
        """Combine the answers to all items into a response."""
        if not self.group.text:
            return WordsAnswer(model=self.group.model, answers=answers)
        pieces = dict(zip((item.text for item in self.items), answers, strict=True))
        text = re.split(r"(\s+)", self.text)
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
    """Read the body of ``POST /predict``.

    Raises:
        HTTPException: 400 for invalid JSON, 404 for an unknown model, 413 for too large a request,
            422 for all other errors.
    """
    request, name, model = _parse(body, WordsRequest, models)
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
    """Read the body of ``POST /text``; each distinct piece between blanks is one item."""
    request, name, model = _parse(body, TextRequest, models)
    if "tags" in model.description.format.columns:
        raise HTTPException(422, f"{name} cannot read text: it needs tags with each word")
    if request.ipa and not _writes_arpabet(model):
        raise HTTPException(422, f"ipa: {name} does not write ARPAbet")
    pieces = list(dict.fromkeys(request.text.split()))
    if (longest := max(map(len, pieces), default=0)) > limits.characters:
        raise _too_much(f"the text has {longest} characters without a blank", limits.characters)
    items = [Example((), text=piece) for piece in pieces]
    work = [_steps(len(piece) + 2, len(piece)) for piece in pieces]
    group = Group(name, text=True, ipa=request.ipa)
    return _within(Question(group, items, work, request.text), limits)


def _parse(body: bytes, kind: type[R], models: Mapping[str, Predictor]) -> tuple[R, str, Predictor]:
    """Return a request, and the name and the model that it is for."""
    try:
        request = msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        message, _, place = str(error).replace("`", "").partition(" - at $")
        keys = ", ".join(kind.__struct_fields__)
        where = place.lstrip(".") or f"the body, an object with {keys}"
        raise HTTPException(422, f"{where}: {message[0].lower()}{message[1:80]}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from error
    name = next(iter(models)) if request.model is None else request.model
    if name not in models:
        raise HTTPException(404, f"no model is called {name!r:.80}; there are {', '.join(models)}")
    return request, name, models[name]


def _word(position: int, text: str, model: Predictor, limits: Limits) -> Example:
    # Before anything else: normalisation takes quadratic time for some strings.
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
    """Return the work of a word; for a known one, that of scoring its forms and finding others."""
    letters, as_read = len(word.source) + len(word.tags), model.as_read(word)
    size = len(as_read.source) + len(as_read.tags)  # with the known forms read beside it
    forms = look_up(model, word).targets
    work = sum(_steps(len(form) + 1, size) for form in forms)
    return work if len(forms) >= search.most else work + _steps(letters + 2, size) * search.width


def _steps(steps: int, size: int) -> int:
    """Return the work of decoder steps over a source of ``size`` symbols."""
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


def answer_words(
    model: Predictor, words: Sequence[Example], search: Search, alignments: bool
) -> list[WordAnswer]:
    """Answer words from any number of requests together."""
    ipa = _writes_arpabet(model)
    answers = respond(model, words, search, alignments=alignments)
    return [
        WordAnswer(
            source=word.text,
            tags=word.tags,
            origin=answer[0].origin,
            unknown=list(dict.fromkeys(answer[0].unknown)),
            predictions=[_message(one, ipa) for one in answer],
        )
        for word, answer in zip(words, answers, strict=True)
    ]


def _message(prediction: Prediction, ipa: bool) -> messages.Prediction:
    content = {**prediction.to_dict(), "origin": prediction.origin}
    if ipa:
        content["ipa"] = arpabet_to_ipa(prediction.symbols)
    if alignment := content.get("alignment"):
        stop = messages.Stop(**alignment["stop"])
        content["alignment"] = messages.Alignment(**{**alignment, "stop": stop})
    return messages.Prediction(**content)


def _writes_arpabet(model: Predictor) -> bool:
    return is_arpabet(model.description.vocabulary.target.letters)


def describe(name: str, model: Predictor) -> ModelDescription:
    """Return what clients need to know about a model."""
    layout, system = model.description.format, model.system
    tagged = "tags" in layout.columns
    return ModelDescription(
        name=name,
        system=model.description.model.system,
        summary=system.summary,
        alignment=system.alignment,
        score=SCORES[system.score],
        exact=system.score == "exact",
        source_separator=layout.source_separator,
        target_separator=layout.target_separator,
        tag_separator=layout.tag_separator,
        tags=list(model.description.vocabulary.source.tags) if tagged else [],
        examples=_examples(model, tagged),
        known=len(model.lexicon),
        ipa=_writes_arpabet(model),
    )


def _examples(model: Predictor, tagged: bool) -> list[str]:
    """Return example words that a model can spell, in its format."""
    layout, source = model.description.format, model.description.vocabulary.source
    if model.tags:
        return []  # one language of several, which letters do not tell

    def spelled(line: tuple[str, ...]) -> list[str]:
        words = []
        for letters, _, tags in (example.partition("\t") for example in line):
            word = layout.join_source(tuple(letters))
            unknown = source.unknown(layout.source_symbols(word), tags.split(";") if tags else ())
            if bool(tags) == tagged and not unknown:
                tags = tags.replace(";", layout.tag_separator)
                words.append(f"{word}\t{tags}" if tagged else word)
        return words

    lines = EXAMPLES if layout.target_separator else (NAMES, *EXAMPLES)
    return max(map(spelled, lines), key=len)
