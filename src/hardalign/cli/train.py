"""``hardalign train``: data in, a model folder out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from hardalign.cli.console import note
from hardalign.cli.fetching import DataDir
from hardalign.cli.options import FileOptions, Number, Text
from hardalign.config import CLIPS, SIZES, TrainingConfig
from hardalign.systems import SYSTEMS, find_system

_SYSTEMS = "\n".join(f"{name}: {system.summary}" for name, system in SYSTEMS.items())


def train(
    train: Annotated[Text, tyro.conf.Positional, tyro.conf.arg(metavar="TRAIN")] = None,
    *,
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")],
    dev: Annotated[str | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None,
    corpus: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None,
    data_dir: DataDir = None,
    words: Number = None,
    strip_stress: bool = False,
    files: FileOptions = FileOptions(),  # noqa: B008 - frozen
    allow_empty: bool = False,
    system: Annotated[
        str, tyro.conf.arg(metavar=f"{{{','.join(SYSTEMS)}}}", help=f"What to train.\n{_SYSTEMS}\n")
    ] = "hard",
    size: Literal["small", "large"] = "small",
    seed: int = 0,
    epochs: int = 50,
    batch_size: int = 20,
    learning_rate: float = 1e-3,
    clip: Annotated[float | None, tyro.conf.arg(metavar="NORM", help_behavior_hint="")] = None,
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto",
    devices: int = 1,
    precision: Literal["32-true", "bf16-mixed", "16-mixed", "64-true"] = "32-true",
    resume: bool = False,
    overwrite: bool = False,
) -> None:
    """Train a model, by the recipe of the paper.

    $ hardalign train words.tsv --dev dev.tsv --format lexicon --out runs/g2p

    $ hardalign train --corpus toy:reduplication --out runs/toy

    Adam; the learning rate is halved after every epoch that does not improve the log-likelihood of
    the development set, and training ends when it falls below 1e-5. The weights kept are those of
    the epoch that predicts most of the development set right. After each epoch all is saved: an
    interrupted run goes on with --resume.

    Args:
        train: File of training pairs; - is standard input; gzip is recognised.
        out: Folder for the model.
        dev: File of development pairs, of the same format.
        corpus: Instead of files: toy:reduplication, cmudict, conll2017/danish or any other name
            that hardalign corpora lists.
        data_dir: Folder with your own copies of corpora. (default: what HARDALIGN_DATA names)
        words: Use only so many words of the corpus.
        strip_stress: Strip the stress digits from the phonemes of cmudict.
        files: How files are read.
        allow_empty: Allow empty targets.
        system: What to train.
        size: The paper's two sets of hyperparameters.
        seed: Weights, order and dropout follow from it.
        epochs: Most passes over the data; 0 writes the untrained model.
        batch_size: Pairs per step, over all devices together.
        learning_rate: Adam's, at the start.
        clip: Largest norm of the gradient. (default: none for small, 5 for large)
        device: What to train on.
        devices: How many of them.
        precision: Of the arithmetic.
        resume: Go on with the run in DIR after its last complete epoch.
        overwrite: Replace the model in DIR.
    """
    from hardalign.cli.progress import TrainingProgress
    from hardalign.cli.train_data import read_data
    from hardalign.training.api import prepare
    from hardalign.training.loop import Machine
    from hardalign.training.loop import train as run

    find_system(system)  # a misspelled name should not wait for the data
    stress = not strip_stress
    data = read_data(train, dev, corpus, files, allow_empty, words, stress, seed, data_dir)
    model = replace(SIZES[size], system=system)
    clip = CLIPS[size] if clip is None else clip
    training = TrainingConfig(epochs, batch_size, learning_rate, clip=clip, seed=seed)
    job = prepare(data, out, model, training, resume=resume, overwrite=overwrite)
    if job.development.unspellable:
        note(
            f"{job.development.unspellable} development targets have symbols never seen in "
            "training: they count as wrong, and not in the development log-likelihood"
        )
    result = run(job, Machine(device, devices, precision), TrainingProgress())
    note(f"{out}: the weights of epoch {result.best_epoch} of {result.epoch}")
