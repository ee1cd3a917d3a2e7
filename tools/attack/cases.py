"""The cases of the fuzzer: one function for each kind, reproducible from a seed."""

# ruff: noqa: E501 - lists of odd things read better in wide lines

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import inspect
import json
import os
import random
import resource
import shutil
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import safetensors.numpy

import hardalign
from attack.harness import Outcome, call, call_line, time_limit
from attack.mutation import ODD_BYTES, ODD_NUMBERS, ODD_TEXTS, damaged, damaged_value, odd_value
from attack.world import FILES, PLAN, SUFFIXES, World
from hardalign.cli.main import COMMANDS, command
from hardalign.cli.options import FileOptions, PairOptions
from hardalign.cli.reproduce import EngineOptions
from hardalign.cli.train import DataOptions
from hardalign.files import HOLDER, LOCK, locked
from hardalign.model_folder import (
    CHECKPOINT,
    CONFIG,
    LANGUAGES,
    METRICS,
    VOCABULARY,
    WEIGHTS,
    read_tensors,
    write_tensors,
)
from hardalign.search import Search

ANSWERING = ("predict", "evaluate", "score", "align", "analyze", "errors", "lexicon")
"""Commands on a model and a file."""


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


NUMBERS = (
    "$", "US$", "£", "€", "¥", "%", " ", ",", ".", "1", "0", "2024", "999", "1,000,000", "9" * 28, "00",
    "st", "er", "ème", "º", "s", " million", "bn", ":30", "h", " Uhr", "٣", "१", "January ", "am ", "1.",
    "3. Oktober", "-", "/", "@", "www.", "Dr.", "ab", "a1", "\u00a0", "a" * 40, "1 " * 300, "z. B. ",
)  # fmt: skip
LANGUAGE_NAMES = ("en", "de", "fr", "es", "it", "vi", "am", "ja", "is", "ar", "xx", "")


def running_text(world: World, draw: random.Random) -> Outcome:
    """A text with numbers, dates, amounts and abbreviations."""
    text = "".join(draw.choices(NUMBERS, k=draw.randint(1, 12))).encode()
    text = damaged(text, draw) if draw.random() < 0.3 else text
    options = {
        "text": True,
        "numbers": draw.choice(LANGUAGE_NAMES),
        "spell_capitals": draw.random() < 0.3,
        "threads": 1,
    }
    with world.copy("lexicon") as folder:
        return call("predict", "lexicon", "-", folder=folder, stdin=text, **options)


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
    # Options that may take long or fill the machine, because they ask for it.
    "--epochs": ("0", "1", "-1", "nan", "1e9", ""),
    "--words": ("0", "1", "50", "-3", "x"),
    "--set": ("epochs=1", "dropout=2", "dropuot=0.1", "words=-3", "threads=1e9", "=", "clip=none"),
    "--trials": ("0", "-1", "x", "2"),
    "--workers": ("0", "-1", "x"),
    "--members": ("0", "1", "2", "-1", "1001", "x"),
    "--engine": ("x", "local", ""),
    "--threads": ("0", "1", "2", "-1", "1e9", "99999999999"),
    "--host": ("127.1", "2130706433", "localhost", "::1", "127.0.0.1", "a..b", "é" * 70, ""),
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
    """A command with options and values of all sorts, mostly without training; nothing is served."""
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
    if draw.random() < 0.02:
        words.append("--help")
    stdin = draw.choice([b"", b"ab\ncab\n", b"ab\tAB\n", b"\xff\n"])
    models = ("hard", "monotonic", "sigmorphon", "lexicon", "grid")
    columns = mock.patch.dict(os.environ, COLUMNS=str(draw.choice([*range(8), 80, -1, 10**9])))
    with world.copy(*models) as folder, _tame(), columns:
        name = verb if draw.random() < 0.98 else draw.choice(texts)
        return call_line([name, *words], stdin, folder)


