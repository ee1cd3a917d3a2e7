"""Running text pronounced: words become pronunciations, all else stays where it is.

The rules, each of which has a test:

- Line breaks, blanks and punctuation stay. Numbers, symbols, addresses, words that are too long and
  words in letters that the model does not have (and that cannot be folded, see ``folding``) stay
  too, and are counted and named.
- A word is looked up in the lexicon, if there is one, before the model is asked.
- Apostrophes inside a word belong to it (*isn't*); at its edges they are quotation marks, unless
  the lexicon has the word with them (*'em*).
- A word with hyphens is looked up whole; if it is not known, its parts are pronounced one by one.
- An abbreviation with dots (*U.S.*) is looked up; if it is not known, its letters are pronounced.
- Capitals are read as the model's format says. Words in capitals (*NASA*, *US*) are words, unless
  they are to be spelled: then each letter is pronounced, but in lines that are all in capitals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from hardalign.data.example import Example, Symbols
from hardalign.data.formats import Format
from hardalign.data.vocabulary import Vocabulary
from hardalign.decoding import Search
from hardalign.errors import HardalignError
from hardalign.jobs.ipa import check_arpabet, parts_to_ipa
from hardalign.jobs.known import Answer, answers_with_known, trimmed
from hardalign.jobs.lexicon import Lexicon
from hardalign.jobs.reader import Piece, Reader, TextReport, count
from hardalign.prediction import Prediction
from hardalign.predictor import Predictor

CHUNK = 512
"""Lines read at a time, whose words are pronounced together."""
REMEMBERED = 1 << 16
"""Words whose answers are kept, since most words of a text come again."""
HELD = 100_000
"""Lines held until the first word that can be pronounced."""


@dataclass(frozen=True)
class Word:
    """One pronounced word of a text."""

    text: str
    """As it stands there."""
    predictions: list[Prediction]
    """One, or one for each letter of what is spelled."""
    known: bool
    """Whether the lexicon gave it."""

    @property
    def symbols(self) -> Symbols:
        """Returns the whole pronunciation."""
        return tuple(symbol for part in self.predictions for symbol in part.symbols)


@dataclass(frozen=True)
class Line:
    """One line of a text."""

    text: str
    """The line with its words pronounced."""
    words: list[Word]


def has_blank(example: Example, vocabulary: Vocabulary) -> bool:
    """Says whether a blank inside a source is new to the model: perhaps it is a sentence."""
    inside = trimmed(example.source, vocabulary.source)
    return any(symbol.isspace() for symbol in vocabulary.source.unknown(inside))


def pronounce_text(
    predictor: Predictor,
    lines: Iterable[str],
    *,
    lexicon: Lexicon | None = None,
    spell_capitals: bool = False,
    ipa: bool = False,
    search: Search = Search(),  # noqa: B008 - frozen
    report: TextReport | None = None,
    threads: int = 1,
) -> Iterator[Line]:
    """Pronounces a text line by line, in constant memory.

    A pronunciation whose symbols are separated by blanks stands in braces, {DH AH0} {K AE1 T}, as
    speech synthesisers read it.

    Args:
        predictor: A model of words.
        lines: The text.
        lexicon: Known words, which the model is not asked for.
        spell_capitals: Whether words in capitals are spelled letter by letter.
        ipa: Whether ARPAbet is written as IPA.
        search: How the model looks for its best answer.
        report: Is told what was pronounced and what not.
        threads: How many threads answer.

    Raises:
        HardalignError: If nothing in the text can be pronounced, the model needs tags, or IPA is
            wanted of a model that does not write ARPAbet.
    """
    layout = predictor.description.format
    if ipa:
        check_arpabet(predictor.description.vocabulary.target.letters)
    lexicon = lexicon or Lexicon(layout)
    report = report or TextReport()
    reader = Reader(predictor.description, lexicon, report, spell_capitals=spell_capitals)
    remembered: dict[Symbols, Answer] = {}
    stream, held = iter(lines), list[Line]()
    while chunk := list(islice(stream, CHUNK)):
        cut = [list(reader.pieces(line)) for line in chunk]
        sources = [reading.source for line in cut for piece in line for reading in piece.readings]
        if len(remembered) > REMEMBERED:
            remembered.clear()
        new = [
            Example(source, text=layout.join_source(source))
            for source in dict.fromkeys(sources)
            if source not in remembered
        ]
        answers = answers_with_known(predictor, new, search, lexicon, exact=False, threads=threads)
        remembered |= {word.source: answer for word, answer in zip(new, answers, strict=True)}
        pronounced = [_line(pieces, remembered, layout, ipa) for pieces in cut]
        held += pronounced
        words = [word for line in pronounced for word in line.words]
        report.words += len(words)
        report.known += sum(word.known for word in words)
        for word in words:
            if not all(part.finished for part in word.predictions):
                count(report.cut_off, word.text)
        # Nothing is given out of a text that will be refused, unless it is too long to be held.
        if report.words or len(held) > HELD:
            yield from held
            held.clear()
    if not report.words:
        raise HardalignError(report.refusal())


def _line(
    pieces: list[Piece], answers: Mapping[Symbols, Answer], layout: Format, ipa: bool
) -> Line:
    written, words = [], []
    for piece in pieces:
        if not piece.readings:
            written.append(piece.text)
            continue
        parts = [answers[reading.source] for reading in piece.readings]
        known = all(answer.known for answer in parts)
        word = Word(piece.text, [answer.predictions[0] for answer in parts], known)
        words.append(word)
        if ipa:
            written.append(parts_to_ipa([part.symbols for part in word.predictions]))
        else:
            text = layout.join_target(word.symbols)
            written.append(f"{{{text}}}" if layout.target_separator else text)
    return Line("".join(written), words)
