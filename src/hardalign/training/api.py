"""``hardalign.train``: the one road from data to a trained model; the command line takes it too."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hardalign.config import (
    DEFAULT_SYSTEM,
    ModelConfig,
    Recipe,
    Setting,
    TrainingConfig,
    check_settings,
    find_size,
    of_model,
    of_training,
)
from hardalign.data.corpora import Corpus, load_corpus
from hardalign.data.formats import FORMATS, Format, as_read_by
from hardalign.data.inflection import KnownForms, hallucinate
from hardalign.data.reading import CorpusOrigin
from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError
from hardalign.files import build_record, read_json
from hardalign.model_folder import Description, find_model, read_description
from hardalign.predictor import Predictor, load
from hardalign.systems import find_system
from hardalign.systems.model import copied_symbols, indexer
from hardalign.systems.table import model_class
from hardalign.training.data import NONE, Data, TrainingData, read_data
from hardalign.training.finetune import Start
from hardalign.training.loop import find_device
from hardalign.training.members import train_members, train_one
from hardalign.training.recipe import decide
from hardalign.training.run import RESUME, Reporter, Run

MANY_UNSEEN = 0.02
"""If a larger share of development sources has unknown letters, training says what may help."""


def train(
    train: Data | Corpus | None = None,
    dev: Data | None = None,
    *,
    out: str | Path,
    format: str | Format | None = None,  # noqa: A002 - the flag's name
    allow_empty: bool = False,
    system: str | None = None,
    size: str | ModelConfig | None = None,
    recipe: Recipe = "auto",
    seed: int = 0,
    members: int = 1,
    processes: int = 1,
    start: str | Path | None = None,
    device: str = "auto",
    resume: bool = False,
    overwrite: bool = False,
    reporter: Reporter | None = None,
    **settings: Setting,
) -> Predictor:
    """Train a model, and load it.

    >>> rows = [("cat", "K AE T"), ("cot", "K AA T"), ...]
    >>> g2p = hardalign.train(rows, out="runs/g2p", format="lexicon")
    >>> g2p("coat").text
    'K OW T'

    After every epoch all is saved: an interrupted run goes on with ``resume=True``, and ends with
    the very same weights. The folder is locked for as long as training takes.

    Args:
        train: Training data: a file, rows of strings, examples, or a corpus of ``load_corpus``. A
            run of files or of a corpus is resumed without it.
        dev: Development data, likewise, to measure and calibrate on (and, by the paper's recipe,
            to stop by). A corpus has its own. None holds out a tenth of the training data, and
            ``"none"`` holds out nothing: the model's temperature is then 1.
        out: Folder for the model.
        format: How files and rows spell an example, by name or as a ``Format``. None is that of
            ``start``, or ``pairs``.
        allow_empty: Whether targets may be empty.
        system: What to train; ``hardalign info`` lists the systems. None is that of ``start``, or
            ``hard-hmm``.
        size: ``"small"``, ``"large"``, or sizes of your own (whose ``system`` does not count, and
            whose dropout the recipe leaves alone). None is that of ``start``, or ``"small"``.
        recipe: ``"auto"`` decides by the amount of data; ``"paper"`` is the paper's.
        seed: Weights, order and dropout follow from it.
        members: How many models to train, with this seed and the next ones; several are an
            ensemble, which answers as one model.
        processes: How many members to train at a time. With more than one, a script must be
            importable: its work below ``if __name__ == "__main__"``.
        start: A model of the same system and size whose weights to begin with. Its vocabulary is
            extended by what is new in the training data.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
        resume: Go on with the run in the folder after its last complete epoch.
        overwrite: Replace the model in the folder.
        reporter: Is told how training goes; nobody is, by default.
        settings: Any field of ``ModelConfig`` or ``TrainingConfig`` that the recipe or the size
            shall not decide: ``epochs=20``, ``batch_size=16``, ``dropout=0.3``, ``copying=True``.

    Raises:
        HardalignError: If the data, a name or the folder is not as it must be.
    """
    reporter = reporter or Reporter()
    folder = Path(out)
    if resume and overwrite:
        raise HardalignError("--resume keeps what --overwrite would remove; leave out one of them")
    if processes < 1:
        raise HardalignError(f"processes must be at least 1, not {processes}")
    if train is None:
        if not resume:
            raise HardalignError("give training data")
        return _resume(folder, processes, reporter)
    # What is misspelled should not wait for the data to be read.
    chosen = check_settings(settings)
    training = TrainingConfig(recipe=recipe, seed=seed)
    TrainingConfig(seed=seed + max(members, 1) - 1)  # that of the last member
    find_device(device)
    begun = None if start is None else read_description(find_model(start))
    base = size or (begun.model if begun else "small")
    sizes = find_size(base) if isinstance(base, str) else base
    system = system or (begun.model.system if begun else DEFAULT_SYSTEM)
    model_class(replace(sizes, system=system, **of_model(chosen)))

    layout = _layout(format, begun.format if begun else None)
    data = read_data(train, dev, layout, allow_empty, reporter.note)
    if recipe == "paper" and not data.dev:
        raise HardalignError("the paper's recipe stops by development data: give some")

    # The settings are those of the size (or the base), unless the recipe or the user decides them.
    tagged = any(example.tags for example in data.train)
    pairs = sum(len(example.targets) for example in data.train)
    kind = find_system(system).model
    decided = decide(recipe, pairs, sizes, tagged and kind.can_set_tags_beside)
    if not kind.can_copy:
        decided.pop("copying", None)
    fixed = set()  # what the recipe does not decide: a base, or sizes of one's own, are as they are
    if begun is not None:
        fixed = {"tags", "copying", "hallucinate"}
    elif not isinstance(base, str):
        fixed = {*of_model(decided), "hallucinate"}
    elif chosen.get("known_forms") or not _inflects(data):
        fixed = {"hallucinate"}
    decided = {name: value for name, value in decided.items() if name not in fixed}
    model = replace(sizes, system=system, **of_model(decided | chosen))
    training = replace(training, **of_training(decided | chosen))
    model_class(model)
    if model.known_forms and training.hallucinate:
        raise HardalignError("a hallucinated lemma has no known forms; leave out one of the two")
    initial = None if start is None else Start.of(start, model)
    hallucinate(data.train, min(training.hallucinate, 1), seed)  # complains first

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
    call = _Call(
        train=_absolute(train),
        dev=_absolute(dev),
        corpus=train.origin if isinstance(train, Corpus) else None,
        format=layout,
        allow_empty=allow_empty,
        system=system,
        size=base,
        recipe=recipe,
        seed=seed,
        members=members,
        start=None if start is None else str(find_model(start).absolute()),
        device=device,
        settings=chosen,
    )
    run = Run(
        folder, description, data.train, data.dev, device, initial, resume, overwrite, asdict(call)
    )
    if members > 1:
        train_members(run, reporter, members, processes)
    else:
        train_one(run, reporter)
    if new_symbols:
        reporter.note(f"{start}: had never seen {new_symbols}")
    if training.epochs:
        _remark(data, description, others, reporter)
    return load(out)


@dataclass(frozen=True)
class _Call:
    """The arguments of a call, from which an interrupted run goes on; of rows, without the data."""

    train: str | None
    dev: str | None
    corpus: CorpusOrigin | None
    format: Format
    allow_empty: bool
    system: str
    size: ModelConfig | str
    recipe: Recipe
    seed: int
    members: int
    start: str | None
    device: str
    settings: dict[str, Any]


def _absolute(data: Data | Corpus | None) -> str | None:
    """Returns how to find data again from any folder; None for what is not a file."""
    if not isinstance(data, (str, Path)) or data in ("-", NONE):
        return data if isinstance(data, str) and data == NONE else None
    return str(Path(data).absolute())


def _resume(folder: Path, processes: int, reporter: Reporter) -> Predictor:
    """Go on with the run in a folder, without being told of what."""
    path = folder / RESUME
    if not path.exists():
        predictor = load(folder)  # which complains if there is no model
        reporter.note(f"{folder}: nothing is left to train")
        return predictor
    call = build_record(_Call, read_json(path), str(path))
    data: Data | Corpus | None = call.train
    if call.corpus is not None:
        origin = asdict(call.corpus)
        data = load_corpus(origin.pop("corpus"), **origin)
    if data is None:
        raise HardalignError(f"{folder}: was not trained from files; give its data again")
    return train(
        data,
        call.dev,
        out=folder,
        format=call.format,
        allow_empty=call.allow_empty,
        system=call.system,
        size=call.size,
        recipe=call.recipe,
        seed=call.seed,
        members=call.members,
        processes=processes,
        start=call.start,
        device=call.device,
        resume=True,
        reporter=reporter,
        **call.settings,
    )


def _inflects(data: TrainingData) -> bool:
    """Tells whether sources share stems with their targets, so that others can be made up."""
    try:
        hallucinate(data.train, 1, 0)
    except HardalignError:
        return False
    return True


def _remark(data: TrainingData, description: Description, others: int, reporter: Reporter) -> None:
    """Say what of the development set tells little, or what may help with it."""
    model, sources = description.model, len(data.dev)
    if known := data.known():
        reporter.note(
            f"{known} of the {sources} development sources are in the training data too; "
            "what is right of them says nothing about new words"
        )
    if not model.known_forms and not description.training.hallucinate and 2 * others > sources:
        reporter.note(
            f"{others} of the {sources} development sources have other forms in the training "
            "data; --set known_forms=1 reads them beside the lemma"
        )
    unseen = data.unseen(description.vocabulary)
    if unseen > MANY_UNSEEN * sources:
        advice = "" if model.unk_dropout else "; --set unk_dropout=0.2 teaches how to read them"
        if description.vocabulary.source.tags:  # in inflection most letters stay
            can_copy = find_system(model.system).model.can_copy_oov and not model.copying
            advice = "; --set copying=true can write them" if can_copy else ""
        if advice:
            reporter.note(
                f"{unseen} of the {sources} development sources have letters that the training "
                f"data never shows{advice}"
            )


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
