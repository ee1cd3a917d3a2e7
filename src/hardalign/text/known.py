"""Known words first: a lexicon's pronunciations where it has the word, the model's elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, repeat

import numpy as np

from hardalign.alignment import Alignment
from hardalign.data.folding import Folding
from hardalign.data.formats import Example, training_pairs
from hardalign.data.lexicon import Lexicon, Origin
from hardalign.data.text import Symbols
from hardalign.data.vocabulary import Alphabet, UnknownSymbols
from hardalign.predictor import Prediction, Predictor
from hardalign.search import Search

WINDOW = 8192
"""Words read at a time, so that those of similar length can be answered together."""


@dataclass(frozen=True)
class Answer:
    """The answer to one word, and where it came from."""

    predictions: list[Prediction]
    """Best first; those of a lexicon in its own order."""
    known: bool
    """Whether a lexicon gave it."""

    @property
    def origin(self) -> Origin:
        """Returns "lexicon" or "model", for output."""
        return "lexicon" if self.known else "model"


def answers_with_known(
    predictor: Predictor,
    examples: Iterable[Example],
    search: Search,
    lexicon: Lexicon,
    *,
    unknown: UnknownSymbols | None = None,
    folding: Folding | None = None,
    alignments: bool = False,
    exact: bool = True,
    threads: int = 1,
) -> Iterator[Answer]:
    """Answers a stream of any length in constant memory, in its own order, known words first.

    A known word gets all pronunciations of the lexicon, whatever ``search`` says, and nothing is
    searched for it. Their ``log_prob`` is what the model gives them, as for any pair. A word with
    letters that the model does not have is also looked up in those that it has (*café* as *cafe*).
    Blanks around a word are left out, unless the model has learned blanks.

    Args:
        predictor: Answers what is not known.
        examples: What to answer.
        search: What to look for where the model answers.
        lexicon: The known words.
        unknown: Counts the symbols that the model has never seen, in words that it answers.
        folding: Counts letters of known words that were read as others.
        alignments: Whether every prediction gets its alignment.
        exact: As for ``Predictor.answers``; without it, known words are not scored (log_prob 0).
        threads: As for ``Predictor.answers``.
    """
    stream = iter(examples)
    folding = folding or Folding(predictor.description.vocabulary.source)
    while window := list(islice(stream, WINDOW)):
        looked_up = [_looked_up(example, lexicon, folding) for example in window]
        pairs = list(training_pairs(looked_up))
        entries = _entries(predictor, pairs, alignments, exact, threads)
        questions = [example for example in looked_up if not example.targets]
        if unknown is not None:
            for question in questions:
                unknown.note(question)
        answers = predictor.answers(
            questions, search, alignments=alignments, exact=exact, threads=threads
        )
        for example in looked_up:
            if example.targets:
                yield Answer(list(islice(entries, len(example.targets))), known=True)
            else:
                yield Answer(next(answers), known=False)
        # Asked once more, they end here. Where they are thrown away, their threads would be waited
        # for in a place in which Python loses signals.
        next(answers, None)
        next(entries, None)


def _looked_up(example: Example, lexicon: Lexicon, folding: Folding) -> Example:
    """Returns an example with its pronunciations as targets; it has none if it is not known."""
    source = trimmed(example.source, folding.alphabet)
    targets = lexicon.pronunciations(source)
    if not targets and lexicon and folding.alphabet.unknown(source):
        folded = Folding(folding.alphabet)
        if targets := lexicon.pronunciations(folded.fold(source) or ()):
            source = folding.fold(source) or ()
    return replace(example, source=source, targets=targets)


def trimmed(source: Symbols, alphabet: Alphabet) -> Symbols:
    """Returns a source without the blanks around it, if the model does not have them."""
    letters = [k for k, s in enumerate(source) if not s.isspace() or not alphabet.unknown([s])]
    return source[letters[0] : letters[-1] + 1] if letters else source


def _entries(
    predictor: Predictor, pairs: list[Example], alignments: bool, exact: bool, threads: int
) -> Iterator[Prediction]:
    """Yields a prediction for each pair of a known word and one of its pronunciations."""
    scores = map(sum, predictor.score(pairs, threads=threads)) if exact else repeat(0.0, len(pairs))
    aligned: Iterable[tuple[Example, Alignment | None]] = ((pair, None) for pair in pairs)
    if alignments:
        aligned = predictor.align_pairs(pairs, threads=threads)
    spell = predictor.description.format.join_target
    for score, (pair, alignment) in zip(scores, aligned, strict=True):
        symbols = pair.targets[0]
        text = spell(symbols)
        yield Prediction(pair.text, text, symbols, score, True, np.empty((0, 0)), alignment)
