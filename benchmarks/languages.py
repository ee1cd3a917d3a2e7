"""Compare ``g2p`` with other models on the same held-out words, by language.

    python benchmarks/languages.py RUNS/g2p [--alone nob tur aze] [--new]

RUNS/g2p is the folder of ``make model NAME=g2p``. Phonetisaurus (to be installed) and, for the
languages of ``--alone``, ``hardalign train`` without options are trained on g2p's training words of
one language. With ``--new``, models of three unseen languages are trained on a few words, with
``--from g2p`` and without. Writes docs/results/languages.csv, new-languages.csv beside
it, and docs/evidence/languages.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean

import hardalign
from hardalign.data.formats import FORMATS
from hardalign.metrics import Metrics, evaluate
from hardalign.model_folder import find_model, read_languages

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "recipes"))
from sources import Row, ipa_dict, split_by_hash  # noqa: E402

DOCS = ROOT / "docs"
NEW = DOCS / "results" / "new-languages.csv"
TABLE, PAGE = DOCS / "results" / "languages.csv", DOCS / "evidence" / "languages.md"
COLUMNS = ("tag", "language", "words", "g2p", "alone", "phonetisaurus", "charsiug2p")
HEAD = """# Forty languages, one model

`g2p` on 300 held-out words of each WikiPron language, without its dictionaries, by greedy search.
A prediction is right if it equals any of the word's pronunciations. WER is in per cent; PER is a
proportion, averaged over words. "Words" is the size of the training set. "Alone" is a model of size
small trained by `hardalign train` without options on the same words of that language only;
Phonetisaurus (0.3.0 from PyPI, default settings) learned from the same words. Written by
`benchmarks/languages.py` from [one table](../results/languages.csv); empty cells were not run.

The last two columns are CharsiuG2P's published figures for its ByT5-small (300 M parameters), on
**other words, and for some languages another dictionary and notation**: they show what a large
model does elsewhere, and cannot be compared line by line.

| language | words | `g2p` WER | PER | alone | PER | Phonetisaurus | PER | CharsiuG2P | PER |
|---|---|---|---|---|---|---|---|---|---|
"""

FOOT = """
## Languages that it has never seen

WER and PER on at most 500 other words, after training on 100 and 500 words: by `hardalign train`,
and by fine-tuning (`--from g2p`), both without other options. Adyghe is WikiPron's, as in
SIGMORPHON 2020; Swedish and Persian are from ipa-dict, which has its own notation.

