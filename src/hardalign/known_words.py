"""Answers from a lexicon for known words, and from the model for all others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import sub
from typing import TYPE_CHECKING

from hardalign.alignment import Alignment
from hardalign.batches import WINDOW, within
from hardalign.data.formats import Example, training_pairs
from hardalign.data.vocabulary import Folding, trimmed
from hardalign.errors import require_type
from hardalign.search import NOTHING, Prediction, Search

if TYPE_CHECKING:
    from hardalign.predictor import Predictor

SKIPPED = 3
"""Minimum run of unaligned letters that is worth a warning."""


@dataclass(frozen=True)
class _Options:
    """Arguments of ``respond``."""

    search: Search
    alignments: bool
    exact: bool
    ranked: bool
    fill: bool
    threads: int

    def needs_model(self, example: Example) -> bool:
        """Whether to ask the model about an example, whose targets come from the lexicon."""
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
    """Answer a stream like ``Predictor.answers``, with known words from the predictor's lexicon.

    Blanks around a word are dropped; sources with blanks (or _) inside are answered word by word,
    without alignments. Out-of-vocabulary letters are replaced by similar ones (*café* is read as
    *cafe*), unless the model can copy them; ``folding`` counts them. Samples always come from the
    model.

    Unless ``exact``, the ``log_prob`` of known words may be 0. Their pronunciations are ``ranked``
    by probability, or in the lexicon's order; with ``fill``, the model's strings follow if the
    search wants more.
    """
    require_type(Iterable, examples)
    require_type(Search, search)
    folding = folding or Folding(predictor.description.vocabulary.source)
    stream = ((example, _parts(predictor, example, search)) for example in examples)
    for count, group in groupby(stream, lambda one: len(one[1]) if search.mass else 1):
        # If each word covers this share, together they cover the mass.
        share = replace(search, mass=search.mass ** (1 / count)) if search.mass else search
        options = _Options(share, alignments, exact, ranked, fill, threads)
        while window := list(within(WINDOW, group, lambda one: len(one[1]))):
            read = [look_up(predictor, part, folding) for _, own in window for part in own]
            found = _answers(predictor, read, options, first)
            for example, own in window:
                answers = next(found)
                for _ in own[1:]:
                    answers = _joined(example, answers, next(found), share)
                yield search.wanted(answers) if len(own) > 1 else answers
            # Exhaust it: closing a dropped generator would wait for its threads where Python loses
            # signals.
            next(found, None)
            first += len(window)


def look_up(predictor: Predictor, example: Example, folding: Folding | None = None) -> Example:
    """Return an example as ``respond`` reads it, with the lexicon's pronunciations as targets."""
    folding = folding or Folding(predictor.description.vocabulary.source)
    source, known = trimmed(example.source, folding.alphabet), predictor.lexicon.pronunciations
    targets = known(source, example.tags)
    unknown = not targets and folding.alphabet.unknown(source)
    if unknown and not predictor.description.model.copying:
        source = folding.fold(source, partly=True) or source
        targets = known(source, example.tags)
    return replace(example, source=source, targets=targets)


def may_skip(prediction: Prediction) -> bool:
    """Whether attention jumps over enough letters that they may be unaligned."""
    if not prediction.alpha.size:
        return False
    attended = prediction.alpha[:-1].argmax(1).tolist()
    places = sorted({len(prediction.tags), *attended, prediction.alpha.shape[1] - 1})
    return max(map(sub, places[1:], places), default=0) > SKIPPED


def skipped_letters(
    predictor: Predictor, suspects: Sequence[Prediction]
) -> list[tuple[str, list[str]]]:
    """Return sources with their unaligned runs of ``SKIPPED`` letters or more.

    All suspects are aligned, which is slow; ``may_skip`` tells which are worth it. If known forms
    are read beside the source, attention says nothing about its letters.
    """
    if predictor.description.known_forms is not None:
        return []
    pairs = []
    for one in suspects:
        source = predictor.description.format.source_symbols(one.source)
        read = look_up(predictor, Example(source, tags=one.tags, text=one.source))
        pairs.append(replace(read, targets=(one.symbols,)))
    found = [(one.text, a.unaligned(SKIPPED)) for one, a in predictor.align_pairs(pairs) if a]
    return [(text, runs) for text, runs in found if runs]


