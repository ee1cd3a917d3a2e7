"""Trained models as users load them: strings in, predictions, scores and alignments out."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast, overload

import numpy as np
from numpy.typing import NDArray

from hardalign.alignment import Alignment
from hardalign.batches import Aligned, Batch, estimate, in_batches, pair_length
from hardalign.data.formats import Example
from hardalign.data.lexicon import Lexicon, lexicons_beside, read_lexicon
from hardalign.data.text import Symbols
from hardalign.data.vocabulary import UNKNOWN, Encoded, symbol_counts, unknown_symbols
from hardalign.decoding import Hypothesis
from hardalign.errors import HardalignError, require_int, require_type
from hardalign.known_words import respond
from hardalign.model_folder import (
    Description,
    find_language,
    find_model,
    load_members,
    read_languages,
)
from hardalign.search import MAX_WIDTH, NOTHING, Prediction, Search, find_strings
from hardalign.systems import SCORES, System, find_system
from hardalign.systems.model import Answering, build_members, indexer
from hardalign.systems.parameters import count

FREED = (1 << 25) - (1 << 16)
"""Bytes of a block that is freed untouched, so that glibc keeps freed blocks up to that size (below
32 MB) instead of requesting them from the system at every step."""


class UnknownSymbolsWarning(UserWarning):
    """A source or target has out-of-vocabulary symbols."""


class _Question(NamedTuple):
    place: int  # in the file
    example: Example  # as given
    read: Example  # as the model reads it
    encoded: Encoded


class Predictor:
    """A trained model with its vocabulary and format, as returned by ``load``.

    >>> g2p = hardalign.load("en-g2p")
    >>> g2p("action").text
    'AE1 K SH AH0 N'

    Methods that take strings warn of out-of-vocabulary symbols (``UnknownSymbolsWarning``), those
    that take streams of examples do not.
    """

    def __init__(
        self,
        runtime: Answering,
        description: Description,
        lexicon: Lexicon | None = None,
        tags: Symbols = (),
        languages: Symbols = (),
        ipa: bool = False,
    ) -> None:
        self._runtime = runtime
        self.description = description
        """Settings, format, vocabulary and data of the model."""
        self.lexicon = lexicon or Lexicon(description.format)
        """Known words, which calls look up before asking the model."""
        self.tags = tags
        """Fixed tags of all sources."""
        self.languages = languages
        """The tags that name languages."""
        self.ipa = ipa
        """Write the ``text`` of predictions in IPA."""
        self.indexer = indexer(description.model, description.vocabulary, description.format)
        """Maps examples to symbol ids."""

    def __repr__(self) -> str:
        vocabulary = self.description.vocabulary
        return (
            f"<Predictor {self.description.model.system}: {len(vocabulary.source.letters)} source "
            f"and {len(vocabulary.target.letters)} target symbols, {self.parameters:,} parameters>"
        )

    @property
    def system(self) -> System:
        """The model's system, which says what its scores and alignments are."""
        return find_system(self.description.model.system)

    @property
    def parameters(self) -> int:
        """Number of learned parameters, of all members together."""
        own = self.description
        return own.members * count(self.system.model.parameters(own.model, own.vocabulary))

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
        """Predict the targets of one or more strings; known words come from the lexicon.

        >>> g2p("read", nbest=2)[1].text
        'R EH1 D'

        Args:
            source: One or more; for a model trained with tags, each is ``lemma<TAB>TAG;TAG``.
            beam: Beam width. Default: 1 (greedy search), or at least 5 with ``nbest``.
            nbest: Return a list of up to this many distinct strings, best first.
        """
        search = Search(beam=beam, nbest=nbest)
        if not isinstance(source, Iterable) or isinstance(source, bytes):
            raise HardalignError(f"a source must be a string or a list of strings, not {source!r}")
        examples = map(self.example, [source] if isinstance(source, str) else source)
        lists = list(respond(self, examples, search))
        self._warn(symbol for own in lists for symbol in own[0].unknown)
        answers = lists if nbest is not None else [best for (best,) in lists]
        return answers[0] if isinstance(source, str) else answers

    def sample(self, source: str, samples: int, *, seed: int = 0) -> list[Prediction]:
        """Draw independent samples from the model's distribution; some may be equal."""
        (own,) = self.answers([self.example(source)], Search(samples=samples, seed=seed))
        self._warn(own[0].unknown)
        return own

    def log_prob(self, source: str, target: str) -> float:
        """Return log p(target | source), natural logarithm; −inf if the model cannot write it."""
        pair = self._pair(source, target)
        self._warn(self.unknown(pair), self.indexer.unwritable(pair))
        return math.fsum(next(self.score([pair])))

    def align(self, source: str, target: str) -> Alignment:
        """Align a source with a given target.

        Raises:
            HardalignError: If the target has an out-of-vocabulary symbol.
        """
        pair = self._writable(source, target)
        self._warn(self.unknown(pair))
        ((_, alignment),) = self.align_pairs([pair])
        return cast(Alignment, alignment)  # not None, as the target can be written

    def sample_alignments(
        self, source: str, target: str, n: int, *, seed: int = 0
    ) -> NDArray[np.int64]:
        """Draw ``n`` exact samples from p(a | x, y).

        Returns:
            [n, target symbols], column indices into an alignment's ``weights``, like its ``best``.

        Raises:
            HardalignError: If the target cannot be written, or its alignments are not random.
        """
        require_int("n", n, 0, 100 * MAX_WIDTH)
        require_int("the seed", seed, 0)
        pair = self._writable(source, target)
        self._warn(self.unknown(pair))
        encoded = self.indexer.pair(self.as_read(pair))
        noise = np.random.default_rng(seed).random((1, len(encoded.target), n))
        (lattice,) = Batch(self._runtime, [encoded]).follow([0], [encoded.target])
        return np.asarray(lattice.samples(noise)[0, :-1].T, np.int64)

    def example(self, text: str) -> Example:
        """Segment a source string like the training data.

        Raises:
            HardalignError: If it has no symbols, or lacks the tags that the model needs.
        """
        return self.description.format.source_example(text)

    def as_read(self, example: Example) -> Example:
        """Return an example as the model reads it, with fixed tags and known forms beside it.

        The columns of alphas and alignments are its symbols.
        """
        require_type(Example, example)
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
        """Predict a stream of examples with the model alone, in order and in constant memory.

        Args:
            examples: The sources; one without symbols gets one empty prediction.
            search: Decoding options; a ``mass`` needs exact scores.
            alignments: Align each prediction with its source.
            exact: Compute every ``log_prob`` exactly; otherwise improbable terms may be pruned.
            threads: Number of batches computed at a time.
            first: Position of the first example in its file, on which samples depend.

        Yields:
            The strings of each example: best first, or samples in the order drawn.
        """
        require_type(Search, search)
        require_int("first", first, 0)
        if search.mass is not None and self.system.score != "exact":
            raise HardalignError(
                f"mass cannot be used: the scores of {self.description.model.system}"
                f" are not exact probabilities ({SCORES[self.system.score]})"
            )

        def work(batch: Sequence[_Question]) -> Iterator[list[Prediction]]:
            words = Batch(self._runtime, [question.encoded for question in batch])
            places = [question.place for question in batch]
            found = find_strings(words, search, places, exact=exact, alignments=alignments)
            for question, strings in zip(batch, found, strict=True):
                if question.example.source:
                    yield [self._prediction(question, one) for one in strings]
                else:
                    yield [NOTHING]

        return in_batches(
            self._runtime,
            work,
            self._questions(examples, self.indexer.source, first),
            lambda question: (search.width + 1) // 2 * len(question.encoded.source),
            results=search.most,
            threads=threads,
        )

    def score(self, pairs: Iterable[Example], *, threads: int = 1) -> Iterator[list[float]]:
        """Score a stream of examples with one target each, in order and in constant memory.

        Yields:
            log p(y_i | y_<i, x) of each target symbol and the end, whose sum is log p(y | x); −inf
            from the first symbol that the model cannot write.
        """

        def work(batch: Sequence[Encoded]) -> Iterator[list[float]]:
            return Batch(self._runtime, batch).pair_scores()

        encoded = (question.encoded for question in self._questions(pairs, self.indexer.pair))
        return in_batches(self._runtime, work, encoded, pair_length, threads=threads)

    def estimate(
        self, pairs: Iterable[Example], particles: int, *, seed: int = 0
    ) -> Iterator[float]:
        """Estimate log p(y | x) of pairs with particles, for systems that cannot compute it.

        Only for a single model at temperature 1. The particles' mean weight is an unbiased estimate
        of p(y | x), so its logarithm is slightly too low on average, less so with more particles.

        Yields:
            The natural logarithm for each pair; −inf if the model cannot write its target.
        """
        own = self.description
        if self.system.score != "decoding rule" or own.members > 1 or own.temperature != 1:
            raise HardalignError(
                "particles estimate the scores of a single hard-feed or hard-feed-reinforce model "
                f"at temperature 1, not of {own.model.system}"
            )
        require_int("particles", particles, 1)
        require_int("the seed", seed, 0)
        return (
            estimate(self._runtime, one.encoded, particles, (seed, one.place))
            for one in self._questions(pairs, self.indexer.pair)
        )

    def align_pairs(
        self, pairs: Iterable[Example], *, threads: int = 1
    ) -> Iterator[tuple[Example, Alignment | None]]:
        """Align a stream of examples with one target each, in order and in constant memory.

        Yields:
            Each pair with its alignment, or None if the model cannot write the target
            (``indexer.unwritable``).
        """

        def work(batch: Sequence[_Question]) -> Iterator[tuple[Example, Alignment | None]]:
            pairs = [question.encoded for question in batch]
            writable = [k for k, pair in enumerate(pairs) if UNKNOWN not in pair.target]
            found = Batch(self._runtime, pairs).align(writable, [pairs[k].target for k in writable])
            aligned = dict(zip(writable, found, strict=True))
            for k, (_, pair, read, _) in enumerate(batch):
                yield pair, self._alignment(read, aligned[k]) if k in aligned else None

        return in_batches(
            self._runtime,
            work,
            self._questions(pairs, self.indexer.pair),
            lambda question: pair_length(question.encoded),
            threads=threads,
        )

    def _questions(
        self, examples: Iterable[Example], encode: Callable[[Example], Encoded], first: int = 0
    ) -> Iterator[_Question]:
        require_type(Iterable, examples)
        pairs = ((example, self.as_read(example)) for example in examples)
        return (
            _Question(place, example, read, encode(read))
            for place, (example, read) in enumerate(pairs, first)
        )

    def _prediction(self, question: _Question, found: Hypothesis) -> Prediction:
        _, example, read, encoded = question
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
            self.unknown(example),
            example.tags,
        )

    def spell(self, symbols: Symbols) -> str:
        """Return the text of a prediction, in IPA if ``ipa`` is set."""
        if self.ipa:
            from hardalign.text.ipa import arpabet_to_ipa

            return arpabet_to_ipa(symbols)
        return self.description.format.join_target(symbols)

    def _alignment(self, pair: Example, aligned: Aligned) -> Alignment:
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

    def unknown(self, example: Example) -> Symbols:
        """Return the out-of-vocabulary symbols and tags of a source."""
        return tuple(self.description.vocabulary.source.unknown(example.source, example.tags))

    def _warn(self, symbols: Iterable[str], unwritable: Iterable[str] = ()) -> None:
        """Warn of out-of-vocabulary symbols at the line that called a public method."""
        if report := unknown_symbols(Counter(symbols)):
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
        model: Folder of a model or an ensemble, or the name of a bundled model.
        language: Language of all sources, for a multilingual model: a tag or a name that the model
            knows, such as ``"de"`` or ``"German"``.
        tags: Tags of all sources, which must then be given without tags.
        temperature: Overrides the temperature fitted in training; 1 gives the distribution as it
            was learned, higher values flatten it.
        lexicon: One or more files of known words (see ``data.lexicon``), which are looked up before
            the lexicon that comes with the model. None: always ask the model.
        ipa: Write the ``text`` of predictions in IPA, for a model that writes ARPAbet.

    Raises:
        HardalignError: If the folder, or a file in it, is missing or damaged.
    """
    np.empty(FREED, np.uint8)
    folder = find_model(model)
    members, description = load_members(folder)
    if temperature is not None:
        description = replace(description, temperature=temperature)
    runtime = build_members(members, description.vocabulary, description.temperature)
    source, target = description.vocabulary.source, description.vocabulary.target
    fixed = description.format.tag_symbols(tags) if tags else ()
    if language is not None:
        fixed = (find_language(folder, language, source.tags),)
    if unknown := source.unknown((), fixed):
        raise HardalignError(
            f"{model}: has no tag {unknown[0]!r}; hardalign info {model} lists them"
        )
    if fixed:
        columns = tuple(one for one in description.format.columns if one != "tags")
        description = replace(description, format=replace(description.format, columns=columns))
    if ipa:
        from hardalign.text.ipa import check_arpabet

        check_arpabet(target.letters)
    known = None
    if lexicon is not None:
        files = [lexicon] if isinstance(lexicon, str | Path) else lexicon
        if not isinstance(files, Sequence):
            raise HardalignError(f"a lexicon must be a file or a list of files, not {lexicon!r}")
        beside = lexicons_beside(folder, source.tags, fixed)
        known = read_lexicon(files, description.format, target, beside)
    return Predictor(runtime, description, known, fixed, tuple(read_languages(folder)), ipa)
