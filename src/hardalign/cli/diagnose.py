"""Commands that look at what models get wrong: ``errors`` and ``compare``."""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from typing import TYPE_CHECKING, Annotated

import tyro

from hardalign import __version__
from hardalign.cli.console import note_score_kind
from hardalign.cli.options import File, Model, Number, OutputFile, PairOptions, threads_or_cores
from hardalign.data.text import printable
from hardalign.errors import HardalignError
from hardalign.files import write_bytes

if TYPE_CHECKING:
    from hardalign.data.formats import Example, Format
    from hardalign.text.compare import Contest

PAGES = (".html", ".htm", "")
"""How the name of a page may end: in nothing, if it is a pipe or a device."""


def errors(
    model: Model,
    file: File,
    *,
    output: OutputFile = None,
    tsv: bool = False,
    threads: Number = None,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    """Show what a model gets wrong: confusions, hard words, and doubtful data.

    $ hardalign errors en-g2p test.tsv

    $ hardalign errors en-g2p test.tsv --output report.html

    Sources are predicted greedily and compared with the closest of their references. Reported are
    the commonest confusions with the source symbols they come from, errors by length, by confidence
    and by tag, the most confident errors, the least confident right answers, and the pairs of the
    file that the model finds least probable: run on training data, these are often errors in it.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File with sources and targets; - is standard input.
        output: Write a page for the browser, with alignments, instead of the terminal report.
        tsv: Print everything as TAB-separated rows.
        threads: How many batches of words to work on at a time. (default: one per core)
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.cli.console import remark_on_items
    from hardalign.data.formats import evaluation_items
    from hardalign.data.reading import file_name
    from hardalign.data.vocabulary import UnknownSymbols
    from hardalign.predictor import load
    from hardalign.text.errors import find_errors, page, terminal_report, tsv_rows

    if output is not None and tsv:
        raise HardalignError("choose one of --output, a page, and --tsv, rows on standard output")
    if output is not None and output.suffix.lower() not in PAGES:
        raise HardalignError(
            f"{output}: a page is .html, not {output.suffix}; for a table, --tsv prints rows"
        )
    predictor = load(model)
    layout = predictor.description.format
    examples = list(files.read(file, layout))
    unknown = UnknownSymbols(predictor.description.vocabulary.source)
    report = find_errors(predictor, examples, unknown=unknown, threads=threads_or_cores(threads))
    remark_on_items(predictor, evaluation_items(examples), unknown, report.cut_off)
    note_score_kind(predictor.system.score)
    spell = layout.join_target
    system = predictor.description.model.system
    name = file_name(file)
    signature = f"model {model} ({system}) | {name} | greedy | hardalign {__version__}"
    if output is not None:
        title = f"Errors of {model} on {name}"
        write_bytes(output, page(report, spell, title, signature).encode())
    elif tsv:
        for row in tsv_rows(report, spell):
            print(printable("\t".join(row)))
    else:
        print(printable(f"{terminal_report(report, spell)}\n\n{signature}"))


def compare(
    models_and_file: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(name="model", metavar="MODEL… FILE")
    ],
    *,
    words: Annotated[int, tyro.conf.arg(metavar="N")] = 10,
    beam: Number = None,
    json: bool = False,
    threads: Number = None,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    """Compare the accuracy of models on the same file, and say whether it is chance.

    $ hardalign compare runs/hard runs/soft test.tsv

    Every distinct source counts once, against the closest of its references. Each pair of models
    is tested by approximate randomisation over the items (two-sided); p is corrected for the number
    of pairs by Holm's method. Differences have a 95% interval from a paired bootstrap. Then come
    the words that one model alone gets right.

    Args:
        models_and_file: Folders of two or more trained models, or names of bundled ones, then the
            file with sources and targets; - is standard input.
        words: How many words to show of those that one model alone gets right.
        beam: Follow so many hypotheses side by side. (default: 1, greedy)
        json: Print one JSON object, with all these words.
        threads: How many batches of words to work on at a time. (default: one per core)
        files: How the file is read, if not as the first model was trained.
    """
    from hardalign.cli.console import best_predictions
    from hardalign.data.formats import evaluation_items
    from hardalign.data.reading import file_name
    from hardalign.predictor import load
    from hardalign.search import Search
    from hardalign.text.compare import contest, judge

    if len(models_and_file) < 3:
        raise HardalignError("name two models or more, then the file to compare them on")
    if words < 0:
        raise HardalignError(f"--words must be at least 0, not {words}")
    *models, file = models_and_file
    if len(set(models)) < len(models):
        raise HardalignError("a model is named twice; name different models")
    search, threads = Search(beam=beam), threads_or_cores(threads)
    predictors = [load(model) for model in models]
    layout = predictors[0].description.format
    for model, predictor in zip(models, predictors, strict=True):
        if _cut(predictor.description.format) != _cut(layout):
            raise HardalignError(
                f"{models[0]} and {model} cannot be compared: they cut strings into symbols in "
                "different ways; see hardalign info"
            )
    layout = replace(layout, target_parts=False)  # whatever models do, whole symbols are judged
    items = evaluation_items(files.read(file, layout))
    judged = []
    for model, predictor in zip(models, predictors, strict=True):
        own = replace(layout, target_parts=predictor.description.format.target_parts)
        cut = [_as_cut_by(own, item, layout) for item in items]
        predictions = best_predictions(predictor, cut, search, threads, model)
        symbols = [prediction.symbols for prediction in predictions]
        judged.append(judge(model, cut, symbols, own))
    result = contest(items, judged)
    if json:
        print(dumps(result.to_dict(layout.join_target), ensure_ascii=False))
        return
    _print(result, words)
    how = f"beam {beam}" if beam and beam > 1 else "greedy"
    name = file_name(file)
    print(f"\n{name} | n={len(items)} distinct sources | {how} | hardalign {__version__}")


def _as_cut_by(own: Format, item: Example, layout: Format) -> Example:
    """Returns an item of some layout with its targets as another one cuts them."""
    targets = (own.target_symbols(layout.join_target(target)) for target in item.targets)
    return replace(item, targets=tuple(targets))


def _cut(layout: Format) -> tuple[str, ...]:
    """Returns all that decides which whole symbols a string has."""
    separators = layout.source_separator, layout.target_separator, layout.tag_separator
    return (*separators, layout.normalization, layout.source_case)


def _print(result: Contest, words: int) -> None:
    from hardalign.table import Table

    rows = [
        (model.model, f"{m.acc:.2f}", f"{m.wer:.2f}", f"{m.per:.4f}", f"{m.mld:.4f}", str(alone))
        for k, model in enumerate(result.models)
        for m, alone in [(model.metrics, len(result.alone(k)))]
    ]
    print(Table("", ("", "ACC", "WER", "PER", "MLD", "right alone"), rows).text())
    every, none = result.agreed
    print(f"all right: {every}   none right: {none}   of {len(result.items)}\n")
    for duel in result.duels:
        test = duel.comparison
        verdict = "significant" if duel.significant else "may be chance"
        print(
            f"{duel.first} − {duel.second}: {test.difference:+.2f} points "
            f"[{test.low:+.2f}, {test.high:+.2f}], p = {duel.p:.4f}, {verdict}"
        )
    for k, model in enumerate(result.models):
        alone = result.alone(k)[:words]
        if alone:
            print(f"\nOnly {model.model} gets right:")
        for index in alone:
            mine, others = model.predictions[index], result.models[:k] + result.models[k + 1 :]
            theirs = " / ".join(other.predictions[index] for other in others)
            print(printable(f"  {result.items[index].text}\t{mine}\tnot {theirs}"))
