"""The models of a server: loaded by name, described, and asked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from hardalign.data.formats import Example
from hardalign.errors import HardalignError
from hardalign.predictor import Prediction, Predictor, load
from hardalign.search import Search
from hardalign.serve import messages
from hardalign.serve.messages import ModelDescription, WordAnswer
from hardalign.systems import SCORES
from hardalign.text.ipa import arpabet_to_ipa, is_arpabet
from hardalign.text.running import Line, pronounce_text

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
"""Examples by language. A model is shown with those that it can spell of the line of which it can
spell most; of the first such line, if there are several."""


def writes_arpabet(predictor: Predictor) -> bool:
    """Returns whether a model's answers can be written as IPA."""
    return is_arpabet(predictor.description.vocabulary.target.letters)


def answer_words(
    predictor: Predictor, words: Sequence[Example], search: Search, alignments: bool
) -> list[WordAnswer]:
    """Answers words of any number of requests together."""
    ipa = writes_arpabet(predictor)
    answers = predictor.respond(words, search, alignments=alignments)
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


def pronounce(predictor: Predictor, pieces: Sequence[str], ipa: bool) -> list[Line]:
    """Pronounces pieces of running text, each by itself; what the model cannot read stays."""
    try:
        return list(pronounce_text(predictor, pieces, ipa=ipa))
    except HardalignError:  # none of them has a word
        return [Line(piece, []) for piece in pieces]


def describe(name: str, predictor: Predictor) -> ModelDescription:
    """Returns what users should know of a model before they ask it."""
    description, system = predictor.description, predictor.system
    layout = description.format
    tagged = "tags" in layout.columns
    return ModelDescription(
        name=name,
        system=description.model.system,
        summary=system.summary,
        alignment=system.alignment,
        score=SCORES[system.score],
        exact=system.score == "exact",
        source_separator=layout.source_separator,
        target_separator=layout.target_separator,
        tag_separator=layout.tag_separator,
        tags=list(description.vocabulary.source.tags) if tagged else [],
        examples=_examples(predictor, tagged),
        known=len(predictor.lexicon),
        ipa=writes_arpabet(predictor),
    )


def load_models(models: Iterable[str], lexicons: Sequence[str] | None = ()) -> dict[str, Predictor]:
    """Loads models, each ``MODEL`` or ``NAME=MODEL``, and lexicons for all of them, as ``load``.

    Without a name, a model is called by the last part of its path, and by as many more parts as
    tell it from the others.
    """
    pairs = [_split(model) for model in models]
    unnamed = [_parts(model) for name, model in pairs if not name]
    named: dict[str, Predictor] = {}
    for chosen, model in pairs:
        name = chosen or _shortest(_parts(model), unnamed)
        if name in named:
            raise HardalignError(f"{model}: another model is called {name!r}; name it NAME={model}")
        try:
            named[name] = load(model, lexicon=lexicons)
        except HardalignError as error:
            if len(pairs) == 1 or not lexicons:
                raise
            load(model, lexicon=None)  # unless the model itself is at fault
            raise HardalignError(
                f"the lexicon does not fit the model {name}: {error}; serve it without this one"
            ) from error
    return named


def _parts(model: str) -> tuple[str, ...]:
    # resolve() would follow links, and a link's own name is the one that was chosen.
    return Path(os.path.abspath(model)).parts  # noqa: PTH100


def _split(text: str) -> tuple[str, str]:
    """Splits ``NAME=MODEL``; an equals sign in the path of a folder is just a character."""
    name, equals, model = text.partition("=")
    if not equals or os.sep in name or Path(text).exists():
        return "", text
    if not name.strip() or not model:
        raise HardalignError(f"{text}: should be NAME=MODEL, with a name and a model")
    return name.strip(), model


def _shortest(parts: tuple[str, ...], others: list[tuple[str, ...]]) -> str:
    """Returns as many of the last parts of a path as no other path ends with."""
    for length in range(1, len(parts)):
        if Counter(other[-length:] for other in others)[parts[-length:]] == 1:
            break
    else:
        length = 1  # given twice
    # A file's name may not be text, which JSON cannot hold.
    return "/".join(parts[-length:]).encode("utf-8", "replace").decode()


def _message(prediction: Prediction, ipa: bool) -> messages.Prediction:
    content = {**prediction.to_dict(), "origin": prediction.origin}
    if ipa:
        content["ipa"] = arpabet_to_ipa(prediction.symbols)
    if alignment := content.get("alignment"):
        stop = messages.Stop(**alignment["stop"])
        content["alignment"] = messages.Alignment(**{**alignment, "stop": stop})
    return messages.Prediction(**content)


def _examples(predictor: Predictor, tagged: bool) -> list[str]:
    """Returns words that a model can spell, as its format writes them."""
    layout, source = predictor.description.format, predictor.description.vocabulary.source

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