@contextmanager
def _tame() -> Iterator[None]:
    """Prevents serving and downloads."""

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
    """A damaged model folder, usually without checksums, so that damage gets past them."""
    model = draw.choice(world.systems)
    with world.copy(model) as folder:
        place = folder / model
        config = json.loads((place / CONFIG).read_text())
        if draw.random() < 0.8:
            del config["sha256"]
            (place / CONFIG).write_text(json.dumps(config))
        damage = {_damage_folder(place, config, draw) for _ in range(draw.choice((1, 1, 1, 2)))}
        if draw.random() < 0.1:
            names = damaged_value({"deu": ["de", "German"]}, draw)
            (place / LANGUAGES).write_text(
                json.dumps(names), encoding="utf-8", errors="surrogatepass"
            )
            damage.add(LANGUAGES)
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
        outcome = call(verb, *values, folder=folder, **options)
        if damage == {WEIGHTS} and outcome.code == 0 and b"nan" in outcome.out.lower():
            return dataclasses.replace(outcome, trouble=f"not a number: {outcome.out[:500]!r}")
        return outcome


def _damage_folder(place: Path, config: Any, draw: random.Random) -> str:
    """Damages one file of a model; returns its name."""
    name = draw.choice([CONFIG, CONFIG, CONFIG, VOCABULARY, WEIGHTS, WEIGHTS, CHECKPOINT, METRICS])
    path = place / name
    if not path.is_file():
        return name
    action = draw.randrange(10)
    if action == 0:
        path.unlink()
        if draw.random() < 0.5:
            zero = lambda: path.symlink_to("/dev/zero")  # noqa: E731
            draw.choice([path.mkdir, zero, lambda: os.mkfifo(path)])()
    elif action < 4 or name == METRICS:
        path.write_bytes(damaged(path.read_bytes(), draw))
    elif name in (CONFIG, VOCABULARY):
        with contextlib.suppress(ValueError):  # damaged before
            before = config if name == CONFIG else json.loads(path.read_bytes())
            value = damaged_value(before, draw)
            path.write_text(json.dumps(value), encoding="utf-8", errors="surrogatepass")
    else:
        _damage_tensors(path, draw)
    return name


def _damage_tensors(path: Path, draw: random.Random) -> None:
    """Changes arrays or notes, with a matching checksum."""
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
                odd = draw.choice([np.nan, np.inf, 0.0, 1e6, -1e6, 1e30, 3e38, -3e38])
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
    """A damaged plan, or a damaged grid folder."""
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


def overwriting(world: World, draw: random.Random) -> Outcome:
    """``train --overwrite`` of a folder with traps: links, pipes, members in use."""
    with world.copy("hard", "lexicon") as folder, contextlib.ExitStack() as stack:
        precious, out = folder / "hard", folder / "lexicon"
        member = out / "member-1"
        shutil.copytree(precious, member)
        before = _contents(precious), _contents(member)
        links = {"member-0": "../hard", "held-out": precious, "member-2": "nowhere"}
        links |= {
            HOLDER: precious / CONFIG,
            WEIGHTS: precious / WEIGHTS,
            CONFIG: "../hard/config.json",
        }
        for name in draw.sample(sorted(links), draw.randrange(4)):
            (out / name).unlink(missing_ok=True)
            (out / name).symlink_to(links[name])
        if draw.random() < 0.3:
            (out / HOLDER).unlink(missing_ok=True)
            os.mkfifo(draw.choice((out, member)) / HOLDER)
        if draw.random() < 0.2:
            os.mkfifo(draw.choice((out, member)) / "mine")
        if busy := draw.random() < 0.1:
            stack.enter_context(locked(member, "another"))
        outcome = call(
            "train",
            "pairs.tsv",
            data=DataOptions(dev="pairs.tsv"),
            out=Path("lexicon"),
            overwrite=True,
            epochs=0,
            members=draw.choice((1, 1, 2)),
            set=("processes=1",),
            folder=folder,
        )
        trouble = outcome.trouble
        if trouble is None and outcome.code != (2 if busy else 0):
            trouble = f"exit status {outcome.code}: {outcome.err[-500:]}"
        if _contents(precious) != before[0]:
            trouble = "another model was changed"
        if busy and _contents(member) != before[1]:
            trouble = "a member in use was changed"
        return dataclasses.replace(outcome, trouble=trouble)


def _contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.name: path.read_bytes() for path in files if path.name not in (LOCK, HOLDER)}


