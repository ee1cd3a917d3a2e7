"""The models of a server, by name."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hardalign.data.lexicon import Lexicon, read_lexicon
from hardalign.errors import HardalignError
from hardalign.predictor import Predictor, load
from hardalign.serve.messages import ModelAnswer
from hardalign.systems import SCORES
from hardalign.text.ipa import is_arpabet

NAMES = ("Barcelona", "Victoria", "Hamilton", "Robert", "Martin")
"""Words to begin with, for models that write characters, not sounds."""
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
"""Words to begin with, a line for each language or task. A model is shown with those that it can
spell of the line of which it can spell most; of the first such line, if there are several."""


def load_models(models: Iterable[str]) -> dict[str, Predictor]:
    """Loads models, each ``MODEL`` or ``NAME=MODEL``, and returns them by their names.

    Without a name, a model is called by the last part of its path, and by as many more parts as
    tell it from the others.

    Raises:
        HardalignError: If one cannot be loaded, or two have the same name.
    """
    pairs = [_split(model) for model in models]
    unnamed = [_parts(model) for name, model in pairs if not name]
    named: dict[str, Predictor] = {}
    for chosen, model in pairs:
        name = chosen or _shortest(_parts(model), unnamed)
        if name in named:
            raise HardalignError(f"{model}: another model is called {name!r}; name it NAME={model}")
        named[name] = load(model)
    return named


def load_lexicons(files: Sequence[str], models: Mapping[str, Predictor]) -> dict[str, Lexicon]:
    """Reads known words for every model.

    Raises:
        HardalignError: If a file does not fit one of the models.
    """
    lexicons = {}
    for name, predictor in models.items() if files else ():
        try:
            description = predictor.description
            target = description.vocabulary.target
            lexicons[name] = read_lexicon(files, description.format, target)
        except HardalignError as error:
            if len(models) == 1:
                raise
            raise HardalignError(
                f"the lexicon does not fit the model {name}: {error}; serve it without this one"
            ) from error
    return lexicons


def describe_models(
    models: Mapping[str, Predictor], lexicons: Mapping[str, Lexicon]
) -> list[ModelAnswer]:
    """Returns what users should know of each model before they ask it."""
    known = {name: len(lexicon) for name, lexicon in lexicons.items()}
    return [_describe(name, model, known.get(name, 0)) for name, model in models.items()]


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
    # A file's name may be no text at all, which JSON cannot hold.
    return "/".join(parts[-length:]).encode("utf-8", "replace").decode()


def _describe(name: str, predictor: Predictor, known: int) -> ModelAnswer:
    description, system = predictor.description, predictor.system
    tagged = "tags" in description.format.columns
    return ModelAnswer(
        name=name,
        system=description.model.system,
        summary=system.summary,
        alignment=system.alignment,
        score=SCORES[system.score],
        exact=system.score == "exact",
        source_separator=description.format.source_separator,
        target_separator=description.format.target_separator,
        tag_separator=description.format.tag_separator,
        tags=list(description.vocabulary.source.tags) if tagged else [],
        examples=_examples(predictor, tagged),
        known=known,
        ipa=is_arpabet(description.vocabulary.target.letters),
    )


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
