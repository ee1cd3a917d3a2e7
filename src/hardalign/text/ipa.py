"""ARPAbet, the alphabet of the CMU Pronouncing Dictionary, written as IPA.

American English in broad transcription. A stress mark stands where its syllable begins, so the word
is cut into syllables first: between two vowels as many consonants go to the second one as can begin
an English word (maximal onset). A word of one syllable gets no mark, as in dictionaries.
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
WEAK = {"AH": "ə", "ER": "ɚ"}
"""Vowels that are written differently where they have no stress."""
STRESS = {"1": "ˈ", "2": "ˌ", "0": "", "": ""}
CLUSTERS = """
P L, P R, B L, B R, T R, T W, D R, D W, K L, K R, K W, G L, G R, G W, F L, F R, TH R, TH W, SH R,
S P, S T, S K, S F, S M, S N, S L, S W, HH W, S P L, S P R, S T R, S K R, S K W, S K L
"""
ONSETS = {(phone,) for phone in CONSONANTS if phone != "NG"} | {
    tuple(cluster.split()) for cluster in CLUSTERS.split(",")
}
"""What an English syllable may begin with, but for Y."""
GLIDING = {"UW", "UH"}
"""Vowels before which Y may end an onset of several consonants, as in *music* and *cure*."""


def arpabet_to_ipa(phones: Sequence[str]) -> str:
    """Writes a pronunciation in ARPAbet as IPA.

    >>> arpabet_to_ipa(["AH0", "B", "AW1", "T"])
    'əˈbaʊt'

    Without stress digits no stress is marked, and AH is ə but in words of one syllable (ʌ).

    Raises:
        HardalignError: If a symbol is not ARPAbet.
    """
    return parts_to_ipa([phones])


def parts_to_ipa(parts: Sequence[Sequence[str]]) -> str:
    """Writes a word of several parts as IPA, whose syllables do not go over from one to the next.

    >>> parts_to_ipa([["Y", "UW1"], ["EH1", "S"], ["EY1"]])
    'ˈjuˈɛsˈeɪ'

    Raises:
        HardalignError: If a symbol is not ARPAbet.
    """
    check_arpabet(phone for part in parts for phone in part)
    several = sum(len(_nuclei(part)) for part in parts) > 1
    return "".join(_written(part, several) for part in parts)


def ipa_symbols(phones: Sequence[str]) -> list[str]:
    """Return one IPA symbol for each phone, without stress, as forced aligners have them.

    >>> ipa_symbols(["AH0", "B", "AW1", "T"])
    ['ə', 'b', 'aʊ', 't']

    Raises:
        HardalignError: If a symbol is not ARPAbet.
    """
    check_arpabet(phones)
    several = len(_nuclei(phones)) > 1
    return [_letter(phone, several) for phone in phones]


def _nuclei(phones: Sequence[str]) -> list[int]:
    return [index for index, phone in enumerate(phones) if _split(phone)[0] in VOWELS]


def _written(phones: Sequence[str], several: bool) -> str:
    """Writes phones of a word, which has several syllables or not."""
    nuclei = _nuclei(phones)
    beginnings = {_beginning(phones, nuclei, k): phones[nuclei[k]] for k in range(len(nuclei))}
    pieces = []
    for index, phone in enumerate(phones):
        if several and index in beginnings:
            pieces.append(STRESS[_split(beginnings[index])[1]])
        pieces.append(_letter(phone, several))
    return "".join(pieces)


def is_arpabet(symbols: Sequence[str]) -> bool:
    """Says whether symbols are ARPAbet phones, all of them, vowels among them."""
    return bool(_nuclei(symbols)) and all(map(_is_phone, symbols))


def check_arpabet(symbols: Iterable[str]) -> None:
    """Refuses symbols that are no ARPAbet phones, and names them.

    Raises:
        HardalignError: If there are any.
    """
    if foreign := [symbol for symbol in dict.fromkeys(symbols) if not _is_phone(symbol)]:
        shown = ", ".join(map(repr, foreign[:10])) + (", …" if len(foreign) > 10 else "")
        raise HardalignError(f"only ARPAbet can be written as IPA; these symbols are not: {shown}")


def _is_phone(symbol: str) -> bool:
    # A digit is a vowel's stress: no consonant has one.
    return symbol in CONSONANTS or (symbol[:2] in VOWELS and symbol[2:] in STRESS)


def _split(phone: str) -> tuple[str, str]:
    """Returns a phone without its stress, and the stress digit."""
    name = phone.rstrip("012")
    return name, phone[len(name) :]


def _letter(phone: str, several: bool) -> str:
    name, stress = _split(phone)
    if name in CONSONANTS:
        return CONSONANTS[name]
    unstressed = stress == "0" or (stress == "" and several)
    return WEAK.get(name, VOWELS[name]) if unstressed else VOWELS[name]


def _beginning(phones: Sequence[str], nuclei: list[int], k: int) -> int:
    """Returns where the syllable of the ``k``-th vowel begins."""
    if k == 0:
        return 0
    vowel = nuclei[k]
    start = nuclei[k - 1] + 1
    while start < vowel and not _is_onset(tuple(phones[start:vowel]), _split(phones[vowel])[0]):
        start += 1
    return start


def _is_onset(consonants: tuple[str, ...], vowel: str) -> bool:
    if len(consonants) > 1 and consonants[-1] == "Y":
        return vowel in GLIDING and consonants[:-1] in ONSETS
    return consonants in ONSETS
