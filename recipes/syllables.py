"""Hangul as both syllables and letters: each syllable is followed by its letters.

    python recipes/syllables.py kor_train.tsv kor_dev.tsv kor_test.tsv runs/syllables
    hardalign reproduce runs/syllables/plan.toml --out runs/syllables/runs

The files are in the format `lexicon`. They are rewritten in the format `spaced`, in which 발달 is
발 ᄇ ᅡ ᆯ 달 ᄃ ᅡ ᆯ, with a plan for them. Most of a Korean pronunciation follows from the
letters; vowel length depends on the syllable.
"""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

from hardalign.files import make_folder, write_bytes

PLAN = """\
[[grid]]
systems = ["hard-hmm"]
corpora = ["syllables"]

[grid.overrides]
members = 5
encoder_layers = 2
dropout = 0.3
state_dropout = 0.2
symbol_dropout = 0.1
epochs = 16

[data.syllables]
train = "train.tsv"
dev = "dev.tsv"
test = "test.tsv"
format = "spaced"
"""


def both(word: str) -> str:
    """Returns the characters of a word, each followed by its parts, separated by blanks."""
    symbols = []
    for character in unicodedata.normalize("NFC", word):
        parts = unicodedata.normalize("NFD", character)
        symbols += [character, *parts] if len(parts) > 1 else [character]
    return " ".join(symbols)


def main() -> None:
    """Writes the files and the plan to the folder given on the command line."""
    folder = Path(sys.argv[4])
    make_folder(folder)
    for part, name in zip(("train", "dev", "test"), sys.argv[1:4], strict=True):
        rows = [line.partition("\t") for line in Path(name).read_text("utf-8").splitlines()]
        lines = (f"{both(word)}\t{symbols}\n" for word, _, symbols in rows)
        write_bytes(folder / f"{part}.tsv", "".join(lines).encode())
    write_bytes(folder / "plan.toml", PLAN.encode())


if __name__ == "__main__":
    main()
