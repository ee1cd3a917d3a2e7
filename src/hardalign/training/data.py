"""What a run learns from: files, rows, examples, or a corpus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from hardalign.data.check import quick_check
from hardalign.data.corpora import Corpus
from hardalign.data.formats import Example, Format, training_pairs
from hardalign.data.inflection import KnownForms
from hardalign.data.reading import FileOrigin, Origin, Skipped, examples_of, read_examples
from hardalign.data.text import shorten
from hardalign.data.vocabulary import Indexer, Vocabulary
from hardalign.errors import HardalignError, InputError
from hardalign.files import sha256

Data = str | Path | Iterable[Example] | Iterable[Sequence[str]]
"""A file, examples (of ``load_corpus``), or rows such as ``("cat", "K AE T")``."""
Note = Callable[[str], None]
NONE = "none"
"""What to call development data that there shall not be."""


@dataclass(frozen=True)
class TrainingData:
    """The examples of a run, how they were read, and a record of where they came from."""

    train: list[Example]
    dev: list[Example]
    format: Format
    origin: Origin
    dev_name: str = "memory"
    """What to call the development data in a message."""

    def known(self) -> int:
        """Returns how many sources of the development set are to be learned from as well."""
        learned = {example.key for example in self.train}
        return sum(example.key in learned for example in self.dev)

    def with_other_forms(self) -> int:
        """Returns how many sources of the development set are learned from with other tags."""
        tags = defaultdict(set)
        for example in self.train:
            tags[example.source].add(example.tags)
        return sum(bool(tags[example.source] - {example.tags}) for example in self.dev)

    def unseen(self, vocabulary: Vocabulary) -> int:
        """Returns how many sources of the development set have letters that are unknown."""
        return sum(bool(vocabulary.source.unknown(example.source)) for example in self.dev)

    def beside(self, forms: KnownForms) -> TrainingData:
        """Returns the same data with known forms beside their sources."""
        train, dev = ([forms.beside(one) for one in part] for part in (self.train, self.dev))
        return replace(self, train=train, dev=dev)

    def check(self, indexer: Indexer) -> None:
        """Refuse a development set that was plainly written in another format.

        Raises:
            InputError: If most source symbols of the development set never occur in training, or
                no target of it could be predicted.
        """
        source = indexer.vocabulary.source
        unknown = [source.unknown(item.source, item.tags) for item in self.dev]
        total = sum(len(item.source) + len(item.tags) for item in self.dev)
        if 2 * sum(map(len, unknown)) > total:
            message = "most source symbols never occur in the training data"
            raise self._foreign(message, self.dev, unknown)
        pairs = list(training_pairs(self.dev))
        unknown = [indexer.unwritable(pair) for pair in pairs]
        if unknown and all(unknown):
            message = "every target has symbols that no target of the training data has"
            raise self._foreign(message, pairs, unknown)

    def _foreign(
        self, message: str, examples: list[Example], unknown: list[list[str]]
    ) -> InputError:
        """Returns an error that names the first symbol of the development set that is unknown."""
        first, symbols = next(pair for pair in zip(examples, unknown, strict=True) if pair[1])
        return InputError(
            f"{message}, first {shorten(symbols[0])}; is this file in the same format?",
            file=self.dev_name,
            line=first.line or None,
        )


def read_data(
    train: Data | Corpus, dev: Data | None, layout: Format, allow_empty: bool, note: Note
) -> TrainingData:
    """Read all that a run needs, before anything is written.

    Without development data a tenth of the training data is held out; ``dev="none"`` holds out
    nothing.

    Raises:
        HardalignError: If a part of the data is missing, or not as its format says.
    """
    if isinstance(train, Corpus):
        if dev is not None:
            raise HardalignError("a corpus has its own development set; leave out --dev")
        name = train.origin.corpus
        origin = Origin(corpus=train.origin)
        return TrainingData(train.train, train.dev, train.format, origin, name)
    examples, train_origin = _read(train, layout, "train", allow_empty, note)
    if isinstance(dev, str) and dev == NONE:
        return TrainingData(examples, [], layout, Origin(train=train_origin))
    if dev is None:
        held_out = [example for example in examples if is_held_out(example)]
        rest = [example for example in examples if not is_held_out(example)]
        if not rest or not held_out:
            note("too few examples to hold some out: the temperature is 1")
            return TrainingData(examples, [], layout, Origin(train=train_origin))
        note(
            f"no --dev: {len(held_out)} of {len(examples)} examples are held out, to measure and "
            f"to calibrate; --dev {NONE} trains on all"
        )
        return TrainingData(rest, held_out, layout, Origin(train=train_origin))
    dev_part, dev_origin = _read(dev, layout, "dev", allow_empty, note)
    name = str(dev) if isinstance(dev, (str, Path)) else "memory"
    both = Origin(train=train_origin, dev=dev_origin)
    return TrainingData(examples, dev_part, layout, both, name)


def is_held_out(example: Example) -> bool:
    """Tells whether an example is of the tenth that is held out; its source and tags decide."""
    return int(sha256(repr(example.key).encode(errors="surrogatepass"))[:8], 16) % 10 == 0


def _read(
    data: Data, layout: Format, name: str, allow_empty: bool, note: Note
) -> tuple[list[Example], FileOrigin]:
    if isinstance(data, (str, Path)):
        skipped = Skipped()
        stream = read_examples(data, layout, "training", allow_empty=allow_empty, skipped=skipped)
        examples = list(stream)
        if report := skipped.report(data, "passed over"):
            note(report)
        _refuse_wrong_format(examples, layout, str(data))
        return examples, _origin(str(data), examples)
    rows = list(data)
    if not rows:
        raise HardalignError(f"there are no {name} rows")
    examples = [row for row in rows if isinstance(row, Example)]
    if len(examples) < len(rows):
        strings = cast(list[Sequence[str]], rows)
        examples = list(examples_of(strings, layout, name=f"{name} rows", allow_empty=allow_empty))
        _refuse_wrong_format(examples, layout, f"{name} rows")
    return examples, _origin("memory", examples)


def _refuse_wrong_format(examples: list[Example], layout: Format, name: str) -> None:
    if problems := quick_check(examples, layout):
        raise InputError(problems[0], file=name)


def _origin(file: str, examples: list[Example]) -> FileOrigin:
    # The name alone: where on this disk the file lies is nobody's business who gets the model.
    return FileOrigin(
        Path(file).name, len(examples), sha256(repr(examples).encode(errors="surrogatepass"))
    )
