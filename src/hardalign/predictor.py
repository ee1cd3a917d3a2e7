"""A trained model as its users meet it: strings in, predictions, scores and alignments out."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from hardalign.alignment import Alignment
from hardalign.batches import Aligned, Batch, estimate, in_batches, pair_length
from hardalign.data.formats import Example
from hardalign.data.lexicon import BESIDE, Lexicon, read_lexicon
from hardalign.data.text import Symbols
from hardalign.data.vocabulary import UNKNOWN, Encoded, UnknownSymbols, symbol_counts
from hardalign.errors import HardalignError
from hardalign.known_words import respond
from hardalign.model_folder import (
    Description,
    find_language,
    find_model,
    load_members,
    read_languages,
)
from hardalign.prediction import NOTHING, Prediction
from hardalign.search import MAX_WIDTH, Hypothesis, Search, find_strings, require, require_int
from hardalign.systems import SCORES, System, find_system
from hardalign.systems.batch import Targets, Words
from hardalign.systems.model import Answering, build_members, indexer
from hardalign.systems.parameters import ALIGNER_TABLE

UNALIGNED = 3
"""Letters in a row from which nothing came that are worth a remark."""
FREED = (1 << 25) - (1 << 16)
"""Bytes; from 32 MB on the C library takes no notice."""


class UnknownSymbolsWarning(UserWarning):
    """A source or target has symbols that the model has never seen."""


class _Question(NamedTuple):
    example: Example
    """As it was given."""
    read: Example
    """As the model reads it."""
    encoded: Encoded


class Predictor:
    """A model with its vocabulary and format, as ``load`` gives it.

    >>> g2p = hardalign.load("en-g2p")
    >>> g2p("action").text
    'AE1 K SH AH0 N'

    Symbols that the model has never seen are named in an ``UnknownSymbolsWarning`` where strings
    are given one by one or in a call; streams of examples do not warn.
    """

    ipa = False
    """Whether the ``text`` of predictions is written in IPA."""

    def __init__(
        self,
        runtime: Answering,
        description: Description,
        parameters: int = 0,
        lexicon: Lexicon | None = None,
        tags: Symbols = (),
        languages: Symbols = (),
    ) -> None:
        self._runtime, self.tags, self.languages = runtime, tags, languages
        """Tags of all sources, which are then given without them; those that are languages."""
        self.description = description
        """The model's settings, format, vocabulary and data."""
        self.parameters = parameters
        """How many numbers the model has learned."""
        self.lexicon = lexicon or Lexicon(description.format)
        """Known words, which ``respond`` and calling look up before the model is asked."""
        self.indexer = indexer(description.model, description.vocabulary, description.format)
        """How the model numbers what it reads and writes."""

    def __repr__(self) -> str:
        vocabulary = self.description.vocabulary
        return (
            f"<Predictor {self.description.model.system}: {len(vocabulary.source.letters)} source "
            f"and {len(vocabulary.target.letters)} target symbols, {self.parameters:,} parameters>"
        )

    @property
    def system(self) -> System:
        """The row of the model's system: what its scores and its alignments are."""
        return find_system(self.description.model.system)

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, source: str, *, beam: int | None = None, nbest: None = None
    ) -> Prediction: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, source: str, *, beam: int | None = None, nbest: int
    ) -> list[Prediction]: ...
    @overload
    def __call__(
        self, source: Iterable[str], *, beam: int | None = None, nbest: None = None
    ) -> list[Prediction]: ...
    @overload
    def __call__(
        self, source: Iterable[str], *, beam: int | None = None, nbest: int
    ) -> list[list[Prediction]]: ...
    def __call__(
        self, source: str | Iterable[str], *, beam: int | None = None, nbest: int | None = None
    ) -> Prediction | list[Prediction] | list[list[Prediction]]:
        """Answer one string, or each of several; known words from the lexicon, if there is one.

        >>> g2p("read", nbest=2)[1].text
        'R EH1 D'

        Args:
            source: One or more; for a model trained with tags, each is ``lemma<TAB>TAG;TAG``.
            beam: Hypotheses followed side by side. Default: 1 (greedy), for ``nbest`` more.
            nbest: Give a list of so many different strings, best first; fewer if no more are found.
        """
        search = Search(beam=beam, nbest=nbest)
        if not isinstance(source, Iterable) or isinstance(source, bytes):
            raise HardalignError(f"a source must be a string or several of them, not {source!r}")
        examples = map(self.example, [source] if isinstance(source, str) else source)
        lists = list(respond(self, examples, search))
        self._warn(symbol for own in lists for symbol in own[0].unknown)
        answers = lists if nbest is not None else [best for (best,) in lists]
        return answers[0] if isinstance(source, str) else answers

    def sample(self, source: str, samples: int, *, seed: int = 0) -> list[Prediction]:
        """Draw strings from the model's distribution, independently: some may be equal."""
        (own,) = self.answers([self.example(source)], Search(samples=samples, seed=seed))
        self._warn(own[0].unknown)
        return own

    def log_prob(self, source: str, target: str) -> float:
        """Return log p(target | source), natural logarithm; −inf if it cannot be written."""
        pair = self._pair(source, target)
        self._warn(self._unknown(pair), self.indexer.unwritable(pair))
        return math.fsum(next(self.score([pair])))

    def align(self, source: str, target: str) -> Alignment:
        """Return which source symbol each symbol of a given target came from.

        Raises:
            HardalignError: If the target has a symbol that the model has never seen.
        """
        pair = self._writable(source, target)
        self._warn(self._unknown(pair))
        ((_, alignment),) = self.align_pairs([pair])
        assert alignment is not None  # it can be written
        return alignment

    def sample_alignments(
        self, source: str, target: str, n: int, *, seed: int = 0
    ) -> NDArray[np.int64]:
        """Draw ``n`` whole alignments of a pair from p(a | x, y), exactly.

        Returns:
            [n, target symbols] columns of an alignment's ``weights``, as its ``best`` has them.

        Raises:
            HardalignError: If the model cannot write the target, or its system has no distribution
                over alignments.
        """
        require_int("n", n, 0, 100 * MAX_WIDTH)
        require_int("the seed", seed, 0)
        pair = self._writable(source, target)
        self._warn(self._unknown(pair))
        encoded = self.indexer.pair(self.as_read(pair))
        noise = np.random.default_rng(seed).random((1, len(encoded.target), n))
        memory = self._runtime.read(Words.of([encoded]))
        lattice = self._runtime.follow(memory, Targets.of([0], [encoded.target]))
        return np.asarray(lattice.samples(noise)[0, :-1].T, np.int64)

    def example(self, text: str) -> Example:
        """Cut a source string into symbols as the training data was cut.

        Raises:
            HardalignError: If it has no symbols, or no tags although the model needs them.
        """
        return self.description.format.source_example(text)

    def as_read(self, example: Example) -> Example:
        """Return an example as the model reads it: with known forms beside it, if it has any.

        The columns of alphas and alignments are those of what this returns.
        """
        require(Example, example)
        forms = self.description.known_forms
        if self.tags:
            example = replace(example, tags=self.tags)
        return example if forms is None else forms.beside(example)

    def answers(
        self,
        examples: Iterable[Example],
        search: Search,
        *,
        alignments: bool = False,
        exact: bool = True,
        threads: int = 1,
        first: int = 0,
    ) -> Iterator[list[Prediction]]:
        """Answer a stream of any length in constant memory, in its own order.

        Args:
            examples: What to predict; one without source symbols gets one empty prediction.
            search: What to search for.
            alignments: Align each prediction with its source.
            exact: Make every ``log_prob`` exact; else a search may leave out what hardly counts.
            threads: How many batches of words to work on at a time.
            first: The place of the first example in its file, on which samples depend.

        Yields:
            For each example its strings: best first, or samples in the order drawn.

        Raises:
            HardalignError: If probability mass is asked for and the model's scores are not exact.
        """
        require(Iterable, examples)
        require(Search, search)
        require_int("threads", threads, 1)
        require_int("first", first, 0)
        if search.mass is not None and self.system.score != "exact":
            raise HardalignError(
                f"no probability mass can be covered: the scores of {self.description.model.system}"
                f" are not exact probabilities ({SCORES[self.system.score]})"
            )

        def work(batch: Sequence[_Question], places: Sequence[int]) -> list[list[Prediction]]:
            lists = [[NOTHING] for _ in batch]
            asked = [k for k, question in enumerate(batch) if question.example.source]
            if asked:
                words = Batch(self._runtime, [batch[k].encoded for k in asked])
                at = [first + places[k] for k in asked]
                found = find_strings(words, search, at, exact=exact, alignments=alignments)
                for k, strings in zip(asked, found, strict=True):
                    lists[k] = [self._prediction(batch[k], one) for one in strings]
            return lists

        return in_batches(
            self._runtime,
            work,
            (self._question(example, self.indexer.source) for example in examples),
            lambda question: (search.width + 1) // 2 * len(question.encoded.source),
            results=search.most,
            threads=threads,
        )

    def score(self, pairs: Iterable[Example], *, threads: int = 1) -> Iterator[list[float]]:
        """Score a stream of examples of one target each in constant memory, in its own order.

        Yields:
            log p(y_i | y_<i, x) of each target symbol and the end, whose sum is log p(y | x). From
            a symbol on that the model cannot write, −inf.
        """
        require(Iterable, pairs)
        require_int("threads", threads, 1)

        def work(batch: Sequence[Encoded], _places: Sequence[int]) -> Iterator[list[float]]:
            return Batch(self._runtime, batch).pair_scores()

        return in_batches(self._runtime, work, self._encoded(pairs), pair_length, threads=threads)

    def estimate(
        self, pairs: Iterable[Example], particles: int, *, seed: int = 0
    ) -> Iterator[float]:
        """Estimate log p(y | x) of pairs where it cannot be computed: by particles.

        The mean weight of the particles of a pair is an unbiased estimate of p(y | x), so that its
        logarithm is a little too low on average, and less so with more of them.

        Yields:
            A natural logarithm for each pair; −inf if its target cannot be written.

        Raises:
            HardalignError: If the model's scores need no estimate, if it is an ensemble, or if it
                answers at a temperature, which is none of the model's.
        """
        if self.system.score != "decoding rule":
            raise HardalignError(
                f"{self.description.model.system} needs no particles; only hard-feed and "
                "hard-feed-reinforce do"
            )
        if self.description.members > 1:
            raise HardalignError(
                "particles estimate what one model learned: give a member's folder"
            )
        if self.description.temperature != 1:
            raise HardalignError("particles estimate what was learned: load at temperature 1")
        require(Iterable, pairs)
        require_int("particles", particles, 1)
        require_int("the seed", seed, 0)
        return (
            estimate(self._runtime, pair, particles, (seed, place))
            for place, pair in enumerate(self._encoded(pairs))
        )

    def align_pairs(
        self, pairs: Iterable[Example], *, threads: int = 1
    ) -> Iterator[tuple[Example, Alignment | None]]:
        """Align a stream of examples of one target each in constant memory, in its own order.

        Yields:
            Each pair and its alignment; None where the target has symbols that the model cannot
            write (``indexer.unwritable``).
        """
        require(Iterable, pairs)
        require_int("threads", threads, 1)

        def work(
            batch: Sequence[_Question], _places: Sequence[int]
        ) -> Iterator[tuple[Example, Alignment | None]]:
            writable = [q.encoded for q in batch if UNKNOWN not in q.encoded.target]
            found: Iterator[Aligned] = iter(())
            if writable:
                targets = [pair.target for pair in writable]
                found = Batch(self._runtime, writable).align(range(len(writable)), targets)
            for pair, read, encoded in batch:
                written = UNKNOWN not in encoded.target
                yield pair, self._alignment(read, next(found)) if written else None

        return in_batches(
            self._runtime,
            work,
            (self._question(pair, self.indexer.pair) for pair in pairs),
            lambda question: pair_length(question.encoded),
            threads=threads,
        )

    def looks_past(self, best: Prediction) -> bool:
        """Return whether the model looked past ``UNALIGNED`` letters or more at once.

        Whether these produced nothing, the alignment of the prediction tells.
        """
        forms = self.description.known_forms
        if best.origin == "lexicon" or not best.alpha.size or forms is not None:
            return False
        # Where the model looked, between the last column before the source and the first after it.
        looked = sorted({len(best.tags), *best.alpha[:-1].argmax(1).tolist()})
        places = pairwise([*looked, best.alpha.shape[1] - 1])
        return any(after - before > UNALIGNED for before, after in places)

    def _question(self, example: Example, encode: Any) -> _Question:
        read = self.as_read(example)
        return _Question(example, read, encode(read))

    def _encoded(self, pairs: Iterable[Example]) -> Iterator[Encoded]:
        return (self.indexer.pair(self.as_read(pair)) for pair in pairs)

    def _prediction(self, question: _Question, found: Hypothesis) -> Prediction:
        example, read, encoded = question
        symbols = self.description.vocabulary.target.decode(found.symbols, encoded.oov)
        alignment = None
        if found.aligned is not None:
            alignment = self._alignment(replace(read, targets=(symbols,)), found.aligned)
        return Prediction(
            example.text,
            self.spell(symbols),
            symbols,
            found.log_prob,
            found.finished,
            found.alpha[:, : len(encoded.source)],
            alignment,
            self._unknown(example),
            example.tags,
        )

    def spell(self, symbols: Symbols) -> str:
        """Return the text of a prediction, in IPA if it was asked for."""
        if self.ipa:
            from hardalign.text.ipa import arpabet_to_ipa

            return arpabet_to_ipa(symbols)
        return self.description.format.join_target(symbols)

    def _alignment(self, pair: Example, aligned: Aligned) -> Alignment:
        """Return the alignment of a pair that the model has read."""
        strings = pair.source, pair.targets[0], pair.tags
        kind, system = self.system.alignment, self.description.model.system
        return Alignment(*strings, aligned.weights, kind, system, aligned.path)

    def _pair(self, source: str, target: str) -> Example:
        symbols = self.description.format.target_symbols(target)
        return replace(self.example(source), targets=(symbols,))

    def _writable(self, source: str, target: str) -> Example:
        """Return a pair whose target the model can write."""
        pair = self._pair(source, target)
        if missing := self.indexer.unwritable(pair):
            raise HardalignError(
                f"{target!r} cannot be aligned: the model has never seen {missing[0]!r} in a target"
            )
        return pair

    def _unknown(self, example: Example) -> Symbols:
        return tuple(self.description.vocabulary.source.unknown(example.source, example.tags))

    def _warn(self, symbols: Iterable[str], unwritable: Iterable[str] = ()) -> None:
        """Warn, at the place where the user called, of symbols that the model has never seen."""
        unknown = UnknownSymbols(self.description.vocabulary.source)
        unknown.counts.update(symbols)
        if report := unknown.report():
            warnings.warn(report, UnknownSymbolsWarning, stacklevel=3)
        if counts := Counter(unwritable):
            report = f"the target has symbols never seen in training: {symbol_counts(counts)}"
            warnings.warn(f"log p is -inf: {report}", UnknownSymbolsWarning, stacklevel=3)


