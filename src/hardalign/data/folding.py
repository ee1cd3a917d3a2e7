"""Letters that a model does not have, read as letters that it has."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from hardalign.data.text import Symbols
from hardalign.data.vocabulary import Alphabet

APOSTROPHES = "'’ʼ＇´`"
HYPHENS = "-‐‑"
INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Soft hyphen, and zero-width joiners and spaces."""
PLAIN: dict[int, str | None] = {
    **{ord(mark): APOSTROPHES[0] for mark in APOSTROPHES},
    **{ord(mark): HYPHENS[0] for mark in HYPHENS},
    **dict.fromkeys(map(ord, INVISIBLE)),
}
"""For ``str.translate``: one apostrophe, one hyphen, nothing invisible."""
LIKE = dict(
    pair.split(":") for pair in ("ß:ss", "æ:ae", "œ:oe", "ø:o", "ð:d", "þ:th", "ł:l", "đ:d", "ı:i")
)
"""Letters that no normal form takes apart, and what they are read as."""
ALIKE = (APOSTROPHES, HYPHENS)
"""Marks of which each is read as any other that the model has, and left out where it has none,
since they have no sound of their own."""


@dataclass
class Folding:
    """Folds words into a model's alphabet, and counts what it changed."""

    alphabet: Alphabet
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a letter was read as others."""

    def fold(self, symbols: Symbols) -> Symbols | None:
        """Returns a word in the model's letters, or None if one of them is like none of these.

        A letter that the model does not have is read as the ones it stands for (ﬁ as fi), loses its
        marks (é is read as e), is replaced by what ``LIKE`` says (ß as ss), or becomes a small
        letter, whichever the model has first. All apostrophes are alike, and all hyphens; one read
        as another is not counted.
        """
        folded: list[str] = []
        changes = []
        for symbol in symbols:
            letters = self._folded(symbol)
            if letters is None:
                return None
            same_mark = any({symbol, *letters} <= set(alike) for alike in ALIKE if letters)
            if letters != (symbol,) and not same_mark:
                changes.append((symbol, "".join(letters)))
            folded += letters
        if not folded:
            return None
        self.changes.update(changes)
        return tuple(folded)

    def _folded(self, symbol: str) -> Symbols | None:
        parts = unicodedata.normalize("NFKD", symbol)
        # Without accents, dots and the like: nothing, if it is only a mark.
        plain = "".join(part for part in parts if unicodedata.category(part)[0] != "M")
        lower = symbol.lower()
        marks = next((alike for alike in ALIKE if symbol in alike), "")
        whole = unicodedata.normalize("NFKC", symbol)
        small = lower, whole.lower(), plain.lower(), LIKE.get(lower, lower)
        likes = *marks, whole, plain, LIKE.get(symbol, symbol), *small
        for letters in ((symbol,), *map(tuple, likes)):
            if letters and not self.alphabet.unknown(letters):
                return letters
        return () if marks or not plain else None

    def remark(self) -> str | None:
        """Returns one line for the user, or None if nothing was changed."""
        if not self.changes:
            return None
        changes = self.changes.most_common(20)
        shown = ", ".join(f"{one} as {other or 'nothing'} × {n}" for (one, other), n in changes)
        more = f" and {len(self.changes) - 20} more" if len(self.changes) > 20 else ""
        return f"letters that the model does not have were read as others: {shown}{more}"


def trimmed(source: Symbols, alphabet: Alphabet) -> Symbols:
    """Returns a source without the blanks around it, if the model does not have them."""
    letters = [k for k, s in enumerate(source) if not s.isspace() or not alphabet.unknown([s])]
    return source[letters[0] : letters[-1] + 1] if letters else source
