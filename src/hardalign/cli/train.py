"""``hardalign train``: data in, a model folder out."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated, Literal

import tyro

from hardalign.cli.console import cores, note
from hardalign.cli.corpora import fetch_and_load
from hardalign.cli.options import (
    CorpusName,
    Folder,
    Norm,
    Number,
    OptionalFile,
    OptionalFolder,
    PairOptions,
    Share,
    SizeName,
    TagPlace,
    Text,
    optional,
)
from hardalign.data.corpora import Corpus
from hardalign.data.formats import FORMATS
from hardalign.data.origin import CorpusOrigin
from hardalign.errors import HardalignError
from hardalign.systems import DEFAULT_SYSTEM, SYSTEMS, find_system

_SYSTEMS = "\n".join(f"{name}: {system.summary}" for name, system in SYSTEMS.items())


def train(
    train: Annotated[Text, tyro.conf.Positional, tyro.conf.arg(metavar="TRAIN")] = None,
    *,
    out: Folder,
    dev: OptionalFile = None,
    corpus: CorpusName = None,
    data_dir: OptionalFolder = None,
    words: Number = None,
    strip_stress: bool = False,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
    target_parts: bool = False,
    system: Annotated[
        Text,
        optional(
            f"{{{','.join(SYSTEMS)}}}",
            help=f"What to train. (default: {DEFAULT_SYSTEM}, or that of --from)\n{_SYSTEMS}\n",
        ),
    ] = None,
    size: SizeName = None,
    copy: bool = False,
    tags: TagPlace = None,
    known_forms: Number = None,
    seed: int = 0,
    epochs: int = 50,
    batch_size: Number = None,
    learning_rate: float = 1e-3,
    clip: Norm = None,
    patience: Annotated[int, tyro.conf.arg(metavar="N")] = 1,
    dropout: Share = None,
    state_dropout: Share = None,
    symbol_dropout: Share = None,
    rare_dropout: Share = None,
    average: bool = False,
    invent: Annotated[int, tyro.conf.arg(metavar="N")] = 0,
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto",
    devices: int = 1,
    precision: Literal["32-true", "bf16-mixed", "16-mixed", "64-true"] = "32-true",
    threads: Number = None,
    members: Annotated[int, tyro.conf.arg(metavar="N")] = 1,
    processes: Number = None,
    start: Annotated[Text, optional("MODEL", name="from")] = None,
    refit: bool = False,
    resume: bool = False,
    overwrite: bool = False,
) -> None:
    """Train a model, by the recipe of the paper.

    $ hardalign train words.tsv --dev dev.tsv --format lexicon --out runs/g2p

    $ hardalign train --corpus toy:reduplication --out runs/toy

    Adam; the learning rate is halved after every epoch that does not improve the log-likelihood of
    the development set, or after --patience of them in a row, and training ends when it falls below
    1e-5. The weights kept are those of the epoch that predicts most of the development set right.
    After each epoch all is saved: an interrupted run goes on with --resume. At the end a
    temperature is found at which probabilities tell best which answers to the development set are
    right, and kept with the model.

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
        target_parts: Learn and write target symbols of several characters (tʰ, aː) character by
            character. Answers and figures have whole symbols again, alignments have the parts.
        system: What to train.
        size: The paper's two sets of hyperparameters. (default: small, or that of --from)
        copy: Let a source position also emit its own symbol: for inflection and other tasks in
            which most symbols stay. Letters that were never seen can be written by it, too.
            (default: no, or as in --from)
        tags: Tags inside the word are symbols before its letters, where attention sees them. Tags
            beside it are read by the decoder at every step. (default: beside, where the system can
            have them there, or as in --from)
        known_forms: Read so many other forms of a lemma beside it, where the training data has
            some, for inflection: they show how the word is inflected. (default: 0, or as in --from)
        seed: Weights, order and dropout follow from it.
        epochs: Most passes over the data; 0 writes the untrained model.
        batch_size: Pairs per step, over all devices together. (default: 20; below 2,000 pairs a
            hundredth of them, at least 5)
        learning_rate: Adam's, at the start.
        clip: Largest norm of the gradient. (default: none for small, 5 for large)
        patience: How many epochs in a row may bring no progress until the learning rate is halved.
        dropout: The share of numbers that are left out at random while training; 0.4 helps where
            words are few. (default: 0.2 for small, 0.4 for large)
        state_dropout: The share of numbers that are left out of the encoder's last states, too.
            (default: 0, or as in --from)
        symbol_dropout: The share of target symbols that are kept from the decoder while training,
            so that it learns to look at the source. (default: 0, or as in --from)
        rare_dropout: How often a symbol is read as unknown while training that occurs once; others
            the less, the more often they occur. So it is learned how words with unknown symbols
            are read; in systems without input feeding on both sides, in others on the source side.
            (default: 0, or as in --from)
        average: Keep the mean of the weights over about the last thousand steps, which is good
            after fewer epochs than those of the last step, which the paper keeps.
        invent: Learn from so many invented examples too: real affixes around random stems, for
            inflection from less than some thousand examples.
        device: What to train on.
        devices: How many of them.
        precision: Of the arithmetic.
        threads: Processor threads of each process; the last digits of the weights depend on it.
            (default: 2 if there are as many, or what the run had before)
        members: Train so many models, with this seed and the next ones, into one folder: an
            ensemble, which is used as any other model and is right more often.
        processes: How many members to train at a time. (default: as many as there are cores, with a
            thread each)
        start: Begin with the weights of a model, whose system and size it has then; symbols that
            are new in the data are added to its vocabulary.
        refit: Train again, on training and development data together, for the epochs and by the
            learning rates that the first run found, each member by its own; its folder is
            DIR/held-out.
        resume: Go on with the run in DIR after its last complete epoch.
        overwrite: Replace the model in DIR.
    """
    if system is not None:
        find_system(system)  # a misspelled name should not wait for torch
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        # Before torch is there: its threads spin while they wait for each other, and beside a busy
        # process that takes nearly all of their time. A short spin costs little elsewhere.
        os.environ["GOMP_SPINCOUNT"] = "1000"
    from hardalign.cli.progress import TrainingProgress
    from hardalign.model_folder import find_model, read_description
    from hardalign.training.api import train as run

    data: str | Corpus
    if corpus is not None:
        if train is not None or dev is not None:
            raise HardalignError("give either files or --corpus, not both")
        if files != PairOptions(normalization=files.normalization):
            raise HardalignError(
                "a corpus has its own format: of the options for files, --corpus takes "
                "--normalization alone"
            )
        form = files.normalization or CorpusOrigin.normalization
        origin = CorpusOrigin(corpus, seed, not strip_stress, words, form, target_parts)
        data = fetch_and_load(origin, data_dir)
    else:
        if train is None or dev is None:
            raise HardalignError(
                "give a training file and --dev FILE, or --corpus NAME; see hardalign train --help"
            )
        if words is not None or strip_stress:
            raise HardalignError(
                "--words and --strip-stress go with --corpus; edit your file instead"
            )
        if data_dir is not None:
            raise HardalignError("--data-dir goes with --corpus; name your files with their folder")
        data = train
    begun = None if start is None else read_description(find_model(start))
    layout = files.resolve(begun.format if begun else FORMATS["pairs"])
    if target_parts:
        layout = replace(layout, target_parts=True)
    reporter = TrainingProgress()
    if members > 1:
        threads = threads or 1
    if processes is None:
        processes = max(1, min(members, cores() // (threads or 1))) if devices == 1 else 1
    predictor = run(
        data,
        dev,
        out=out,
        format=layout,
        allow_empty=files.allow_empty,
        system=system,
        size=size,
        copying=copy or None,
        tags=tags,
        known_forms=known_forms,
        seed=seed,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        clip=clip,
        patience=patience,
        dropout=dropout,
        state_dropout=state_dropout,
        symbol_dropout=symbol_dropout,
        rare_dropout=rare_dropout,
        average=average,
        invent=invent,
        device=device,
        devices=devices,
        precision=precision,
        threads=threads,
        members=members,
        processes=processes,
        start=start,
        refit=refit,
        resume=resume,
        overwrite=overwrite,
        reporter=reporter,
    )
    temperature = f"temperature {predictor.description.temperature:g}"
    if members > 1:
        note(f"{out}: an ensemble of {members} models, {temperature}")
    else:
        progress = reporter.progress
        note(
            f"{out}: the weights of epoch {progress.best_epoch} of {progress.epoch}, {temperature}"
        )
