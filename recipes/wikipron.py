"""Data of the model ``g2p``: WikiPron words of forty languages, tagged with their language.

Reads ``wikipron/*.tsv.gz`` in a data folder (WikiPron's ``data/scrape/tsv`` as of
April 2026). Test words (300 a language), development words and the test words of SIGMORPHON
2020 and 2021 are kept out of training. Of the rest, half are the most frequent ones where the
package ``wordfreq`` covers the language; the others are random.
"""

from __future__ import annotations

import gzip
import random
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from hardalign.files import sha256
from sources import Parts, frequent_words

TEST, DEV, WORDS = 300, 60, 5_000
"""Words of each language: held out, for development, and at most for training."""
KNOWN = 3_000
"""Frequent words of each language for the dictionary beside the model."""
PACKAGES = Path("runs/packages")
NAMES = {
    "ara": ["ar", "العربية", "Arabic"],
    "aze": ["az", "Azərbaycan", "Azerbaijani"],
    "ben": ["bn", "bn-BD", "বাংলা", "Bengali"],
    "bul": ["bg", "Български", "Bulgarian"],
    "cat": ["ca", "Català", "Catalan"],
    "ces": ["cs", "cs-CZ", "Čeština", "Czech"],
    "cym": ["cy", "Cymraeg", "Welsh"],
    "deu": ["de", "de-DE", "Deutsch", "German"],
    "ell": ["el", "el-GR", "Ελληνικά", "Greek"],
    "eng-uk": ["en-gb", "en-uk", "British English"],
    "eng-us": ["en-us", "en", "English", "American English"],
    "eus": ["eu", "Euskara", "Basque"],
    "fra": ["fr", "fr-FR", "Français", "French"],
    "hbs": ["sh", "sr", "hr", "bs", "Croatian", "Serbian", "Bosnian", "Serbo-Croatian"],
    "hin": ["hi", "hi-IN", "हिन्दी", "Hindi"],
    "hun": ["hu", "hu-HU", "Magyar", "Hungarian"],
    "hye": ["hy", "Հայերեն", "Armenian"],
    "isl": ["is", "is-IS", "Íslenska", "Icelandic"],
    "ita": ["it", "it-IT", "Italiano", "Italian"],
    "jpn": ["ja", "ja-JP", "日本語", "Japanese"],
    "kat": ["ka", "ქართული", "Georgian"],
    "khm": ["km", "ខ្មែរ", "Khmer"],
    "kor": ["ko", "ko-KR", "한국어", "Korean"],
    "lat": ["la", "Latina", "Latin"],
    "lit": ["lt", "Lietuvių", "Lithuanian"],
    "mkd": ["mk", "Македонски", "Macedonian"],
    "mlt": ["mt", "Malti", "Maltese"],
    "mya": ["my", "မြန်မာ", "Burmese"],
    "nld": ["nl", "nl-NL", "Nederlands", "Dutch"],
    "nob": ["nb", "no", "nb-NO", "Norsk", "Bokmål", "Norwegian"],
    "pol": ["pl", "pl-PL", "Polski", "Polish"],
    "por": ["pt", "pt-PT", "Português", "Portuguese"],
    "ron": ["ro", "ro-RO", "Română", "Romanian"],
    "slv": ["sl", "Slovenščina", "Slovene"],
    "spa": ["es", "es-ES", "Español", "Spanish"],
    "tgl": ["tl", "Filipino", "Tagalog"],
    "tha": ["th", "th-TH", "ไทย", "Thai"],
    "tur": ["tr", "tr-TR", "Türkçe", "Turkish"],
    "ukr": ["uk", "uk-UA", "Українська", "Ukrainian"],
    "vie": ["vi", "vi-VN", "Tiếng Việt", "Vietnamese"],
}
"""The names of the languages by tag: first a short code, last the English name."""
VARIANTS = 2
"""Maximum pronunciations of a training word."""
RAREST = 5
"""Words with a sound or letter found in fewer words of their language are left out of training."""
TASKS = {
    "ell": "gre", "hin": "hin", "hun": "hun", "isl": "ice", "jpn": "jpn jpn_hira", "kor": "kor",
    "lit": "lit", "vie": "vie vie_hanoi", "ita": "ita", "khm": "khm",
}  # fmt: skip
"""Names of a language in the shared tasks."""
FREQUENCIES = {
    "ara": "ar", "ben": "bn", "bul": "bg", "cat": "ca", "ces": "cs", "deu": "de", "ell": "el",
    "eng": "en", "fra": "fr", "hbs": "sh", "hin": "hi", "hun": "hu", "isl": "is", "ita": "it",
    "kor": "ko", "lit": "lt", "mkd": "mk", "nld": "nl", "nob": "nb", "pol": "pl", "por": "pt",
    "ron": "ro", "slv": "sl", "spa": "es", "tgl": "fil", "tur": "tr", "ukr": "uk", "vie": "vi",
}  # fmt: skip
"""Language codes of ``wordfreq``."""


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
    there = set(known)
    ranked = frequent_words(PACKAGES, FREQUENCIES.get(code[:3], "none"))
    return [word for word in ranked[:50_000] if word in there]


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
    """Leaves out words with rare letters or sounds, and further variants."""
    letters = Counter(letter for word in words for letter in set(word))
    sounds = Counter(one for own in words.values() for text in own for one in set(text.split()))
    kept = {}
    for word, own in words.items():
        if min(letters[letter] for letter in word) >= RAREST:
            good = [text for text in own if min(sounds[one] for one in text.split()) >= RAREST]
            if good:
                kept[word] = good[:VARIANTS]
    return kept


def parts(data: Path) -> Parts:
    """Returns train, dev and test rows of all languages, and the frequent words of each."""
    rows: Parts = {"train": [], "dev": [], "test": [], "lexicon": []}
    for file in sorted((data / "wikipron").glob("*.tsv.gz")):
        code = language_of(file)
        words = read(file)
        order = sorted(words, key=lambda word: sha256(f"{code} {word}".encode()))
        taken = reserved(data, code)
        pool = {word: words[word] for word in order[TEST + DEV :] if word not in taken}
        pool = regular(pool)
        chosen = frequent(code, pool)[: WORDS // 2]
        chosen = list(dict.fromkeys([*chosen, *pool]))[:WORDS]
        for part, own, targets in (
            ("test", order[:TEST], words),
            ("dev", order[TEST : TEST + DEV], words),
            ("train", chosen, pool),
            ("lexicon", frequent(code, words)[:KNOWN], words),
        ):
            # Repeat those of a small language, so that it weighs as much as the others.
            times = WORDS // max(1, len(own)) if part == "train" else 1
            rows[part] += times * [
                (word, text, code)
                for word in own
                for text in targets[word]
                if part != "lexicon" or "‿" not in text  # a form before vowels
            ]
    random.Random(0).shuffle(rows["train"])
    return rows
