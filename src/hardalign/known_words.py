"""Known words first: answers from a lexicon where it has the word, from the model elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress, groupby, islice, product, repeat
from typing import TYPE_CHECKING

from hardalign.alignment import Alignment
from hardalign.batches import WINDOW
from hardalign.data.formats import Example, training_pairs
from hardalign.data.vocabulary import Folding, trimmed
from hardalign.prediction import NOTHING, Prediction
from hardalign.search import Search, cumulative_probability, require

if TYPE_CHECKING:
    from hardalign.predictor import Predictor


@dataclass(frozen=True)
class _Asked:
    """What ``respond`` was asked for."""

    search: Search
    alignments: bool
    exact: bool
    ranked: bool
    fill: bool
    threads: int

    def fewest(self, predictions: list[Prediction]) -> list[Prediction]:
        """Return as many of some predictions as were asked for, from the first."""
        if self.search.mass is None:
            return predictions[: self.search.nbest or 1]
        sums = cumulative_probability(predictions)
        return predictions[: 1 + sum(total < self.search.mass for total in sums)]

    def is_for_model(self, example: Example) -> bool:
        """Whether the model is asked; the targets of an example are what the lexicon has."""
        return not example.targets or (self.fill and len(example.targets) < self.search.most)


def respond(
    predictor: Predictor,
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
    """Answer a stream as ``Predictor.answers`` does, but known words from the predictor's lexicon.

    Several pronunciations of a known word are ordered by the model's probability; without
    ``ranked`` they stay in the lexicon's order. If more strings are wanted (``nbest``, ``mass``),
    those that the model finds come after them, unless ``fill`` is false. Without ``exact``,
    ``log_prob`` of known words may be left at 0. Samples are drawn from the model alone. Blanks
    around a word are left out, what has blanks inside is answered part by part, without
    alignments, and letters that the model does not have are replaced by similar ones (*café* is
    read as *cafe*), unless it can copy them; ``folding`` counts them.
    """
    require(Iterable, examples)
    require(Search, search)
    folding = folding or Folding(predictor.description.vocabulary.source)
    asked, stream = _Asked(search, alignments, exact, ranked, fill, threads), iter(examples)
    while window := list(islice(stream, WINDOW)):
        parts = [_parts(predictor, example) for example in window]
        read = [look_up(predictor, part, folding) for own in parts for part in own]
        found = _found(predictor, read, asked, first)
        for example, own in zip(window, parts, strict=True):
            answers = next(found)
            for _ in own[1:]:
                answers = _joined(example, answers, next(found), asked)
            yield answers
        # Asked once more, it ends here. Where a generator is thrown away, its threads would be
        # waited for in a place in which Python loses signals.
        next(found, None)
        first += len(window)


def look_up(predictor: Predictor, example: Example, folding: Folding | None = None) -> Example:
    """Return an example as ``respond`` asks it; its targets are what the lexicon has."""
    folding = folding or Folding(predictor.description.vocabulary.source)
    source, known = trimmed(example.source, folding.alphabet), predictor.lexicon.pronunciations
    targets = known(source, example.tags)
    unknown = not targets and folding.alphabet.unknown(source)
    if unknown and not predictor.description.model.copying:
        source = folding.fold(source, partly=True) or source
        targets = known(source, example.tags)
    return replace(example, source=source, targets=targets)


def answered(predictor: Predictor, best: Prediction) -> Example:
    """Return a prediction's source, as the model read it, with the prediction as its target."""
    source = predictor.description.format.source_symbols(best.source)
    read = look_up(predictor, Example(source, tags=best.tags, text=best.source))
    return replace(read, targets=(best.symbols,))


def _parts(predictor: Predictor, example: Example) -> list[Example]:
    """Return the parts of a source between blanks, if the model knows words alone."""
    require(Example, example)
    source, description = example.source, predictor.description
    blanks = {symbol for symbol in source if symbol.isspace()}
    words = not example.tags or set(example.tags) <= set(predictor.languages)
    if not words or description.model.copying or not description.vocabulary.source.unknown(blanks):
        return [example]
    groups = [tuple(own) for blank, own in groupby(source, str.isspace) if not blank]
    if len(groups) < 2:
        return [example]
    spell = description.format.join_source
    return [replace(example, source=own, text=spell(own)) for own in groups]


def _found(
    predictor: Predictor, read: list[Example], asked: _Asked, first: int
) -> Iterator[list[Prediction]]:
    """Yield the answers to examples whose targets are what the lexicon has."""
    if asked.search.samples is not None:
        read = [replace(example, targets=()) for example in read]
    known = _known(predictor, [one for one in read if one.targets], asked)
    answers = predictor.answers(
        [replace(one, targets=()) for one in read if asked.is_for_model(one)],
        asked.search,
        alignments=asked.alignments,
        exact=asked.exact,
        threads=asked.threads,
        first=first,
    )
    for example in read:
        own = next(known) if example.targets else []
        found = next(answers) if asked.is_for_model(example) else []
        others = [one for one in found if one.symbols not in example.targets]
        yield asked.fewest(own + others) if own else found
    next(answers, None)  # it ends


def _known(
    predictor: Predictor, examples: Sequence[Example], asked: _Asked
) -> Iterator[list[Prediction]]:
    """Yield the answers to known words, whose pronunciations are their targets."""
    scored = [asked.exact or (asked.ranked and len(one.targets) > 1) for one in examples]
    pairs = training_pairs(compress(examples, scored))
    scores = iter([math.fsum(own) for own in predictor.score(pairs, threads=asked.threads)])
    aligned: Iterator[Alignment | None] = repeat(None)
    if asked.alignments:
        every = predictor.align_pairs(training_pairs(examples), threads=asked.threads)
        aligned = iter([alignment for _, alignment in every])
    for example, is_scored in zip(examples, scored, strict=True):
        known = [
            Prediction(
                example.text,
                predictor.spell(symbols),
                symbols,
                next(scores) if is_scored else 0.0,
                alignment=next(aligned),
                tags=example.tags,
                origin="lexicon",
            )
            for symbols in example.targets
        ]
        yield sorted(known, key=lambda one: -one.log_prob) if asked.ranked else known


def _joined(
    example: Example, one: list[Prediction], other: list[Prediction], asked: _Asked
) -> list[Prediction]:
    """Return the answers to a source by those to its first parts and to the next one."""
    samples = asked.search.samples is not None
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
        for first, then in (zip(one, other, strict=True) if samples else product(one, other))
    ]
    return joined if samples else asked.fewest(sorted(joined, key=lambda both: -both.log_prob))
