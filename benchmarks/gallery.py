"""Makes docs/gallery.md and its pictures: alignments by models trained on the spot.

    python benchmarks/gallery.py [--hangul TRAIN DEV] [--turkish TRAIN DEV] [--runs DIR] [--out DIR]

Pronunciation and reduplication need no files. For names in Hangul give files of
`name<TAB>syllables separated by blanks<TAB>anything`, for Turkish inflection files in the format
sigmorphon; a section without its files is left out. Models already in --runs are not trained
again. Pictures of Hangul need a suitable font (Debian: fonts-noto-cjk).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import hardalign
from hardalign.data.reading import read_examples
from hardalign.predictor import Predictor
from hardalign.search import Search

PAIRS = 8000  # training pairs per file: enough for a picture, in minutes
LONG = 7  # minimum symbols of a held-out source to draw


class Section(NamedTuple):
    name: str
    title: str
    text: str
    options: list[str]  # of hardalign train
    systems: list[str]  # two are drawn side by side
    words: list[str]  # if empty, held-out words are drawn: two correct, one incorrect


SECTIONS = [
    Section(
        "g2p",
        "Pronunciation",
        "English words from the CMU dictionary. Silent letters have empty columns, and *x* "
        "stands for two sounds.",
        [
            "--corpus",
            "cmudict",
            "--set",
            "strip_stress=true",
            "--set",
            f"words={PAIRS}",
            "--epochs",
            "8",
        ],
        ["soft", "hard"],
        ["thoughtful", "taxation"],
    ),
    Section(
        "hangul",
        "Transliteration into Hangul",
        "Names from Wikidata. A symbol is a syllable, to which several letters contribute: the "
        "posterior shows which of them identified it.",
        ["--columns", "source,target,-", "--target-separator", " ", "--epochs", "10"],
        ["hard"],
        [],
    ),
    Section(
        "turkish",
        "Turkish inflection",
        "From CoNLL-SIGMORPHON 2017. Tags precede the lemma. A copied symbol comes from its "
        "letter; where a suffix comes from is up to the model.",
        ["--format", "sigmorphon", "--epochs", "8"],
        ["hard"],
        [],
    ),
    Section(
        "reduplication",
        "Reduplication",
        "Made-up words whose beginning is doubled, as in Pingelapese (the paper's Figure 1): the "
        "alignment returns to the beginning, which no monotonic one can.",
        ["--corpus", "toy:reduplication", "--epochs", "8"],
        ["soft", "hard"],
        ["mejr", "zwapixu"],
    ),
]

INTRODUCTION = """\
# Alignments in pictures

Target symbols run from top to bottom, source symbols from left to right; `⊢` and `⊣` are begin and
end. `hard` shows the exact posterior p(a_i = j | x, y), `soft` its attention weights. The models
are small, trained for minutes by `benchmarks/gallery.py`, which writes this page. To draw your own:
`hardalign plot MODEL WORD --output word.svg`.
"""


def section(entry: Section, files: list[Path] | None, runs: Path, out: Path) -> Iterator[str]:
    """Train, draw, and yield the lines of the page."""
    data = []
    if files is not None:
        train = runs / f"{entry.name}.tsv"
        with files[0].open(encoding="utf-8") as lines:
            train.write_text("".join(islice(lines, PAIRS)), encoding="utf-8")
        data = [str(train), "--dev", str(files[1])]
    models = [
        trained(runs / f"{entry.name}-{system}", [*data, *entry.options, "--system", system])
        for system in entry.systems
    ]
    words = dict.fromkeys(entry.words, "") if files is None else held_out(models[-1], files[1])
    yield f"\n## {entry.title}\n\n{entry.text}\n"
    for number, (word, remark) in enumerate(words.items(), start=1):
        text = models[-1](word).text
        drawn = [model.align(word, model(word).text) for model in models]
        picture = out / "gallery" / f"{entry.name}-{number}.png"
        drawn[0].plot(picture, *drawn[1:])
        caption = f"{word.replace(chr(9), ' ')} → {text}"
        yield f"{caption}{remark}\n\n![{caption}](gallery/{picture.name})\n"


def trained(folder: Path, options: list[str]) -> Predictor:
    command = [sys.executable, "-m", "hardalign", "train", *options]
    subprocess.run([*command, "--out", folder, "--resume"], check=True)
    return hardalign.load(folder)


def held_out(model: Predictor, file: Path) -> dict[str, str]:
    """Two correctly predicted words and an incorrect one, each with a remark."""
    layout = model.description.format
    examples = read_examples(file, layout, "evaluation")
    questions = [one for one in islice(examples, 300) if len(one.source) >= LONG]
    right: list[tuple[str, str]] = []
    wrong: list[tuple[str, str]] = []
    for question, (answer,) in zip(questions, model.answers(questions, Search()), strict=True):
        word = "\t".join(filter(None, (question.text, layout.tag_separator.join(question.tags))))
        if answer.symbols in question.targets:
            right.append((word, ", as in the file"))
        else:
            wrong.append((word, f", but the file has {layout.join_target(question.targets[0])}"))
    return dict(right[:2] + wrong[:1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--hangul", "--turkish"):
        parser.add_argument(name, nargs=2, type=Path, metavar=("TRAIN", "DEV"))
    parser.add_argument("--runs", type=Path, default=Path("runs/gallery"))
    parser.add_argument("--out", type=Path, default=Path("docs"))
    arguments = parser.parse_args()
    for folder in (arguments.runs, arguments.out / "gallery"):
        folder.mkdir(parents=True, exist_ok=True)

    page = [INTRODUCTION]
    for entry in SECTIONS:
        files = vars(arguments).get(entry.name)
        if files is None and not entry.words:
            print(f"{entry.title} is left out: no --{entry.name}", file=sys.stderr)
        else:
            page += section(entry, files, arguments.runs, arguments.out)
    (arguments.out / "gallery.md").write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
