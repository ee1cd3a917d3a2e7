"""Pronunciation lexicons, from the files of speech tools or from a model's folder."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Literal, get_args

from hardalign.data.formats import Format
from hardalign.data.reading import file_name, read_lines
from hardalign.data.text import Symbols, shorten
from hardalign.data.vocabulary import PLAIN, Alphabet
from hardalign.errors import HardalignError, InputError
from hardalign.files import os_errors_named

BESIDE = "lexicon.tsv"
"""The lexicon in a model's folder: ``word<TAB>P H O N E S``, words sorted by their UTF-8 bytes."""
GERMAN = "lexicon-deu.tsv"
CMUDICT = "cmudict"  # the name of en-g2p's lexicon, for use with other models
_PACKAGED = Path(__file__).parents[1] / "bundled" / "en-g2p" / BESIDE
Origin = Literal["lexicon", "model"]  # where an answer may come from
VARIANT = re.compile(r"(?<=.)\(\d+\)$")
"""Marks the second and further pronunciations of a word in CMUDict."""
_SILENCE = re.compile(
    r"(?P<word>\S+)(\s+[\d.]+)*\s+(?P<phone>sil|sp|spn|nsn|noise|oov|unk)\s*", re.IGNORECASE
)
"""A word such as ``<unk>`` with a silence or noise phone, which no model writes."""
_ODD = re.compile(r"[^,;|=]+[,;|=]")
_NUMBER = re.compile(r"\d+(\.\d+)?")
MAX_PRONUNCIATIONS = 1000  # per word; each new one is compared with the others
_PROBABILITY = re.compile(r"\d+\.\d+(e-\d+)?")
PHONES = ("S", "Z", "T", "D", "IH0")
"""Phones of English endings; a model that has these, with stress digits, writes English."""
_SIBILANTS = {"S", "Z", "SH", "ZH", "CH", "JH"}
_VOICELESS = {"P", "T", "K", "F", "TH", "S", "SH", "CH"}


class Lexicon:
    """Words with their pronunciations.

    A word is looked up as the model sees it, with any apostrophe and hyphen: first among the added
    entries, then in the file ``beside`` the model (or in that of its language, by tag), then as a
    regular inflection (see ``bases``) if that file is English, then as an elided word before
    another (*l'été*), or as a word with *es* (*gab's*) if the file is German.
    """

    def __init__(
        self,
        layout: Format,
        alphabet: Alphabet | None = None,
        beside: Mapping[Symbols, Path] | None = None,
    ) -> None:
        self._layout, self._beside = layout, dict(beside or {})
        self._lines: dict[Symbols, bytes] = {}
        """Contents of the files beside the model, each read on first use."""
        self._entries: dict[str, tuple[Symbols, ...]] = {}
        self.silences: list[tuple[str, str]] = []
        """Words such as ``<unk>`` with phones such as ``spn``, as spelt in their file."""
        self._inflects = bool(beside and alphabet and not alphabet.unknown(PHONES))

    def __len__(self) -> int:
        """Return the number of words."""
        lines = chain.from_iterable(self._read(tags).split(b"\n") for tags in self._beside)
        words = {line.partition(b"\t")[0] for line in lines if line}
        return len(words.union(word.encode() for word in self._entries))

    def __bool__(self) -> bool:
        return bool(self._entries or self._beside)

    def add(self, word: Symbols, pronunciation: Symbols) -> None:
        """Add a pronunciation, unless the word has it already.

        Raises:
            HardalignError: If the word has too many.
        """
        key = self._key(word)
        others = self._entries.get(key, ())
        if pronunciation not in others:
            if len(others) == MAX_PRONUNCIATIONS:
                raise HardalignError(
                    f"more than {MAX_PRONUNCIATIONS} pronunciations of {shorten(key)}; remove some"
                )
            self._entries[key] = (*others, pronunciation)

    def add_missing(self, other: Lexicon) -> None:
        """Add the words of another lexicon that this one does not have."""
        self._entries = other._entries | self._entries
        self.silences += other.silences

    def pronunciations(self, word: Symbols, tags: Symbols = ()) -> tuple[Symbols, ...]:
        """Return a word's pronunciations in file order; none if it is unknown."""
        key = self._key(word)
        if found := self._look_up(key, tags):
            return found
        for base, add in bases(key) if self._inflects else ():
            if len(base) > 2 and (found := self._look_up(base, tags)):
                return tuple(map(add, found))
        first, mark, second = key.partition("'")  # l'été, if there are l' and été
        if mark and second and (before := self._look_up(first + mark, tags)):
            return tuple(before[0] + one for one in self._look_up(second, tags))
        if second == "s" and tags in self._beside and self._beside[tags].name == GERMAN:
            found = self._look_up(first, tags)
            return tuple((*one, "s") for one in found if one[-1][-1] not in "szʃʒ")
        return ()

    def _look_up(self, key: str, tags: Symbols) -> tuple[Symbols, ...]:
        if key in self._entries or tags not in self._beside:
            return self._entries.get(key, ())
        lines, word = self._read(tags), f"{key}\t".encode()

        def word_at(place: int) -> bytes:
            start = lines.rfind(b"\n", 0, place) + 1
            return lines[start : lines.find(b"\t", start) + 1]

        found, place = [], bisect_left(range(len(lines)), word, key=word_at)
        while lines.startswith(word, place):
            end = lines.index(b"\n", place)
            try:
                text = lines[place + len(word) : end].decode()
            except UnicodeDecodeError:
                raise HardalignError(f"{self._beside[tags]}: damaged: it is not UTF-8") from None
            found.append(self._layout.target_symbols(text))
            place = end + 1
        return tuple(found)

    def _read(self, tags: Symbols) -> bytes:
        if tags not in self._lines:
            with os_errors_named(self._beside[tags], "read"):
                self._lines[tags] = self._beside[tags].read_bytes() + b"\n"
        return self._lines[tags]

    def _key(self, word: Symbols) -> str:
        plain = self._layout.join_source(word).replace(self._layout.source_separator, "")
        return plain.translate(PLAIN)


