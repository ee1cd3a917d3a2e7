"""One run from start to finish: load, train or resume, evaluate, record.

As a process: ``python -m hardalign.experiments.worker FOLDER COMMAND DEVICE [DATA_DIR]``. The
folder's ``run.json`` says what to do; output goes to ``log.txt``. The process exits when its
standard input closes, that is, when its parent process is gone.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from dataclasses import asdict, replace
from pathlib import Path

import hardalign
from hardalign import __version__
from hardalign.data.corpora import load_corpus
from hardalign.data.formats import Example, evaluation_items, recut
from hardalign.data.reading import read_examples
from hardalign.errors import HardalignError
from hardalign.experiments.engines import BUSY, DONE, FAILED
from hardalign.experiments.plan import READING, options_of
from hardalign.experiments.run import (
    FAILURE,
    RESULT,
    DataFiles,
    Result,
    Run,
    epochs_of,
    read_result,
    read_run,
    write_failure,
)
from hardalign.files import BusyError, locked, sha256, write_json
from hardalign.metrics import judge, summarize
from hardalign.model_folder import MODEL
from hardalign.predictor import Predictor
from hardalign.search import Search
from hardalign.training.run import Progress, Reporter, Row
from hardalign.training.run import Run as TrainingRun


def execute(
    run: Run,
    folder: Path,
    reporter: Reporter,
    *,
    data_dir: Path | None = None,
    device: str = "auto",
) -> Result:
    """Complete a run, resuming from the last epoch in its folder, or return its existing result.

    The caller must hold the folder's lock (``files.locked``); ``data_dir`` has local corpora.
    """
    if (folder / RESULT).exists():
        return read_result(folder)
    options = options_of(run) | {
        "out": folder / MODEL,
        "device": device,
        "threads": 1,  # parallel runs use the cores better than threads
        "resume": True,
        "reporter": reporter,
    }
    overrides = run.overrides
    reading = {name: overrides[name] for name in READING if name in overrides}
    if (files := run.files) is None:
        # The seed affects weights and order only: all runs must have the same test words.
        corpus = load_corpus(
            run.corpus,
            stress=not overrides.get("strip_stress", False),
            size=overrides.get("words"),
            data_dir=data_dir,
            **reading,
        )
        test, layout = corpus.test, corpus.format
        if not overrides.get("hold_out", True):
            corpus = replace(corpus, train=corpus.train + corpus.dev, dev=test)
        predictor = hardalign.train(corpus, **options)
    else:
        paths = (Path(files.train), Path(files.dev), Path(files.test))
        if DataFiles.of(*paths, files.format, **files.settings) != files:
            raise HardalignError(
                f"{files.train}, {files.dev} or {files.test} has changed since the plan was read; "
                "give the same command again"
            )
        layout = replace(files.layout, **reading)
        test = list(read_examples(files.test, layout, "evaluation"))
        predictor = hardalign.train(files.train, files.dev, format=layout, **options)
    # The model may use another Unicode normal form.
    items = [recut(one, layout, predictor.description.format) for one in evaluation_items(test)]
    result = _evaluate(run, folder, predictor, items)
    (folder / FAILURE).unlink(missing_ok=True)
    write_json(folder / RESULT, asdict(result))
    return result


def _evaluate(run: Run, folder: Path, predictor: Predictor, items: list[Example]) -> Result:
    predictions = [best.symbols for (best,) in predictor.answers(items, Search())]
    scored = judge(predictions, items, predictor.description.format)
    epochs = epochs_of(folder)
    return Result(
        run=run,
        metrics=summarize(scored).to_dict(),
        parameters=predictor.parameters,
        epochs=len(epochs),
        seconds=sum(row["seconds"] for row in epochs),
        sources=len(items),
        correct=[int(item.correct) for item in scored],
        sources_sha256=sha256(repr([item.key for item in items]).encode()),
        version=__version__,
    )


def work(folder: Path, command: str, device: str, data_dir: Path | None = None) -> int:
    """Complete the run in a folder, or record the failure there; return the exit status.

    ``command`` identifies the ``hardalign reproduce`` that this process works for.
    """
    try:
        with locked(folder, command):
            try:
                execute(read_run(folder), folder, Log(), data_dir=data_dir, device=device)
            except Exception as error:
                known = isinstance(error, HardalignError)
                trace = None if known else "".join(traceback.format_exception(error))
                message = str(error) if known else f"{type(error).__name__}: {error}"
                print(trace or message, flush=True)
                write_failure(folder, message.partition("\n")[0], trace, refused=known)
                return FAILED
    except BusyError:
        return BUSY
    return DONE


class Log(Reporter):
    """Prints a line per epoch, with the time."""

    def note(self, text: str) -> None:
        print(time.strftime("%Y-%m-%d %H:%M:%S"), text, flush=True)

    def begin(self, progress: Progress, run: TrainingRun) -> None:
        self.note(f"{len(run.train)} training pairs, after epoch {progress.epoch}")

    def epoch(self, row: Row) -> None:
        self.note(
            f"epoch {row['epoch']}: loss {row['loss']:.4f}, dev log p "
            f"{row['dev_log_likelihood']:.4f}, dev acc {row['dev_acc']:.2f}, "
            f"{row['words_per_second']:.0f} words/s"
        )


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # nothing is ever written, so this returns at end of file
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _folder, _command, _device, *_data = sys.argv[1:]
    sys.exit(work(Path(_folder), _command, _device, *map(Path, _data)))
