"""Commands that measure: ``evaluate`` and ``analyze``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import dumps
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from hardalign import __version__
from hardalign.cli.console import best_predictions, cores, lines_to, say
from hardalign.cli.options import (
    File,
    Model,
    Number,
    OptionalFile,
    OptionalFolder,
    OutputFile,
    PairOptions,
    Temperature,
    threads_or_cores,
)
from hardalign.data.reading import file_name
from hardalign.errors import HardalignError
from hardalign.files import sha256

if TYPE_CHECKING:
    from hardalign.alignment import AnalyzedPrediction
    from hardalign.data.formats import Example, Format
    from hardalign.metrics import Item
    from hardalign.predictor import Prediction, Predictor


def evaluate(
    model: Model,
    file: tyro.conf.Positional[OptionalFile] = None,
    *,
    beam: Number = None,
    temperature: Temperature = None,
    json: bool = False,
    items: OutputFile = None,
    threads: Number = None,
    data_dir: OptionalFolder = None,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    """Predict the sources of a file and compare with its targets.

    $ hardalign evaluate runs/g2p test.tsv

    Every distinct source counts once, against the closest of its references. ACC is the percentage
    predicted exactly, WER = 100 - ACC. PER is the mean over words of edit distance / length of the
    reference; the corpus-level PER is the sum of distances / sum of lengths. MFS is the mean
    F-score of the NEWS shared task, MLD the mean edit distance. ECE is the expected calibration
    error, 0 to 1: words are put into ten bins by the probability of their prediction, and the mean
    over words is taken of how far that probability and the share of right predictions are apart in
    a bin. Beside each figure stands its 95% interval, from a bootstrap over the items. The last
    line is the signature: what these figures were computed from, and how.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File with sources and targets; - is standard input. Without it, the test part of the
            corpus that the model was trained on.
        beam: Follow so many hypotheses side by side. (default: 1, greedy)
        temperature: Answer at this temperature. (default: the model's own; 1 is as it learned)
        json: Print one JSON object.
        items: Write all items to this file: source, tags, references, prediction, its probability
            and whether it is right, separated by TABs, below a line of names.
        threads: How many batches of words to work on at a time. (default: one per core)
        data_dir: Folder with your own copies of corpora. (default: what HARDALIGN_DATA names)
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.data.formats import evaluation_items
    from hardalign.metrics import calibration_error, intervals, score_item, summarize
    from hardalign.predictor import load
    from hardalign.search import Search

    predictor = load(model, temperature=temperature)
    layout = predictor.description.format
    if file is None:
        examples, origin = _corpus_test_set(predictor, model, data_dir)
    elif data_dir is not None:
        raise HardalignError("--data-dir is for corpora; name your file with its folder")
    else:
        examples = list(files.read(file, layout))
        origin = _file_name(file)
    questions = evaluation_items(examples)
    search = Search(beam=beam)
    predictions = best_predictions(predictor, questions, search, threads_or_cores(threads))
    scored = [
        score_item(layout.counted(one.symbols), [layout.counted(target) for target in item.targets])
        for item, one in zip(questions, predictions, strict=True)
    ]
    metrics, bounds = summarize(scored), intervals(scored)
    correct = [item.correct for item in scored]
    ece = calibration_error([exp(best.log_prob) for best in predictions], correct)
    if items is not None:
        _write_items(items, questions, predictions, scored, layout)
    treatment = layout if file is None else files.resolve(layout)
    signature = " | ".join(
        [
            origin,
            f"{len(examples)} examples",
            f"n={metrics.n} distinct sources",
            "closest reference",
            treatment.treatment,
            f"model {model} ({predictor.description.model.system})",
            "greedy" if search.width == 1 else f"beam {search.width}",
            f"temperature {predictor.description.temperature:g}",
            f"hardalign {__version__}",
        ]
    )
    if json:
        figures = {**metrics.to_dict(), "ece": ece, "intervals": bounds, "signature": signature}
        print(dumps(figures, ensure_ascii=False))
        return
    say(f"n             {metrics.n}")
    for name, field, digits, remark in (
        ("ACC", "acc", 2, ""),
        ("WER", "wer", 2, ""),
        ("PER", "per", 4, "  (mean over words)"),
        ("PER (corpus)", "per_corpus", 4, ""),
        ("MFS", "mfs", 4, ""),
        ("MLD", "mld", 4, ""),
    ):
        low, high = bounds[field]
        interval = f"[{low:.{digits}f}, {high:.{digits}f}]"
        say(f"{name:<12}  {getattr(metrics, field):.{digits}f}  {interval}{remark}")
    say(f"ECE           {ece:.4f}  (of whole words, 10 bins)")
    say(signature)


def _write_items(
    path: Path,
    items: Sequence[Example],
    predictions: Sequence[Prediction],
    scored: Sequence[Item],
    layout: Format,
) -> None:
    """Writes each item with its references and prediction to a file, whole or not at all."""
    with lines_to(path) as lines:
        lines.write("source\ttags\treferences\tprediction\tprobability\tcorrect\n")
        for item, best, score in zip(items, predictions, scored, strict=True):
            columns = (
                item.text,
                layout.tag_separator.join(item.tags),
                " / ".join(map(layout.join_target, item.targets)),
                best.text,
                f"{exp(best.log_prob):.6f}",
                str(int(score.correct)),
            )
            lines.write("\t".join(columns) + "\n")


def _corpus_test_set(
    predictor: Predictor, model: str, data_dir: Path | None
) -> tuple[list[Example], str]:
    """Returns the test part of the corpus that the model was trained on, and a name for it."""
    origin = predictor.description.data.corpus
    if origin is None:
        raise HardalignError(
            f"give a file of sources and targets (hardalign evaluate {model} FILE): only a model "
            "trained with --corpus has a test set of its own"
        )
    from hardalign.cli.data import fetch_and_load

    corpus = fetch_and_load(origin, data_dir)
    name = f"{origin.corpus} test"
    # Some corpora are split by line: a figure must say how much of it training has seen.
    seen = {example.key for example in corpus.train} & {example.key for example in corpus.test}
    if seen:
        name += f" ({len(seen)} of its sources occur in train too)"
    return corpus.test, name


def _file_name(file: str) -> str:
    """Names a file in a signature, by its content too."""
    if file == "-" or not Path(file).is_file():  # a pipe cannot be read twice
        return file_name(file)
    return f"{file} sha256:{sha256(Path(file).read_bytes())[:12]}"


WEIGHTS = {
    "posterior": "alignment distribution α_j(i), which does not know y_i yet",
    "attention": "attention weights α_j(i)",
    "path": "the pointer's path",
}
"""What the edges of a prediction are read from, by the kind of a system's alignments."""


def analyze(
    model: Model,
    file: File,
    *,
    threshold: float = 0.1,
    json: bool = False,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    """Count correct and incorrect predictions with and without crossing alignments.

    $ hardalign analyze runs/g2p test.tsv

    As in the paper, there is an edge between source symbol j and predicted symbol i where the
    weight α_j(i) with which the model looked at j is larger than 0.1, and an alignment is
    non-monotonic where two edges cross. Edges to the begin and end of the source and to tags do not
    count: these are no places in the source. Every distinct source counts once, and is correct if
    predicted as one of its references has it. After the table, each non-monotonic item is listed:
    correct or incorrect TAB source TAB prediction TAB references TAB edges (source-target, from 0).

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File with sources and targets; - is standard input.
        threshold: The weight that an edge exceeds.
        json: Print one JSON object.
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.alignment import Breakdown, write_pharaoh
    from hardalign.data.formats import evaluation_items
    from hardalign.data.reading import file_name
    from hardalign.predictor import load
    from hardalign.systems import find_system

    if not 0 <= threshold < 1:
        raise HardalignError(f"a threshold is from 0 to 1, not {threshold}")
    predictor = load(model)
    system = predictor.description.model.system
    items = evaluation_items(files.read(file, predictor.description.format))
    breakdown = Breakdown.of(analyzed_predictions(predictor, items, threshold), threshold)
    edges = f"edges: {WEIGHTS[find_system(system).alignment]} > {threshold:g}"
    by = f"greedy | model {model} ({system})"
    signature = f"{edges} | {by} | {file_name(file)} | hardalign {__version__}"
    if json:
        print(dumps({**breakdown.to_dict(), "signature": signature}, ensure_ascii=False))
        return
    print(breakdown.table())
    say(signature)
    for item in breakdown.crossing:
        outcome = "correct" if item.correct else "incorrect"
        columns = outcome, item.source, item.prediction, " / ".join(item.references)
        say(*columns, write_pharaoh(item.edges))


def analyzed_predictions(
    predictor: Predictor, items: Sequence[Example], threshold: float
) -> Iterator[AnalyzedPrediction]:
    """Yields the model's answer to each item, with its edges above the threshold."""
    from hardalign.alignment import AnalyzedPrediction, cross, edges
    from hardalign.search import Search

    spell = predictor.description.format.join_target
    predictions = best_predictions(predictor, items, Search(), cores())
    for item, prediction in zip(items, predictions, strict=True):
        tags = predictor.as_read(item).tags
        letters = slice(1 + len(tags), -1)  # begin, tags and end are no places in it
        links = edges(prediction.alpha[: len(prediction.symbols), letters], threshold)
        yield AnalyzedPrediction(
            source=item.text,
            prediction=prediction.text,
            references=[spell(target) for target in item.targets],
            correct=prediction.symbols in item.targets,
            monotonic=not cross(links),
            edges=links,
        )
