"""How well the unsupervised aligner finds gold letter alignments, and how fast.

    python benchmarks/aligner.py TRAIN.tsv TEST.tsv [--iterations N] [--errors N]

A line of either file holds, separated by TABs, a word, its phonemes separated by blanks, and its
alignment: one character per letter, `-` where the letter is silent. The aligner sees words and
phonemes of TRAIN only; agreement is the share of TEST's phonemes on their gold letter.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from hardalign import aligner


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("--iterations", type=int, default=8)
    parser.add_argument("--errors", type=int, default=10, help="how many kinds of error to show")
    arguments = parser.parse_args()

    train, test = read(arguments.train), read(arguments.test)
    letters = {s: k for k, s in enumerate(sorted({s for w in train + test for s in w.letters}))}
    phones = {s: k for k, s in enumerate(sorted({s for w in train + test for s in w.phonemes}))}

    def encode(words: list[Word]) -> list[aligner.Pair]:
        return [([letters[s] for s in w.letters], [phones[s] for s in w.phonemes]) for w in words]

    start = time.perf_counter()
    table = aligner.fit(encode(train), len(letters), len(phones), iterations=arguments.iterations)
    fitted = time.perf_counter()
    paths = aligner.align(table, encode(test))
    aligned = time.perf_counter()

    right = insertions = wrong_words = 0
    kinds: Counter[str] = Counter()
    for word, path in zip(test, paths, strict=True):
        found = [-1 if j is None else j for j, i in path if i is not None]
        right += sum(a == b for a, b in zip(found, word.gold, strict=True))
        insertions += found.count(-1)
        wrong_words += found != word.gold
        marks = zip(word.letters, spell(word, word.gold), spell(word, found), strict=True)
        for same, run in groupby(marks, key=lambda mark: mark[1] == mark[2]):
            if not same:
                kinds["{}: gold {}, found {}".format(*map("".join, zip(*run, strict=True)))] += 1

    phonemes = sum(len(word.phonemes) for word in test)
    print(f"agreement   {right / phonemes:.2%} of {phonemes} phonemes ({insertions} on no letter)")
    print(f"words       {1 - wrong_words / len(test):.2%} of {len(test)} without a difference")
    print(f"fit         {fitted - start:.2f} s for {len(train)} pairs")
    print(f"align       {aligned - fitted:.2f} s for {len(test)} pairs")
    for kind, count in kinds.most_common(arguments.errors):
        print(f"{count:6}  {kind}")


if __name__ == "__main__":
    main()
