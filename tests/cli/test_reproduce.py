from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from experiments.helpers import Here, result_of, tiny_run, write, write_epochs
from hardalign.cli.reproduce import EngineOptions, note_changes
from hardalign.experiments import engines
from hardalign.experiments.plan import load_plan
from hardalign.experiments.run import LOG, RESULT, epochs_of, read_results
from hardalign.model_folder import MODEL
from helpers import Command, assert_complains, eventually

HARD = """
[[grid]]
systems = ["hard"]
corpora = ["toy:copy"]
overrides = {{ words = 60, epochs = {epochs}, embedding = 8, encoder = 8, decoder = 8 }}
"""
SOFT = """
[[grid]]
systems = ["soft"]
corpora = ["toy:copy"]
overrides = {{ words = 60, epochs = 1, embedding = 8, encoder = 8, decoder = 8, \
learning_rate = {rate} }}
"""


def plan(tmp_path: Path, text: str = HARD + SOFT, *, epochs: int = 1, rate: float = 0.01) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(text.format(epochs=epochs, rate=rate))
    return path


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without processes of their own; ``test_interrupted`` and tests/experiments have some."""
    monkeypatch.setattr(engines, "start_process", Here)


@pytest.mark.usefixtures("here")
def test_smoke(command: Command, tmp_path: Path) -> None:
    """The shipped plan, as users run it: all seven systems of the paper."""
    out = tmp_path / "out"
    result = command("reproduce", "smoke", "--out", out)
    assert result.code == 0, result.err
    head, *rows = result.out.splitlines()
    assert head.split() == ["Data", "System", "Seeds", "ACC", "PER", "MLD"]
    assert len(rows) == 7
    assert result.err.splitlines()[-2] == f"hardalign: 7 of 7 runs are complete in {out}"
    assert f"hardalign reproduce --report {out}" in result.err.splitlines()[-1]
    assert [one.run.name for one in read_results(out)] == sorted(
        run.name for run in load_plan("smoke")
    )
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    assert command("reproduce", "smoke", "--out", out).code == 0
    assert before == {path: path.stat().st_mtime_ns for path in before}
    # Each run's model is one like any other.
    run = load_plan("smoke")[0]
    evaluated = command("evaluate", out / run.name / MODEL, "--json")
    figures = json.loads(evaluated.out)
    (kept,) = (one.metrics for one in read_results(out) if one.run == run)
    assert {name: figures[name] for name in kept} == kept


@pytest.mark.usefixtures("here")
def test_a_failure_is_told_and_the_rest_goes_on(command: Command, tmp_path: Path) -> None:
    file, out = plan(tmp_path, rate=3e38), tmp_path / "out"
    good, bad = load_plan(str(file))
    result = command("reproduce", file, "--out", out, "--workers", 1)
    assert result.code == 1
    assert "Traceback" not in result.err
    *lines, report = result.err.splitlines()
    assert "--report" in report
    assert bad.name in lines[-3]
    assert "diverged in epoch 1" in lines[-3]
    assert lines[-3].count(str(out / bad.name / LOG)) == 1
    assert "1 of 2 runs are complete" in lines[-2]
    assert "1 failed" in lines[-1]
    assert [one.run for one in read_results(out)] == [good]
    # With the plan mended, only what is new is run.
    mended = command("reproduce", plan(tmp_path), "--out", out)
    assert mended.code == 0, mended.err
    assert f"running: {good.name}" not in mended.err


def test_interrupted(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the runs, and the same command goes on."""
    file, out = plan(tmp_path, HARD, epochs=30), tmp_path / "out"
    (run,) = load_plan(str(file))
    slow = out / run.name
    arguments = ["reproduce", str(file), "--out", str(out), "--workers", "1"]
    started = [sys.executable, "-m", "hardalign", *arguments]
    with subprocess.Popen(started, stderr=subprocess.PIPE, text=True) as process:
        # The second line of metrics says that the first epoch is saved with all that belongs to it.
        eventually(lambda: len(epochs_of(slow)) > 1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGINT
    assert err.splitlines()[-1].startswith("hardalign: interrupted; the same command resumes")
    assert not (slow / RESULT).exists()
    monkeypatch.setattr(engines, "start_process", Here)  # one run in a process of its own will do
    again = command(*arguments)
    assert again.code == 0, again.err
    log = (slow / LOG).read_text()
    assert log.count("training pairs, after epoch") == 2
    assert log.count("training pairs, after epoch 0") == 1


def test_dry_run(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = command("reproduce", "subset", "--out", out, "--dry-run")
    assert result.code == 0, result.err
    assert result.out.splitlines() == [f"{run.name}\tto do" for run in load_plan("subset")]
    assert not out.exists()
    file = plan(tmp_path)
    first, second = load_plan(str(file))
    write(out, result_of(second))
    assert command("reproduce", file, "--out", out, "--dry-run").out.splitlines() == [
        f"{first.name}\tto do",
        f"{second.name}\tcomplete",
    ]


@pytest.mark.usefixtures("here")
def test_nothing_can_be_run(command: Command, tmp_path: Path) -> None:
    """Where every run fails because of the input the exit status says so."""
    (tmp_path / "empty.tsv").touch()
    file = tmp_path / "plan.toml"
    parts = "".join(f'{part} = "empty.tsv"\n' for part in ("train", "dev", "test"))
    file.write_text(f'systems = ["hard", "soft"]\ncorpora = ["mine"]\n[data.mine]\n{parts}')
    result = command("reproduce", file, "--out", tmp_path / "out")
    assert result.code == 2
    assert "0 of 2 runs are complete" in result.err
    assert result.err.count("empty.tsv") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ["--out DIR"]),
        (("smoke",), ["--out DIR"]),
        (("smoke", "--report", "x"), ["either"]),
        (("smokey", "--out", "x"), ["smokey", "smoke"]),
        (("smoke", "--out", "x", "--workers", 0), ["--workers"]),
        (("smoke", "--out", "x", "--engine", "ray", "--cpus-per-run", 0), ["--cpus-per-run"]),
        (("smoke", "--out", "x", "--engine", "ray", "--gpus-per-run", -1), ["--gpus-per-run"]),
        (("smoke", "--out", "x", "--address", "auto"), ["--engine ray"]),
        (("smoke", "--out", "x", "--engine", "ray", "--address", "127.0.0.1:1"), ["127.0.0.1:1"]),
        (("--report", "none"), ["none", "no such folder"]),
    ],
)
def test_wrong_usage(
    arguments: tuple[str, ...],
    words: list[str],
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_complains(command("reproduce", *arguments), *words)
    assert not list(tmp_path.glob("*")) or "127.0.0.1:1" in words


def test_without_torch_nothing_begins(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(name: str, *rest: str | None) -> object:
        return None if name == "torch" else find_spec(name, *rest)

    monkeypatch.setattr(EngineOptions, "open", None)  # it is never come to
    monkeypatch.delitem(sys.modules, "hardalign.training", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", find)
    out = tmp_path / "out"
    assert_complains(
        command("reproduce", "smoke", "--out", out), "training needs torch", "pip install"
    )
    assert not out.exists()
    assert command("reproduce", "smoke", "--out", out, "--dry-run").code == 0


def test_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each once; what was complete before is none."""
    one, other = (tiny_run(seed=seed) for seed in range(2))
    events = note_changes(tmp_path)
    events({one: "done", other: "waiting"})
    events({one: "done", other: "running"})
    events({one: "done", other: "running"})
    write_epochs(tmp_path / other.name, [-2.0, -1.0])
    events({one: "done", other: "failed"})
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"hardalign: running: {other.name} (1 of 2 complete)",
        f"hardalign: failed: {other.name}, epoch 2, dev acc 20.00 (1 of 2 complete)",
    ]
