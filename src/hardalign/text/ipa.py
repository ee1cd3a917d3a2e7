"""Convert ARPAbet, the phone set of the CMU Pronouncing Dictionary, to IPA.

American English in broad transcription. A stress mark precedes its syllable, so words are split
into syllables first: of the consonants between two vowels, as many go to the second one as can
begin an English word (maximal onset). Monosyllables get no mark, as in dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hardalign.errors import HardalignError


def _table(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


CONSONANTS = _table(
    "B:b CH:tʃ D:d DH:ð F:f G:ɡ HH:h JH:dʒ K:k L:l M:m N:n NG:ŋ P:p R:ɹ S:s SH:ʃ T:t TH:θ V:v W:w "
    "Y:j Z:z ZH:ʒ"
)
VOWELS = _table("AA:ɑ AE:æ AH:ʌ AO:ɔ AW:aʊ AY:aɪ EH:ɛ ER:ɝ EY:eɪ IH:ɪ IY:i OW:oʊ OY:ɔɪ UH:ʊ UW:u")
WEAK = {"AH": "ə", "ER": "ɚ"}  # vowels that change when unstressed
STRESS = {"1": "ˈ", "2": "ˌ", "0": "", "": ""}
CLUSTERS = """
P L, P R, B L, B R, T R, T W, D R, D W, K L, K R, K W, G L, G R, G W, F L, F R, TH R, TH W, SH R,
S P, S T, S K, S F, S M, S N, S L, S W, HH W, S P L, S P R, S T R, S K R, S K W, S K L
"""
ONSETS = {(phone,) for phone in CONSONANTS if phone != "NG"} | {
    tuple(cluster.split()) for cluster in CLUSTERS.split(",")
}
"""Onsets of English syllables, except clusters that end in Y."""
GLIDING = {"UW", "UH"}
"""Vowels before which a cluster may end in Y, as in *music* and *cure*."""


def arpabet_to_ipa(phones: Sequence[str]) -> str:
    """Write a pronunciation in ARPAbet as IPA.

    >>> arpabet_to_ipa(["AH0", "B", "AW1", "T"])
    'əˈbaʊt'

    Without stress digits, no stress is marked, and AH becomes ə, or ʌ in monosyllables.

    Raises:
        HardalignError: If a symbol is not ARPAbet.
    """
    return parts_to_ipa([phones])


def parts_to_ipa(parts: Sequence[Sequence[str]]) -> str:
    """Write a word of several parts as IPA; no syllable crosses from one part to the next.

    >>> parts_to_ipa([["Y", "UW1"], ["EH1", "S"], ["EY1"]])
    'ˈjuˈɛsˈeɪ'
    """
    check_arpabet(phone for part in parts for phone in part)
    several = sum(_name(phone) in VOWELS for part in parts for phone in part) > 1
    written = ""
    for phones in parts:
        marks = _marks(phones) if several else {}
        for place, phone in enumerate(phones):
            written += marks.get(place, "") + _letter(phone, several)
    return written


def ipa_symbols(phones: Sequence[str]) -> list[str]:
    """Return one IPA symbol for each phone, without stress, as forced aligners expect.

    >>> ipa_symbols(["AH0", "B", "AW1", "T"])
    ['ə', 'b', 'aʊ', 't']
    """
    check_arpabet(phones)
    several = sum(_name(phone) in VOWELS for phone in phones) > 1
    return [_letter(phone, several) for phone in phones]


def is_arpabet(symbols: Sequence[str]) -> bool:
    """Return whether all symbols are ARPAbet phones, including at least one vowel."""
    return all(map(_is_phone, symbols)) and any(_name(symbol) in VOWELS for symbol in symbols)


def check_arpabet(symbols: Iterable[str]) -> None:
    """Require ARPAbet phones; the error lists all other symbols."""
    if foreign := [symbol for symbol in dict.fromkeys(symbols) if not _is_phone(symbol)]:
        shown = ", ".join(map(repr, foreign[:10])) + (", …" if len(foreign) > 10 else "")
        raise HardalignError(f"only ARPAbet can be written as IPA; these symbols are not: {shown}")


def _is_phone(symbol: str) -> bool:
    # Only vowels carry a stress digit.
    return symbol in CONSONANTS or (symbol[:2] in VOWELS and symbol[2:] in STRESS)


def _name(phone: str) -> str:
    return phone.rstrip("012")


def _letter(phone: str, several: bool) -> str:
    """Write a phone as IPA; ``several`` says whether its word has several syllables."""
    name = _name(phone)
    unstressed = phone.endswith("0") or (several and phone == name)
    weak = WEAK if unstressed else {}
    return CONSONANTS.get(name) or weak.get(name) or VOWELS[name]


def _marks(phones: Sequence[str]) -> dict[int, str]:
    """Return the stress mark of each syllable, by the index of its first phone."""
    marks: dict[int, str] = {}
    after = 0  # index of the first consonant before the next vowel
    for place, phone in enumerate(phones):
        name = _name(phone)
        if name in VOWELS:
            start = after
            while marks and start < place and not _is_onset(tuple(phones[start:place]), name):
                start += 1
            marks[start] = STRESS[phone[len(name) :]]
            after = place + 1
    return marks


def _is_onset(consonants: tuple[str, ...], vowel: str) -> bool:
    if len(consonants) > 1 and consonants[-1] == "Y":
        return vowel in GLIDING and consonants[:-1] in ONSETS
    return consonants in ONSETS