def lexicons_beside(folder: Path, tags: Symbols, fixed: Symbols) -> dict[Symbols, Path]:
    """Return the lexicon files in a model's folder by the tags of their words.

    There may be one for each of the model's tags, which are languages. If all words have the same
    ``fixed`` tags, they are looked up without tags.
    """
    bundled: dict[Symbols, str] = {(): BESIDE}
    for tag in fixed or tags:
        bundled[() if fixed else (tag,)] = f"lexicon-{tag}.tsv"
    with os_errors_named(folder, "read"):
        # Names are compared: a tag may be too long for a file name, or lead out of the folder.
        names = {path.name for path in folder.iterdir() if path.is_file()}
    return {own: folder / name for own, name in bundled.items() if name in names}


def read_lexicon(
    files: Sequence[str | Path],
    layout: Format,
    alphabet: Alphabet,
    beside: Mapping[Symbols, Path] | None = None,
) -> Lexicon:
    """Read lexicon files, with words and pronunciations cut as in a model's format.

    A line is ``word<TAB>P H O N E S``, or ``WORD  P H O N E S`` as in CMUDict, whose comments
    (``;;;`` and ``#``) are skipped. So are numbers between the two (probabilities in a forced
    aligner's dictionary or Kaldi's lexiconp.txt), and the columns that ``hardalign lexicon --style
    tsv`` adds at the end. ``WORD(2)`` is another pronunciation of WORD.

    Args:
        files: Files, gzipped or not, or ``cmudict`` for the CMU Pronouncing Dictionary. All
            pronunciations of a word come from the first file that has it.
        layout: The model's format.
        alphabet: The symbols that the model writes.
        beside: The model's own lexicon, consulted last, or those of its languages by tag.

    Raises:
        HardalignError: If a line has no pronunciation, a file has no entries or has symbols that
            the model does not know, or the model needs tags.
    """
    if files and "tags" in layout.columns:
        raise HardalignError("no lexicon can be used with this model: its answers depend on tags")
    lexicon = Lexicon(layout, alphabet, beside)
    if files and str(files[-1]) == CMUDICT and (beside or {}).get(()) == _PACKAGED:
        files = files[:-1]  # it comes last anyway
    for file in files:
        lexicon.add_missing(_read_file(file, layout, alphabet))
    return lexicon


