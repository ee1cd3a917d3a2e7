"""``hardalign evaluate``: how well a model predicts a file, and how that was measured."""

from __future__ import annotations

from json import dumps
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from hardalign.cli.corpora import fetch_and_load
from hardalign.cli.options import (
    Model,
    Number,
    OptionalFile,
    OptionalFolder,
    PairOptions,
    Temperature,
    threads_or_cores,
)
from hardalign.data.reading import file_name
from hardalign.errors import HardalignError
from hardalign.files import sha256
from hardalign.version import __version__

if TYPE_CHECKING:
    from hardalign.data.formats import Example
    from hardalign.predictor import Predictor


def evaluate(
    model: Model,
    file: tyro.conf.Positional[OptionalFile] = None,
    *,
    beam: Number = None,
    temperature: Temperature = None,
    json: bool = False,
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
    a bin. The last line is the signature: what these figures were computed from, and how.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File with sources and targets; - is standard input. Without it, the test part of the
            corpus that the model was trained on.
        beam: Follow so many hypotheses side by side. (default: 1, greedy)
        temperature: Answer at this temperature. (default: the model's own; 1 is as it learned)
        json: Print one JSON object.
        threads: How many batches of words to work on at a time. (default: one per core)
        data_dir: Folder with your own copies of corpora. (default: what HARDALIGN_DATA names)
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.cli.remarks import best_predictions
    from hardalign.data.formats import evaluation_items
    from hardalign.metrics import calibration_error
    from hardalign.predictor import load
    from hardalign.search import Search
    from hardalign.text.compare import judge

    predictor = load(model, temperature=temperature)
    layout = predictor.description.format
    if file is None:
        examples, origin = _corpus_test_set(predictor, model, data_dir)
    elif data_dir is not None:
        raise HardalignError("--data-dir is for corpora; name your file with its folder")
    else:
        examples = list(files.read(file, layout))
        layout = files.resolve(layout)
        origin = _file_name(file)
    items = evaluation_items(examples)
    search = Search(beam=beam)
    predictions = [*best_predictions(predictor, items, search, threads_or_cores(threads))]
    symbols = [prediction.symbols for prediction in predictions]
    judged = judge(model, items, symbols, predictor.description.format)
    metrics = judged.metrics
    ece = calibration_error([exp(best.log_prob) for best in predictions], judged.correct)
    signature = " | ".join(
        [
            origin,
            f"{len(examples)} examples",
            f"n={metrics.n} distinct sources",
            "closest reference",
            layout.treatment,
            f"model {model} ({predictor.description.model.system})",
            "greedy" if search.width == 1 else f"beam {search.width}",
            f"temperature {predictor.description.temperature:g}",
            f"hardalign {__version__}",
        ]
    )
    if json:
        print(dumps({**metrics.to_dict(), "ece": ece, "signature": signature}, ensure_ascii=False))
        return
    print(f"n             {metrics.n}")
    print(f"ACC           {metrics.acc:.2f}")
    print(f"WER           {metrics.wer:.2f}")
    print(f"PER           {metrics.per:.4f}  (mean over words)")
    print(f"PER (corpus)  {metrics.per_corpus:.4f}")
    print(f"MFS           {metrics.mfs:.4f}")
    print(f"MLD           {metrics.mld:.4f}")
    print(f"ECE           {ece:.4f}  (of whole words, 10 bins)")
    print(signature)


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
