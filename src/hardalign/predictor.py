"""A trained model as its users meet it: strings in, predictions, scores and alignments out."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, groupby, islice, pairwise, product, repeat
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from hardalign.alignment import Alignment
from hardalign.batches import WINDOW, Aligned, Batch, estimate, in_batches, pair_length
from hardalign.data.formats import Example, training_pairs
from hardalign.data.lexicon import BESIDE, Lexicon, Origin, read_lexicon
from hardalign.data.text import Symbols
from hardalign.data.vocabulary import (
    UNKNOWN,
    Encoded,
    Folding,
    UnknownSymbols,
    symbol_counts,
    trimmed,
)
from hardalign.errors import HardalignError
from hardalign.model_folder import (
    Description,
    find_language,
    find_model,
    load_members,
    read_languages,
)
from hardalign.search import (
    MAX_WIDTH,
    Hypothesis,
    Search,
    cumulative_probability,
    find_strings,
    require_int,
)
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


@dataclass(frozen=True, repr=False)
class Prediction:
    """One answer of a model to one source string."""

    source: str
    """As it was given."""
    text: str
    """The predicted target, spelled as in the training data; in IPA if it was loaded so."""
    symbols: Symbols
    """The same as the model wrote it, cut into symbols."""
    log_prob: float
    """log p(y | x), natural logarithm; ``Predictor.system.score`` says what kind of value it is."""
    finished: bool = True
    """False where the length limit cut the prediction off."""
    alpha: NDArray[np.floating] = field(default_factory=lambda: np.empty((0, 0)), compare=False)
    """[symbols, then the end; begin, tags, source symbols, end] where the model looked before each
    symbol was known."""
    alignment: Alignment | None = field(default=None, compare=False)
    """With its source, where that was asked for."""
    unknown: Symbols = ()
    """Symbols of the source and tags that the model has never seen."""
    tags: Symbols = ()
    """The tags that were given with the source."""
    origin: Origin = "model"
    """Whether a lexicon had the answer, or the model found it."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it: all but the source, the tags and alpha."""
        content = {name: getattr(self, name) for name in _SHOWN}
        return content | ({"alignment": self.alignment.to_dict()} if self.alignment else {})

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        tags = f" {';'.join(self.tags)}" if self.tags else ""
        score = f"log p {self.log_prob:.6g}{'' if self.finished else ', cut off'}"
        return f"<Prediction {self.source!r}{tags} → {self.text!r}, {score}>"