GOOD = (
    ("info", "hard"), ("predict", "hard", "words.txt", "--scores"), ("score", "hard", "pairs.tsv"),
    ("evaluate", "hard", "pairs.tsv"), ("check", "pairs.tsv"), ("split", "pairs.tsv", "--out", "parts"),
    ("lexicon", "lexicon", "words.txt", "--style", "mfa", "--output", "out"), ("plot", "hard", "ab"),
    ("train", "pairs.tsv", "--dev", "pairs.tsv", "--epochs", "0", "--out", "new"), ("predict", "--help"),
    ("predict", "hard", "words.txt", "--output", "out"), ("predict", "nothing"),
)  # fmt: skip
"""Commands that work, except the last."""


def surroundings(world: World, draw: random.Random) -> Outcome:
    """A command whose working folder is gone, files cannot be opened, or streams are full."""
    words = list(draw.choice(GOOD))
    with world.copy("hard", "lexicon") as folder:
        fault = draw.choice(("none", "gone", "handles", "stdout", "stderr"))
        if fault == "gone":
            return call_line(words, b"", folder, before=lambda: shutil.rmtree(folder))
        if fault == "handles":
            with _few_handles() as limit:
                return call_line(words, b"", folder, before=lambda: limit(draw.randrange(8)))
        if fault == "none":
            return call_line(words, b"", folder)
        full = call_line(words, b"", folder, (fault,))
    with world.copy("hard", "lexicon") as folder:
        calm = call_line(words, b"", folder)
    if (
        full.trouble is None
        and fault == "stderr"
        and (full.code, full.out) != (calm.code, calm.out)
    ):
        return dataclasses.replace(full, trouble=f"{calm.code} became {full.code}")
    if full.trouble is None and fault == "stdout" and full.code != (2 if calm.out else calm.code):
        return dataclasses.replace(full, trouble=f"{full.code} though nothing could be printed")
    return full


@contextmanager
def _few_handles() -> Iterator[Callable[[int], None]]:
    """Yields a function that limits free file handles."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def limit(more: int) -> None:
        opened = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
        resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 1 + more, before[1]))

    try:
        yield limit
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def python(world: World, draw: random.Random) -> Outcome:
    """The Python API with odd arguments: whatever is refused raises ``HardalignError``."""
    model = hardalign.load(world.model(draw.choice(("hard", "monotonic", "sigmorphon"))))
    good: tuple[Any, ...] = ("ab", "AB", ["ab", "é"], "ab\tN;PL", 1, 2, None)
    one, two = (odd_value(draw) if draw.random() < 0.6 else draw.choice(good) for _ in range(2))
    example = model.example("ab\tN;PL" if model.description.format.name == "sigmorphon" else "ab")
    calls: list[Callable[[], object]] = [
        lambda: model(one),
        lambda: model("ab", beam=one, nbest=two),
        lambda: model.sample("ab", one, seed=two),
        lambda: model.log_prob(one, two),
        lambda: model.align(one, two),
        lambda: model.sample_alignments("ab", "AB", one),
        lambda: list(model.answers([example], Search(beam=one), threads=two)),
        lambda: hardalign.load(world.model("hard"), temperature=one),
        lambda: hardalign.train([one], [two], out=scratch / "new", epochs=0),
        lambda: hardalign.train([("ab", "AB")], "none", out=scratch / "new", epochs=0, seed=one),
    ]
    scratch = Path(tempfile.mkdtemp(dir=world.folder))
    try:
        with warnings.catch_warnings(), time_limit():
            warnings.simplefilter("ignore")
            draw.choice(calls)()
        return Outcome(0, b"", "", None)
    except hardalign.HardalignError as error:
        return Outcome(2, b"", str(error), None)
    except BaseException:
        return Outcome(None, b"", "", f"{one!r:.200} {two!r:.200}\n{traceback.format_exc()}")
    finally:
        shutil.rmtree(scratch)


KINDS: dict[str, Callable[[World, random.Random], Outcome]] = {
    "data": data_file,
    "text": running_text,
    "arguments": arguments,
    "folders": model_folder,
    "plans": plan,
    "overwriting": overwriting,
    "surroundings": surroundings,
    "python": python,
}
