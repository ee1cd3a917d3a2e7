"""Decoding options, predictions, and searches for the best strings, a mass or samples."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from hardalign.alignment import Alignment
from hardalign.batches import Batch, in_batches
from hardalign.data.lexicon import Origin
from hardalign.data.text import Symbols
from hardalign.data.vocabulary import END, Encoded
from hardalign.decoding import Hypothesis, beam_search, greedy, sample, uniform_noise
from hardalign.errors import HardalignError, require_int
from hardalign.systems.model import Answering
from hardalign.systems.ops.numpy import Floats, Ints

DEFAULT_BEAM = 5
"""Minimum default beam width for n-best lists."""
MASS_BEAM, MASS_BEAM_LIMIT = 8, 256
"""First and last beam width of a search for probability mass."""
MAX_WIDTH = 10_000
"""Maximum beam width and number of strings per word, which are all in memory at once."""
TOLERANCE = 1e-6
"""Probability mass that a step may prune, about the rounding error of float32."""
EXACT_TOLERANCE = 1e-9
"""The same for greedy search with exact scores, which always picks a probable symbol. A beam also
follows improbable ones, so its strings are rescored instead."""
FEW_SYMBOLS = 64
"""Batches of up to this many source symbols are not pruned in beam search: rescoring costs more."""
SAMPLES = 512
"""Strings sampled at a time, to bound memory."""

Scored = TypeVar("Scored")
"""A ``Hypothesis`` or a ``Prediction``."""


@dataclass(frozen=True)
class Search:
    """Decoding options. The default is greedy search: the best symbol at every step.

    Raises:
        HardalignError: If an option is out of range or conflicts with another.
    """

    beam: int | None = None
    """Beam width; 1 is greedy search. None: 1, or at least 5 with ``nbest``."""
    nbest: int | None = None
    """Number of distinct strings to return, most probable first. None: 1."""
    mass: float | None = None
    """Return the fewest strings that together have this probability. The beam is widened until
    they are found, at most to ``MASS_BEAM_LIMIT``."""
    samples: int | None = None
    """Number of strings to sample from the model, with repetitions."""
    seed: int = 0
    """Seed of the samples, which depend on it and on the word's position in its stream."""

    def __post_init__(self) -> None:
        for name in ("beam", "nbest", "samples"):
            value = getattr(self, name)
            if value is not None:
                require_int(name, value, 1, MAX_WIDTH)
        require_int("the seed", self.seed, 0)
        if self.mass is not None and not (isinstance(self.mass, float) and 0 < self.mass < 1):
            raise HardalignError(f"mass must be between 0 and 1, not {self.mass!r}")
        if self.beam is not None and self.nbest is not None and self.nbest > self.beam:
            raise HardalignError(
                f"a beam of {self.beam} finds no more than {self.beam} strings, not {self.nbest}; "
                "widen the beam"
            )
        width = self.beam is not None or self.nbest is not None
        if (width, self.mass is not None, self.samples is not None).count(True) > 1:
            raise HardalignError(
                "choose one of: a beam (with nbest), mass (which finds its own beam), samples"
            )

    @property
    def width(self) -> int:
        """Effective beam width."""
        if self.beam is not None:
            return self.beam
        return 1 if self.nbest is None else max(self.nbest, DEFAULT_BEAM)

    @property
    def most(self) -> int:
        """Maximum number of strings per word."""
        return self.samples or (MASS_BEAM_LIMIT if self.mass else self.nbest or 1)

    def wanted(self, strings: list[Scored]) -> list[Scored]:
        """Return as many of the best strings as ``nbest`` or ``mass`` asks for."""
        if self.mass is None:
            return strings[: self.nbest or 1]
        return strings[: bisect_left(cumulative_probability(strings), self.mass) + 1]


@dataclass(frozen=True, repr=False)
class Prediction:
    """A predicted target string."""

    source: str
    """The source as given."""
    text: str
    """The target, spelled as in the training data, or in IPA."""
    symbols: Symbols
    """The target as the symbols that the model writes."""
    log_prob: float
    """log p(y | x), natural logarithm, of the kind named by ``Predictor.system.score``."""
    finished: bool = True
    """False if the prediction was cut off at the length limit."""
    alpha: Floats = field(default_factory=lambda: np.empty((0, 0)), compare=False)
    """[symbols, then the end; begin, tags, source symbols, end] where the model looked before each
    symbol was known."""
    alignment: Alignment | None = field(default=None, compare=False)
    """The alignment with the source, if requested."""
    unknown: Symbols = ()
    """Out-of-vocabulary symbols of the source and tags."""
    tags: Symbols = ()
    """The tags given with the source."""
    origin: Origin = "model"
    """Whether the answer comes from a lexicon or from the model."""

    def to_dict(self) -> dict[str, Any]:
        """Return text, symbols, log_prob, finished and any alignment, for JSON."""
        shown = ("text", "symbols", "log_prob", "finished")
        content = {name: getattr(self, name) for name in shown}
        return content | ({"alignment": self.alignment.to_dict()} if self.alignment else {})

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        tags = f" {';'.join(self.tags)}" if self.tags else ""
        score = f"log p {self.log_prob:.6g}{'' if self.finished else ', cut off'}"
        return f"<Prediction {self.source!r}{tags} → {self.text!r}, {score}>"


