"""The data of the model ``g2p``: words of forty languages of WikiPron, with their language as tag.

    python recipes/wikipron.py DATA OUT [--words 5000]

DATA is a folder with ``wikipron/*.tsv.gz``. Test words (300 a language), development words and the
test words of SIGMORPHON 2020 and 2021 are kept out of training. Of the rest, half are the most
frequent ones where the package ``wordfreq`` (not a dependency) knows the language, half are random.
"""

from __future__ import annotations

import argparse
import gzip
import random
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from hardalign.files import sha256

TEST, DEV = 300, 60
"""Words of each language."""
VARIANTS = 2
"""The most pronunciations of a word to learn from."""
RAREST = 5
"""Words with a sound or letter that fewer words of their language have are left out of training."""
TASKS = {
    "ell": "gre", "hin": "hin", "hun": "hun", "isl": "ice", "jpn": "jpn jpn_hira", "kor": "kor",
    "lit": "lit", "vie": "vie vie_hanoi", "ita": "ita", "khm": "khm",
}  # fmt: skip
"""The names that the shared tasks have for a language."""
FREQUENCIES = {
    "ara": "ar", "ben": "bn", "bul": "bg", "cat": "ca", "ces": "cs", "deu": "de", "ell": "el",
    "eng": "en", "fra": "fr", "hbs": "sh", "hin": "hi", "hun": "hu", "isl": "is", "ita": "it",
    "kor": "ko", "lit": "lt", "mkd": "mk", "nld": "nl", "nob": "nb", "pol": "pl", "por": "pt",
    "ron": "ro", "slv": "sl", "spa": "es", "tgl": "fil", "tur": "tr", "ukr": "uk", "vie": "vi",
}  # fmt: skip
"""What ``wordfreq`` calls a language."""


def language_of(file: Path) -> str:
    """Returns the tag of a file: ``deu``, or ``eng-uk`` where there are two."""
    code, _, *rest = file.name.partition(".")[0].split("_")
    return f"{code}-{rest[0]}" if code == "eng" else code


def read(file: Path) -> dict[str, list[str]]:
    """Returns the pronunciations of each word, without affixes and acronyms."""
    words: dict[str, list[str]] = defaultdict(list)
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            word, sounds = unicodedata.normalize("NFC", line.rstrip("\n")).split("\t")
            small = word.lower()
            marks = unicodedata.normalize("NFD", word)
            if (
                sum(letter.isupper() for letter in word) > 1
                or word[0] in "-'’·"
                or word[-1] in "-·"
            ):
                continue
            if any(unicodedata.category(letter)[0] in "NSZ" for letter in marks):
                continue
            if sounds not in words[small]:
                words[small].append(sounds)
    return words


def frequent(code: str, known: Iterable[str]) -> list[str]:
    """Returns the words of a language that ``wordfreq`` knows, the most frequent first."""
    try:
        from wordfreq import top_n_list
    except ImportError:
        return []
    if code[:3] not in FREQUENCIES:
        return []
    there = set(known)
    ranked = top_n_list(FREQUENCIES[code[:3]], 50_000, wordlist="best")
    return [word for word in ranked if word in there]


def reserved(data: Path, code: str) -> set[str]:
    """Returns the test words of the shared tasks."""
    files = [
        data / folder / f"{name}_test.tsv"
        for folder in ("sig2020-g2p", "sig2021-g2p")
        for name in TASKS.get(code, "").split()
    ]
    lines = [
        line for file in files if file.exists() for line in file.read_text("utf-8").splitlines()
    ]
    return {unicodedata.normalize("NFC", line.partition("\t")[0]).lower() for line in lines}


def regular(words: dict[str, list[str]]) -> dict[str, list[str]]:
    """Leaves out what has a letter or sound that hardly occurs, and further variants."""
    letters = Counter(letter for word in words for letter in set(word))
    sounds = Counter(one for own in words.values() for text in own for one in set(text.split()))
    kept = {}
    for word, own in words.items():
        if min(letters[letter] for letter in word) >= RAREST:
            good = [text for text in own if min(sounds[one] for one in text.split()) >= RAREST]
            if good:
                kept[word] = good[:VARIANTS]
    return kept


def main() -> None:
    """Writes train.tsv, dev.tsv and a test file for each language."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--words", type=int, default=5_000, help="of a language, to learn from")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    train: list[str] = []
    dev: list[str] = []
    for file in sorted((arguments.data / "wikipron").glob("*.tsv.gz")):
        code = language_of(file)
        words = read(file)
        order = sorted(words, key=lambda word: sha256(f"{code} {word}".encode()))
        test, held = order[:TEST], order[TEST : TEST + DEV]
        pool = {word: words[word] for word in order[TEST + DEV :]}
        taken = reserved(arguments.data, code)
        pool = regular({word: own for word, own in pool.items() if word not in taken})
        chosen = frequent(code, pool)[: arguments.words // 2]
        chosen += [word for word in pool if word not in set(chosen)]
        chosen = chosen[: arguments.words]
        for name, part in (("test", test), ("train", chosen), ("dev", held)):
            rows = [f"{word}\t{text}\t{code}\n" for word in part for text in words[word]]
            if name == "test":
                (arguments.out / f"test-{code}.tsv").write_text("".join(rows), encoding="utf-8")
            elif name == "dev":
                dev += rows
            else:
                train += [f"{word}\t{text}\t{code}\n" for word in part for text in pool[word]]
        print(f"{code}: {len(words):,} words, {len(chosen):,} to learn from")
    random.Random(0).shuffle(train)
    (arguments.out / "train.tsv").write_text("".join(train), encoding="utf-8")
    (arguments.out / "dev.tsv").write_text("".join(dev), encoding="utf-8")


if __name__ == "__main__":
    main()
