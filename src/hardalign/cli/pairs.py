"""Commands for source-target pairs: ``score`` and ``align``."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import tee
from json import dumps

from tyro.conf import Positional

from hardalign.aligner import UnsupervisedAligner
from hardalign.alignment import KINDS, write_pharaoh, write_symbols
from hardalign.cli import options as opt
from hardalign.cli.console import as_they_come, note, note_score_kind
from hardalign.data.formats import FORMATS, training_pairs
from hardalign.data.text import plural
from hardalign.data.vocabulary import symbol_counts, unknown_symbols
from hardalign.errors import HardalignError
from hardalign.predictor import load


def score(
    model: opt.Model,
    file: opt.PairFile = "-",
    *,
    per_symbol: bool = False,
    particles: opt.Count = None,
    threads: opt.Threads = None,
    files: opt.PairOptions = opt.PairOptions(),
) -> None:
    """Print log p(target | source) of each pair, one line per pair, in order.

    $ hardalign score runs/g2p lexicon.tsv
    $ hardalign score runs/g2p lexicon.tsv --per-symbol

    Each line is source TAB target TAB log-probability: a natural logarithm, the end of the string
    included; -inf if the target has a symbol that the model has never seen, which is reported.
    A name with several targets has a line for each. The score is exact for most systems, but
    hard-feed and hard-feed-reinforce give the probability under their decoding rule, or with
    --particles an estimate; monotonic gives that of one way to write the target, its aligner's,
    which is a lower bound.

    Args:
        per_symbol: Add a column with the log-probabilities of the target's symbols and of its end,
            separated by blanks; their sum is the score.
        particles: For hard-feed and hard-feed-reinforce, estimate log p(target | source), which
            they cannot compute, with K particles: their mean weight is an unbiased estimate of the
            probability.
    """
    if particles is not None and per_symbol:
        raise HardalignError("--particles estimates whole targets, not symbols (--per-symbol)")
    predictor = load(model, temperature=None if particles is None else 1)
    layout = files.resolve(predictor.description.format)
    unknown, unwritable = Counter[str](), Counter[str]()
    impossible = 0
    examples = files.read(file, layout)
    # Estimates are seeded by a pair's place in the call, so all pairs go into one.
    for chunk in as_they_come(file, examples) if particles is None else [examples]:
        pairs, again = tee(training_pairs(chunk))
        scores: Iterator[list[float]]
        if particles is None:
            scores = predictor.score(again, threads=opt.threads(threads))
        else:
            scores = ([value] for value in predictor.estimate(again, particles))
        for pair, log_probs in zip(pairs, scores, strict=True):
            score = math.fsum(log_probs)
            columns = [pair.text, layout.join_target(pair.targets[0]), f"{score:.6f}"]
            if per_symbol:
                columns.append(" ".join(f"{value:.6f}" for value in log_probs))
            print("\t".join(columns))
            unknown.update(predictor.unknown(pair))
            missing = predictor.indexer.unwritable(pair)
            unwritable.update(missing)
            impossible += bool(missing)
        sys.stdout.flush()
    note(unknown_symbols(unknown))
    if impossible:
        note(
            f"{plural(impossible, 'target has', 'targets have')} log p = -inf, because of symbols "
            f"that were never seen in training: {symbol_counts(unwritable)}"
        )
    if particles is None:
        note_score_kind(predictor.system.score)
    else:
        note(f"the scores are estimates of log p(y | x) by {particles} particles each")


def align(
    model: Positional[opt.OptionalModel] = None,
    file: opt.PairFile = "-",
    *,
    unsupervised: opt.OptionalFile = None,
    symbols: bool = False,
    posterior: bool = False,
    threads: opt.Threads = None,
    files: opt.PairOptions = opt.PairOptions(),
) -> None:
    r"""Align the sources of a file with its targets, one line per pair, in order.

    $ hardalign align runs/g2p lexicon.tsv
    $ hardalign align --unsupervised lexicon.tsv --format lexicon --symbols

    The output is source-target index pairs (Pharaoh format), from 0, over the symbols of the file:
    a target symbol aligned to a tag or to the begin or end of the source is left out. A pair whose
    target has a symbol that the model has never seen gets an empty line, and is reported.

    With --symbols, action → AE K SH AH N is a:AE c:K t:SH i: o:AH n:N, each source symbol with the
    target symbols aligned to it, joined by |; +PL:s comes from a tag, ⊢:x from the begin, ⊣:x from
    the end, :x from nothing. Target symbols are in order from left to right; one that does not
    follow its predecessor carries its index, from 0: m:m|m@3 e:e@1|e@4. A blank is \s; ambiguous
    characters are escaped like \u{3a}. hardalign.alignment.read_symbols parses this.

    With --posterior, a line is a JSON object: weights [target][source], those of begin, tags and
    end separately, the entropy of each row in nats, and kind: posterior, attention (weights before
    the target symbol is known) or path.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        unsupervised: Align this file without a model, by an aligner fitted to its own pairs.
        symbols: Print aligned symbols instead of indices.
        posterior: Print all weights, as JSON.
    """
    if symbols and posterior:
        raise HardalignError("choose one of --symbols and --posterior")
    if unsupervised is None:
        if model is None:
            raise HardalignError("give a model and a file, or --unsupervised and a file")
        _align(model, file, files, symbols, posterior, opt.threads(threads))
        return
    if model is not None or posterior:
        what = "--posterior needs a model" if posterior else "give a model or --unsupervised"
        raise HardalignError(f"{what}, not both: --unsupervised finds one path")
    pairs = list(training_pairs(files.read(unsupervised, FORMATS["pairs"])))
    note("unsupervised aligner: one path per pair")
    for links in UnsupervisedAligner(pairs).align(pairs):
        print(write_symbols(links) if symbols else write_pharaoh(links.pairs))


def _align(
    model: str, file: str, files: opt.PairOptions, symbols: bool, posterior: bool, threads: int
) -> None:
    """Print the model's alignments."""
    predictor = load(model)
    unknown, unwritable = Counter[str](), Counter[str]()
    lines: list[int] = []  # of pairs that could not be aligned
    note(f"{predictor.description.model.system}: {KINDS[predictor.system.alignment]}")
    for chunk in as_they_come(file, files.read(file, predictor.description.format)):
        for pair, alignment in predictor.align_pairs(training_pairs(chunk), threads=threads):
            unknown.update(predictor.unknown(pair))
            if alignment is None:
                missing = predictor.indexer.unwritable(pair)
                unwritable.update(missing)
                lines.append(pair.line)
                facts = {"source": pair.source, "target": pair.targets[0], "unknown": missing}
                print(dumps(facts, ensure_ascii=False) if posterior else "")
            elif posterior:
                print(dumps(alignment.to_dict(), ensure_ascii=False))
            else:
                print(alignment.symbol_text() if symbols else alignment.pharaoh())
        sys.stdout.flush()
    note(unknown_symbols(unknown))
    if lines:
        note(
            f"pairs that could not be aligned: {len(lines)} (first: line {lines[0]}); symbols that "
            f"the model has never seen in a target: {symbol_counts(unwritable)}"
        )