def is_blank(symbol: str) -> bool:
    """Whether a symbol separates words: *New York*, *new_york*."""
    return symbol.isspace() or symbol == "_"


def _parts(predictor: Predictor, example: Example, search: Search) -> list[Example]:
    """Split a source at blanks, if the model reads single words and the lexicon lacks it."""
    require_type(Example, example)
    source, description = example.source, predictor.description
    if len("".join(source).replace("_", " ").split()) < 2:  # most are single words
        return [example]
    blanks = set(filter(is_blank, source))
    if (
        search.samples is not None
        or description.model.copying
        or not set(example.tags) <= set(predictor.languages)
        or not description.vocabulary.source.unknown(blanks)
        or predictor.lexicon.pronunciations(source, example.tags)
    ):
        return [example]
    groups = [tuple(own) for blank, own in groupby(source, is_blank) if not blank]
    spell = description.format.join_source
    return [replace(example, source=own, text=spell(own)) for own in groups]


def _answers(
    predictor: Predictor, read: list[Example], options: _Options, first: int
) -> Iterator[list[Prediction]]:
    """Yield the answers to examples whose targets are the lexicon's pronunciations."""
    search = options.search
    if search.samples is not None:
        read = [replace(example, targets=()) for example in read]
    asked = [one for one in read if options.needs_model(one)]
    answers = predictor.answers(
        [replace(one, targets=()) if one.targets else one for one in asked],
        search,
        alignments=options.alignments,
        exact=options.exact,
        threads=options.threads,
        first=first,
    )
    known = _known(predictor, [one for one in read if one.targets], options)
    for example in read:
        own = next(known) if example.targets else []
        found = next(answers) if options.needs_model(example) else []
        others = [one for one in found if one.symbols not in example.targets]
        yield search.wanted(own + others) if own else found
    next(answers, None)  # exhaust it


def _known(
    predictor: Predictor, examples: list[Example], options: _Options
) -> Iterator[list[Prediction]]:
    """Yield the lexicon's pronunciations of words as predictions."""
    compared = [
        one for one in examples if options.exact or (options.ranked and len(one.targets) > 1)
    ]
    pairs = list(training_pairs(compared))
    log_probs = map(math.fsum, predictor.score(pairs, threads=options.threads))
    scores = dict(zip(pairs, log_probs, strict=True))
    aligned: dict[Example, Alignment | None] = {}
    if options.alignments:
        pairs = list(training_pairs(examples))
        aligned = dict(predictor.align_pairs(pairs, threads=options.threads))
    for example in examples:
        known = [
            Prediction(
                example.text,
                predictor.spell(pair.targets[0]),
                pair.targets[0],
                scores.get(pair, 0.0),
                alignment=aligned.get(pair),
                tags=example.tags,
                origin="lexicon",
            )
            for pair in training_pairs([example])
        ]
        yield sorted(known, key=lambda one: -one.log_prob) if options.ranked else known


def _joined(
    example: Example, one: list[Prediction], other: list[Prediction], search: Search
) -> list[Prediction]:
    """Combine the answers to the first parts of a source with those to the next part.

    Only pairs that may be wanted are formed: the k-th best of ``one`` with the first ``most`` / k.
    """
    one, other = (sorted(own, key=lambda answer: -answer.log_prob) for own in (one, other))
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
        for k, first in enumerate(one, start=1)
        for then in islice(other, search.most // k)
    ]
    return search.wanted(sorted(joined, key=lambda both: -both.log_prob)[: search.most])
