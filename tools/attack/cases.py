"""What the fuzzer does: one function for each kind of case, random by a seed alone."""

# ruff: noqa: E501 - lists of odd things read better in wide lines

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import inspect
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import safetensors.numpy

from attack.harness import Outcome, call, call_line
from attack.mutation import ODD_BYTES, ODD_NUMBERS, ODD_TEXTS, damaged, damaged_value
from attack.world import FILES, PLAN, SUFFIXES, World
from hardalign.cli.main import COMMANDS, command
from hardalign.cli.options import FileOptions, PairOptions
from hardalign.cli.reproduce import EngineOptions
from hardalign.cli.train import DataOptions
from hardalign.model_folder import (
    CHECKPOINT,
    CONFIG,
    METRICS,
    VOCABULARY,
    WEIGHTS,
    read_tensors,
    write_tensors,
)

ANSWERING = ("predict", "evaluate", "score", "align", "analyze", "errors", "lexicon")
"""Commands of a model and a file."""


def data_file(world: World, draw: random.Random) -> Outcome:
    """A damaged data file, read by a command that reads such files."""
    layout = draw.choice(list(FILES))
    content = FILES[layout].encode()
    match draw.randrange(10):
        case 0:
            pieces = [*ODD_BYTES, b"ab", b"\t", b"\n", "é".encode()]
            content = b"".join(draw.choices(pieces, k=draw.randint(0, 40)))
        case 1:
            content = damaged(gzip.compress(content, mtime=0), draw)
        case 2:
            content = gzip.compress(damaged(content, draw), mtime=0)
        case _:
            content = damaged(content, draw)
    name = f"fuzz.{SUFFIXES.get(layout, 'tsv')}"
    good = f"{layout}.{SUFFIXES.get(layout, 'tsv')}"
    stdin = b""
    if draw.random() < 0.1:
        name, stdin = "-", content
    changes: dict[str, Any] = {"format": layout}
    if draw.random() < 0.2:
        changes["normalization"] = draw.choice(["NFC", "NFD", "NFKC", "NFKD", "none"])
    if draw.random() < 0.1:
        changes["max_length"] = draw.choice([1, 3, 100_000])
    options: dict[str, Any] = {"files": PairOptions(**changes, allow_empty=draw.random() < 0.3)}
    model = {"pairs": "hard", "spaced": "lexicon"}.get(layout, layout)
    verb = draw.choice(["split", "train", "align", "check", "check", *ANSWERING])
    values: tuple[Any, ...] = (name,)
    if verb == "split":
        options["out"] = Path("parts")
    elif verb == "train":
        values, dev = draw.choice([((name,), good), ((good,), name)])
        changes.pop("format")
        options = {
            "data": DataOptions(dev=draw.choice([dev, dev, None, "none"]), format=layout),
            "out": Path("new"),
            "epochs": 0,
            "set": tuple(f"{name}={value}" for name, value in changes.items()),
        }
    elif verb == "check":
        options["against"] = draw.choice([None, good])
    elif verb == "align" and draw.random() < 0.5:
        values, options["unsupervised"] = (), name
    else:
        values = (model, name)
        if verb == "lexicon":
            options = {"style": draw.choice(["mfa", "kaldi", "cmudict", "tsv"])}
            options["known"] = (good,) if draw.random() < 0.3 else ()
        elif verb == "predict":
            options["files"] = FileOptions(**changes)
            options["scores"] = options["alignments"] = draw.random() < 0.5
        if verb != "analyze":
            options["threads"] = 1
    with world.copy(model) as folder:
        if name != "-":
            (folder / name).write_bytes(content)
        return call(verb, *values, folder=folder, stdin=stdin, **options)


def _names(verb: str) -> tuple[list[str], list[str]]:
    """Returns the options of a command that take a value, and those that do not."""
    values, flags = [], []
    for name, parameter in inspect.signature(command(verb)).parameters.items():
        option = "--" + name.replace("_", "-")
        if isinstance(parameter.default, (FileOptions, EngineOptions)):
            for field in dataclasses.fields(parameter.default):
                name = "--" + field.name.replace("_", "-")
                (flags if field.default is False else values).append(name)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            (flags if parameter.default is False else values).append(option)
    return values, flags


