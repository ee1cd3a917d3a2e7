"""The model folder: safetensors and JSON, checked when read; never pickle, and no torch.

weights.safetensors     the weights
config.json             model, training and data settings, versions, checksums
vocabulary.json         the symbols of both sides
known-forms.jsonl       forms of the training data, for models that read them beside a lemma
metrics.jsonl           one line per epoch
checkpoint.safetensors  training state, for resuming

An ensemble has config.json, vocabulary.json and a subfolder for each member: member-0, member-1 and
so on. Bundled models are folders in ``bundled/``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy
from numpy.typing import NDArray

from hardalign import __version__
from hardalign.config import LEARNING_ONLY, ModelConfig, TrainingConfig
from hardalign.data.formats import Format
from hardalign.data.inflection import KnownForms
from hardalign.data.reading import Origin
from hardalign.data.vocabulary import Vocabulary
from hardalign.errors import HardalignError
from hardalign.files import (
    check_regular,
    json_bytes,
    located,
    os_errors_named,
    parse_json,
    read_bytes,
    read_json,
    sha256,
    write_bytes,
)
from hardalign.systems.parameters import TRAINING_ONLY, parameter_shapes

Tensors = dict[str, NDArray[Any]]

FORMAT_VERSION = 2
"""Version of the folder's format, raised when older versions can no longer read it.

Version 1 had no checksums of config.json and vocabulary.json, and its system ``hard-feed`` is now
called ``hard-feed-reinforce``.
"""
CONFIG, VOCABULARY, WEIGHTS = "config.json", "vocabulary.json", "weights.safetensors"
METRICS, CHECKPOINT = "metrics.jsonl", "checkpoint.safetensors"
KNOWN_FORMS = "known-forms.jsonl"
MEMBER = "member-{}"
"""The folder of an ensemble's member, by its number."""
CHECKSUMS = "sha256"
"""The key of the checksums in config.json; it may be removed after editing the folder."""
MOST_MEMBERS = 1000
LARGEST_WEIGHT = 1e6
"""Far beyond any trained weight, and small enough that no product overflows."""
TEMPERATURES = (0.001, 1000)
"""Lowest and highest allowed; beyond these, probabilities become indistinguishable."""
_KEYS = {"format_version", "hardalign", "model", "training", "format", "data", CHECKSUMS}
_OPTIONAL_KEYS = ("temperature", "members", "start")
_OLD_KEYS = {"schedule"}
"""Entries that folders of 0.2 may have, now ignored."""
TYPES = ("F16", "F32", "F64")
"""Allowed types of numbers; others have no place in a model, and some do not exist in NumPy."""
FIGURES = "figures.json"
"""The file of a bundled model with its task, language, summary and held-out figures."""
LANGUAGES = "languages.json"
"""The language names of a multilingual model, by tag: ``{"deu": ["de", "German"]}``."""
RUN, MODEL = "run.json", "model"
"""Contents of a run folder: the description of the run, and the folder of its model."""

_HERE = Path(__file__).parent / "bundled"

BUNDLED = tuple(sorted(file.parent.name for file in _HERE.glob(f"*/{FIGURES}")))
"""The names of bundled models."""


@dataclass(frozen=True)
class Description:
    """Everything about a model except its weights."""

    model: ModelConfig
    training: TrainingConfig
    format: Format
    vocabulary: Vocabulary
    data: Origin
    """Where the training data came from."""
    temperature: float = 1.0
    """Temperature of the model's distribution; see ``hardalign.systems.ensemble``."""
    members: int = 1
    """Number of models in the folder; more than one is an ensemble."""
    start: str | None = None
    """The model that was fine-tuned, if any."""
    known_forms: KnownForms | None = None
    """The forms read beside each source, if the model reads known forms."""

    def __post_init__(self) -> None:
        low, high = TEMPERATURES
        if type(self.temperature) not in (int, float) or not low <= self.temperature <= high:
            raise HardalignError(
                f"invalid temperature {self.temperature!r:.100}: it must be from {low} to {high}"
            )
        if type(self.members) is not int or not 1 <= self.members <= MOST_MEMBERS:
            raise HardalignError(
                f"members must be from 1 to {MOST_MEMBERS}, not {self.members!r:.100}"
            )
        if self.start is not None and type(self.start) is not str:
            raise HardalignError(f"invalid start {self.start!r:.100}")


