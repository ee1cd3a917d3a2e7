from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.helpers import Here, Memory, Scripted, tiny_run
from hardalign.experiments import local
from hardalign.experiments.engine import STOPPED
from hardalign.experiments.local import Circumstances, Local
from hardalign.experiments.plan import load_plan
from hardalign.experiments.tune import (
    RANGES,
    Method,
    Rungs,
    Trials,
    draw_trials,
    ranges_of,
    run_trials,
    write_plan,
)
from hardalign.runs import DataFiles, Run

BASE = Run("toy:copy", "soft", "large", 0, {"epochs": 20})


def score(run: Run) -> list[float]:
    """Larger and less dropped is better, in every epoch alike."""
    quality = run.overrides["encoder"] / 100 - 10 * run.overrides["dropout"]
    return [quality + epoch / 100 for epoch in range(20)]


def search(folder: Path, trials: int, method: Method) -> tuple[Trials, Scripted]:
    engine = Scripted(folder, score=score)
    runs = draw_trials(BASE, trials, RANGES)
    return run_trials(runs, folder, engine, Memory(), method), engine


def test_random_sees_all_through(tmp_path: Path) -> None:
    found, engine = search(tmp_path, 12, "random")
    assert set(found.states.values()) == {"done"}
    assert len(found.values) == len(engine.started) == 12
    assert engine.closed
    assert found.best is not None
    assert found.values[found.best] == max(score(run)[-1] for run in engine.started)
    for run in engine.started:
        assert all(run.overrides[name] in choices for name, choices in RANGES.items())
        assert run.overrides["epochs"] == 20


def test_halving_stops_the_worse(tmp_path: Path) -> None:
    found, engine = search(tmp_path, 30, "halving")
    stopped = [run for run, state in found.states.items() if state == "stopped"]
    assert {run.name for run in engine.stopped} == {run.name for run in stopped}
    assert len(engine.stopped) == len(stopped)
    assert 10 < len(stopped) < 30
    assert all((tmp_path / run.name / STOPPED).exists() for run in stopped)
    # The best is ahead in every epoch, so that nothing can stop it.
    assert found.values == {
        run: score(run)[-1] for run, state in found.states.items() if state == "done"
    }
    assert max(found.values.values()) == max(score(run)[-1] for run in found.states)


@pytest.mark.parametrize("method", ["random", "halving"])
def test_goes_on_where_it_was(method: Method, tmp_path: Path) -> None:
    """The second search asks for the trials of the first, then for more."""
    first, _ = search(tmp_path, 8, method)
    again, idle = search(tmp_path, 8, method)
    assert again == first
    assert idle.started == []
    more, engine = search(tmp_path, 12, method)
    assert len(more.states) == 12
    assert not set(engine.started) & set(first.states)
    assert {run: more.states[run] for run in first.states} == first.states


def test_rungs() -> None:
    """The first is no worse than itself; then the better third goes on, judged once per rung."""
    rungs = Rungs()
    runs = [tiny_run(seed=seed) for seed in range(6)]
    values = [0.0, -1.0, 1.0, 0.5, 2.0, 1.5]
    behind = [rungs.falls_behind(run, [9.0, v]) for run, v in zip(runs, values, strict=True)]
    # With three rivals one may go on, with six two of them.
    assert behind == [False, True, False, True, False, False]
    assert not rungs.falls_behind(runs[1], [9.0, -1.0, 0.0])  # judged already
    assert not rungs.falls_behind(runs[0], [9.0, 0.0, 0.0, 0.0, 0.0, 3.0])
    assert rungs.falls_behind(runs[2], [9.0, 1.0, 0.0, 0.0, 0.0, 2.0])


def test_the_seed_decides() -> None:
    few, many = (draw_trials(BASE, count, RANGES) for count in (5, 8))
    assert many[:5] == few
    other = draw_trials(replace(BASE, seed=1), 5, RANGES)
    assert [run.overrides for run in other] != [run.overrides for run in few]


def test_no_setting_is_tried_twice() -> None:
    ranges = {"encoder": (8.0, 16.0), "decoder_layers": (1.0, 2.0)}
    trials = draw_trials(BASE, 100, ranges)
    assert len(trials) == len({run.name for run in trials}) == 4


def test_failures_are_told_apart(tmp_path: Path) -> None:
    engine = Scripted(tmp_path, outcome=lambda run: "failed")
    found = run_trials(draw_trials(BASE, 3, RANGES), tmp_path, engine, Memory(), "random")
    assert list(found.states.values()) == ["failed"] * 3
    assert found.best is None


def test_samples_where_training_draws_any() -> None:
    assert "samples" not in ranges_of("soft")
    for system in ("hard-sampled", "hard-feed"):
        assert ranges_of(system)["samples"] == (2, 3, 4, 5)


def test_the_best_is_a_plan(tmp_path: Path) -> None:
    run = Run("toy:copy", "soft", "large", 3, {"epochs": 20, "dropout": 0.0, "strip_stress": True})
    write_plan(tmp_path / "best.toml", run, "the best")
    assert load_plan(str(tmp_path / "best.toml")) == [run]
    (tmp_path / "wörds 🗣").write_text("a\tb\n")
    files = DataFiles.of(*[tmp_path / "wörds 🗣"] * 3, "lexicon")
    run = Run("files", "soft", "large", 3, {"epochs": 20}, files)
    write_plan(tmp_path / "best.toml", run, "the best")
    assert load_plan(str(tmp_path / "best.toml")) == [run]


def test_real_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A higher learning rate learns more in a moment; test_local.py has processes."""
    monkeypatch.setattr(local, "start_process", Here)
    base = tiny_run("soft", words=30, epochs=4)
    engine = Local(Circumstances(tmp_path, "test", device="cpu"), workers=2)
    runs = draw_trials(base, 2, {"learning_rate": (1e-2, 1e-4)})
    found = run_trials(runs, tmp_path, engine, Memory(), "random")
    assert set(found.states.values()) == {"done"}
    assert found.best is not None
    assert found.best.overrides["learning_rate"] == 1e-2
