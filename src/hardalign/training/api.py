"""The one road from data to a trained model: the command line, experiments and recipes take it."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

from hardalign.config import CLIPS, ModelConfig, TrainingConfig, find_size
from hardalign.corpora.load import Corpus
from hardalign.data.formats import Format
from hardalign.data.vocabulary import Vocabulary
from hardalign.folder import Description
from hardalign.lock import locked
from hardalign.predictor import Predictor, load
from hardalign.systems import DEFAULT_SYSTEM, find_system
from hardalign.training.claim import claim_folder
from hardalign.training.data import Data, read_data
from hardalign.training.job import Job, Reporter, Silent
from hardalign.training.loop import train as run
from hardalign.training.machine import Machine


def train(
    train: Data | Corpus,
    dev: Data | None = None,
    *,
    out: str | Path,
    format: str | Format = "pairs",  # noqa: A002 - the flag's name
    allow_empty: bool = False,
    system: str = DEFAULT_SYSTEM,
    size: str | ModelConfig = "small",
    seed: int = 0,
    epochs: int = 50,
    batch_size: int = 20,
    learning_rate: float = 1e-3,
    min_learning_rate: float = 1e-5,
    clip: float | None = None,
    device: str = "auto",
    devices: int = 1,
    precision: str = "32-true",
    threads: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    reporter: Reporter | None = None,
) -> Predictor:
    """Train a model by the recipe of the paper, and load it.

    >>> rows = [("cat", "K AE T"), ("cot", "K AA T"), ...]
    >>> g2p = hardalign.train(rows, dev, out="runs/g2p", format="lexicon")
    >>> g2p("coat").text
    'K OW T'

    After every epoch all is saved: an interrupted run goes on with ``resume=True``, and ends with
    the very same weights. The folder is locked for as long as training takes.

    Args:
        train: Training data: a file, rows of strings, examples, or a corpus of ``load_corpus``.
        dev: Development data, likewise, which decides when to stop and which epoch to keep. A
            corpus has its own.
        out: Folder for the model.
        format: How files and rows spell an example, by name or as a ``Format``.
        allow_empty: Whether targets may be empty.
        system: What to train; ``hardalign info`` lists the systems.
        size: ``"small"``, ``"large"``, or sizes of your own (whose ``system`` does not count).
        seed: Weights, order and dropout follow from it.
        epochs: Most passes over the data; 0 writes the untrained model.
        batch_size: Pairs per step, over all devices together.
        learning_rate: Adam's, at the start.
        min_learning_rate: Training ends when the rate has been halved to less.
        clip: Largest norm of the gradient. None leaves it to the size: 5 for ``"large"``.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
        devices: How many of them, with a process for each.
        precision: ``"32-true"`` or ``"64-true"``; on a GPU also ``"bf16-mixed"`` or ``"16-mixed"``.
        threads: Processor threads of each process. None is what a resumed run had before; else 1,
            or 2 where the environment keeps waiting threads from spinning (GOMP_SPINCOUNT).
        resume: Go on with the run in the folder after its last complete epoch.
        overwrite: Replace the model in the folder.
        reporter: Is told how training goes; nobody is, by default.

    Raises:
        HardalignError: If the data, a name or the folder is not as it must be.
    """
    reporter = reporter or Silent()
    # What is misspelled should not wait for the data to be read.
    find_system(system)
    machine = Machine(device, devices, precision)
    sizes, size_clip = (find_size(size), CLIPS[size]) if isinstance(size, str) else (size, None)
    training = TrainingConfig(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        min_learning_rate=min_learning_rate,
        clip=size_clip if clip is None else clip,
        seed=seed,
        threads=threads,
    )
    data = read_data(train, dev, format, allow_empty, reporter.note)
    vocabulary = Vocabulary.of(data.train)
    data.check(vocabulary)
    model = replace(sizes, system=system)
    description = Description(model, training, data.format, vocabulary, data.origin)
    folder = Path(out)
    with locked(folder, f"train {uuid.uuid4()}"):
        description = claim_folder(
            folder, description, resume=resume, overwrite=overwrite, note=reporter.note
        )
        job = Job.of(folder, description, data.train, data.dev)
        if job.development.unspellable:
            reporter.note(
                f"{job.development.unspellable} development targets have symbols never seen in "
                "training: they count as wrong, and not in the development log-likelihood"
            )
        run(job, machine, reporter)
    return load(folder)
