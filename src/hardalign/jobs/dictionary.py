"""A pronunciation dictionary of all words of a text, in the form that a speech tool reads.

The words and the model's answers stand in SQLite databases, on disk: so the memory does not grow
with the text, words come out sorted by code point as Kaldi wants them, and an interrupted run has
lost nothing but its last few thousand words. The answers are kept beside the dictionary as
``FILE.cache``; run again with the same model and search, only new words are computed. It may be
deleted at any time.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby, islice, tee
from pathlib import Path
from typing import NamedTuple, Self
from zlib import crc32

from hardalign.data.example import Example, Symbols
from hardalign.data.formats import Format
from hardalign.data.text import normalize, segment
from hardalign.decoding import Search
from hardalign.errors import HardalignError
from hardalign.files import sha256
from hardalign.folder import CONFIG, KNOWN_FORMS, VOCABULARY, WEIGHTS
from hardalign.jobs.lexicon import Lexicon
from hardalign.jobs.reader import Reader, TextReport, count
from hardalign.predictor import Predictor
from hardalign.version import __version__

STYLES = ("mfa", "kaldi", "cmudict", "tsv")
"""The forms of a dictionary: those of the Montreal Forced Aligner, of Kaldi (lexiconp.txt) and of
CMUDict, and a table; ``hardalign lexicon --help`` describes them."""
LEAST = {"mfa": 0.01, "kaldi": 0.0001}
"""The smallest probability that a tool takes, or that is written."""
CACHE = ".cache"
"""What is appended to the name of a dictionary for the file that keeps its answers."""
_FOREIGN = "this is no cache of hardalign's; remove it or choose another output"
_DAMAGED = "damaged; remove it, and what it held is computed anew"
_CHECKSUM = (
    "crc32(CAST(quote(:source) || quote(:rank) || quote(:probability) || quote(:target) AS BLOB))"
)
"""Of a row of answers, types included; of bytes, since flipped bits may leave what is no text."""
_BATCH = 1000


class Entry(NamedTuple):
    """A word with its pronunciations, best first, each with its probability."""

    word: str
    pronunciations: list[tuple[float, str]]
    known: bool
    """Whether a lexicon has the word; the probability of each pronunciation is then 1."""


class Dictionary:
    """The words of a text with their pronunciations; use it as a context manager.

    Args:
        predictor: The model.
        lexicon: Known words, which the model is not asked for.
        search: What to look for: the ``nbest`` pronunciations, or those that cover a ``mass``.

    Raises:
        HardalignError: If the model needs tags.
    """

    def __init__(self, predictor: Predictor, lexicon: Lexicon, search: Search) -> None:
        self._predictor, self._lexicon, self._search = predictor, lexicon, search
        self._layout = predictor.description.format
        self._cache: Path | None = None
        self.report = TextReport()
        self.left_out: Counter[str] = Counter()
        """Words without a pronunciation, once ``entries`` has given the others."""
        self.uncovered: Counter[str] = Counter()
        """Words whose pronunciations have less than the ``mass``, likewise."""
        self._reader = Reader(predictor.description, lexicon, self.report)
        # An empty name makes a database on disk that nobody sees and that is gone when closed.
        self._database = sqlite3.connect("", isolation_level=None)
        self._execute = self._database.execute
        self._database.create_function("crc32", 1, crc32, deterministic=True)
        self._execute("CREATE TABLE words (word TEXT PRIMARY KEY, source TEXT) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def add_text(self, lines: Iterable[str]) -> None:
        """Adds the words of a list or of running text.

        A line that is one word is taken whole, with its hyphens and apostrophes; others are read as
        ``hardalign.jobs.text`` reads them.

        Raises:
            HardalignError: If there is no word in it.
        """
        spell, separator = self._layout.join_source, self._layout.source_separator
        readings = (reading for line in lines for reading in self._reader.words(line))
        # A word stands in the dictionary as in a text, also if the model's files have "w o r d".
        rows = ((spell(word).replace(separator, ""), spell(source)) for word, source in readings)
        while batch := list(islice(rows, _BATCH)):
            with _explained(None):
                self._execute("BEGIN")
                self._database.executemany("INSERT OR IGNORE INTO words VALUES (?, ?)", batch)
                self._execute("COMMIT")
        if not len(self):
            raise HardalignError(self.report.refusal())

    def __len__(self) -> int:
        """Returns how many words there are."""
        return self._size("words")

    def open_cache(self, cache: Path | None = None, signature: str = "") -> int:
        """Opens the answers of earlier runs, and returns how many words are still to be computed.

        Args:
            cache: The file that keeps them. None: nothing is kept.
            signature: Of the model, see ``model_signature``. Answers of another model, search or
                version are thrown away.

        Raises:
            HardalignError: If the file is something else, damaged, cannot be written, or is in use.
        """
        self._cache = cache
        made_by = f"{signature} {self._search!r} {__version__} with checksums"
        with _explained(cache):
            self._execute("ATTACH ? AS cache", ("" if cache is None else str(cache),))
            self._execute("PRAGMA cache.locking_mode = EXCLUSIVE")
            self._execute("BEGIN IMMEDIATE")
            names = self._execute("SELECT name FROM cache.sqlite_master WHERE type = 'table'")
            tables = {name for (name,) in names}
            if tables - {"made_by", "answers"} or tables == {"answers"}:
                raise HardalignError(f"{cache}: {_FOREIGN}")
            self._execute("CREATE TABLE IF NOT EXISTS cache.made_by (signature TEXT)")
            if self._execute("SELECT signature FROM cache.made_by").fetchall() != [(made_by,)]:
                self._execute("DROP TABLE IF EXISTS cache.answers")
                self._execute("DELETE FROM cache.made_by")
                self._execute("INSERT INTO cache.made_by VALUES (?)", (made_by,))
            self._execute(
                "CREATE TABLE IF NOT EXISTS cache.answers (source TEXT, rank INTEGER, "
                "probability REAL, target TEXT, checksum INTEGER, PRIMARY KEY (source, rank)) "
                "WITHOUT ROWID"
            )
            self._execute("COMMIT")
            self._check_cache()
            self._execute("CREATE TABLE todo (source TEXT PRIMARY KEY) WITHOUT ROWID")
            sources = self._execute(
                "SELECT source FROM words WHERE source NOT IN (SELECT source FROM cache.answers)"
            )
            new = ((source,) for (source,) in sources if not self._pronunciations(source))
            while batch := list(islice(new, _BATCH)):
                self._database.executemany("INSERT OR IGNORE INTO todo VALUES (?)", batch)
            return self._size("todo")

    def compute(self, threads: int = 1) -> Generator[str, None, None]:
        """Asks the model for the words that are still to be computed, and yields each when done."""
        cut = self._layout.source_symbols
        rows = self._execute("SELECT source FROM todo ORDER BY source")
        todo, sources = tee(source for (source,) in rows)
        examples = (Example(cut(source), text=source) for source in todo)
        answers = self._predictor.answers(examples, self._search, exact=True, threads=threads)
        stream = zip(sources, answers, strict=True)
        while batch := list(islice(stream, _BATCH)):
            new = [
                {
                    "source": source,
                    "rank": rank,
                    "probability": math.exp(prediction.log_prob),
                    "target": prediction.text,
                }
                for source, predictions in batch
                for rank, prediction in enumerate(predictions)
                # What was cut off, or says nothing, is no pronunciation.
                if prediction.finished and prediction.symbols
            ]
            with _explained(self._cache):
                self._execute("BEGIN")
                self._database.executemany(
                    "INSERT INTO cache.answers "
                    f"VALUES (:source, :rank, :probability, :target, {_CHECKSUM})",
                    new,
                )
                self._execute("COMMIT")
            yield from (source for source, _ in batch)

    def entries(self, min_prob: float = 0.0) -> Iterator[Entry]:
        """Returns the words in order of their code points, each with its pronunciations.

        Args:
            min_prob: Leaves out what the model finds less probable; the best always stays.
        """
        self.left_out.clear()
        self.uncovered.clear()
        rows = self._execute(
            "SELECT word, words.source, probability, target FROM words "
            "LEFT JOIN cache.answers ON answers.source = words.source ORDER BY word, rank"
        )
        for (word, source), group in groupby(rows, key=lambda row: row[:2]):
            if known := self._pronunciations(source):
                texts = [(1.0, self._layout.join_target(symbols)) for symbols in known]
                yield Entry(word, texts, known=True)
                continue
            best, *others = [(probability, text) for _, _, probability, text in group]
            if best[1] is None:
                count(self.left_out, word)
                continue
            if sum(probability for probability, _ in (best, *others)) < (self._search.mass or 0):
                count(self.uncovered, word)
            rest = [(probability, text) for probability, text in others if probability >= min_prob]
            yield Entry(word, [best, *rest], known=False)

    def _check_cache(self) -> None:
        """Raises an error if bits have flipped in the answers of earlier runs."""
        columns = _CHECKSUM.replace(":", "")
        wrong = f"SELECT count(*) FROM cache.answers WHERE checksum IS NOT {columns}"
        checks = [self._execute(sql).fetchone() for sql in ("PRAGMA cache.quick_check(1)", wrong)]
        if checks != [("ok",), (0,)]:
            raise HardalignError(f"{self._cache}: {_DAMAGED}")

    def _size(self, table: str) -> int:
        (rows,) = self._execute(f"SELECT count(*) FROM {table}").fetchone()
        return int(rows)

    def _pronunciations(self, source: str) -> tuple[Symbols, ...]:
        return self._lexicon.pronunciations(self._layout.source_symbols(source))


def write_entry(entry: Entry, style: str, layout: Format) -> Iterator[str]:
    """Writes a word in one of the ``STYLES``, a line for each pronunciation.

    What speech tools read has blanks between symbols, whatever the model's format has there.
    """
    highest = max(probability for probability, _ in entry.pronunciations)
    for number, (probability, text) in enumerate(entry.pronunciations, start=1):
        if style != "tsv":
            symbols = segment(normalize(text, layout.normalization), layout.target_separator)
            text = " ".join(filter(str.strip, symbols))
        # A word of a thousand letters may be so improbable that its best has probability 0.
        share = max(probability / highest if highest else 1.0, LEAST.get(style, 0.0))
        # Python always writes a point and a digit after it, as some readers insist.
        if style == "mfa":
            yield f"{entry.word}\t{round(share, 4)}\t{text}\n"
        elif style == "kaldi":
            yield f"{entry.word} {round(share, 4)} {text}\n"
        elif style == "cmudict":
            yield f"{entry.word}{f'({number})' if number > 1 else ''} {text}\n"
        else:
            origin = "lexicon" if entry.known else "model"
            yield f"{entry.word}\t{text}\t{probability:.6f}\t{origin}\n"


def model_signature(folder: Path) -> str:
    """Returns what tells a model from others: a checksum of its weights and its settings."""
    names = {WEIGHTS, CONFIG, VOCABULARY, KNOWN_FORMS}
    files = sorted(path for path in folder.rglob("*") if path.name in names)
    sums = [f"{path.relative_to(folder)} {sha256(path.read_bytes())}" for path in files]
    return sha256("\n".join(sums).encode())


@contextmanager
def _explained(cache: Path | None) -> Iterator[None]:
    """Says in plain words what is wrong with a cache."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # it may name a damaged table
        if "locked" in str(error):
            reason = "another process is making this dictionary; wait for it"
        elif "not a database" in str(error) or "no such column" in str(error):
            reason = _FOREIGN
        elif "malformed" in str(error) or isinstance(error, UnicodeDecodeError):
            reason = _DAMAGED
        else:
            reason = f"cannot be written ({error}); choose another output"
        raise HardalignError(f"{cache or 'a temporary file'}: {reason}") from None
