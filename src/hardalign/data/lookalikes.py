"""Symbols that look alike, or cannot be seen at all."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from hardalign.data.example import Symbols

_GROUPS = (
    # Latin letters with their twins in Cyrillic and Greek
    *("AАΑ", "BВΒ", "CС", "EЕΕ", "HНΗ", "IІΙ", "JЈ", "KКΚ", "MМΜ", "NΝ", "OОΟ", "PРΡ", "SЅ"),
    *("TТΤ", "XХΧ", "YУΥ", "ZΖ", "aаα", "cсϲ", "eе", "hһ", "iіι", "jј", "oоοօ", "pрρ", "sѕ"),
    *("xх", "yу", "vν", "uυ", "kκĸ", "nո"),
    # letters of the phonetic alphabet with what is typed instead; not those of its own (x and χ)
    *("gɡ", "əǝ", "ɛεє", "βßꞵ", "θѳ", "ʃ∫", ":ː", "!ǃ", "ɪı", "ʒӡ", "φɸ", "ŋη"),
    # punctuation
    *("'’‘ʼʹ′`´ˈ", '"“”„″', "-‐‑‒–—−", ",‚", ".․", "|ǀ", "…⋯", "/⁄∕"),
)
_TWIN = {ord(twin): group[0] for group in _GROUPS for twin in group[1:]}


def look_alikes(symbols: Iterable[str]) -> list[Symbols]:
    """Returns the groups of symbols that a reader may take for one another.

    >>> look_alikes(["a", "b", "а"])  # the last is Cyrillic
    [('a', 'а')]
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for symbol in sorted(set(symbols)):
        groups[symbol.translate(_TWIN)].append(symbol)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def is_invisible(symbol: str) -> bool:
    """Says whether a symbol shows nothing: white space other than the blank, or a control."""
    kinds = {unicodedata.category(character) for character in symbol}
    return symbol != " " and kinds <= {"Zs", "Zl", "Zp", "Cc", "Cf"}


def describe(symbol: str) -> str:
    """Names a symbol by its code points where its looks do not tell it from others."""
    points = " ".join(f"U+{ord(character):04X}" for character in symbol)
    if is_invisible(symbol):
        return points
    name = unicodedata.name(symbol, "") if len(symbol) == 1 else ""
    return f"{symbol} ({f'{points} {name}'.strip()})"
