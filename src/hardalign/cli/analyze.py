"""``hardalign analyze``: correct and incorrect predictions, with and without crossing edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import dumps
from typing import TYPE_CHECKING

from hardalign.cli.console import cores
from hardalign.cli.options import File, Model, PairOptions
from hardalign.errors import HardalignError
from hardalign.version import __version__

if TYPE_CHECKING:
    from hardalign.alignment import AnalyzedPrediction
    from hardalign.data.formats import Example
    from hardalign.predictor import Predictor

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
    print(signature)
    for item in breakdown.crossing:
        outcome = "correct" if item.correct else "incorrect"
        columns = outcome, item.source, item.prediction, " / ".join(item.references)
        print(*columns, write_pharaoh(item.edges), sep="\t")


def analyzed_predictions(
    predictor: Predictor, items: Sequence[Example], threshold: float
) -> Iterator[AnalyzedPrediction]:
    """Yields the model's answer to each item, with its edges above the threshold."""
    from hardalign.alignment import AnalyzedPrediction, cross, edges
    from hardalign.cli.remarks import best_predictions
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
