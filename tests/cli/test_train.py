from __future__ import annotations

import gzip
import json
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import hardalign
from hardalign.config import SIZES
from hardalign.data.reading import CorpusOrigin
from hardalign.files import LOCK
from hardalign.model_folder import CHECKPOINT, CONFIG, METRICS, VOCABULARY, WEIGHTS
from hardalign.systems import SYSTEMS
from hardalign.training.run import RESUME
from helpers import PAIRS, Command, assert_complains, eventually

FILES = {WEIGHTS, CONFIG, VOCABULARY, METRICS, CHECKPOINT}
# At this rate a run goes on learning, so that it does not end before it is stopped.
LONG = ("train", "--corpus", "toy:copy", "--recipe", "paper")
LONG += ("--set", "words=90", "--set", "learning_rate=1e-4")


@pytest.mark.parametrize("system", SYSTEMS)
def test_trains_resumes_and_predicts(
    system: str, command: Command, pairs: Path, tmp_path: Path
) -> None:
    options = ("train", pairs, "--dev", pairs, "--system", system, "--batch-size", 2)
    options += ("--recipe", "paper")
    once = command(*options, "--out", tmp_path / "once", "--epochs", 3)
    assert once.code == 0, once.err
    assert {path.name for path in (tmp_path / "once").iterdir()} == FILES | {LOCK}
    rows = [json.loads(line) for line in (tmp_path / "once" / METRICS).read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert all(row["dev_log_likelihood"] < 0 < row["loss"] for row in rows)
    # Stopped after two epochs and gone on, it ends with the very same weights.
    command(*options, "--out", tmp_path / "twice", "--epochs", 2)
    twice = command(*options, "--out", tmp_path / "twice", "--epochs", 3, "--resume")
    assert twice.code == 0, twice.err
    for name in (WEIGHTS, VOCABULARY):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "twice" / name).read_bytes()
    one, other = (hardalign.load(tmp_path / name) for name in ("once", "twice"))
    assert one("abc").log_prob == other("abc").log_prob < 0


def test_corpus_needs_no_file(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "model"
    result = command(
        "train", "--corpus", "toy:copy", "--set", "words=60", "--epochs", 1, "--out", out
    )
    assert result.code == 0, result.err
    assert "weights of epoch 1 of 1" in result.err
    assert hardalign.load(out).description.data.corpus == CorpusOrigin("toy:copy", size=60)


def test_a_corpus_keeps_its_format(command: Command, tmp_path: Path) -> None:
    """Of the options for files, the normal form alone is its user's to choose."""
    out = tmp_path / "model"
    options = ("train", "--corpus", "toy:copy", "--set", "words=30", "--epochs", 0, "--out", out)
    assert_complains(command(*options, "--format", "lexicon"), "its own format")
    assert not out.exists()
    assert command(*options, "--set", "normalization=NFD").code == 0
    description = hardalign.load(out).description
    assert description.format.normalization == "NFD"
    assert description.data.corpus == CorpusOrigin("toy:copy", size=30, normalization="NFD")


def test_target_symbols_in_characters(command: Command, tmp_path: Path) -> None:
    lexicon, out = tmp_path / "lexicon.tsv", tmp_path / "model"
    lexicon.write_text("ta\ttʰ aː\nat\taː tʰ\ntt\ttʰ tʰ\naa\taː aː\n", encoding="utf-8")
    options = ("--dev", lexicon, "--format", "lexicon", "--batch-size", 2, "--epochs", 40)
    for setting in ("learning_rate=0.01", "dropout=0", "state_dropout=0", "symbol_dropout=0"):
        options += ("--set", setting)
    assert command("train", lexicon, *options, "--out", out, "--set", "target_parts=true").code == 0
    predictor = hardalign.load(out)
    assert predictor.description.vocabulary.target.letters == ("+ʰ", "+ː", "a", "t")
    assert predictor("ta").text == "tʰ aː"
    assert predictor("ta").symbols == ("t", "+ʰ", "a", "+ː")
    assert predictor.log_prob("ta", "tʰ aː") == pytest.approx(predictor("ta").log_prob)
    # Whatever else is said of a file, its targets are read as the model's were.
    for more in ((), ("--format", "lexicon")):
        evaluated = command("evaluate", out, lexicon, *more)
        assert "ACC           100.00" in evaluated.out
        assert "target symbols in characters" in evaluated.out
    assert command("predict", out, lexicon, "--format", "lexicon").out.startswith("ta\ttʰ aː\n")
    assert "target symbols in characters" in command("info", out).out
    # Beside a model of whole symbols both are judged alike, whichever is named first.
    whole = tmp_path / "whole"
    assert command("train", lexicon, *options, "--out", whole).code == 0
    for models in ((out, whole), (whole, out)):
        compared = command("compare", *models, lexicon)
        assert "all right: 4   none right: 0   of 4" in compared.out, compared.out
        assert not compared.err


def test_target_symbols_that_are_characters_already(
    command: Command, pairs: Path, tmp_path: Path
) -> None:
    options = (
        "--dev",
        pairs,
        "--out",
        tmp_path / "model",
        "--epochs",
        0,
        "--set",
        "target_parts=true",
    )
    result = command("train", pairs, *options)
    assert result.code == 0
    assert "there is nothing to take apart" in result.err


def test_untrained_model(model: Path, command: Command) -> None:
    assert {WEIGHTS, CONFIG, VOCABULARY} <= {path.name for path in model.iterdir()}
    assert "of epoch 0" in command("info", model).out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["empty"]),
        (b"\n  \n\n", ["3 lines are blank"]),
        (b"ab\tAB\nba\n", ["line 2", "expected 2", "found 1", "another --format"]),
        (b"ab\tAB\nba\tBA\tN\n", ["line 2", "found 3"]),
        (b"ab\tAB\nb\xff\tBA\n", ["line 2", "UTF-8"]),
        (b"ab\tAB\n\tBA\n", ["line 2", "column 1", "source is empty"]),
        (b"ab\tAB\nba\t\n", ["line 2", "column 2", "target is empty", "allow_empty"]),
        (b"ab\tAB\n" + b"a" * 10_000 + b"\tB\n", ["line 2", "10000 symbols", "max_length"]),
    ],
)
@pytest.mark.parametrize("part", ["train", "dev"])
def test_bad_lines(
    content: bytes, words: list[str], part: str, command: Command, pairs: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_bytes(content)
    train, dev = (bad, pairs) if part == "train" else (pairs, bad)
    result = command("train", train, "--dev", dev, "--out", tmp_path / "model")
    assert_complains(result, bad, *words)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("<TransliterationCorpus><Name><SourceName>a</SourceName>", "XML"),
        ('<!DOCTYPE a [<!ENTITY b "boom">]><a><Name>&b;</Name></a>', "entit"),
        ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "entit"),
    ],
)
def test_bad_xml(text: str, word: str, command: Command, tmp_path: Path) -> None:
    bad = tmp_path / "bad.xml"
    bad.write_text(text)
    result = command("train", bad, "--dev", bad, "--format", "news", "--out", tmp_path / "m")
    assert_complains(result, bad, word)