WORDS = (
    "pairs.tsv", "lexicon.tsv", "news.xml", "plan.toml", "words.txt", "grid", "hard", "monotonic", "en-g2p",
    "sigmorphon", "hard/weights.safetensors", "missing", "new", "new/er", ".", "-", "toy:copy", "cmudict",
    "smoke", "fetch", "conll2017/danish", "g2p/NETtalk", "out.svg", "out.png", "out.onnx", "a=hard",
    "source,target", "target,source,-", "tags", "pairs", "lexicon", "small", "large", "hard-hmm", "soft", "bash",
    "local", "ray", "cpu", "64-true", "mfa", "ab", "cab", "é", "AB", "ab\tN;PL", "random", "NFD", "lower",
)  # fmt: skip
BOUNDED = {
    # What is allowed to take long, or to fill the machine, because it was asked to.
    "--epochs": ("0", "1", "-1", "nan", "1e9", ""),
    "--words": ("0", "1", "50", "-3", "x"),
    "--set": ("epochs=1", "dropout=2", "dropuot=0.1", "words=-3", "threads=1e9", "=", "clip=none"),
    "--trials": ("0", "-1", "x", "2"),
    "--workers": ("0", "-1", "x"),
    "--members": ("0", "1", "2", "-1", "1001", "x"),
    "--engine": ("x", "local", ""),
    "--threads": ("0", "1", "2", "-1", "1e9", "99999999999"),
    "--port": ("0", "-1", "70000", "x", "99999999999999999999"),
}
POSITIONALS = {
    "train": ("pairs.tsv",), "predict": ("hard", "words.txt"), "evaluate": ("hard", "pairs.tsv"),
    "score": ("hard", "pairs.tsv"), "align": ("hard", "pairs.tsv"), "plot": ("hard", "ab", "AB"),
    "analyze": ("hard", "pairs.tsv"), "info": ("hard",), "lexicon": ("lexicon", "words.txt"),
    "errors": ("hard", "pairs.tsv"), "compare": ("hard", "monotonic", "pairs.tsv"), "check": ("pairs.tsv",), "split": ("pairs.tsv",),
    "corpora": ("toy:copy",), "reproduce": ("plan.toml",), "serve": ("hard",),
    "export": ("hard", "out.onnx"),
}  # fmt: skip
NEEDED = {
    "train": ("--dev", "pairs.tsv", "--out", "new"),
    "lexicon": ("--style", "mfa"),
    "split": ("--out", "new"),
    "reproduce": ("--out", "new"),
}


def arguments(world: World, draw: random.Random) -> Outcome:
    """A command with options and values of all sorts; what would train or serve is left out."""
    verb = draw.choice(COMMANDS)
    texts = [text for text in ODD_TEXTS if "\0" not in text]  # no command line can hold it
    words = list(POSITIONALS.get(verb, ()))
    for k, _ in enumerate(words):
        if draw.random() < 0.2:
            words[k] = draw.choice([*WORDS, *texts])
    if draw.random() < 0.1:
        words = words[: draw.randrange(len(words) + 1)] + draw.choices(WORDS, k=draw.randrange(2))
    words += NEEDED.get(verb, ()) if draw.random() < 0.9 else ()
    values, flags = _names(verb)
    for _ in range(draw.randrange(4)):
        if flags and draw.random() < 0.4:
            words.append(draw.choice(flags))
        elif values:
            option = draw.choice(values)
            number = str(draw.choice(ODD_NUMBERS))
            pools = [texts, list(WORDS), [number, number, "5", "0.5"]]
            words += [option, draw.choice(BOUNDED.get(option) or draw.choice(pools))]
    if draw.random() < 0.05:
        words.insert(draw.randrange(len(words) + 1), draw.choice(texts))
    if verb == "train" and draw.random() < 0.9:
        words += ["--epochs", "0"]
    if verb == "train" and draw.random() < 0.1:
        words[words.index("new") if "new" in words else -1] = "hard"
    if verb == "reproduce":
        words.append("--dry-run")
    stdin = draw.choice([b"", b"ab\ncab\n", b"ab\tAB\n", b"\xff\n"])
    models = ("hard", "monotonic", "sigmorphon", "lexicon", "grid")
    with world.copy(*models) as folder, _tame():
        name = verb if draw.random() < 0.98 else draw.choice(texts)
        return call_line([name, *words], stdin, folder)


@contextmanager
def _tame() -> Iterator[None]:
    """Nothing is served or downloaded."""

    from hardalign.errors import HardalignError

    def refuse(*_: Any, **__: Any) -> None:
        raise HardalignError("not while fuzzing")

    with (
        mock.patch("hardalign.serve.server.run"),
        mock.patch("hardalign.data.corpora._download", refuse),
        mock.patch("hardalign.data.corpora._cmudict", refuse),  # a second each
    ):
        yield


def model_folder(world: World, draw: random.Random) -> Outcome:
    """A damaged model folder; most often without checksums, so that what is behind them is met."""
    model = draw.choice(world.systems)
    with world.copy(model) as folder:
        place = folder / model
        config = json.loads((place / CONFIG).read_text())
        if draw.random() < 0.8:
            del config["sha256"]
            (place / CONFIG).write_text(json.dumps(config))
        for _ in range(draw.choice((1, 1, 1, 2))):
            _damage_folder(place, config, draw)
        out = {"scores": True, "alignments": True}
        resume = {
            "data": DataOptions(dev="pairs.tsv"),
            "recipe": "paper",
            "out": Path(model),
            "resume": True,
            "system": model,
        }
        verb, values, options = draw.choice(
            [
                ("info", (model,), {}),
                ("predict", (model, "words.txt"), {**out, "threads": 1}),
                ("align", (model, "pairs.tsv"), {"threads": 1}),
                ("score", (model, "pairs.tsv"), {"threads": 1}),
                ("plot", (model, "ab"), {}),
                ("evaluate", (model, "pairs.tsv"), {"threads": 1}),
                ("export", (model, Path("out.onnx")), {}),
                ("lexicon", (model, "words.txt"), {"style": "tsv"}),
                *[("train", ("pairs.tsv",), {**resume, "epochs": draw.choice([1, 2])})] * 3,
            ]
        )
        return call(verb, *values, folder=folder, **options)