def write_description(folder: Path, description: Description) -> None:
    """Write ``config.json``, ``vocabulary.json`` and, if there are any, ``known-forms.jsonl``."""
    for name, content in description_files(description).items():
        write_bytes(folder / name, content)


def description_files(description: Description) -> dict[str, bytes]:
    """Return the files that describe a model, in the order in which to write them."""
    files = {VOCABULARY: json_bytes(description.vocabulary.to_dict())}
    if description.known_forms is not None:
        files[KNOWN_FORMS] = description.known_forms.to_bytes()
    config = {
        "format_version": FORMAT_VERSION,
        "hardalign": __version__,
        "model": description.model.to_dict(),
        "training": description.training.to_dict(),
        "format": description.format.to_dict(),
        "data": description.data.to_dict(),
    }
    for name in _OPTIONAL_KEYS:
        if (value := getattr(description, name)) != getattr(Description, name):  # the default
            config[name] = value
    return files | {CONFIG: json_bytes({**config, CHECKSUMS: _checksums(config, files)})}


def read_description(folder: Path) -> Description:
    """Read what ``write_description`` wrote, in this version or an earlier one."""
    path, vocabulary_path, forms_path = (folder / n for n in (CONFIG, VOCABULARY, KNOWN_FORMS))
    with os_errors_named(folder, "read"):
        if not folder.is_dir():
            raise HardalignError(
                f"{folder}: no such model folder; `hardalign train` makes one, and there are "
                f"bundled models: {', '.join(BUNDLED)}"
            )
        if not path.exists():
            runs = sorted(folder.glob(f"*/{RUN}"))
            advice = f"give a run in it, such as {runs[0].parent}" if runs else "give one"
            raise HardalignError(f"{path}: no such file; this is not a model folder; {advice}")
    config = read_json(path)
    version = config.get("format_version") if isinstance(config, dict) else None
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise HardalignError(
            f"{path}: format version {version!r:.20}, but this hardalign {__version__} reads "
            f"versions 1 to {FORMAT_VERSION}; use the hardalign that wrote the model"
        )
    files, model = {VOCABULARY: read_bytes(vocabulary_path)}, config.get("model")
    if isinstance(model, dict) and model.get("known_forms"):
        files[KNOWN_FORMS] = read_bytes(forms_path)
    if version > 1:
        _check(config, files, folder)
    elif isinstance(model, dict) and model.get("system") == "hard-feed":
        model["system"] = "hard-feed-reinforce"
    symbols = parse_json(files[VOCABULARY], vocabulary_path)
    with located(vocabulary_path):
        vocabulary = Vocabulary.from_dict(symbols)
    optional: dict[str, Any] = {name: config[name] for name in _OPTIONAL_KEYS if name in config}
    with located(path):
        sizes = ModelConfig.from_dict(model)
    if sizes.known_forms:
        with located(forms_path):
            optional["known_forms"] = KnownForms.from_bytes(files[KNOWN_FORMS], sizes.known_forms)
    with located(path):
        training = TrainingConfig.from_dict(config.get("training"))
        layout = Format.from_dict(config.get("format"))
        origin = Origin.from_dict(config.get("data", {}))
        return Description(sizes, training, layout, vocabulary, origin, **optional)


def member_folders(folder: Path, members: int) -> list[Path]:
    """Return the folders of an ensemble's members."""
    return [folder / MEMBER.format(number) for number in range(members)]


def load_members(folder: Path) -> tuple[list[tuple[ModelConfig, Tensors]], Description]:
    """Return the members of an ensemble, or a single model, and the folder's description."""
    description = read_description(folder)
    if description.members == 1:
        return [(description.model, _weights(folder, description))], description
    members: list[tuple[ModelConfig, Tensors]] = []
    for path in member_folders(folder, description.members):
        if not path.is_dir():
            raise HardalignError(
                f"{folder}: is an ensemble of {description.members} and has no {path.name} yet; "
                "continue its training with --resume"
            )
        tensors, own = load_folder(path)
        if what := differing(description, own):
            raise HardalignError(f"{path}: has a different {what} from its ensemble")
        for other, (_, weights) in enumerate(members):
            if all(np.array_equal(weights[name], tensors[name]) for name in tensors):
                raise HardalignError(
                    f"{path}: is a copy of {MEMBER.format(other)}; restore the right folder"
                )
        members.append((own.model, tensors))
    return members, description


