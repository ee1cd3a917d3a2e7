"""``hardalign align``: which source symbol each target symbol came from, pair by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from json import dumps

import tyro

from hardalign.cli.console import note
from hardalign.cli.options import (
    File,
    Number,
    OptionalFile,
    OptionalModel,
    PairOptions,
    threads_or_cores,
)
from hardalign.errors import HardalignError


def align(
    model: tyro.conf.Positional[OptionalModel] = None,
    file: File = "-",
    *,
    unsupervised: OptionalFile = None,
    symbols: bool = False,
    posterior: bool = False,
    threads: Number = None,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    r"""Align the sources of a file with its targets, one line per pair, in order.

    $ hardalign align runs/g2p lexicon.tsv

    $ hardalign align --unsupervised lexicon.tsv --format lexicon --symbols

    Printed are index pairs source-target (Pharaoh), from 0, over the symbols of the file: a target
    symbol that comes from the begin or end of the source or from a tag has no pair. A pair whose
    target has a symbol that the model has never seen gets an empty line, and is reported.

    With --symbols, action → AE K SH AH N is a:AE c:K t:SH i: o:AH n:N, each source symbol with what
    comes from it; several are joined by |, +PL:s comes from a tag, ⊢:x from the begin, ⊣:x from the
    end, :x from nothing. Read from left to right, target symbols are in order; one that does not
    follow the one before carries its place from 0: m:m|m@3 e:e@1|e@4. A blank is \s, and a
    backslash stands before what would be misread. (hardalign.alignment.read_symbols reads it.)

    With --posterior, a line is a JSON object: weights [target][source], those of begin, tags and
    end apart, the entropy of each row in nats, and kind: posterior, attention (weights that do not
    know the symbol they led to) or path.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File with sources and targets; - is standard input.
        unsupervised: Align this file without a model, by what its own pairs have in common.
        symbols: Print aligned symbols instead of indices.
        posterior: Print all weights, as JSON.
        threads: How many batches of pairs to work on at a time. (default: one per core)
        files: How the file is read, if not as the model was trained.
    """
    if symbols and posterior:
        raise HardalignError("choose one of --symbols and --posterior")
    if unsupervised is not None:
        if model is not None or posterior:
            what = "--posterior needs a model" if posterior else "give a model or --unsupervised"
            raise HardalignError(f"{what}, not both: --unsupervised finds one path")
        lines = _unsupervised(unsupervised, files, symbols)
    elif model is not None:
        cores = threads_or_cores(threads)
        lines = _by_model(model, file, files, symbols, posterior, cores)
    else:
        raise HardalignError("give a model and a file, or --unsupervised and a file")
    for line in lines:
        print(line)


def _unsupervised(file: str, files: PairOptions, symbols: bool) -> Iterator[str]:
    from hardalign.aligner import UnsupervisedAligner
    from hardalign.alignment import write_pharaoh, write_symbols
    from hardalign.data.formats import FORMATS, training_pairs

    pairs = list(training_pairs(files.read(file, FORMATS["pairs"])))
    note("unsupervised aligner: one path per pair")
    for links in UnsupervisedAligner(pairs).align(pairs):
        yield write_symbols(links) if symbols else write_pharaoh(links.pairs)


def _by_model(
    model: str, file: str, files: PairOptions, symbols: bool, posterior: bool, threads: int
) -> Iterator[str]:
    from hardalign.alignment import KINDS
    from hardalign.data.formats import training_pairs
    from hardalign.data.vocabulary import UnknownSymbols, symbol_counts
    from hardalign.predictor import load
    from hardalign.systems import find_system

    predictor = load(model)
    vocabulary, system = predictor.description.vocabulary, predictor.description.model.system
    unknown = UnknownSymbols(vocabulary.source)
    unspellable: Counter[str] = Counter()
    lines: list[int] = []  # where the pairs are that could not be aligned
    note(f"{system}: {KINDS[find_system(system).alignment]}")
    pairs = training_pairs(files.read(file, predictor.description.format))
    for pair, alignment in predictor.align_pairs(pairs, threads=threads):
        unknown.note(pair)
        if alignment is None:
            missing = predictor.indexer.unwritable(pair)
            unspellable.update(missing)
            lines.append(pair.line)
            facts = {"source": pair.source, "target": pair.targets[0], "unknown": missing}
            yield dumps(facts, ensure_ascii=False) if posterior else ""
        elif posterior:
            yield dumps(alignment.to_dict(), ensure_ascii=False)
        else:
            yield alignment.symbol_text() if symbols else alignment.pharaoh()
    note(unknown.report())
    if lines:
        note(
            f"pairs that could not be aligned: {len(lines)} (first: line {lines[0]}); symbols that "
            f"the model has never seen in a target: {symbol_counts(unspellable)}"
        )