def _damage_folder(place: Path, config: Any, draw: random.Random) -> None:
    name = draw.choice([CONFIG, CONFIG, CONFIG, VOCABULARY, WEIGHTS, WEIGHTS, CHECKPOINT, METRICS])
    path = place / name
    if not path.is_file():
        return
    action = draw.randrange(10)
    if action == 0:
        path.unlink()
        if draw.random() < 0.5:
            draw.choice([path.mkdir, lambda: path.symlink_to("/dev/zero")])()
    elif action < 4 or name == METRICS:
        path.write_bytes(damaged(path.read_bytes(), draw))
    elif name in (CONFIG, VOCABULARY):
        with contextlib.suppress(ValueError):  # damaged before
            before = config if name == CONFIG else json.loads(path.read_bytes())
            value = damaged_value(before, draw)
            path.write_text(json.dumps(value), encoding="utf-8", errors="surrogatepass")
    else:
        _damage_tensors(path, draw)


def _damage_tensors(path: Path, draw: random.Random) -> None:
    """Other arrays or notes, with a checksum that fits them."""
    try:
        tensors, notes = read_tensors(path)
    except Exception:
        return  # damaged before
    for _ in range(draw.randint(1, 2)):
        name = draw.choice(sorted(tensors))
        array = tensors[name]
        match draw.randrange(7):
            case 0:
                del tensors[name]
                if not tensors:
                    return
            case 1:
                tensors[draw.choice(["a", "", "é", "x" * 300, "model.a.b"])] = array
            case 2:
                tensors[name] = array.astype(draw.choice(["f2", "f4", "f8", "i4", "u1", "bool"]))
            case 3:
                tensors[name] = array.reshape(-1)[: draw.randrange(array.size + 1)]
            case 4:
                odd = draw.choice([np.nan, np.inf, 0.0, 1e30, -1e30])
                tensors[name] = np.full_like(array, odd)
            case 5:
                notes = damaged_value(notes, draw)
            case _:
                other = draw.choice(sorted(tensors))
                tensors[name], tensors[other] = tensors[other], tensors[name]
    with contextlib.suppress(UnicodeEncodeError):  # no file can hold it
        if draw.random() < 0.1:
            metadata = {"hardalign": draw.choice(ODD_TEXTS)}
            path.write_bytes(safetensors.numpy.save(tensors, metadata))
        else:
            write_tensors(path, tensors, notes)


def plan(world: World, draw: random.Random) -> Outcome:
    """A damaged plan, or a damaged folder of a grid."""
    with world.copy("grid") as folder:
        if draw.random() < 0.5:
            return _report(folder, draw)
        content = PLAN.encode()
        if draw.random() < 0.3:
            content = content.replace(b'["hard"', b'[[grid]]\nsystems = ["hard"')
        lines = content.splitlines(keepends=True)
        if draw.random() < 0.5:
            for _ in range(draw.randint(1, 3)):
                key, _, _ = draw.choice(lines).partition(b"=")
                value = draw.choice([*map(repr, ODD_NUMBERS), *map(json.dumps, ODD_TEXTS), "[1]"])
                lines[draw.randrange(len(lines))] = key + b"= " + value.encode() + b"\n"
            content = b"".join(lines)
        if draw.random() < 0.7:
            content = damaged(content, draw)
        (folder / "fuzz.toml").write_bytes(content)
        return call("reproduce", "fuzz.toml", out=Path("new"), dry_run=True, folder=folder)


def _report(folder: Path, draw: random.Random) -> Outcome:
    files = sorted(path for path in (folder / "grid").rglob("*") if path.is_file())
    for path in draw.sample(files, draw.choice((1, 1, 2))):
        if draw.random() < 0.3 or path.suffix != ".json":
            path.write_bytes(damaged(path.read_bytes(), draw))
        else:
            value = damaged_value(json.loads(path.read_text()), draw)
            path.write_text(json.dumps(value), encoding="utf-8", errors="surrogatepass")
    # Pictures take a second each and are made from the same figures as the tables.
    if draw.random() < 0.3:
        return call("reproduce", "plan.toml", out=Path("grid"), dry_run=True, folder=folder)
    return call("reproduce", report=Path("grid"), folder=folder)


KINDS: dict[str, Callable[[World, random.Random], Outcome]] = {
    "data": data_file,
    "arguments": arguments,
    "folders": model_folder,
    "plans": plan,
}
