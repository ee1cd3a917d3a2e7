"""Commands that measure models: ``evaluate``, ``analyze``, ``errors`` and ``compare``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from json import dumps
from math import exp
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Annotated

from tyro.conf import Positional, arg

from hardalign import __version__
from hardalign.alignment import AnalyzedPrediction, Breakdown, cross, edges, write_pharaoh
from hardalign.cli import options as opt
from hardalign.cli.console import cores, lines_to, note, note_score_kind, say
from hardalign.cli.remarks import best_predictions, remark_on_items
from hardalign.data.formats import Example, Format, evaluation_items, recut
from hardalign.data.reading import file_name
from hardalign.data.text import printable
from hardalign.errors import HardalignError
from hardalign.files import sha256, write_bytes
from hardalign.metrics import (
    LEVEL,
    Contest,
    Judged,
    calibration_error,
    intervals,
    judge,
    summarize,
)
from hardalign.model_folder import Description
from hardalign.plot import Table
from hardalign.predictor import Predictor, load
from hardalign.search import Prediction, Search
from hardalign.text.errors import find_errors, page, terminal_report, tsv_rows

FIGURES = (
    ("ACC", "acc", 2, ""),
    ("WER", "wer", 2, ""),
    ("PER", "per", 4, "  (mean over words)"),
    ("PER (corpus)", "per_corpus", 4, ""),
    ("MFS", "mfs", 4, ""),
    ("MLD", "mld", 4, ""),
)
"""Names of the metrics, their fields, decimals and remarks."""
WEIGHTS = {
    "posterior": "alignment distribution α_j(i), before y_i is known",
    "attention": "attention weights α_j(i)",
    "path": "the pointer's path",
}
"""What a prediction's edges are read from, by the kind of alignment of its system."""
PAGES = (".html", ".htm", "")
"""File suffixes of a page; a pipe or a device has none."""


def evaluate(
    model: opt.Model,
    file: Positional[opt.OptionalFile] = None,
    *,
    beam: opt.Beam = None,
    temperature: opt.Temperature = None,
    json: opt.Json = False,
    items: opt.OutputFile = None,
    folds: opt.Number = None,
    threads: opt.Threads = None,
    data_dir: opt.DataDir = None,
    files: opt.PairOptions = opt.PairOptions(),
) -> None:
    """Predict the sources of a file and compare the predictions with its targets.

    $ hardalign evaluate runs/g2p test.tsv
    $ hardalign evaluate runs/g2p small.tsv --folds 10

    Every distinct source counts once, against the closest of its references. ACC is the percentage
    predicted exactly, WER = 100 - ACC. PER is the mean over words of edit distance / length of the
    reference; the corpus-level PER is the sum of distances / sum of lengths. MFS is the mean
    F-score of the NEWS shared task, MLD the mean edit distance. ECE is the expected calibration
    error, 0 to 1: words are put into ten bins by the probability of their prediction, and each
    bin's gap between mean probability and accuracy is averaged over words. Each figure has a 95%
    confidence interval, from a bootstrap over the items. The last line is the signature: what the
    figures were computed from, and how.

    Args:
        file: File with sources and targets; - is standard input. (default: the test set of the
            corpus that the model was trained on)
        temperature: Predict at this temperature. (default: the model's own; 1 is no scaling)
        items: Write a TAB-separated table of all items to this file, with a header: source, tags,
            references, prediction, its probability and whether it is correct.
        folds: N-fold cross-validation: train N models as MODEL was trained, each on the file
            without one of N parts, and evaluate each on that part. No source is in two parts.
    """
    predictor = load(model, temperature=temperature)
    layout = predictor.description.format
    if file is None:
        examples, origin = _corpus_test_set(predictor, model, data_dir)
        treatment = layout.treatment
    elif data_dir is not None:
        raise HardalignError("--data-dir is for corpora; name your file with its folder")
    else:
        examples = list(files.read(file, layout))
        origin, treatment = _signed(file), files.resolve(layout).treatment
    questions = evaluation_items(examples)
    search, threads = Search(beam=beam), opt.threads(threads)
    if folds is None:
        predictions = best_predictions(predictor, questions, search, threads)
    else:
        predictions = _cross_validated(predictor.description, questions, folds, search, threads)
    scored = judge([best.symbols for best in predictions], questions, layout)
    metrics, bounds = summarize(scored), intervals(scored)
    probabilities = [exp(best.log_prob) for best in predictions]
    ece = calibration_error(probabilities, [item.correct for item in scored])
    if items is not None:
        with lines_to(items) as lines:
            lines.write("source\ttags\treferences\tprediction\tprobability\tcorrect\n")
            for item, best, score in zip(questions, predictions, scored, strict=True):
                tags = layout.tag_separator.join(item.tags)
                references = " / ".join(map(layout.join_target, item.targets))
                answer = f"{best.text}\t{exp(best.log_prob):.6f}\t{int(score.correct)}"
                lines.write(f"{item.text}\t{tags}\t{references}\t{answer}\n")
    signature = " | ".join(
        [
            origin,
            f"{len(examples)} examples",
            f"n={metrics.n} distinct sources",
            "closest reference",
            treatment,
            *([f"{folds} folds"] if folds else []),
            f"model {model} ({predictor.description.model.system})",
            "greedy" if search.width == 1 else f"beam {search.width}",
            f"temperature {1 if folds else predictor.description.temperature:g}",
            f"hardalign {__version__}",
        ]
    )
    if json:
        figures = {**metrics.to_dict(), "ece": ece, "intervals": bounds, "signature": signature}
        print(dumps(figures, ensure_ascii=False))
        return
    say(f"n             {metrics.n}")
    for name, field, digits, remark in FIGURES:
        low, high = bounds[field]
        interval = f"[{low:.{digits}f}, {high:.{digits}f}]"
        say(f"{name:<12}  {getattr(metrics, field):.{digits}f}  {interval}{remark}")
    say(f"ECE           {ece:.4f}  (of whole words, 10 bins)")
    say(signature)


