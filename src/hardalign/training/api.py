"""The one road from data to a trained model: the command line, experiments and recipes take it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hardalign.config import CLIPS, ModelConfig, TrainingConfig, default_batch_size, find_size
from hardalign.data.augmentation import hallucinate as invented_examples
from hardalign.data.check import header, separated_targets
from hardalign.data.corpora import Corpus
from hardalign.data.formats import FORMATS, Format, as_read_by
from hardalign.data.known_forms import KnownForms
from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError
from hardalign.model_folder import Description, find_model, read_description
from hardalign.predictor import Predictor, load
from hardalign.systems import DEFAULT_SYSTEM, find_system
from hardalign.systems.options import check_options, copied_symbols, indexer
from hardalign.training.advice import MANY_UNSEEN, on_few, on_unseen
from hardalign.training.data import Data, read_data
from hardalign.training.job import Reporter
from hardalign.training.machine import Machine
from hardalign.training.members import train_members
from hardalign.training.run import Task, train_again, train_folder, train_model
from hardalign.training.warmstart import Start


def train(
    train: Data | Corpus,
    dev: Data | None = None,
    *,
    out: str | Path,
    format: str | Format | None = None,  # noqa: A002 - the flag's name
    allow_empty: bool = False,
    system: str | None = None,
    size: str | ModelConfig | None = None,
    seed: int = 0,
    epochs: int = 50,
    batch_size: int | None = None,
    learning_rate: float = 1e-3,
    min_learning_rate: float = 1e-5,
    patience: int = 1,
    clip: float | None = None,
    dropout: float | None = None,
    state_dropout: float | None = None,
    symbol_dropout: float | None = None,
    rare_dropout: float | None = None,
    average: bool = False,
    invent: int = 0,
    copying: bool | None = None,
    tags: str | None = None,
    known_forms: int | None = None,
    device: str = "auto",
    devices: int = 1,
    precision: str = "32-true",
    threads: int | None = None,
    members: int = 1,
    processes: int = 1,
    start: str | Path | None = None,
    refit: bool = False,
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
    the very same weights. The folder is locked for as long as training takes. At the end, the
    temperature is found at which probabilities tell best which answers to the development set are
    right, and kept with the model.

    Args:
        train: Training data: a file, rows of strings, examples, or a corpus of ``load_corpus``.
        dev: Development data, likewise, which decides when to stop and which epoch to keep. A
            corpus has its own.
        out: Folder for the model.
        format: How files and rows spell an example, by name or as a ``Format``. None is that of
            ``start``, or ``pairs``.
        allow_empty: Whether targets may be empty.
        system: What to train; ``hardalign info`` lists the systems. None is that of ``start``, or
            ``hard-hmm``.
        size: ``"small"``, ``"large"``, or sizes of your own (whose ``system`` does not count). None
            is that of ``start``, or ``"small"``.
        seed: Weights, order and dropout follow from it.
        epochs: Most passes over the data; 0 writes the untrained model.
        batch_size: Pairs per step, over all devices together. None is the paper's 20, or fewer
            below 2,000 pairs, so that an epoch has 100 steps: 8 for 800, but never less than 5.
        learning_rate: Adam's, at the start.
        min_learning_rate: Training ends when the rate has been halved to less.
        patience: How many epochs in a row may bring no progress until the rate is halved.
        clip: Largest norm of the gradient. None leaves it to the size: 5 for ``"large"``.
        dropout: The share of numbers that are left out at random while training. None leaves it to
            the size: 0.2 for ``"small"``, 0.4 for ``"large"``.
        state_dropout: The share of numbers that are left out of the encoder's last states, too.
            None leaves it to the size, if that is one of your own, and is otherwise 0.
        symbol_dropout: The share of target symbols that are kept from the decoder while training,
            so that it learns to look at the source. None likewise.
        rare_dropout: How often a symbol is read as unknown while training that occurs once; others
            the less, the more often they occur. It teaches how words with unknown symbols are read;
            in systems without input feeding on both sides, in others on the source side. None
            likewise.
        average: Keep the mean of the weights over about the last thousand steps, which is good
            after fewer epochs than those of the last step; the paper does not.
        invent: Learn from so many invented examples too, for inflection: real affixes around stems
            that are random.
        copying: Whether a source position may also emit its own symbol; see
            ``hardalign.systems.options``.
            None leaves it to the size, if that is one of your own.
        tags: ``"inside"`` the word, before its letters, where attention sees them; or ``"beside"``
            it, where the decoder reads them at every step. None likewise; with a size by name it is
            beside, in systems that can have tags there.
        known_forms: How many other forms of a lemma, from the training data, are read beside it,
            where it has some; see ``hardalign.known_forms``. None leaves it to the size, if that is
            one of your own, and is otherwise 0.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
        devices: How many of them, with a process for each.
        precision: ``"32-true"`` or ``"64-true"``; on a GPU also ``"bf16-mixed"`` or ``"16-mixed"``.
        threads: Processor threads of each process. None is what a resumed run had before; else 1,
            or 2 where the environment keeps waiting threads from spinning (GOMP_SPINCOUNT).
        members: How many models to train, with this seed and the next ones; several are an
            ensemble, which answers as one model.
        processes: How many members to train at a time. With more than one, a script must be
            importable: its work below ``if __name__ == "__main__"``.
        start: A model of the same system and size, with whose weights to begin. Its vocabulary is
            extended by what is new in the training data.
        refit: Train again, on training and development data together: for as many epochs, by the
            same learning rates, and with the temperature that the first run has found.
        resume: Go on with the run in the folder after its last complete epoch.
        overwrite: Replace the model in the folder.
        reporter: Is told how training goes; nobody is, by default.

    Raises:
        HardalignError: If the data, a name or the folder is not as it must be.
    """
    reporter = reporter or Reporter()
    # What is misspelled should not wait for the data to be read.
    if system is not None:
        find_system(system)
    machine = Machine(device, devices, precision)
    begun = None if start is None else read_description(find_model(start))
    start_model = None if begun is None else begun.model
    system = system or (start_model.system if start_model else DEFAULT_SYSTEM)
    size = size or start_model or "small"
    sizes, size_clip = (find_size(size), CLIPS[size]) if isinstance(size, str) else (size, None)
    training = TrainingConfig(
        epochs=epochs,
        batch_size=TrainingConfig.batch_size if batch_size is None else batch_size,
        learning_rate=learning_rate,
        min_learning_rate=min_learning_rate,
        patience=patience,
        clip=size_clip if clip is None else clip,
        average=average,
        invent=invent,
        seed=seed,
        threads=threads,
    )
    if members > 1:
        replace(training, seed=seed + members - 1)  # complains before a folder is made
    if resume and overwrite:
        raise HardalignError("resume keeps what overwrite would remove; leave out one of the two")
    if processes < 1:
        raise HardalignError(f"processes must be at least 1, not {processes}")
    if processes > 1 and devices > 1:
        raise HardalignError("members that have several devices are trained one at a time")
    options = {
        "dropout": dropout,
        "state_dropout": state_dropout,
        "symbol_dropout": symbol_dropout,
        "rare_dropout": rare_dropout,
        "copying": copying,
        "tags": tags,
        "known_forms": known_forms,
    }
    chosen: dict[str, Any] = {name: one for name, one in options.items() if one is not None}
    model = replace(sizes, system=system, **chosen)
    check_options(model)
    if model.known_forms and invent:
        raise HardalignError("an invented lemma has no known forms; leave out one of the two")
    initial = None if start is None else Start.of(start, model)
    layout = _layout(format, begun.format if begun else None)
    data = read_data(train, dev, layout, allow_empty, reporter.note)
    for look in (header, separated_targets):
        if advice := look(data.train, data.format):
            reporter.note(advice)
    if tags is None and start_model is None and isinstance(size, str):
        tagged = any(example.tags for example in data.train)
        if tagged and find_system(system).model.can_set_tags_beside:
            model = replace(model, tags="beside")
    pairs = sum(len(example.targets) for example in data.train)
    if batch_size is None:
        training = replace(training, batch_size=default_batch_size(pairs + invent))
    invented_examples(data.train, min(invent, 1), seed)  # complains before a folder is made
    others = data.with_other_forms()
    forms = None
    if model.known_forms:
        forms = KnownForms.of(data.train, model.known_forms)
        data = data.beside(forms)
    vocabulary = Vocabulary.of(data.train)
    new_symbols = ""
    if initial is not None:
        new_symbols = initial.unknown(vocabulary)
        vocabulary = initial.extended(vocabulary)
    data.check(indexer(model, vocabulary, data.format))
    if data.format.target_parts and not any(len(one) > 1 for one in vocabulary.target.letters):
        reporter.note("no target symbol has several characters: there is nothing to take apart")
    if model.copying and not copied_symbols(model, vocabulary):
        reporter.note("no symbol is on both sides of the data: there is nothing to copy")
    description = Description(
        model,
        training,
        data.format,
        vocabulary,
        data.origin,
        members=members,
        start=None if initial is None else initial.name,
        known_forms=forms,
    )
    task = Task(Path(out), description, data.train, data.dev, machine, initial, resume, overwrite)
    work = partial(train_members, processes=processes) if members > 1 else train_model
    (train_again if refit else train_folder)(task, reporter, work)
    if new_symbols:
        reporter.note(f"{start}: had never seen {new_symbols}")
    if epochs and (known := data.known()):
        reporter.note(
            f"{known} of the {len(data.dev)} development sources are in the training data too; "
            "what is right of them says nothing about new words"
        )
    if epochs and forms is None and not invent and 2 * others > len(data.dev):
        reporter.note(
            f"{others} of the {len(data.dev)} development sources have other forms in the training "
            "data; read beside the lemma (known forms 1) they may show how it is inflected"
        )
    unseen = data.unseen(vocabulary)
    if epochs and unseen > MANY_UNSEEN * len(data.dev) and (advice := on_unseen(model, vocabulary)):
        reporter.note(
            f"{unseen} of the {len(data.dev)} development sources have letters that the training "
            f"data never shows; {advice}"
        )
    if epochs and (advice := on_few(description, pairs)):
        reporter.note(advice)
    return load(out)


def _layout(format_: str | Format | None, start: Format | None) -> Format:
    """Returns how data are read that go on from a model of another format, or from nothing."""
    if isinstance(format_, str):
        if format_ not in FORMATS:
            raise HardalignError(f"no format is called {format_!r}; there are {', '.join(FORMATS)}")
        return FORMATS[format_] if start is None else as_read_by(start, FORMATS[format_])
    layout = format_ or start or FORMATS["pairs"]
    if start is not None and as_read_by(start, layout) != layout:
        raise HardalignError(
            f"the model to begin with reads text as {start.treatment}; so must the data be read"
        )
    return layout
