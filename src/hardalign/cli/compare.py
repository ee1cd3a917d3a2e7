"""``hardalign compare``: models side by side on the same file."""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from typing import TYPE_CHECKING, Annotated

import tyro

from hardalign.cli.options import Number, PairOptions, threads_or_cores
from hardalign.errors import HardalignError
from hardalign.version import __version__

if TYPE_CHECKING:
    from hardalign.data.formats import Example, Format
    from hardalign.text.compare import Contest


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
    from hardalign.data.text import printable
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
