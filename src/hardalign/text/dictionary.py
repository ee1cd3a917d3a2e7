"""Pronunciation dictionaries for all words of a text, in the file formats of speech tools."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hardalign.data.formats import Example, Format
from hardalign.data.lexicon import VARIANT
from hardalign.data.text import normalize, segment
from hardalign.errors import HardalignError, InputError
from hardalign.files import os_errors_named, write_bytes
from hardalign.known_words import respond
from hardalign.predictor import Predictor
from hardalign.search import Search
from hardalign.text.ipa import ipa_symbols
from hardalign.text.running import Reader, TextReport, count

PARTIAL = ".partial"  # suffix of the file that keeps the results of an unfinished run


class Style(NamedTuple):
    """A file format of dictionaries."""

    line: str
    pattern: re.Pattern[str]  # matches such a line
    min_share: float = 0.0  # the lowest probability the tool accepts


STYLES = {
    # Montreal Forced Aligner
    "mfa": Style(
        "{word}\t{share}\t{text}\n", re.compile(r"(?P<word>[^\t]+)\t[\d.e-]+\t[^\t]+"), 0.01
    ),
    # Kaldi's lexiconp.txt
    "kaldi": Style("{word} {share} {text}\n", re.compile(r"(?P<word>\S+) [\d.e-]+ \S.*"), 0.0001),
    "cmudict": Style("{word}{variant} {text}\n", re.compile(r"(?P<word>\S+) \S.*")),
    "tsv": Style(
        "{word}\t{text}\t{probability:.6f}\t{origin}\n",
        re.compile(r"(?P<word>[^\t]+)\t[^\t]+\t[\d.e-]+\t(lexicon|model)"),
    ),
}


class Entry(NamedTuple):
    """A word and its pronunciations, each with its log-probability, best first."""

    word: str
    pronunciations: list[tuple[float, str]]
    known: bool  # whether they come from a lexicon


class Dictionary:
    """The distinct words of a text, with ``nbest`` pronunciations or those that cover ``mass``."""

    def __init__(self, predictor: Predictor, search: Search) -> None:
        self._predictor, self._search = predictor, search
        self._sources: dict[str, Example] = {}
        self.report = TextReport()
        self.left_out: Counter[str] = Counter()
        """Words without a pronunciation; complete once ``entries`` is exhausted."""
        self.uncovered: Counter[str] = Counter()
        """Words whose pronunciations do not cover ``mass``; likewise."""

    def add_text(self, lines: Iterable[str]) -> None:
        """Add the words of a word list or of running text, as ``Reader.words`` finds them."""
        reader = Reader(self._predictor, self.report)
        separator = self._predictor.description.format.source_separator
        silences = dict(self._predictor.lexicon.silences)
        for line in lines:
            if line.strip() not in silences:  # such as <unk>, which is copied unchanged
                for word in reader.words(line):
                    # Words are written as in text, even if the model's own files have "w o r d".
                    self._sources.setdefault(word.text.replace(separator, ""), word)
        if not self._sources:
            raise HardalignError(self.report.refusal())

    def words(self) -> list[str]:
        """Return the words, sorted by code point."""
        return sorted(self._sources)

    def unanswered(self, kept: Container[str]) -> list[str]:
        """Return the words not in ``kept``, and known words, as the lexicon may have changed."""
        known, sources = self._predictor.lexicon.pronunciations, self._sources
        return [w for w in self.words() if w not in kept or known(sources[w].source)]

    def entries(
        self, words: Iterable[str], *, min_prob: float = 0.0, threads: int = 1
    ) -> Iterator[Entry]:
        """Yield an entry for each word that has a pronunciation.

        Except for the best, the model's pronunciations less probable than ``min_prob`` are dropped.
        """
        words, least = list(words), math.log(min_prob) if min_prob else -math.inf
        examples = (self._sources[word] for word in words)
        answers = respond(self._predictor, examples, self._search, fill=False, threads=threads)
        for word, predictions in zip(words, answers, strict=True):
            known = predictions[0].origin == "lexicon"
            found = [
                (prediction.log_prob, prediction.text)
                for prediction in predictions
                if prediction.finished and prediction.symbols
            ]
            if not found:
                count(self.left_out, word)
                continue
            mass = sum(math.exp(log_prob) for log_prob, _ in found)
            if not known and mass < (self._search.mass or 0):
                count(self.uncovered, word)
            likely = [found[0], *(one for one in found[1:] if known or one[0] >= least)]
            yield Entry(word, likely, known)


def write_entry(entry: Entry, style: str, layout: Format, *, ipa: bool = False) -> Iterator[str]:
    """Yield a line for each pronunciation of a word, in one of the ``STYLES``.

    Except in ``tsv``, symbols are separated by spaces, as speech tools expect. With ``ipa``,
    ARPAbet is written as IPA.
    """
    found: dict[str, float] = {}
    for log_prob, text in entry.pronunciations:
        if style != "tsv" or ipa:
            symbols = segment(normalize(text, layout.normalization), layout.target_separator)
            text = " ".join(ipa_symbols(symbols) if ipa else filter(str.strip, symbols))
        # Pronunciations that differ in stress are the same in IPA.
        found[text] = float(np.logaddexp(found.get(text, -math.inf), log_prob))
    highest = max(found.values())
    best_first = sorted(found.items(), key=lambda one: -one[1])
    for number, (text, log_prob) in enumerate(best_first, start=1):
        share = math.exp(log_prob - highest) if highest > -math.inf else 1.0
        yield STYLES[style].line.format(
            word=entry.word,
            variant=f"({number})" if number > 1 else "",
            text=text,
            share=round(max(share, STYLES[style].min_share), 4),
            probability=math.exp(log_prob),
            origin="lexicon" if entry.known else "model",
        )


def read_entries(path: Path, style: str) -> dict[str, list[str]]:
    """Read the lines of a dictionary by word, dropping the last word of a partial file."""
    entries: dict[str, list[str]] = {}
    if not path.is_file():
        return entries
    with os_errors_named(path, "read"):
        content = path.read_bytes()
    if path.suffix == PARTIAL:
        content = content[: content.rfind(b"\n") + 1]
    for number, line in enumerate(content.splitlines(), start=1):
        match = STYLES[style].pattern.fullmatch(text := line.decode("utf-8", "replace"))
        if match is None or "\ufffd" in text:
            reason = f"not a line of style {style}; without --resume the file is overwritten"
            raise InputError(reason, file=str(path), line=number)
        word = VARIANT.sub("", match["word"]) if style == "cmudict" else match["word"]
        entries.setdefault(word, []).append(f"{text}\n")
    if path.suffix == PARTIAL and entries:
        entries.popitem()  # some of its pronunciations may be missing
    return entries


@contextmanager
def partial_file(
    output: Path | None, kept: Mapping[str, list[str]]
) -> Iterator[Callable[[list[str]], object]]:
    """Yield a function that appends lines to a partial file next to ``output``.

    It starts with the ``kept`` lines and is removed at the end, unless the run is interrupted.
    """
    if output is None or (output.exists() and not output.is_file()):  # a pipe or a device
        yield lambda _: None
        return
    path = output.with_name(output.name + PARTIAL)
    with os_errors_named(path, "written"):
        path.touch(mode=0o600)
        write_bytes(path, "".join(line for lines in kept.values() for line in lines).encode())
        try:
            with path.open("a", encoding="utf-8", newline="\n") as file:
                yield file.writelines
        except BaseException:
            if not path.stat().st_size:
                path.unlink()
            raise
        path.unlink()
