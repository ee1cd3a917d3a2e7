"""Pronounce running text: words become pronunciations, everything else is kept.

``docs/howto/text.md`` lists the rules. Lines are tokenised by character classes, so that all
scripts are treated alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import NamedTuple

from hardalign.data.formats import Example, Format
from hardalign.data.lexicon import word_symbols
from hardalign.data.text import Symbols, plural, shorten
from hardalign.data.vocabulary import APOSTROPHES, HYPHENS, INVISIBLE, PLAIN, Folding
from hardalign.errors import HardalignError
from hardalign.known_words import respond
from hardalign.predictor import Predictor
from hardalign.search import Prediction, Search
from hardalign.text.ipa import check_arpabet, parts_to_ipa
from hardalign.text.numbers import Numbers

MAX_NAMES = 10_000  # distinct items of each kind that a report keeps
CHUNK = 512  # lines whose words are pronounced in one batch
CACHE = 1 << 16  # words whose pronunciations are cached, as most words of a text recur
_KINDS = {
    "number": ("number", "numbers"),
    "symbol": ("symbol", "symbols"),
    "word": ("word in other letters", "words in other letters"),
    "long": ("word that is too long", "words that are too long"),
    "address": ("address", "addresses"),
}
_AFFIX = re.compile(rf"^[{HYPHENS}](?=\w)|(?<=\w)[{HYPHENS}]$")
"""The hyphen of a suffix (-ism) or of a prefix (pre-)."""
_ELIDED = re.compile(rf"[^\W\d_]+[{re.escape(APOSTROPHES)}](?=[A-Z])")
"""An elided word before a name or an acronym: *l'UE*."""
_CHUNK = re.compile(r"(\s*)(\S*)")
_PUNCTUATION = '.,;:!?…()"“”„«»‹›'
_PLAIN = re.compile(rf"(?:[^\W\d_]|[.{re.escape(APOSTROPHES + HYPHENS)}])*+")
"""Chunks that need no lookup as a whole, as they can only be words, abbreviations or addresses."""