def _cross_validated(
    like: Description, items: Sequence[Example], folds: int, search: Search, threads: int
) -> list[Prediction]:
    """Predict the items of each fold with a model trained as ``like`` was, on the other folds."""
    from hardalign.cli.progress import TrainingBar
    from hardalign.training.api import train

    sources = sorted({item.source for item in items})
    if not 2 <= folds <= len(sources):
        raise HardalignError(f"--folds must be from 2 to {len(sources)} (sources), not {folds}")
    Random(0).shuffle(sources)
    fold_of = {source: place % folds for place, source in enumerate(sources)}
    answers: dict[Example, Prediction] = {}
    for fold in range(folds):
        name = f"fold {fold + 1} of {folds}"
        held_out = [item for item in items if fold_of[item.source] == fold]
        with TemporaryDirectory() as folder:
            model = train(
                [item for item in items if fold_of[item.source] != fold],
                None if like.training.recipe == "paper" else "none",
                out=folder,
                overwrite=True,
                format=like.format,
                system=like.model.system,
                size=like.model,
                members=like.members,
                start=like.start,
                reporter=TrainingBar(f"{name}, "),
                **vars(like.training),
            )
        found = best_predictions(model, held_out, search, threads, name)
        correct = sum(
            one.symbols in item.targets for item, one in zip(held_out, found, strict=True)
        )
        note(f"{name}: {correct} of {len(held_out)} right")
        answers |= zip(held_out, found, strict=True)
    return [answers[item] for item in items]


def _corpus_test_set(
    predictor: Predictor, model: str, data_dir: Path | None
) -> tuple[list[Example], str]:
    """Return the test set of the corpus that the model was trained on, and its name."""
    from hardalign.cli.data import fetch_and_load

    origin = predictor.description.data.corpus
    if origin is None:
        raise HardalignError(
            f"give a file of sources and targets (hardalign evaluate {model} FILE): only a model "
            "trained with --corpus has a test set of its own"
        )
    corpus = fetch_and_load(origin, data_dir)
    name = f"{origin.corpus} test"
    # Some corpora are split by line: the signature says how many sources are in train too.
    seen = {example.key for example in corpus.train} & {example.key for example in corpus.test}
    if seen:
        name += f" ({len(seen)} of its sources occur in train too)"
    return corpus.test, name