_SHOWN = ("text", "symbols", "log_prob", "finished")
NOTHING = Prediction("", "", (), 0.0)
"""The answer to a blank line, which keeps output and input side by side."""


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
        lists = list(self.respond(examples, search))
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
        _require(Example, example)
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
        _require(Iterable, examples)
        _require(Search, search)
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

    def respond(
        self,
        examples: Iterable[Example],
        search: Search,
        *,
        folding: Folding | None = None,
        alignments: bool = False,
        exact: bool = True,
        ranked: bool = True,
        fill: bool = True,
        threads: int = 1,
        first: int = 0,
    ) -> Iterator[list[Prediction]]:
        """Answer a stream as ``answers`` does, but known words from the lexicon.

        Several pronunciations of a known word are ordered by the model's probability; without
        ``ranked`` they stay in the lexicon's order. If more strings are wanted (``nbest``,
        ``mass``), those that the model finds come after them, unless ``fill`` is false. Without
        ``exact``, ``log_prob`` of known words may be left at 0. Samples are drawn from the model
        alone. Blanks around a word are left out, what has blanks inside is answered part by part,
        without alignments, and letters that the model does not have are replaced by similar ones
        (*café* is read as *cafe*), unless it can copy them; ``folding`` counts them.
        """
        _require(Iterable, examples)
        _require(Search, search)
        folding = folding or Folding(self.description.vocabulary.source)
        stream = iter(examples)
        options: Any = {"alignments": alignments, "exact": exact, "threads": threads}
        while window := list(islice(stream, WINDOW)):
            parts = [self._parts(example) for example in window]
            read = [self.look_up(part, folding) for own in parts for part in own]
            found = self._found(read, search, ranked, fill, first, options)
            for example, own in zip(window, parts, strict=True):
                answers = next(found)
                for _ in own[1:]:
                    answers = _joined(example, answers, next(found), search)
                yield answers
            # Asked once more, it ends here. Where a generator is thrown away, its threads would be
            # waited for in a place in which Python loses signals.
            next(found, None)
            first += len(window)

    def _parts(self, example: Example) -> list[Example]:
        """Return the parts of a source between blanks, if the model knows words alone."""
        _require(Example, example)
        source, alphabet = example.source, self.description.vocabulary.source
        blanks = {symbol for symbol in source if symbol.isspace()}
        words = not example.tags or set(example.tags) <= set(self.languages)
        if not words or self.description.model.copying or not alphabet.unknown(blanks):
            return [example]
        groups = [tuple(own) for blank, own in groupby(source, str.isspace) if not blank]
        spell = self.description.format.join_source
        if len(groups) < 2:
            return [example]
        return [replace(example, source=own, text=spell(own)) for own in groups]

    def _found(
        self,
        read: list[Example],
        search: Search,
        ranked: bool,
        fill: bool,
        first: int,
        options: Any,
    ) -> Iterator[list[Prediction]]:
        """Yield the answers to examples whose targets are what the lexicon has."""

        def is_asked(example: Example) -> bool:
            return not example.targets or (fill and len(example.targets) < search.most)

        if search.samples is not None:
            read = [replace(example, targets=()) for example in read]
        known = self._known([one for one in read if one.targets], ranked=ranked, **options)
        questions = [replace(one, targets=()) for one in read if is_asked(one)]
        answers = self.answers(questions, search, first=first, **options)
        for example in read:
            own = next(known) if example.targets else []
            found = next(answers) if is_asked(example) else []
            others = [one for one in found if one.symbols not in example.targets]
            yield _fewest(own + others, search) if own else found
        next(answers, None)  # it ends

    def look_up(self, example: Example, folding: Folding | None = None) -> Example:
        """Return an example as ``respond`` asks it; its targets are what the lexicon has."""
        folding = folding or Folding(self.description.vocabulary.source)
        source, known = trimmed(example.source, folding.alphabet), self.lexicon.pronunciations
        targets = known(source, example.tags)
        unknown = not targets and folding.alphabet.unknown(source)
        if unknown and not self.description.model.copying:
            source = folding.fold(source, partly=True) or source
            targets = known(source, example.tags)
        return replace(example, source=source, targets=targets)

    def _known(
        self,
        examples: Sequence[Example],
        *,
        alignments: bool,
        exact: bool,
        ranked: bool,
        threads: int,
    ) -> Iterator[list[Prediction]]:
        """Yield the answers to known words, whose pronunciations are their targets."""
        scored = [exact or (ranked and len(example.targets) > 1) for example in examples]
        pairs = training_pairs(compress(examples, scored))
        scores = iter([math.fsum(own) for own in self.score(pairs, threads=threads)])
        aligned: Iterator[Alignment | None] = repeat(None)
        if alignments:
            pairs = training_pairs(examples)
            aligned = iter([one for _, one in self.align_pairs(pairs, threads=threads)])
        for example, is_scored in zip(examples, scored, strict=True):
            known = [
                Prediction(
                    example.text,
                    self._spell(symbols),
                    symbols,
                    next(scores) if is_scored else 0.0,
                    alignment=next(aligned),
                    tags=example.tags,
                    origin="lexicon",
                )
                for symbols in example.targets
            ]
            yield sorted(known, key=lambda one: -one.log_prob) if ranked else known

    def score(self, pairs: Iterable[Example], *, threads: int = 1) -> Iterator[list[float]]:
        """Score a stream of examples of one target each in constant memory, in its own order.

        Yields:
            log p(y_i | y_<i, x) of each target symbol and the end, whose sum is log p(y | x). From
            a symbol on that the model cannot write, −inf.
        """
        _require(Iterable, pairs)
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
        _require(Iterable, pairs)
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
        _require(Iterable, pairs)
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

    def answered(self, best: Prediction) -> Example:
        """Return a prediction's source, as the model read it, with the prediction as its target."""
        source = self.description.format.source_symbols(best.source)
        read = self.look_up(Example(source, tags=best.tags, text=best.source))
        return replace(read, targets=(best.symbols,))

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
            self._spell(symbols),
            symbols,
            found.log_prob,
            found.finished,
            found.alpha[:, : len(encoded.source)],
            alignment,
            self._unknown(example),
            example.tags,
        )

    def _spell(self, symbols: Symbols) -> str:
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


def _require(kind: type, *values: object) -> None:
    """Require values of a type that a method takes."""
    for value in values:
        if not isinstance(value, kind) or isinstance(value, str):
            raise HardalignError(f"expected {kind.__name__}, not {value!r:.50}; see `example`")


def _joined(
    example: Example, one: list[Prediction], other: list[Prediction], search: Search
) -> list[Prediction]:
    """Return the answers to a source by those to its first parts and to the next one."""
    pairs = zip(one, other, strict=True) if search.samples is not None else product(one, other)
    joined = [
        replace(
            first,
            source=example.text,
            text=f"{first.text} {then.text}",
            symbols=first.symbols + then.symbols,
            log_prob=first.log_prob + then.log_prob,
            finished=first.finished and then.finished,
            alpha=NOTHING.alpha,
            alignment=None,
            unknown=first.unknown + then.unknown,
            origin=first.origin if first.origin == then.origin else "model",
        )
        for first, then in pairs
    ]
    if search.samples is not None:
        return joined
    return _fewest(sorted(joined, key=lambda both: -both.log_prob), search)


def _fewest(predictions: list[Prediction], search: Search) -> list[Prediction]:
    """Return as many of some predictions as were asked for, from the first."""
    if search.mass is None:
        return predictions[: search.nbest or 1]
    sums = cumulative_probability(predictions)
    return predictions[: 1 + sum(total < search.mass for total in sums)]


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
