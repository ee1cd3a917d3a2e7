"""``hardalign score``: how probable the targets of a file are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import tee

from hardalign.cli.console import note, note_score_kind
from hardalign.cli.options import Count, File, Model, Number, PairOptions, threads_or_cores
from hardalign.errors import HardalignError


def score(
    model: Model,
    file: File = "-",
    *,
    per_symbol: bool = False,
    particles: Count = None,
    threads: Number = None,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    """Print log p(target | source) of each pair, one line per pair, in order.

    $ hardalign score runs/g2p lexicon.tsv

    $ hardalign score runs/g2p lexicon.tsv --per-symbol

    Printed is: source TAB target TAB log-probability, a natural logarithm, the end of the string
    included; -inf if the target has a symbol that the model has never seen, which is reported.
    A name with several targets has a line for each. The score is exact for most systems, but
    hard-feed and hard-feed-reinforce give the probability under the rule by which they decode, or
    with --particles an estimate of their own; monotonic that of one way to write the target, its
    aligner's, which is a lower bound.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File with sources and targets; - is standard input.
        per_symbol: Add a column: the log-probabilities of the target's symbols and of its end,
            separated by blanks, whose sum is the score.
        particles: For hard-feed and hard-feed-reinforce, estimate log p(target | source), which
            they cannot compute, by so many particles: their mean weight is an unbiased estimate of
            the probability.
        threads: How many batches of pairs to work on at a time. (default: one per core)
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.data.formats import training_pairs
    from hardalign.data.text import plural
    from hardalign.data.vocabulary import UnknownSymbols, symbol_counts
    from hardalign.predictor import load

    if particles is not None and per_symbol:
        raise HardalignError("particles estimate whole targets, not symbols")
    predictor = load(model, temperature=None if particles is None else 1)
    vocabulary = predictor.description.vocabulary
    layout = files.resolve(predictor.description.format)
    unknown, unspelled = UnknownSymbols(vocabulary.source), Counter[str]()
    impossible = 0
    pairs, again = tee(training_pairs(files.read(file, layout)))
    scores: Iterator[list[float]]
    if particles is None:
        scores = predictor.score(again, threads=threads_or_cores(threads))
    else:
        scores = ([value] for value in predictor.estimate(again, particles))
    for pair, log_probs in zip(pairs, scores, strict=True):
        columns = [pair.text, layout.join_target(pair.targets[0]), f"{math.fsum(log_probs):.6f}"]
        if per_symbol:
            columns.append(" ".join(f"{value:.6f}" for value in log_probs))
        print("\t".join(columns))
        unknown.note(pair)
        never_seen = predictor.indexer.unwritable(pair)
        unspelled.update(never_seen)
        impossible += bool(never_seen)
    note(unknown.report())
    if impossible:
        note(
            f"{plural(impossible, 'target has', 'targets have')} log p = -inf, because of symbols "
            f"that were never seen in training: {symbol_counts(unspelled)}"
        )
    if particles is None:
        note_score_kind(predictor.system.score)
    else:
        note(f"the scores are estimates of log p(y | x) by {particles} particles each")