def _signed(file: str) -> str:
    """Return the name of a file and the start of its hash."""
    if file == "-" or not Path(file).is_file():  # a pipe cannot be read twice
        return file_name(file)
    return f"{file} sha256:{sha256(Path(file).read_bytes())[:12]}"


def analyze(
    model: opt.Model,
    file: opt.PairFile,
    *,
    threshold: float = 0.1,
    json: opt.Json = False,
    files: opt.PairOptions = opt.PairOptions(),
) -> None:
    """Count correct and incorrect predictions with and without crossing alignments.

    $ hardalign analyze runs/g2p test.tsv

    As in the paper, an edge joins source symbol j and predicted symbol i if the alignment weight
    α_j(i) exceeds 0.1, and an alignment is non-monotonic if two edges cross. Edges to tags and to
    the begin and end of the source do not count, as these are not positions in the source. Every
    distinct source counts once, and is correct if its prediction equals one of its references. The
    table is followed by a line for each non-monotonic item: correct or incorrect TAB source TAB
    prediction TAB references TAB edges (source-target, from 0).

    Args:
        threshold: The weight that an edge must exceed.
    """
    if not 0 <= threshold < 1:
        raise HardalignError(f"--threshold must be from 0 to 1, not {threshold:g}")
    predictor = load(model)
    items = evaluation_items(files.read(file, predictor.description.format))
    breakdown = Breakdown.of(analyzed_predictions(predictor, items, threshold), threshold)
    by = f"greedy | model {model} ({predictor.description.model.system}) | {file_name(file)}"
    read_from = WEIGHTS[predictor.system.alignment]
    signature = f"edges: {read_from} > {threshold:g} | {by} | hardalign {__version__}"
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
    """Yield the prediction for each item, with its edges above the threshold."""
    spell = predictor.description.format.join_target
    predictions = best_predictions(predictor, items, Search(), cores(), alphas=True)
    for item, prediction in zip(items, predictions, strict=True):
        letters = slice(1 + len(predictor.as_read(item).tags), -1)  # without begin, tags and end
        links = edges(prediction.alpha[: len(prediction.symbols), letters], threshold)
        yield AnalyzedPrediction(
            source=item.text,
            prediction=prediction.text,
            references=[spell(target) for target in item.targets],
            correct=prediction.symbols in item.targets,
            monotonic=not cross(links),
            edges=links,
        )


def errors(
    model: opt.Model,
    file: opt.PairFile,
    *,
    output: opt.OutputFile = None,
    tsv: bool = False,
    threads: opt.Threads = None,
    files: opt.PairOptions = opt.PairOptions(),
) -> None:
    """Show what a model gets wrong: confusions, hard words and dubious data.

    $ hardalign errors en-g2p test.tsv
    $ hardalign errors en-g2p test.tsv --output report.html

    Sources are predicted greedily and compared with the closest of their references. The report has
    the commonest confusions with the source symbols they come from, errors by length, confidence
    and tag, the most confident errors, the least confident correct predictions, and the pairs that
    the model finds least probable, which in training data are often mistakes.

    Args:
        output: Write an HTML page, with alignments, instead of the terminal report.
        tsv: Print everything as TAB-separated rows.
    """
    if output is not None and tsv:
        raise HardalignError("choose one of --output (a page) and --tsv (rows on standard output)")
    if output is not None and output.suffix.lower() not in PAGES:
        raise HardalignError(
            f"{output}: a page is .html, not {output.suffix}; for a table, --tsv prints rows"
        )
    predictor = load(model)
    layout = predictor.description.format
    examples = list(files.read(file, layout))
    report = find_errors(predictor, examples, threads=opt.threads(threads))
    remark_on_items(predictor, evaluation_items(examples), report.cut_off)
    note_score_kind(predictor.system.score)
    name = file_name(file)
    by = f"model {model} ({predictor.description.model.system})"
    signature = f"{by} | {name} | greedy | hardalign {__version__}"
    if output is not None:
        title = f"Errors of {model} on {name}"
        write_bytes(output, page(report, title, signature).encode())
    elif tsv:
        for row in tsv_rows(report):
            say(*row)
    else:
        print(printable(f"{terminal_report(report)}\n\n{signature}"))


