"""``hardalign train`` and ``hardalign join``: data in, a model folder out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

from tyro.conf import Positional, UseAppendAction

from hardalign.cli import options as opt
from hardalign.cli.console import cores, note
from hardalign.cli.data import fetch_and_load
from hardalign.config import SETTINGS, TrainingConfig, check_settings
from hardalign.data.corpora import Corpus
from hardalign.data.formats import FORMATS, as_read_by, changed
from hardalign.data.reading import CorpusOrigin
from hardalign.errors import HardalignError
from hardalign.model_folder import find_model, read_description
from hardalign.predictor import Predictor
from hardalign.systems import find_system

READING: dict[str, Any] = dict.fromkeys(("tag_separator", "normalization", "source_case"), str)
READING |= {"target_parts": bool, "max_length": int}
"""How files are read: ``--set`` takes these besides the settings of model and training."""
CALL: dict[str, Any] = {"allow_empty": bool, "processes": int, "words": int, "strip_stress": bool}
CALL |= {"data_dir": str}
"""Further ``--set`` names, of this command alone."""


@dataclass(frozen=True)
class DataOptions:
    """Training data."""

    dev: opt.OptionalFile = None
    """Development pairs, or none. (default: hold out a tenth)"""
    corpus: Annotated[opt.Text, opt.optional("NAME")] = None
    """Corpus to use instead of files; see hardalign corpora."""
    format: Annotated[Optional[opt.FormatName], opt.optional("NAME")] = None
    """pairs, lexicon, spaced, sigmorphon or news. (default: pairs)"""
    columns: Annotated[Optional[str], opt.optional("NAMES")] = None
    """Columns in order: source, target, tags or - (skipped)."""
    source_separator: opt.Text = None
    """What separates source symbols; '' splits into characters."""
    target_separator: opt.Text = None
    """What separates target symbols."""


def train(
    train: Annotated[opt.Text, Positional, opt.arg("TRAIN")] = None,
    *,
    out: Annotated[Optional[Path], opt.optional("DIR")] = None,
    data: DataOptions = DataOptions(),
    system: Annotated[opt.Text, opt.optional("NAME")] = None,
    size: Annotated[Optional[Literal["small", "large"]], opt.optional("NAME")] = None,
    recipe: Literal["auto", "paper"] = "auto",
    seed: Annotated[int, opt.arg("N")] = 0,
    epochs: opt.Number = None,
    batch_size: opt.Number = None,
    members: Annotated[int, opt.arg("N")] = 1,
    start: Annotated[opt.Text, opt.optional("MODEL", name="from")] = None,
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto",
    set: Annotated[opt.Strings, UseAppendAction, opt.optional("NAME=VALUE")] = (),
    resume: Annotated[bool, opt.optional("")] = False,
    overwrite: Annotated[bool, opt.optional("")] = False,
) -> None:
    """Train a model.

    $ hardalign train words.tsv --format lexicon --out runs/g2p
    $ hardalign train --resume runs/g2p

    Args:
        train: Training pairs; - is standard input, gzip is recognised.
        out: Folder for the model.
        data: Training data.
        system: See hardalign info. (default: hard-hmm, or that of --from)
        size: small or large. (default: small, or that of --from)
        recipe: Suit the amount of data, or follow the paper.
        seed: Random seed for weights, data order and dropout.
        epochs: Passes over the data. (default: the recipe's)
        batch_size: Pairs per step. (default: the recipe's)
        members: Number of models in the ensemble.
        start: Fine-tune this model.
        device: Device to train on.
        set: Any setting; --set help lists them. Can be repeated.
        resume: Resume the run in DIR (train --resume DIR).
        overwrite: Replace the model in DIR.
    """
    if "help" in set:
        print_settings()
        return
    if system is not None:
        find_system(system)  # report a misspelled name before torch is imported
    settings = read_settings(set)
    call = {name: settings.pop(name) for name in CALL if name in settings}
    reading = {name: settings.pop(name) for name in READING if name in settings}
    columns = ("columns", "source_separator", "target_separator")
    reading |= {name: one for name in columns if (one := getattr(data, name)) is not None}
    options = {"recipe": recipe, "seed": seed, "epochs": epochs, "batch_size": batch_size}
    settings = {name: one for name, one in options.items() if one is not None} | settings
    if resume and out is None and train is not None:
        out, train = Path(train), None
    if out is None:
        raise HardalignError("give a folder for the model, --out DIR")
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        # Before importing torch: its threads spin while they wait for each other, which beside a
        # busy process takes nearly all of their time. A short spin costs little elsewhere.
        os.environ["GOMP_SPINCOUNT"] = "1000"
    from hardalign.cli.progress import TrainingProgress
    from hardalign.training.api import train as run

    words, strip_stress = call.pop("words", None), call.pop("strip_stress", False)
    data_dir = call.pop("data_dir", None)
    learned: str | Corpus | None = train
    if data.corpus is not None:
        if train is not None or data.dev is not None:
            raise HardalignError("give either files or --corpus, not both")
        form = reading.pop("normalization", CorpusOrigin.normalization)
        parts = reading.pop("target_parts", False)
        if data.format is not None or reading:
            raise HardalignError("a corpus has its own format; leave out the file options")
        origin = CorpusOrigin(data.corpus, settings["seed"], not strip_stress, words, form, parts)
        learned = fetch_and_load(origin, None if data_dir is None else Path(data_dir))
    elif words is not None or strip_stress or data_dir is not None:
        raise HardalignError("words, strip_stress and data_dir go with --corpus")
    elif train is None and not resume:
        raise HardalignError("give a training file, or --corpus NAME; see hardalign train --help")
    layout = FORMATS["pairs"] if start is None else read_description(find_model(start)).format
    layout = changed(as_read_by(layout, FORMATS[data.format]) if data.format else layout, reading)
    if members > 1:
        settings.setdefault("threads", 1)
    call.setdefault("processes", max(1, min(members, cores() // (settings.get("threads") or 1))))
    reporter = TrainingProgress()
    predictor = run(
        learned,
        data.dev,
        out=out,
        format=layout,
        system=system,
        size=size,
        members=members,
        start=start,
        device=device,
        resume=resume,
        overwrite=overwrite,
        reporter=reporter,
        **call,
        **settings,
    )
    if predictor.description.members > 1:
        _note_ensemble(out, predictor)
    elif hasattr(reporter, "progress"):
        kept, epochs = reporter.progress.best_epoch, reporter.progress.epoch
        temperature = f"temperature {predictor.description.temperature:g}"
        note(f"{out}: the weights of epoch {kept} of {epochs}, {temperature}")


def read_settings(assignments: tuple[str, ...]) -> dict[str, Any]:
    """Parse the NAME=VALUE settings of the command line.

    Raises:
        HardalignError: If a value is missing or invalid, or a name unknown.
    """
    settings = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise HardalignError(f"--set {assignment}: give NAME=VALUE; --set help lists the names")
        settings[name.replace("-", "_")] = value
    return check_settings(settings, text=True, others=READING | CALL)


def print_settings() -> None:
    """Print every setting with its help and default."""
    for name, (owner, text) in SETTINGS.items():
        default = getattr(owner, name)
        decided = owner is TrainingConfig or "dropout" in name
        print(f"{name:<18} {text} {'' if decided else f'(small: {default})'}".rstrip())
    print(f"\nfor reading files: {', '.join(READING)}; see hardalign predict --help")
    print(f"of this command only: {', '.join(CALL)}")


def join(
    models: Annotated[opt.Strings, Positional, opt.arg("MODEL")],
    *,
    out: opt.Folder,
) -> None:
    """Join models that were trained alike into an ensemble.

    $ hardalign join runs/seed0 runs/seed1 runs/seed2 --out runs/three

    Args:
        models: Folders of models of one system and size, trained on the same data.
        out: Folder for the ensemble, which holds copies of them.
    """
    from hardalign.training.members import join as make_ensemble

    _note_ensemble(out, make_ensemble(*models, out=out))


def _note_ensemble(folder: Path, predictor: Predictor) -> None:
    members, temperature = predictor.description.members, predictor.description.temperature
    note(f"{folder}: an ensemble of {members} models, temperature {temperature:g}")
