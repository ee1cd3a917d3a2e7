"""Regular English possessives, plurals and past tenses, built from known words in ARPAbet.

Of the 25,255 such words of CMUDict whose base it has too, 93.0% come out as it has them, and 95.1%
if AH0 and IH0 count as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hardalign.data.text import Symbols

PHONES = ("S", "Z", "T", "D", "IH0")
"""What endings are made of; a model that has these and stress digits writes English."""
_SIBILANTS = {"S", "Z", "SH", "ZH", "CH", "JH"}
_VOICELESS = {"P", "T", "K", "F", "TH", "S", "SH", "CH"}
_VOWELS = "aeiou"


def bases(word: str) -> Iterator[tuple[str, Callable[[Symbols], Symbols]]]:
    """Yield the words that a word may be an inflection of, each with how that is pronounced.

    >>> [(base, add(("N", "EH1", "T"))) for base, add in bases("net's")]
    [('net', ('N', 'EH1', 'T', 'S'))]
    """
    if word.endswith("'s"):
        yield word[:-2], _add_s
    elif word.endswith("s'"):
        yield word[:-1], tuple
    elif word.endswith("s") and not word.endswith(("as", "is", "os", "ss", "us")):
        if word.endswith("ies"):
            yield f"{word[:-3]}y", _add_s
        yield word[:-1], _add_s
        if word.endswith(("ses", "xes", "zes", "ches", "shes")):
            yield word[:-2], _add_s
    elif word.endswith("ed"):
        if word.endswith("ied"):
            yield f"{word[:-3]}y", _add_d
        yield word[:-1], _add_d
        if word[-4:-3] == word[-3:-2] not in _VOWELS:  # stopped
            yield word[:-3], _add_d
        yield word[:-2], _add_d


def _add_s(phones: Symbols) -> Symbols:
    if phones[-1] in _SIBILANTS:
        return (*phones, "IH0", "Z")
    return (*phones, "S" if phones[-1] in _VOICELESS else "Z")


def _add_d(phones: Symbols) -> Symbols:
    if phones[-1] in ("T", "D"):
        return (*phones, "IH0", "D")
    return (*phones, "T" if phones[-1] in _VOICELESS else "D")