def test_development_in_another_format(command: Command, pairs: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.tsv"
    dev.write_text("x y z\tX Y Z\n")
    result = command("train", pairs, "--dev", dev, "--out", tmp_path / "m")
    assert_complains(result, dev, "line 1", "same format", "'x'")


def test_crlf_bom_and_gzip(command: Command, pairs: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.tsv.gz"
    text = "\ufeff" + PAIRS.replace("\n", "\r\n")
    odd.write_bytes(gzip.compress(text.encode()))
    for name, file in (("plain", pairs), ("odd", odd)):
        result = command("train", file, "--dev", pairs, "--out", tmp_path / name, "--epochs", 1)
        assert result.code == 0, result.err
    plain, other = (tmp_path / name / WEIGHTS for name in ("plain", "odd"))
    assert plain.read_bytes() == other.read_bytes()


def test_allow_empty(command: Command, pairs: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.tsv"
    empty.write_text(PAIRS + "a\t\n")
    options = ("--epochs", 1, "--set", "allow_empty=true", "--out", tmp_path / "m")
    assert command("train", empty, "--dev", pairs, *options).code == 0


def test_taken_folder(command: Command, model: Path, pairs: Path) -> None:
    before = (model / WEIGHTS).read_bytes()
    options = ("train", pairs, "--dev", pairs, "--out", model, "--epochs", 0, "--seed", 1)
    assert_complains(command(*options), model, "resume", "overwrite")
    assert (model / WEIGHTS).read_bytes() == before
    (model / "mine.txt").write_text("keep me")
    assert command(*options, "--overwrite").code == 0
    assert (model / WEIGHTS).read_bytes() != before
    assert (model / "mine.txt").read_text() == "keep me"


@pytest.mark.parametrize("epochs", [0, 1])
def test_resume_needs_the_same_run(
    command: Command, pairs: Path, tmp_path: Path, epochs: int
) -> None:
    options = ("train", pairs, "--dev", pairs, "--out", tmp_path / "m", "--epochs", epochs)
    assert command(*options).code == 0
    result = command(*options, "--resume", "--batch-size", 3)
    assert_complains(result, "cannot resume", "batch_size 5, now 3")
    with pairs.open("a") as file:
        file.write("cc\tCC\n")
    assert_complains(command(*options, "--resume"), "cannot resume", "data")


def test_folder_that_cannot_be_made(command: Command, pairs: Path) -> None:
    options = ("train", pairs, "--dev", pairs, "--out")
    assert_complains(command(*options, pairs), "is a file")
    assert_complains(command(*options, "/proc/nowhere/model"), "/proc/nowhere", "cannot be written")


def test_files_or_corpus(command: Command, pairs: Path, tmp_path: Path) -> None:
    assert_complains(command("train", "--out", tmp_path / "m"), "give a training file")
    assert_complains(command("train", pairs), "--out DIR")
    assert_complains(command("train", pairs, "--out", "m", "--set", "words=3"), "--corpus")
    both = ("train", pairs, "--corpus", "toy:copy", "--out", tmp_path / "m")
    assert_complains(command(*both), "not both")
    assert_complains(
        command("train", "--corpus", "toy:no", "--out", tmp_path / "m"), "toy:no", "toy:copy"
    )
    assert_complains(
        command("train", tmp_path / "none", "--dev", pairs, "--out", "m"), "no such file"
    )


def test_unknown_system(command: Command, pairs: Path, tmp_path: Path) -> None:
    options = ("train", pairs, "--dev", pairs, "--out", tmp_path / "m", "--system", "hrad")
    assert_complains(command(*options), "'hrad'", "hard-sampled")
    assert not (tmp_path / "m").exists()


def test_unseen_development_targets_are_counted(
    command: Command, pairs: Path, tmp_path: Path
) -> None:
    dev = tmp_path / "dev.tsv"
    dev.write_text(PAIRS + "ab\tAZ\n")
    result = command("train", pairs, "--dev", dev, "--out", tmp_path / "m", "--epochs", 1)
    assert result.code == 0
    assert "1 development target" in result.err


def start(arguments: Sequence[object], log: Path) -> subprocess.Popen[bytes]:
    """Starts the command in a process of its own, with the sizes that it has in this one."""
    code = (
        "from hardalign.config import SIZES, ModelConfig\n"
        f"SIZES['small'] = {SIZES['small']!r}\n"
        "from hardalign.cli.main import main; main()"
    )
    with log.open("wb") as file:
        return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stderr=file)


def wait_for_checkpoint(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Waits until a run has saved an epoch; it is not over then."""
    eventually(lambda: (folder / CHECKPOINT).exists() or process.poll() is not None)
    assert process.poll() is None


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_killed_and_resumed(how: signal.Signals, command: Command, tmp_path: Path) -> None:
    """A run stopped in the middle of an epoch ends like one that was left alone."""
    killed, calm = tmp_path / "killed", tmp_path / "calm"
    process = start([*LONG, "--out", killed, "--epochs", 100_000], tmp_path / "log")
    wait_for_checkpoint(killed, process)
    if how == signal.SIGTERM:  # once will do
        assert_told_apart(process, command, killed)
    process.send_signal(how)
    assert process.wait(60) != 0
    assert b"Traceback" not in (tmp_path / "log").read_bytes()
    left = {path.name for path in killed.glob(".*")} - {LOCK}
    assert not left or how == signal.SIGKILL
    done = len((killed / METRICS).read_text().splitlines())
    for folder in (killed, calm):
        result = command(*LONG, "--out", folder, "--resume", "--epochs", done + 2)
        assert result.code == 0, result.err
        assert {path.name for path in folder.glob(".*")} == {LOCK}
    for name in (WEIGHTS, VOCABULARY, CONFIG):
        assert (killed / name).read_bytes() == (calm / name).read_bytes()
    epochs = [json.loads(line)["epoch"] for line in (killed / METRICS).read_text().splitlines()]
    assert epochs == list(range(1, done + 3))
    assert command(*LONG, "--out", killed, "--overwrite", "--epochs", 0).code == 0


def assert_told_apart(first: subprocess.Popen[bytes], command: Command, folder: Path) -> None:
    """Asserts that a second run in a folder is told who the first is, and changes nothing."""
    result = command(*LONG, "--out", folder, "--overwrite", "--seed", 1)
    assert_complains(result, f"process {first.pid} on", "train", "is at work in this folder")
    assert first.poll() is None
    assert json.loads((folder / CONFIG).read_text())["training"]["seed"] == 0


def test_disk_full_leaves_the_old_checkpoint(command: Command, pairs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    options = ("train", pairs, "--dev", pairs, "--out", folder, "--recipe", "paper")
    assert command(*options, "--epochs", 1).code == 0
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # no file may grow beyond 4 KB
    try:
        result = command(*options, "--epochs", 2, "--resume")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert result.code == 2
    assert "cannot be written" in result.err
    assert "Traceback" not in result.err
    for name in (WEIGHTS, CHECKPOINT):
        assert (folder / name).read_bytes() == before[name]
    assert {path.name for path in folder.glob(".*")} == {LOCK}


@pytest.mark.parametrize("content", [b"", b"\x80\x04pickle", b"PK\x03\x04"])
def test_foreign_checkpoint(content: bytes, command: Command, pairs: Path, tmp_path: Path) -> None:
    options = ("train", pairs, "--dev", pairs, "--out", tmp_path / "m", "--recipe", "paper")
    assert command(*options, "--epochs", 0).code == 0
    (tmp_path / "m" / CHECKPOINT).write_bytes(content)
    assert_complains(command(*options, "--epochs", 1, "--resume"), CHECKPOINT, "damaged")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--seed", 2**64), "seed must be"),
        (("--set", "threads=0"), "threads must be"),
        (("--set", "learning_rate=nan"), "learning_rate must be"),
        (("--set", "clip=0"), "clip must be"),
        (("--set", "dropuot=0.1"), "did you mean dropout?"),
        (("--set", "dropout"), "give NAME=VALUE"),
        (("--out", "n" * 300), "File name too long"),
    ],
)
def test_impossible_options(
    options: tuple[object, ...], word: str, command: Command, pairs: Path, tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "m") if "--out" not in options else ()
    assert_complains(command("train", pairs, "--dev", pairs, *out, *options), word)
    assert not (tmp_path / "m").exists()


def test_threads_are_recorded(command: Command, pairs: Path, tmp_path: Path) -> None:
    options = ("train", pairs, "--dev", pairs, "--out", tmp_path / "m", "--recipe", "paper")
    assert command(*options, "--epochs", 1, "--set", "threads=2").code == 0
    assert json.loads((tmp_path / "m" / CONFIG).read_text())["training"]["threads"] == 2
    again = command(*options, "--epochs", 2, "--resume")
    assert again.code == 0
    assert "until now" not in again.err
    other = command(*options, "--epochs", 3, "--set", "threads=1", "--resume")
    assert other.code == 0
    assert "was trained with 2 threads until now" in other.err


def test_training_without_torch(pairs: Path, tmp_path: Path) -> None:
    code = (
        "import importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "from hardalign.cli.main import main; main()"
    )
    options = ["train", str(pairs), "--dev", str(pairs), "--out", str(tmp_path / "m")]
    result = subprocess.run([sys.executable, "-c", code, *options], capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "[train]" in result.stderr


def test_a_run_goes_on_from_its_folder_alone(
    command: Command, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("train", pairs, "--epochs", 3, "--set", "dropout=0.3")
    assert command(*options, "--out", tmp_path / "calm").code == 0
    process = start([*options, "--out", tmp_path / "killed"], tmp_path / "log")
    eventually(lambda: (tmp_path / "killed" / RESUME).exists() or process.poll() is not None)
    process.kill()
    process.wait(60)
    monkeypatch.chdir(tmp_path)
    result = command("train", "--resume", "killed")
    assert result.code == 0, result.err
    for name in (WEIGHTS, CONFIG):
        assert (tmp_path / "calm" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes()
    assert "nothing is left to train" in command("train", "--resume", "killed").err


def test_help_fits_on_a_screen(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = command("train", "--help").out
    assert len(text.splitlines()) <= 45
    assert max(map(len, text.splitlines())) <= 80
    assert len(re.findall(r"^│ (?:-h, )?--", text, re.MULTILINE)) <= 21  # and --help
    assert "dropout" in command("train", "--set", "help").out


def test_models_are_joined(command: Command, pairs: Path, tmp_path: Path) -> None:
    folders = [tmp_path / str(seed) for seed in range(2)]
    for seed, folder in enumerate(folders):
        options = ("--dev", pairs, "--epochs", 1, "--seed", seed, "--out", folder)
        assert command("train", pairs, *options).code == 0
    result = command("join", *folders, "--out", tmp_path / "both")
    assert result.code == 0, result.err
    assert "an ensemble of 2 models" in result.err
    assert command("predict", tmp_path / "both", pairs).code == 0
    assert_complains(command("join", folders[0], "--out", tmp_path / "one"), "at least two")


def test_a_finished_run_is_not_silently_left_with_other_settings(
    command: Command, pairs: Path, tmp_path: Path
) -> None:
    model = tmp_path / "m"
    assert command("train", pairs, "--dev", pairs, "--out", model, "--epochs", 0).code == 0
    for options in (["--epochs", 3], ["--seed", 2], ["--size", "large"], ["--set", "dropout=0.7"]):
        result = command("train", "--resume", model, *options)
        assert_complains(result, "has been trained to the end", "--from")
    result = command("train", "--resume", model, "--epochs", 0, "--set", "threads=1")
    assert (result.code, "nothing is left to train" in result.err) == (0, True)
