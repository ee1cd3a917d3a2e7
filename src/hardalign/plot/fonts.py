"""Fonts that have the glyphs of a label, among those that are installed; needs matplotlib.

matplotlib brings one font, DejaVu Sans, which has Latin, Greek, Cyrillic, Arabic and IPA, but no
Hangul, no Devanagari and no Han. It shapes text right, joins Arabic letters and places marks, where
one font has all of a label. So each label gets the first font that has all of it. matplotlib keeps
a list of the fonts that it once found; what none of them has is looked for among newer ones.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from matplotlib.font_manager import FontEntry, FontProperties, findSystemFonts, fontManager
from matplotlib.ft2font import FT2Font

DEFAULT = "DejaVu Sans"
"""Always there: matplotlib brings it."""

_PREFERRED = (
    DEFAULT,
    "Noto Sans CJK JP",
    "Noto Sans",
    "Arial Unicode MS",
    "Apple",
    "Malgun",
    "Nirmala",
)
"""Beginnings of the names of families that read well at a small size, best first."""

_INVISIBLE = ("Cf", "Cc", "Zs")
"""Categories of characters that may do without a glyph: joiners, selectors, blanks."""


def font_for(text: str) -> FontProperties:
    """Returns the first installed font that has all of a label, else those with most of it."""
    characters = _visible(text)
    if missing([text]):
        _add_new_fonts()
    for family in _families():
        if characters <= _covered(family):
            return FontProperties(family=family)
    return FontProperties(family=[DEFAULT, *_useful(characters)])


def missing(texts: Iterable[str]) -> list[str]:
    """Returns the characters that no known font has, in the order of first appearance."""
    characters = dict.fromkeys(c for text in texts for c in text if c in _visible(c))
    return [c for c in characters if not any(c in _covered(family) for family in _families())]


def describe_missing(texts: Iterable[str]) -> str | None:
    """Returns a line that names what cannot be drawn and says what to do; None if all can be."""
    characters = missing(texts)
    if not characters:
        return None
    shown = ", ".join(f"{c!r} ({unicodedata.name(c, f'U+{ord(c):04X}')})" for c in characters[:3])
    more = f" and {len(characters) - 3} more" if len(characters) > 3 else ""
    return (
        f"no installed font has {shown}{more}: a box stands there. Install one that does, "
        "for example (Debian) with apt install fonts-noto-core fonts-noto-cjk"
    )


def _useful(characters: set[str]) -> Iterator[str]:
    """Gives families that together have as much of the characters as any have."""
    rest = characters - _covered(DEFAULT)
    for family in _families():
        if rest & _covered(family):
            rest = rest - _covered(family)
            yield family


@cache
def _add_new_fonts() -> None:
    """Looks, once, for fonts that were installed after matplotlib made its list."""
    known = {entry.fname for entry in fontManager.ttflist}
    for path in set(findSystemFonts()) - known:
        with suppress(OSError, RuntimeError, NotImplementedError):  # no font, or a strange one
            fontManager.addfont(path)
    _families.cache_clear()
    _faces.cache_clear()


@cache
def _families() -> list[str]:
    """Returns the installed families that have an upright face of normal weight, best first."""

    def rank(family: str) -> tuple[int, str]:
        places = (k for k, beginning in enumerate(_PREFERRED) if family.startswith(beginning))
        return next(places, len(_PREFERRED)), family

    return sorted(_faces(), key=rank)


@cache
def _faces() -> dict[str, FontEntry]:
    # The font of last resort has a box for everything, which is what is to be avoided.
    return {
        entry.name: entry
        for entry in fontManager.ttflist
        if (entry.style, entry.weight) == ("normal", 400)
        and "Last" not in entry.name
        and Path(entry.fname).is_file()  # and not uninstalled since
    }


@cache
def _covered(family: str) -> frozenset[str]:
    """Returns the characters that a family has glyphs for."""
    entry = _faces()[family]
    return frozenset(map(chr, FT2Font(entry.fname, face_index=entry.index).get_charmap()))


def _visible(text: str) -> set[str]:
    return {character for character in text if unicodedata.category(character) not in _INVISIBLE}
