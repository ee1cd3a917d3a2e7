from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from experiments.conftest import Memory, Scripted, tiny_run
from hardalign.experiments.local import Circumstances, Local
from hardalign.experiments.plan import load_plan
from hardalign.experiments.runs import Files, Run
from hardalign.experiments.tune import (
    RANGES,
    STOPPED,
    Method,
    Trials,
    Tuning,
    ranges_of,
    write_plan,
)

BASE = Run("toy:copy", "soft", "large", 0, {"epochs": 20})


def score(run: Run) -> list[float]:
    """Larger and less dropped is better, in every epoch alike."""
    quality = run.overrides["encoder"] / 100 - 10 * run.overrides["dropout"]
    return [quality + epoch / 100 for epoch in range(20)]


def search(
    folder: Path, trials: int, method: Method, workers: int = 2, base: Run = BASE
) -> tuple[Trials, Scripted]:
    engine = Scripted(folder, workers, score=score)
    tuning = Tuning(base, folder, trials=trials, method=method)
    return tuning.run(engine, Memory()), engine


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
    assert engine.stopped == stopped
    assert 10 < len(stopped) < 30
    assert all((tmp_path / run.name / STOPPED).exists() for run in stopped)
    assert found.best is not None
    done = list(found.values)
    assert min(score(run)[-1] for run in done[3:]) > sorted(score(run)[-1] for run in stopped)[5]


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


def test_the_seed_decides(tmp_path: Path) -> None:
    one, same, other = (
        search(tmp_path / str(k), 5, "random", workers, Run("toy:copy", "soft", "large", seed))[1]
        for k, (workers, seed) in enumerate([(1, 0), (3, 0), (1, 1)])
    )
    assert one.started == same.started
    assert [run.overrides for run in one.started] != [run.overrides for run in other.started]


def test_no_setting_is_tried_twice(tmp_path: Path) -> None:
    engine = Scripted(tmp_path)
    ranges = {"encoder": (8.0, 16.0), "decoder_layers": (1.0, 2.0)}
    tuning = Tuning(BASE, tmp_path, trials=100, method="random", ranges=ranges)
    found = tuning.run(engine, Memory())
    assert len(found.states) == prod(map(len, ranges.values()))


def test_failures_are_told_apart(tmp_path: Path) -> None:
    engine = Scripted(tmp_path, outcome=lambda run: "failed")
    found = Tuning(BASE, tmp_path, trials=3, method="random").run(engine, Memory())
    assert list(found.states.values()) == ["failed"] * 3
    assert found.best is None


def test_samples_where_training_draws_any() -> None:
    assert "samples" not in ranges_of("soft")
    assert ranges_of("hard-sampled")["samples"] == (2, 3, 4, 5)


def test_the_best_is_a_plan(tmp_path: Path) -> None:
    run = Run("toy:copy", "soft", "large", 3, {"epochs": 20, "dropout": 0.0, "strip_stress": True})
    write_plan(tmp_path / "best.toml", run, "the best")
    assert load_plan(str(tmp_path / "best.toml")) == [run]
    (tmp_path / "words").write_text("a\tb\n")
    files = Files.of(*[tmp_path / "words"] * 3, "lexicon")
    run = Run("files", "soft", "large", 3, {"epochs": 20}, files)
    write_plan(tmp_path / "best.toml", run, "the best")
    assert load_plan(str(tmp_path / "best.toml")) == [run]


def test_real_processes(tmp_path: Path) -> None:
    """A higher learning rate learns more in a moment."""
    base = tiny_run("soft", words=30, epochs=4)
    engine = Local(Circumstances(tmp_path, "test", device="cpu"), workers=2)
    ranges = {"learning_rate": (1e-2, 1e-4)}
    tuning = Tuning(base, tmp_path, trials=2, method="random", ranges=ranges)
    found = tuning.run(engine, Memory())
    assert set(found.states.values()) == {"done"}
    assert found.best is not None
    assert found.best.overrides["learning_rate"] == 1e-2