_TOKENS = re.compile(
    # Anything with a digit, and what is attached to it: 1999, $3.50, 10:30, 3rd, B2B, 50%.
    r"(?P<number>s?a*9(?:[.,:]9|['s-]?[a9])*s?)"
    # Single letters with dots between them (U.S., a.m.), including the last dot.
    r"|(?P<abbreviation>(?<!a)a(?:\.a)+(?!a)\.?)"
    # Letters with their marks, apostrophes and inner hyphens.
    r"|(?P<word>'?a+(?:['-]a+)*'?)"
    r"|(?P<symbol>s)"
    r"|(?P<address>u+)"
    r"|(?P<between>[^a9s'u]+|.)"
)
"""Tokens as patterns over character classes: a letter, 9 digit, s sign, z invisible, u address."""
_INSIDE = re.compile(r"(?<=a)z+(?=[a'-])|(?<=['-])z+(?=a)")
"""Invisible characters inside a word, such as a soft hyphen, belong to it."""
_AFTER = r".,;:!?'\"’”»)\]}>"  # punctuation that may follow an address
_ENDINGS = (
    r"(?:com|org|net|edu|gov|info)(?:\.[a-z]{2})?|(?:co|ac)\.[a-z]{2}|COM|ORG|NET|EDU|GOV|INFO"
)
"""Domain endings of addresses without :// or www.; a country code may follow."""
_ADDRESS = re.compile(
    rf"(?<!\w)(?:[a-z]{{2,10}}://|www\.)\S*[^\s{_AFTER}]"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    # Only a few endings, in lower case or all capitals, since "end.Net" and "is.it" may be words of
    # two sentences without a space between them.
    rf"|(?<![\w.+-])(?:[\w-]+\.)+(?-i:{_ENDINGS})(?![\w-])(?:(?=[:/])\S*[^\s{_AFTER}])?",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A piece of a line; its kind is one of the groups of ``_TOKENS``."""

    kind: str
    text: str


def tokens(line: str) -> Iterator[Token]:
    """Split a line into tokens, which concatenate to the line.

    >>> [token.text for token in tokens("It's 10:30, Jean-Luc!") if token.kind != "between"]
    ["It's", '10:30', 'Jean-Luc']
    """
    classes = list(map(_class, line))
    for match in _ADDRESS.finditer(line):
        classes[match.start() : match.end()] = "u" * len(match[0])
    joined = _INSIDE.sub(lambda match: "a" * len(match[0]), "".join(classes))
    for match in _TOKENS.finditer(joined):
        yield Token(str(match.lastgroup), line[match.start() : match.end()])


@cache
def _class(character: str) -> str:
    for members, kind in ((APOSTROPHES, "'"), (HYPHENS, "-"), (INVISIBLE, "z"), ("&@#%", "s")):
        if character in members:
            return kind
    category = unicodedata.category(character)[0]
    other = character if character in ".,:" else " "
    return {"S": "s", "L": "a", "M": "a", "N": "9"}.get(category, other)


class Piece(NamedTuple):
    """A piece of a line and what is pronounced for it: nothing, a word, or a word's letters."""

    text: str
    words: Sequence[Example] = ()
    """The text of each is the normalised word; its source has only letters of the model."""


@dataclass
class TextReport:
    """Counts of what was pronounced and what was not."""

    words: int = 0
    known: int = 0
    skipped: dict[str, Counter[str]] = field(default_factory=lambda: {k: Counter() for k in _KINDS})
    """What was not pronounced, by kind."""
    capitals: Counter[str] = field(default_factory=Counter)
    """Words in capitals that the model read as words."""
    cut_off: Counter[str] = field(default_factory=Counter)
    """Words whose pronunciation reached the length limit."""
    expanded: Counter[str] = field(default_factory=Counter)
    """Numbers and abbreviations that were expanded."""
    folding: Folding | None = None

    def remarks(self) -> list[str]:
        """Return remarks on what was skipped or read differently, one line each."""
        pieces = [
            f"{plural(counts.total(), *_KINDS[kind])} ({names(counts)})"
            for kind, counts in self.skipped.items()
            if counts
        ]
        lines = [f"not pronounced: {', '.join(pieces)}"] if pieces else []
        if self.expanded:
            lines.append(f"{self.expanded.total()} read as words: {names(self.expanded)}")
        if self.folding and (remark := self.folding.remark()):
            lines.append(remark)
        if self.capitals:
            lines.append(f"read as words though in capitals: {names(self.capitals)}")
        if self.cut_off:
            lines.append(f"cut off at the length limit: {names(self.cut_off)}")
        return lines

    def refusal(self) -> str:
        """Return the error message for a text without words."""
        reason = "; ".join(self.remarks()) or "it is empty"
        return f"there is no word in the text that the model can read: {reason}"

    def summary(self) -> str:
        """Return how many words were pronounced."""
        text = f"{plural(self.words, 'word was', 'words were')} pronounced"
        return f"{text}, {self.known} of them known" if self.known else text


class Reader:
    """Finds the words of a text that a model can read, and reports what it skips."""

    def __init__(
        self,
        predictor: Predictor,
        report: TextReport,
        *,
        spell_capitals: bool = False,
        numbers: Numbers | None = None,
    ) -> None:
        description = predictor.description
        if "tags" in description.format.columns:
            raise HardalignError("this model cannot read text: it needs tags with each word")
        self._layout, self._lexicon = description.format, predictor.lexicon
        self._report, self._spell, self._numbers = report, spell_capitals, numbers
        alphabet = description.vocabulary.source
        self._folding = report.folding = Folding(alphabet)
        self._plain = PLAIN | {ord(m): m for m in INVISIBLE if not alphabet.unknown(m)}

    def words(self, line: str) -> Iterator[Example]:
        """Yield the words of a line.

        A word alone on its line is kept whole, with hyphens at its edges (-ism), and so is a line
        that the lexicon contains (mr.).
        """
        text = line.strip()
        kinds = [token.kind for token in tokens(_AFFIX.sub("", text))]
        if kinds in (["word"], ["abbreviation"]) or self._is_known(text):
            yield from self._piece(text, [text]).words
        else:
            for piece in self.pieces(line):
                yield from piece.words

    def pieces(self, line: str) -> Iterator[Piece]:
        """Split a line into pieces, which concatenate to the line (with its numbers expanded)."""
        words = [token for token in tokens(line) if token.kind == "word"]
        headline = len(words) > 1 and all(token.text.isupper() for token in words)
        if self._numbers:
            line = self._numbers.expand(
                line, lambda text, words: count(self._report.expanded, f"{text} as {words}")
            )
        for blank, chunk in _CHUNK.findall(line):
            yield Piece(blank)
            bare = chunk.strip(_PUNCTUATION)
            if not _PLAIN.fullmatch(bare) and self._is_known(bare):
                before, _, after = chunk.partition(bare)
                yield from (Piece(before), self._piece(bare, [bare]), Piece(after))
            else:
                for token in tokens(chunk):
                    yield from self._token(token, spell=self._spell and not headline)

    def _token(self, token: Token, spell: bool) -> Iterator[Piece]:
        if token.kind == "between":
            yield Piece(token.text)
        elif token.kind == "word":
            yield from self._word(token.text, spell)
        elif token.kind in ("abbreviation", "address") and self._is_known(token.text):
            yield self._piece(token.text, [token.text])
        elif token.kind == "abbreviation":
            yield self._spelled(token.text)
        else:
            count(self._report.skipped[token.kind], token.text)
            yield Piece(token.text)

    def _word(self, text: str, spell: bool) -> Iterator[Piece]:
        """Split a word at hyphens and edge apostrophes, unless the lexicon has it with them."""
        bare = text.strip(APOSTROPHES)
        before, _, after = text.partition(bare)
        for left, right in ((before, after), (before, ""), ("", after)):
            if (left or right) and self._is_known(left + bare + right):
                before, bare, after = before[len(left) :], left + bare + right, after[len(right) :]
                break
        yield Piece(before)
        for part in [bare] if self._is_known(bare) else re.split(f"([{HYPHENS}])", bare):
            yield Piece(part) if part in HYPHENS else self._part(part, spell)
        yield Piece(after)

    def _part(self, text: str, spell: bool) -> Piece:
        elided = _ELIDED.match(text)
        before = elided[0] if elided and self._is_known(elided[0]) else ""
        word = text[len(before) :]
        capitals = word.isupper() and sum(map(str.isalpha, word)) > 1
        if capitals and spell:
            return self._spelled(word, before)
        piece = self._piece(text, [text])
        if capitals and piece.words and not self._is_known(text):
            count(self._report.capitals, text)
        return piece

    def _spelled(self, text: str, before: str = "") -> Piece:
        """Return a piece that is spelled out, by the names of its letters (*A.* in CMUDict)."""
        letters = [letter for letter in text if letter.isalpha()]
        spelled = [f"{x}." if self._is_known(f"{x}.") else x for x in letters]
        return self._piece(before + text, [before, *spelled] if before else spelled)

    def _piece(self, piece: str, words: list[str]) -> Piece:
        """Return a piece with its words to pronounce, or without any if one cannot be read."""
        examples = []
        for text in words:
            word = self._symbols(text)
            source = word if self._lexicon.pronunciations(word) else self._folding.fold(word)
            if source is None:
                count(self._report.skipped["word" if word else "long"], piece)
                return Piece(piece)
            examples.append(Example(source, text=self._layout.join_source(word)))
        return Piece(piece, examples)

    def _is_known(self, word: str) -> bool:
        return bool(self._lexicon.pronunciations(self._symbols(word)))

    def _symbols(self, word: str) -> Symbols:
        """Split a word into symbols; return none if it is too long to be a word."""
        try:
            return word_symbols(word.translate(self._plain), self._layout)
        except HardalignError:
            return ()


def count(counts: Counter[str], text: str) -> None:
    """Count a text by name, or as "…" if there are too many different ones."""
    counts[text if text in counts or len(counts) < MAX_NAMES else "…"] += 1


def names(counts: Counter[str]) -> str:
    """List the most frequent texts, with their counts if above one."""
    shown = [shorten(name) + (f" × {n}" if n > 1 else "") for name, n in counts.most_common(8)]
    return ", ".join(shown) + (", …" if len(counts) > 8 else "")


@dataclass(frozen=True)
class Word:
    """A pronounced word of a text."""

    text: str
    """As written in the text."""
    predictions: list[Prediction]
    """One, or one for each letter of a word that is spelled out."""

    @property
    def known(self) -> bool:
        """Whether it came from the lexicon."""
        return all(part.origin == "lexicon" for part in self.predictions)

    @property
    def symbols(self) -> Symbols:
        """The whole pronunciation."""
        return tuple(symbol for part in self.predictions for symbol in part.symbols)


@dataclass(frozen=True)
class Line:
    """A line of a text."""

    text: str
    """The line with its words pronounced."""
    words: list[Word]


def pronounce_text(
    predictor: Predictor,
    lines: Iterable[str],
    *,
    spell_capitals: bool = False,
    numbers: Numbers | None = None,
    ipa: bool = False,
    search: Search = Search(),  # noqa: B008 - frozen
    report: TextReport | None = None,
    threads: int = 1,
) -> Iterator[Line]:
    """Pronounce a text line by line, in constant memory.

    Pronunciations whose symbols are separated by spaces are written in braces, as speech
    synthesisers expect: {DH AH0} {K AE1 T}.

    Args:
        predictor: A model of words.
        lines: The text.
        spell_capitals: Whether words in capitals are spelled out.
        numbers: Expands numbers and abbreviations; by default they are left as they are.
        ipa: Whether to write ARPAbet as IPA.
        search: How to search for the best pronunciation.
        report: Counts what was pronounced and what was not.
        threads: Number of threads.

    Raises:
        HardalignError: If the model needs tags, or ``ipa`` is set and it does not write ARPAbet.
    """
    layout = predictor.description.format
    if ipa:
        check_arpabet(predictor.description.vocabulary.target.letters)
    report = report or TextReport()
    reader = Reader(predictor, report, spell_capitals=spell_capitals, numbers=numbers)
    cache: dict[Symbols, Prediction] = {}
    stream = iter(lines)
    while chunk := list(islice(stream, CHUNK)):
        cut = [list(reader.pieces(line)) for line in chunk]
        if len(cache) > CACHE:
            cache.clear()
        examples = {word.source: word for line in cut for piece in line for word in piece.words}
        new = [example for source, example in examples.items() if source not in cache]
        # Of function words (a, the, and), a dictionary's first pronunciation is the usual one.
        answers = respond(predictor, new, search, exact=False, ranked=False, threads=threads)
        cache |= {word.source: best for word, (best, *_) in zip(new, answers, strict=True)}
        for pieces in cut:
            line = _line(pieces, cache, layout, ipa)
            report.words += len(line.words)
            report.known += sum(word.known for word in line.words)
            for word in line.words:
                if not all(part.finished for part in word.predictions):
                    count(report.cut_off, word.text)
            yield line


def _line(
    pieces: list[Piece], answers: Mapping[Symbols, Prediction], layout: Format, ipa: bool
) -> Line:
    written, words = [], []
    for piece in pieces:
        if not piece.words:
            written.append(piece.text)
            continue
        word = Word(piece.text, [answers[example.source] for example in piece.words])
        words.append(word)
        if ipa:
            written.append(parts_to_ipa([part.symbols for part in word.predictions]))
        else:
            text = layout.join_target(word.symbols)
            written.append(f"{{{text}}}" if layout.target_separator else text)
    return Line("".join(written), words)