def compare(
    models_and_file: Annotated[
        tuple[str, ...], Positional, arg(name="model", metavar="MODEL… FILE")
    ],
    *,
    words: Annotated[int, arg(metavar="N")] = 10,
    beam: opt.Beam = None,
    json: opt.Json = False,
    threads: opt.Threads = None,
    files: opt.PairOptions = opt.PairOptions(),
) -> None:
    """Compare the accuracy of models on a file, with significance tests.

    $ hardalign compare runs/hard runs/soft test.tsv

    Every distinct source counts once, against the closest of its references. Each pair of models is
    tested by approximate randomisation over the items (two-sided), with Holm's correction of p for
    multiple comparisons. Differences have a 95% confidence interval from a paired bootstrap. At the
    end are words that only one model gets right.

    Args:
        models_and_file: Folders of two or more trained models, or names of bundled ones, then the
            file with sources and targets; - is standard input.
        words: Number of words to show, for each model, that no other gets right.
    """
    if len(models_and_file) < 3:
        raise HardalignError("name two models or more, then the file to compare them on")
    if words < 0:
        raise HardalignError(f"--words must be at least 0, not {words}")
    *models, file = models_and_file
    if len(set(models)) < len(models):
        raise HardalignError("a model is named twice; name different models")
    search, threads = Search(beam=beam), opt.threads(threads)
    predictors = {model: load(model) for model in models}
    layout = predictors[models[0]].description.format
    for model, predictor in predictors.items():
        if _cut(predictor.description.format) != _cut(layout):
            raise HardalignError(
                f"{models[0]} and {model} cannot be compared: they cut strings into symbols in "
                "different ways; see hardalign info"
            )
    layout = replace(layout, target_parts=False)  # the metrics are over whole symbols
    items = evaluation_items(files.read(file, layout))
    judged = []
    for model, predictor in predictors.items():
        own = replace(layout, target_parts=predictor.description.format.target_parts)
        cut = [recut(item, layout, own) for item in items]
        predictions = best_predictions(predictor, cut, search, threads, model)
        judged.append(Judged.of(model, [best.symbols for best in predictions], cut, own))
    result = Contest(items, judged)
    if json:
        print(dumps(result.to_dict(layout.join_target), ensure_ascii=False))
        return
    _print(result, words)
    how = "greedy" if search.width == 1 else f"beam {search.width}"
    print(
        f"\n{file_name(file)} | n={len(items)} distinct sources | {how} | hardalign {__version__}"
    )


def _cut(layout: Format) -> tuple[str, ...]:
    """Return the settings that determine how strings are split into whole symbols."""
    separators = layout.source_separator, layout.target_separator, layout.tag_separator
    return (*separators, layout.normalization, layout.source_case)


def _print(result: Contest, words: int) -> None:
    rows = [
        (model.model, f"{m.acc:.2f}", f"{m.wer:.2f}", f"{m.per:.4f}", f"{m.mld:.4f}", str(alone))
        for k, model in enumerate(result.models)
        for m, alone in [(model.metrics, len(result.alone(k)))]
    ]
    print(Table("", ("", "ACC", "WER", "PER", "MLD", "right alone"), rows).text())
    every, none = result.agreed
    print(f"all right: {every}   none right: {none}   of {len(result.items)}\n")
    for (first, second), (test, p) in result.tests.items():
        verdict = "significant" if p < LEVEL else "may be chance"
        print(
            f"{first} − {second}: {test.difference:+.2f} points "
            f"[{test.low:+.2f}, {test.high:+.2f}], p = {p:.4f}, {verdict}"
        )
    for k, model in enumerate(result.models):
        alone = result.alone(k)[:words]
        if alone:
            print(f"\nOnly {model.model} gets right:")
        for index in alone:
            others = result.models[:k] + result.models[k + 1 :]
            theirs = " / ".join(other.predictions[index] for other in others)
            say(f"  {result.items[index].text}", model.predictions[index], f"not {theirs}")
