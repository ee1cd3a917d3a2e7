"""``hardalign.train``: from data to a trained model, also for the command line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from hardalign.config import (
    DEFAULT_SYSTEM,
    SIZES,
    ModelConfig,
    Recipe,
    Setting,
    TrainingConfig,
    check_settings,
    fields_of,
    find_size,
)
from hardalign.data.check import quick_check
from hardalign.data.corpora import Corpus, load_origin
from hardalign.data.formats import (
    FORMATS,
    Example,
    Format,
    as_read_by,
    find_format,
    in_letters,
    recut,
    training_pairs,
)
from hardalign.data.inflection import KnownForms, hallucinate
from hardalign.data.reading import FileOrigin, Origin, Skipped, examples_of, read_examples
from hardalign.data.text import shorten
from hardalign.data.vocabulary import Indexer, Vocabulary
from hardalign.errors import HardalignError, InputError
from hardalign.files import build_record, read_json, sha256
from hardalign.model_folder import Description, find_model, read_description
from hardalign.predictor import Predictor, load
from hardalign.systems import find_system, model_class
from hardalign.systems.model import copied_symbols, indexer
from hardalign.training.finetune import Start
from hardalign.training.loop import find_device
from hardalign.training.members import train_run
from hardalign.training.recipe import settings_of
from hardalign.training.run import RESUME, Note, Reporter, Run

Data = str | Path | Iterable[Example] | Iterable[Sequence[str]]
"""A file, examples (from ``load_corpus``), or rows such as ``("cat", "K AE T")``."""
NONE = "none"
"""The value of ``dev`` for no development data."""
MANY_UNSEEN = 0.02
"""Share of development sources with unknown letters above which training suggests remedies."""


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

    A checkpoint is saved after every epoch: an interrupted run continues with ``resume=True``, and
    ends with exactly the same weights. The folder is locked during training.

    Args:
        train: Training data: a file, rows of strings, examples, or a corpus from ``load_corpus``.
            Not needed to resume a run on files or on a corpus.
        dev: Development data, likewise, for evaluation and calibration (and, in the paper's recipe,
            early stopping). A corpus has its own. None holds out a tenth of the training data, and
            ``"none"`` holds out nothing: the model's temperature is then 1.
        out: Folder for the model.
        format: Format of files and rows, by name or as a ``Format``; by default that of ``start``,
            or ``pairs``.
        allow_empty: Whether targets may be empty.
        system: System to train (``hardalign info`` lists them); by default that of ``start``, or
            ``hard-hmm``.
        size: ``"small"``, ``"large"``, or a ``ModelConfig`` (whose ``system`` is ignored, and whose
            dropout the recipe leaves alone); by default that of ``start``, or ``"small"``.
        recipe: ``"auto"`` adapts to the amount of data; ``"paper"`` is the paper's.
        seed: Random seed of initial weights, data order and dropout.
        members: Number of models to train, with consecutive seeds from this one on; several form an
            ensemble, which answers as one model.
        processes: Number of members to train in parallel. With more than one, a script must be
            importable, with its code under ``if __name__ == "__main__"``.
        start: Model of the same system and size to fine-tune. Its vocabulary is extended by the new
            symbols of the training data.
        device: ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
        resume: Continue the run in the folder after its last complete epoch.
        overwrite: Replace the model in the folder.
        reporter: Callbacks for progress and messages; by default none.
        settings: Fields of ``ModelConfig`` or ``TrainingConfig`` that override the recipe and the
            size: ``epochs=20``, ``batch_size=16``, ``dropout=0.3``, ``copying=True``.

    Raises:
        HardalignError: If the data, a name or the folder is invalid.
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
        given = {"recipe": recipe, "seed": seed, "members": members, "system": system, "size": size}
        given = {name: one for name, one in given.items() if one not in (None, "auto", 0, 1)}
        return _resume(folder, given | check_settings(settings), processes, reporter)
    # Report misspelt settings before reading the data.
    chosen = check_settings(settings)
    TrainingConfig(recipe=recipe, seed=seed)
    TrainingConfig(seed=seed + max(members, 1) - 1)  # that of the last member
    find_device(device)
    begun = None if start is None else read_description(find_model(start))
    base = size or (begun.model if begun else "small")
    system = system or (begun.model.system if begun else DEFAULT_SYSTEM)
    sizes = replace(find_size(base) if isinstance(base, str) else base, system=system)
    model_class(replace(sizes, **fields_of(ModelConfig, chosen)))

    layout = _layout(format, begun.format if begun else None)
    letters = recipe == "auto" and begun is None
    data = _read_data(train, dev, layout, allow_empty, letters, reporter.note)
    if recipe == "paper" and not data.dev:
        raise HardalignError("the paper's recipe stops early on development data: give some")

    # The settings, and everything about the model but its weights.
    own, fine_tuned = not isinstance(base, str), begun is not None
    decided = settings_of(recipe, data.train, sizes, chosen, own_sizes=own, fine_tuned=fine_tuned)
    model = replace(sizes, **fields_of(ModelConfig, decided))
    training = TrainingConfig(recipe=recipe, seed=seed, **fields_of(TrainingConfig, decided))
    model_class(model)
    if model.known_forms and training.hallucinate:
        raise HardalignError("a hallucinated lemma has no known forms; leave out one of the two")
    initial = None if start is None else Start.of(start, model)
    hallucinate(data.train, min(training.hallucinate, 1), seed)  # raises its errors early

    forms = None
    if model.known_forms:
        forms = KnownForms.of(data.train, model.known_forms)
        learned, held_out = ([forms.beside(one) for one in part] for part in (data.train, data.dev))
        data = data._replace(train=learned, dev=held_out)
    vocabulary = Vocabulary.of(data.train)
    if initial is not None:
        if new_symbols := initial.unknown(vocabulary):
            reporter.note(f"{start}: had never seen {new_symbols}")
        vocabulary = initial.extended(vocabulary)
    _check_dev(data, indexer(model, vocabulary, data.format))
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
    base_folder = None if start is None else str(find_model(start).absolute())
    call = _Call(_absolute(train), _absolute(dev), allow_empty, base_folder, device)
    run = Run(
        folder, description, data.train, data.dev, device, initial, resume, overwrite, asdict(call)
    )
    train_run(run, reporter, processes)
    for remark in _remarks(data, description) if training.epochs else ():
        reporter.note(remark)
    return load(out)


@dataclass(frozen=True)
class _Call:
    """What resuming a run needs besides its ``config.json``."""

    train: str | None
    """A file; None for a corpus and for rows."""
    dev: str | None
    allow_empty: bool
    start: str | None
    device: str


def _absolute(data: Data | Corpus | None) -> str | None:
    """Return the absolute path of a data file, for resuming from any folder; None if not a file."""
    if isinstance(data, str) and data in ("-", NONE):
        return NONE if data == NONE else None
    return str(Path(data).absolute()) if isinstance(data, (str, Path)) else None


def _resume(folder: Path, given: dict[str, Any], processes: int, reporter: Reporter) -> Predictor:
    """Resume the run in a folder from its records, with the settings ``given``."""
    own, path = read_description(folder), folder / RESUME
    size = next((name for name, one in SIZES.items() if one.decoder == own.model.decoder), None)
    kept = own.model.to_dict() | own.training.to_dict() | {"members": own.members, "size": size}
    if not path.exists():
        predictor = load(folder)
        for name, value in given.items():
            if value != kept[name] and name != "threads":
                raise HardalignError(
                    f"{folder}: has been trained to the end with {name}={kept[name]}; leave {name} "
                    "out, train anew with --overwrite, or fine-tune with --from"
                )
        reporter.note(f"{folder}: nothing is left to train")
        return predictor
    call = build_record(_Call, read_json(path), str(path), extra=True)
    data: Data | Corpus | None = call.train
    if own.data.corpus is not None:
        data = load_origin(own.data.corpus)
    if data is None:
        raise HardalignError(f"{folder}: was not trained from files; give its data again")
    return train(
        data,
        call.dev,
        out=folder,
        format=None if own.data.corpus else own.format,
        allow_empty=call.allow_empty,
        processes=processes,
        start=call.start,
        device=call.device,
        resume=True,
        reporter=reporter,
        **{**kept, **given},
    )


class _Examples(NamedTuple):
    """The examples of a run, how they were read, and where they came from."""

    train: list[Example]
    dev: list[Example]
    format: Format
    origin: Origin
    dev_name: str
    """Name of the development data in messages."""


def _read_data(
    train: Data | Corpus,
    dev: Data | None,
    layout: Format,
    allow_empty: bool,
    letters: bool,
    note: Note,
) -> _Examples:
    """Read all data of a run; with ``letters``, Hangul syllables may be decomposed into letters."""
    held_out: list[Example] = []
    if isinstance(train, Corpus):
        if dev is not None:
            raise HardalignError("a corpus has its own development set; leave out --dev")
        layout, learned, held_out = train.format, train.train, train.dev
    else:
        learned = _read(train, layout, "train", allow_empty, note)
        if dev is not None and not (isinstance(dev, str) and dev == NONE):
            held_out = _read(dev, layout, "dev", allow_empty, note)

    given = layout
    if letters and (layout := in_letters(given, learned)) != given:
        note(
            f"Hangul syllables are read as their letters ({layout.normalization}); "
            "--set normalization=NFKC keeps them whole"
        )
        learned, held_out = (
            [recut(example, given, layout) for example in part] for part in (learned, held_out)
        )

    if isinstance(train, Corpus):
        corpus = replace(train.origin, normalization=layout.normalization)
        return _Examples(learned, held_out, layout, Origin(corpus=corpus), corpus.corpus)
    origin = Origin(train=_origin(train, learned))
    if dev is None:
        learned, held_out = _hold_out(learned, note)
    elif held_out:
        origin = replace(origin, dev=_origin(dev, held_out))
    dev_name = str(dev) if isinstance(dev, (str, Path)) else "memory"
    return _Examples(learned, held_out, layout, origin, dev_name)


def _hold_out(examples: list[Example], note: Note) -> tuple[list[Example], list[Example]]:
    """Hold out a tenth of the training data, if there is enough of it."""
    held_out, rest = list[Example](), list[Example]()
    for example in examples:
        (held_out if _is_held_out(example) else rest).append(example)
    if not (rest and held_out):
        note("too few examples to hold some out: the temperature is 1")
        return examples, []
    note(
        f"no --dev: {len(held_out)} of {len(examples)} examples are held out for "
        f"evaluation and calibration; --dev {NONE} trains on all"
    )
    return rest, held_out


def _origin(data: Data, examples: list[Example]) -> FileOrigin:
    # Only the name: whoever gets the model need not know where the file was on this disk.
    name = Path(data).name if isinstance(data, (str, Path)) else "memory"
    checksum = sha256(repr(examples).encode(errors="surrogatepass"))
    return FileOrigin(name, len(examples), checksum)


def _is_held_out(example: Example) -> bool:
    """Whether an example is in the held-out tenth, chosen by a hash of its source and tags."""
    return int(sha256(repr(example.key).encode(errors="surrogatepass"))[:8], 16) % 10 == 0


def _read(data: Data, layout: Format, name: str, allow_empty: bool, note: Note) -> list[Example]:
    """Read a file or rows; messages call rows by their ``name``."""
    if isinstance(data, (str, Path)):
        file, skipped = str(data), Skipped()
        examples = list(
            read_examples(data, layout, "training", allow_empty=allow_empty, skipped=skipped)
        )
        if report := skipped.report(data, "passed over"):
            note(report)
    else:
        if not isinstance(data, Iterable):
            raise HardalignError(f"{name} must be a file or rows of strings, not {data!r:.50}")
        file, rows = f"{name} rows", list(data)
        if not rows:
            raise HardalignError(f"there are no {name} rows")
        examples = [row for row in rows if isinstance(row, Example)]
        if len(examples) < len(rows):
            strings = cast(list[Sequence[str]], rows)
            examples = list(examples_of(strings, layout, name=file, allow_empty=allow_empty))
    if problems := quick_check(examples, layout):
        raise InputError(problems[0], file=file)
    return examples


def _check_dev(data: _Examples, indexer: Indexer) -> None:
    """Refuse a development set that is clearly in another format."""
    source, pairs = indexer.vocabulary.source, list(training_pairs(data.dev))
    unknown = [source.unknown(one.source, one.tags) for one in data.dev]
    unwritable = [indexer.unwritable(pair) for pair in pairs]
    if 2 * sum(map(len, unknown)) > sum(len(one.source) + len(one.tags) for one in data.dev):
        message = "most source symbols never occur in the training data"
        examples, found = data.dev, unknown
    elif unwritable and all(unwritable):
        message = "every target has symbols that no target of the training data has"
        examples, found = pairs, unwritable
    else:
        return
    first, symbols = next(pair for pair in zip(examples, found, strict=True) if pair[1])
    raise InputError(
        f"{message}, first {shorten(symbols[0])}; is this file in the same format?",
        file=data.dev_name,
        line=first.line or None,
    )


def _remarks(data: _Examples, description: Description) -> Iterator[str]:
    """Yield warnings and advice about the development set."""
    model, of_all = description.model, f"of the {len(data.dev)} development sources"
    tags = defaultdict(set)
    for example in data.train:
        tags[example.source].add(example.tags)
    if known := sum(example.tags in tags[example.source] for example in data.dev):
        yield (
            f"{known} {of_all} are in the training data too; their accuracy says nothing about "
            "new words"
        )
    others = sum(bool(tags[example.source] - {example.tags}) for example in data.dev)
    if not (model.known_forms or description.training.hallucinate) and 2 * others > len(data.dev):
        yield (
            f"{others} {of_all} have other forms in the training data; --set known_forms=1 reads "
            "them beside the lemma"
        )
    source = description.vocabulary.source
    unseen = sum(bool(source.unknown(example.source)) for example in data.dev)
    if unseen > MANY_UNSEEN * len(data.dev):
        advice = "" if model.unk_dropout else "; --set unk_dropout=0.2 teaches how to read them"
        if source.tags:  # in inflection most letters are copied
            can_copy = find_system(model.system).model.can_copy_oov and not model.copying
            advice = "; --set copying=true can write them" if can_copy else ""
        if advice:
            yield f"{unseen} {of_all} have letters that never occur in the training data{advice}"


def _layout(format_: str | Format | None, start: Format | None) -> Format:
    """Return the format of the data, with the normalisation of the model to fine-tune, if any."""
    if isinstance(format_, str):
        layout = find_format(format_)
        return layout if start is None else as_read_by(start, layout)
    layout = format_ or start or FORMATS["pairs"]
    if start is not None and as_read_by(start, layout) != layout:
        raise HardalignError(
            f"the model to fine-tune reads text as {start.treatment}; read the data the same way"
        )
    return layout