NOTHING = Prediction("", "", (), 0.0)
"""The answer to a blank line, which keeps output aligned with input."""


def find_strings(
    batch: Batch,
    search: Search,
    places: Sequence[int] | None = None,
    *,
    exact: bool = True,
    alignments: bool = False,
) -> list[list[Hypothesis]]:
    """Return the strings of each word of a batch: best first, or samples in the order drawn.

    Samples depend on the positions (``places``) of the words in their stream, by default 0, 1, 2…
    Unless ``exact``, scores may be those of a pruned search.
    """
    every = np.arange(len(batch.sources))
    if search.mass is not None:
        lists = _cover_mass(batch, search, search.mass)
    elif search.samples is not None:
        seeds = [(search.seed, place) for place in (every.tolist() if places is None else places)]
        lists = _sample_strings(batch, search.samples, seeds)
    elif search.width == 1:
        tolerance = EXACT_TOLERANCE if exact else TOLERANCE
        lists = [[best] for best in greedy(batch, every, tolerance)]
    else:
        lists = _best_strings(batch, every, search.width, search.nbest or 1, exact=exact)
    if not alignments:
        return lists
    owners = [word for word, strings in enumerate(lists) for _ in strings]
    aligned = batch.align(owners, [[*one.symbols, END] for strings in lists for one in strings])
    return [[replace(one, aligned=next(aligned)) for one in own] for own in lists]


def predictions(model: Answering, sources: Iterable[Encoded]) -> list[Hypothesis]:
    """Return the greedy prediction of each word."""

    def work(words: Sequence[Encoded]) -> list[Hypothesis]:
        return greedy(Batch(model, words), np.arange(len(words)), TOLERANCE)

    return list(in_batches(model, work, sources, lambda word: len(word.source)))


def cumulative_probability(strings: Iterable[Any]) -> list[float]:
    """Return the running sum of the probabilities of hypotheses or predictions."""
    # The probability of a string that was cut off is that of a prefix.
    return list(accumulate(math.exp(s.log_prob) if s.finished else 0.0 for s in strings))


def _sample_strings(
    batch: Batch, count: int, seeds: Sequence[tuple[int, int]]
) -> list[list[Hypothesis]]:
    """Sample ``count`` strings for each word."""
    rows = [(*seed, k) for seed in seeds for k in range(count)]
    which = np.repeat(np.arange(len(seeds)), count)
    strings: list[Hypothesis] = []
    for k in range(0, len(rows), SAMPLES):
        some = which[k : k + SAMPLES]
        noise = uniform_noise(rows[k : k + SAMPLES], batch.words.lengths[some].tolist())
        strings += sample(batch, some, noise)
    return [strings[k : k + count] for k in range(0, len(strings), count)]


def _best_strings(
    batch: Batch, which: Ints, width: int, keep: int, *, mass: float = 1.0, exact: bool = True
) -> list[list[Hypothesis]]:
    """Search with a beam, and rescore the strings if the search was pruned."""
    pruned = batch.words.symbols.size > FEW_SYMBOLS
    tolerance = TOLERANCE if pruned else 0.0
    lists = beam_search(batch, which, width, keep=keep, mass=mass, tolerance=tolerance)
    if not exact or not pruned or batch.model.step_action >= 0:
        return lists  # if a string has many paths, its score is the sum over those found
    finished = [
        (word, [*string.symbols, END])
        for word, strings in zip(which.tolist(), lists, strict=True)
        for string in strings
        if string.finished
    ]
    scores = batch.scores([word for word, _ in finished], [target for _, target in finished])
    rescored = (
        [replace(s, log_prob=math.fsum(next(scores))) if s.finished else s for s in strings]
        for strings in lists
    )
    return [sorted(strings, key=lambda string: -string.log_prob) for strings in rescored]


def _cover_mass(batch: Batch, search: Search, mass: float) -> list[list[Hypothesis]]:
    """Return the shortest lists that cover a mass, doubling the beam as needed."""
    covering: list[list[Hypothesis]] = [[] for _ in batch.sources]
    pending, width = list(range(len(batch.sources))), MASS_BEAM
    while pending:
        lists = _best_strings(batch, np.array(pending), width, width, mass=mass)
        for word, strings in zip(pending, lists, strict=True):
            covering[word] = search.wanted(strings)
        if width >= MASS_BEAM_LIMIT:
            break
        pending = [w for w in pending if cumulative_probability(covering[w])[-1] < mass]
        width *= 2
    return covering
