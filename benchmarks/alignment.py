"""Alignment accuracy on gold alignments: models and the unsupervised aligner.

    python benchmarks/alignment.py MODEL... --gold TEST.tsv [--train TRAIN.tsv] [--errors N]

A line of either file holds, separated by TABs, a word, its phonemes separated by blanks, and its
alignment: one character per letter, `-` for a silent letter. Accuracy is the share of phonemes
aligned with their gold letter, given word and phonemes. With --train, the unsupervised aligner is
fitted to the words and phonemes of that file and compared too.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import hardalign
from hardalign.aligner import UnsupervisedAligner
from hardalign.data.formats import Example


class Word(NamedTuple):
    letters: str
    phonemes: list[str]
    gold: list[int]  # the letter of each phoneme


def read(file: Path) -> list[Word]:
    words = []
    for line in file.read_text(encoding="utf-8").splitlines():
        letters, phonemes, alignment, *_ = line.split("\t")
        gold = [j for j, mark in enumerate(alignment) if mark != "-"]
        words.append(Word(letters, phonemes.split(), gold))
    return words


def spell(word: Word, positions: list[int]) -> str:
    """Write an alignment as the files do: a phoneme or `-` for each letter."""
    by_letter = dict(zip(positions, word.phonemes, strict=True))
    return "".join(by_letter.get(j, "-") for j in range(len(word.letters)))


Letters = list[int]  # the index of each phoneme's letter, -1 for none


def example(word: Word) -> Example:
    return Example(tuple(word.letters), (tuple(word.phonemes),), text=word.letters)


def letters(word: Word, pairs: list[tuple[int, int]]) -> Letters:
    found = {phoneme: letter for letter, phoneme in pairs}
    return [found.get(phoneme, -1) for phoneme in range(len(word.phonemes))]


def by_model(folder: Path, words: list[Word]) -> tuple[str, list[Letters]]:
    predictor = hardalign.load(folder)
    results, kind = [], ""
    aligned = predictor.align_pairs(map(example, words))
    for word, (_, alignment) in zip(words, aligned, strict=True):
        results.append(letters(word, [] if alignment is None else alignment.pairs))
        kind = kind if alignment is None else alignment.title
    return kind, results


def by_aligner(train: Path, words: list[Word]) -> list[Letters]:
    links = UnsupervisedAligner([example(word) for word in read(train)]).align(map(example, words))
    return [letters(word, found.pairs) for word, found in zip(words, links, strict=True)]


def kinds_of_error(word: Word, found: Letters) -> Iterator[str]:
    """Spans of letters where gold and found differ, spelled as in the files."""
    marks = zip(word.letters, spell(word, word.gold), spell(word, found), strict=True)
    for same, run in groupby(marks, key=lambda mark: mark[1] == mark[2]):
        if not same:
            yield "{}: gold {}, found {}".format(*map("".join, zip(*run, strict=True)))


def report(words: list[Word], results: list[Letters], errors: int) -> None:
    """Print how far wrong phonemes are from their letters, and the commonest errors."""
    shifts: Counter[str] = Counter()
    on_silent = 0
    kinds: Counter[str] = Counter()
    for word, found in zip(words, results, strict=True):
        kinds.update(kinds_of_error(word, found))
        for right, chosen in zip(word.gold, found, strict=True):
            if chosen == right:
                continue
            on_silent += chosen >= 0 and chosen not in word.gold
            shifts["on no letter" if chosen < 0 else f"{chosen - right:+d}"] += 1
    far = ", ".join(f"{shift}: {count}" for shift, count in shifts.most_common(6))
    print(f"  letters to the right of gold: {far}; on a letter that gold has silent: {on_silent}")
    for kind, count in kinds.most_common(errors):
        print(f"  {count:5}  {kind}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", type=Path, nargs="*")
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--train", type=Path, help="fit the unsupervised aligner to this")
    parser.add_argument("--errors", type=int, default=10, help="kinds of error to show")
    arguments = parser.parse_args()

    words = read(arguments.gold)
    rows = [(str(folder), *by_model(folder, words)) for folder in arguments.models]
    if arguments.train is not None:
        rows.append(("(no model)", "unsupervised: path", by_aligner(arguments.train, words)))
    phonemes = sum(len(word.phonemes) for word in words)
    print(f"{phonemes} phonemes of {len(words)} words in {arguments.gold.name}")
    print(f"{'phonemes':>9}{'words':>9}  {'what':<44}model")
    for name, kind, results in rows:
        right = sum(
            a == b
            for word, found in zip(words, results, strict=True)
            for a, b in zip(word.gold, found, strict=True)
        )
        whole = sum(word.gold == found for word, found in zip(words, results, strict=True))
        print(f"{right / phonemes:>9.2%}{whole / len(words):>9.2%}  {kind:<44}{name}")
    for name, kind, results in rows:
        print(f"\n{kind} ({name})")
        report(words, results, arguments.errors)


if __name__ == "__main__":
    main()