def _read_file(file: str | Path, layout: Format, alphabet: Alphabet) -> Lexicon:
    packaged = str(file) == CMUDICT
    name = CMUDICT if packaged else file_name(file)
    lexicon, foreign = Lexicon(layout), dict[str, int]()
    # Spaces separate symbols, as in speech tools, unless the model has them as symbols.
    spaced = bool(alphabet.unknown(" "))
    stressless = packaged and not any(symbol[-1:].isdigit() for symbol in alphabet.letters)
    for number, line in enumerate(read_lines(_PACKAGED if packaged else file), start=1):
        if not line.strip() or line.startswith((";;;", "# ")):
            continue
        if (match := _SILENCE.fullmatch(line)) and alphabet.unknown([match["phone"]]):
            lexicon.silences.append((match["word"], match["phone"]))
            continue
        try:
            word, pronunciation = _entry(line, layout, spaced)
            if stressless:
                pronunciation = tuple(symbol.rstrip("012") for symbol in pronunciation)
            lexicon.add(word, pronunciation)
        except HardalignError as error:
            raise InputError(str(error), file=name, line=number) from None
        for symbol in alphabet.unknown(pronunciation):
            foreign.setdefault(symbol, number)
    if not lexicon and not lexicon.silences:
        raise InputError("no entries: the file has no words", file=name)
    if foreign:
        raise InputError(_misfit(foreign, alphabet), file=name)
    return lexicon


def word_symbols(word: str, layout: Format) -> Symbols:
    """Cut a plain word into symbols, even if the format has a separator."""
    separator = layout.source_separator
    if separator and separator not in word:
        word = separator.join(word)
    return layout.source_symbols(word)


def _entry(line: str, layout: Format, spaced: bool) -> tuple[Symbols, Symbols]:
    """Return the symbols of a line's word and pronunciation."""
    word, *columns = line.split("\t")
    if columns:
        if len(columns) == 3 and columns[-1] in get_args(Origin) and _NUMBER.fullmatch(columns[-2]):
            columns = columns[:1]
        *numbers, pronunciation = columns
        if others := [text for text in numbers if not _NUMBER.fullmatch(text.strip())]:
            raise HardalignError(
                f"expected word<TAB>pronunciation, found another column, {shorten(others[0])}"
            )
    elif spaced:
        word, *phones = line.partition(" #")[0].split()
        if _ODD.match(word):
            raise HardalignError(f"expected word<TAB>pronunciation, found {shorten(line)}")
        start = 0
        while start < len(phones) - 1 and _PROBABILITY.fullmatch(phones[start]):
            start += 1
        pronunciation = " ".join(phones[start:])
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
    """List symbols that the model does not have, with their first lines and a likely reason."""
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


def _add_s(phones: Symbols) -> Symbols:
    if phones[-1] in _SIBILANTS:
        return (*phones, "IH0", "Z")
    return (*phones, "S" if phones[-1] in _VOICELESS else "Z")


def _add_d(phones: Symbols) -> Symbols:
    if phones[-1] in ("T", "D"):
        return (*phones, "IH0", "D")
    return (*phones, "T" if phones[-1] in _VOICELESS else "D")


_ENDINGS: tuple[tuple[str, str, Callable[[Symbols], Symbols]], ...] = (
    ("'s$", "", _add_s),
    ("s'$", "s", tuple),
    ("ies$", "y", _add_s),
    ("(?<![aiosu'])s$", "", _add_s),
    ("(s|x|z|ch|sh)es$", r"\1", _add_s),
    ("ied$", "y", _add_d),
    ("(?<=e)d$", "", _add_d),
    (r"([^aeiou])\1ed$", r"\1", _add_d),  # stopped
    ("(?<!^[^aeiou][aeiou][^aeiouwxy])ed$", "", _add_d),  # but biped is not from bip
)
"""The ending of an inflected word, that of its base, and what is added to the phones."""


def bases(word: str) -> Iterator[tuple[str, Callable[[Symbols], Symbols]]]:
    """Yield the possible bases of an English word, each with a function that adds the ending.

    Of the 25,255 possessives, plurals and past tenses in CMUDict whose base it also has, 93.0% come
    out exactly as listed, and 95.1% if AH0 and IH0 count as the same.

    >>> [(base, add(("N", "EH1", "T"))) for base, add in bases("net's")]
    [('net', ('N', 'EH1', 'T', 'S'))]
    """
    for ending, replacement, add in _ENDINGS:
        base, found = re.subn(ending, replacement, word)
        if found:
            yield base, add