def differing(one: Description, other: Description) -> str:
    """Name the difference that keeps two models from forming an ensemble; empty if none."""
    learning = {name: getattr(one.model, name) for name in LEARNING_ONLY}
    if replace(other.model, **learning) != one.model:
        return "model"
    names = ("vocabulary", "format", "known_forms")
    odd = [name for name in names if getattr(one, name) != getattr(other, name)]
    return odd[0].replace("_", " ") if odd else ""


def load_folder(folder: Path) -> tuple[Tensors, Description]:
    """Return a single model's weights, of single or double precision, and its description."""
    description = read_description(folder)
    if description.members != 1:
        raise HardalignError(
            f"{folder}: is an ensemble; take one of its members, such as {folder / 'member-0'}"
        )
    return _weights(folder, description), description


def _weights(folder: Path, description: Description) -> Tensors:
    """Return the weights of a model.

    The shapes in the header are checked against those that settings and vocabulary imply before any
    weight is read, so nothing is allocated but what the folder itself holds.
    """
    path = folder / WEIGHTS
    with located(folder / CONFIG):
        expected = parameter_shapes(description.model, description.vocabulary)

    def check(shapes: dict[str, tuple[int, ...]]) -> None:
        shapes = {name: shape for name, shape in shapes.items() if name not in TRAINING_ONLY}
        if shapes != expected:
            odd = min(name for name, _ in shapes.items() ^ expected.items())
            raise HardalignError(
                f"{path}: weights do not fit {CONFIG} and {VOCABULARY}, first at {odd:.100}"
            )

    tensors, _ = read_tensors(path, check)
    for name, tensor in tensors.items():
        if not float(np.abs(tensor).max(initial=0)) <= LARGEST_WEIGHT:  # NaN fails this too
            raise HardalignError(
                f"{path}: damaged: {name} has numbers that are not finite, or beyond "
                f"{LARGEST_WEIGHT:g}"
            )
    return {
        name: tensor.astype(np.float32) if tensor.dtype == np.float16 else tensor
        for name, tensor in tensors.items()
        if name in expected
    }


def _check(config: dict[str, Any], files: dict[str, bytes], folder: Path) -> None:
    """Reject unknown entries, and files whose checksum does not match."""
    if unknown := sorted(config.keys() - _KEYS - _OLD_KEYS - set(_OPTIONAL_KEYS)):
        raise HardalignError(f"{folder / CONFIG}: unknown entry {unknown[0]!r:.100}")
    checksums = config.pop(CHECKSUMS, None)
    if checksums is None:
        return
    for name, checksum in _checksums(config, files).items():
        if not isinstance(checksums, dict) or checksums.get(name) != checksum:
            raise HardalignError(
                f"{folder / name}: damaged: its checksum does not match its content; if you "
                f"changed it, remove {CHECKSUMS!r} from {CONFIG}"
            )


def _checksums(config: dict[str, Any], files: dict[str, bytes]) -> dict[str, str]:
    """Return the checksum of each file; that of the settings does not depend on their layout."""
    contents = {CONFIG: json.dumps(config, sort_keys=True).encode(), **files}
    return {name: sha256(content) for name, content in contents.items()}


def write_tensors(path: Path, tensors: Mapping[str, NDArray[Any]], notes: dict[str, Any]) -> None:
    """Write arrays and notes, with a checksum of both."""
    # np.ascontiguousarray would make 0-dimensional arrays 1-dimensional.
    tensors = {name: np.require(array, requirements="C") for name, array in tensors.items()}
    text = json.dumps(notes, ensure_ascii=False)
    # One entry only: safetensors does not keep their order, and equal models should be equal files.
    metadata = {"hardalign": json.dumps({"notes": text, "sha256": _tensor_checksum(tensors, text)})}
    write_bytes(path, safetensors.numpy.save(dict(tensors), metadata))