| language | words | alone WER | PER | `--from g2p` | PER |
|---|---|---|---|---|---|
"""
COUNTS, TESTED = (100, 500), 500

Words = dict[str, list[tuple[str, ...]]]


def read(file: Path) -> dict[str, Words]:
    """Returns the pronunciations of the words of each language."""
    table: dict[str, Words] = defaultdict(lambda: defaultdict(list))
    for line in dict.fromkeys(file.read_text("utf-8").splitlines()):  # without duplicates
        word, sounds, tag = line.split("\t")
        table[tag][word].append(tuple(sounds.split()))
    return table


def phonetisaurus(train: Words, test: Words) -> Metrics:
    """Trains Phonetisaurus with its defaults; no answer counts as wrong."""
    from phonetisaurus import predict
    from phonetisaurus import train as learn

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model.fst")
        learn({word: [list(one) for one in own] for word, own in train.items()}, model)
        answers = {word: tuple(sounds) for word, sounds in predict(test, model)}
    return evaluate([answers.get(word, ()) for word in test], list(test.values()))


def alone(train: Words, test: Words) -> Metrics:
    """Trains a model of one language, without options except how letters are read."""
    rows = [(word, " ".join(one)) for word, own in train.items() for one in own]
    with tempfile.TemporaryDirectory() as folder:
        form = replace(FORMATS["lexicon"], source_case="lower", normalization="NFD")
        model = hardalign.train(rows, "none", out=Path(folder, "m"), format=form, threads=1)
        return evaluate([tuple(one.text.split()) for one in model(list(test))], list(test.values()))


def new_languages(packages: Path) -> Iterator[list[str]]:
    """Yields a row for each new language and number of words."""

    def adyghe(_: Path) -> list[Row]:
        path = Path(os.environ["HARDALIGN_DATA"], "sig2020-g2p", "ady_train.tsv")
        return [tuple(line.split("\t")) for line in path.read_text("utf-8").splitlines()]

    sources = ("Adyghe", adyghe), ("Swedish", ipa_dict("sv")), ("Persian", ipa_dict("fa"))
    columns = ("source", "target", "tags")
    form = replace(FORMATS["lexicon"], columns=columns, source_case="lower", normalization="NFD")
    for name, rows in sources:
        tag = name.lower()[:3]
        parts = split_by_hash(rows)(packages)
        test: Words = defaultdict(list)
        for word, sounds in parts["test"]:
            if word in test or len(test) < TESTED:
                test[word].append(tuple(sounds.split()))
        for count in COUNTS:
            given = [(*row, tag) for row in parts["train"][:count]]
            cells = []
            for start in (None, "g2p"):
                with tempfile.TemporaryDirectory() as out:
                    more = {"format": form, "start": start, "threads": 1}
                    model = hardalign.train(given, "none", out=Path(out, "m"), **more)
                    found = model([f"{word}\t{tag}" for word in test])
                answers = [tuple(one.text.split()) for one in found]
                cells += written(evaluate(answers, list(test.values()))).split()
            yield [name, str(count), *cells]


def written(metrics: Metrics) -> str:
    """Formats the two figures of a cell."""
    return f"{metrics.wer:.2f} {metrics.per:.4f}"


def main() -> None:
    """Measures what is missing in the table, and writes the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--alone", nargs="*", default=[])
    parser.add_argument("--new", action="store_true")
    arguments = parser.parse_args()
    if arguments.new:
        with NEW.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                new_languages(arguments.folder.parent / "packages")
            )
    train, test = (read(arguments.folder / f"{part}.tsv") for part in ("train", "test"))
    figures = json.loads((find_model("g2p") / "figures.json").read_text("utf-8"))["languages"]
    rows: dict[str, dict[str, str]] = {}
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            rows = {row["tag"]: row for row in csv.DictReader(file)}
    for tag, names in read_languages(find_model("g2p")).items():
        row = rows.setdefault(tag, dict.fromkeys(COLUMNS, ""))
        own = figures[tag]
        row |= {"tag": tag, "language": names[-1], "words": str(len(train[tag]))}
        row["g2p"] = f"{own['wer']:.2f} {own['per']:.4f}"
        row["phonetisaurus"] = row["phonetisaurus"] or written(phonetisaurus(train[tag], test[tag]))
        if tag in arguments.alone:
            row["alone"] = row["alone"] or written(alone(train[tag], test[tag]))
        print(*row.values(), flush=True)
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows.values())
    with NEW.open(encoding="utf-8", newline="") as file:
        fresh = [f"| {' | '.join(row)} |\n" for row in csv.reader(file)]
    lines = [HEAD, *table(list(rows.values())), FOOT, *fresh]
    PAGE.write_text("".join(lines), encoding="utf-8")


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yields the lines of the page's table, with the means of complete columns."""
    for row in rows:
        cells = " | ".join(cell for name in COLUMNS[3:] for cell in (row[name].split() or ["", ""]))
        yield f"| {row['language']} | {int(row['words']):,} | {cells} |\n"
    means = []
    for name in COLUMNS[3:]:
        pairs = [[float(cell) for cell in row[name].split()] for row in rows]
        if not all(pairs):
            means.append(" | ")
            continue
        wer, per = map(mean, zip(*pairs, strict=True))
        means.append(f"{wer:.2f} | {per:.4f}")
    yield f"| **mean of {len(rows)}** | | {' | '.join(means)} |\n"


if __name__ == "__main__":
    main()