def load(
    model: str | Path,
    *,
    language: str | None = None,
    tags: str | None = None,
    temperature: float | None = None,
    lexicon: str | Path | Sequence[str | Path] | None = (),
    ipa: bool = False,
) -> Predictor:
    """Load a model folder that ``hardalign train`` wrote, or a bundled model by its name.

    >>> hardalign.load("g2p", language="de")("Straße").text
    'ʃ t ʁ aː s ə'

    Args:
        model: The folder of a model or of an ensemble.
        language: Of all sources, for a model of several languages: its tag, or a name of it that
            the model knows, such as ``"de"`` or ``"German"``.
        tags: Of all sources, which are then given without them.
        temperature: At which to answer, if not at that which training found: 1 gives the
            probabilities as they were learned, more makes them more alike.
        lexicon: One or more files of known words, see ``data.lexicon``, which come before the
            lexicon that the model brings, if it does. None: only the model is asked.
        ipa: Spell the ``text`` of predictions in IPA, for a model that writes ARPAbet.

    Raises:
        HardalignError: If the folder, or a file in it, is missing or damaged.
    """
    # Frees a large block that was never touched. From then on the C library (glibc) keeps blocks up
    # to that size when they are freed, instead of asking the system for them anew at every step.
    np.empty(FREED, np.uint8)
    folder = find_model(model)
    members, description = load_members(folder)
    if temperature is not None:
        description = replace(description, temperature=temperature)
    parts = [(own.model, tensors) for tensors, own in members]
    runtime = build_members(parts, description.vocabulary, description.temperature)
    parameters = sum(
        tensor.size
        for tensors, _ in members
        for name, tensor in tensors.items()
        if name != ALIGNER_TABLE
    )
    fixed = description.format.tag_symbols(tags) if tags else ()
    if language is not None:
        fixed = (find_language(folder, language, description.vocabulary.source.tags),)
    if unknown := description.vocabulary.source.unknown((), fixed):
        raise HardalignError(
            f"{model}: has no tag {unknown[0]!r}; hardalign info {model} lists them"
        )
    if fixed:
        columns = tuple(one for one in description.format.columns if one != "tags")
        layout = replace(description.format, columns=columns)
        description = replace(description, format=layout)
    if ipa:
        from hardalign.text.ipa import check_arpabet

        check_arpabet(description.vocabulary.target.letters)
    known = None
    if lexicon is not None:
        files = [lexicon] if isinstance(lexicon, str | Path) else lexicon
        if not isinstance(files, Sequence):
            raise HardalignError(f"a lexicon must be a file or several of them, not {lexicon!r}")
        languages = fixed or description.vocabulary.source.tags
        beside = {() if fixed else (tag,): folder / f"lexicon-{tag}.tsv" for tag in languages}
        beside[()] = beside.get((), folder / BESIDE)
        known = read_lexicon(
            files,
            description.format,
            description.vocabulary.target,
            {tags: path for tags, path in beside.items() if path.is_file()},
        )
    predictor = Predictor(
        runtime, description, parameters, known, fixed, tuple(read_languages(folder))
    )
    predictor.ipa = ipa
    return predictor