def read_tensors(
    path: Path, check: Callable[[dict[str, tuple[int, ...]]], None] = lambda _: None
) -> tuple[Tensors, dict[str, Any]]:
    """Read the arrays and notes that ``write_tensors`` wrote.

    ``check`` gets the shapes of all arrays before any of them is read, and may reject them.
    """
    with os_errors_named(path, "read"):
        if not path.exists():
            raise HardalignError(f"{path}: no such file; the model folder is incomplete")
        check_regular(path)
        with path.open("rb"):
            pass  # safetensors would report an unreadable file as damaged
        try:
            with safetensors.safe_open(path, "np") as file:
                metadata = (file.metadata() or {}).get("hardalign")
                names = list(file.keys())
                slices = {name: file.get_slice(name) for name in names}
                for name, entry in slices.items():
                    if entry.get_dtype() not in TYPES:
                        raise HardalignError(
                            f"{path}: {name:.100} holds {entry.get_dtype()} numbers; "
                            f"only {', '.join(TYPES)} are read"
                        )
                check({name: tuple(entry.get_shape()) for name, entry in slices.items()})
                tensors = {name: file.get_tensor(name) for name in names}
        except safetensors.SafetensorError as error:
            raise HardalignError(f"{path}: damaged: {error}") from error
    if metadata is None:
        raise HardalignError(f"{path}: was not written by hardalign: it has no checksum")
    entry = parse_json(metadata, path)
    if isinstance(entry, dict) and type(text := entry.get("notes")) is str:
        if entry.get("sha256") != _tensor_checksum(tensors, text):
            raise HardalignError(f"{path}: damaged: its checksum does not match its content")
        if isinstance(notes := parse_json(text, path), dict):
            return tensors, notes
    raise HardalignError(f"{path}: damaged: its notes are malformed")


def _tensor_checksum(tensors: Mapping[str, NDArray[Any]], text: str) -> str:
    digest = hashlib.sha256(text.encode(errors="surrogatepass"))
    for name in sorted(tensors):
        digest.update(b"\0" + name.encode() + b"\0")
        digest.update(tensors[name].data)
    return digest.hexdigest()


def bundled_folder(name: str) -> Path:
    """Return the folder of a bundled model, which may not exist yet."""
    return _HERE / name


def describe_bundled(name: str) -> dict[str, Any]:
    """Return the task, language, summary and held-out figures of a bundled model."""
    return dict(read_json(bundled_folder(name) / FIGURES))


def find_model(model: str | Path) -> Path:
    """Return the folder of a model, given as a run folder, a model folder or a bundled name."""
    if not isinstance(model, str | Path):
        raise HardalignError(f"a model must be a string or a path, not {model!r}")
    folder = Path(model)
    with os_errors_named(folder, "read"):
        if (folder / RUN).is_file():
            return folder / MODEL
        if str(model) in BUNDLED and not folder.is_dir():
            return bundled_folder(str(model))
        return folder


def read_languages(folder: Path) -> dict[str, list[str]]:
    """Return the names of a model's languages by tag; empty if it lists none."""
    path = folder / LANGUAGES
    languages = read_json(path) if path.is_file() else {}
    if not isinstance(languages, dict) or not all(map(_are_names, languages.values())):
        raise HardalignError(f"{path}: damaged: not an object with a list of names for each tag")
    return languages


def _are_names(value: object) -> bool:
    return type(value) is list and bool(value) and all(type(name) is str for name in value)


def find_language(folder: Path, name: str, tags: Sequence[str]) -> str:
    """Return the tag of a language, given by its tag or one of its names."""
    languages = read_languages(folder)
    names = {one.lower(): tag for tag, own in languages.items() for one in (tag, *own)}
    tag = name if name in tags else names.get(name.lower().replace("_", "-"), "")
    if tag not in tags:
        known = ", ".join([own[-1] for own in languages.values()] or tags[:40])
        advice = f"it knows {known}" if known else "it has only one, so leave this out"
        raise HardalignError(f"{folder.name}: does not know the language {name!r}; {advice}")
    return tag
