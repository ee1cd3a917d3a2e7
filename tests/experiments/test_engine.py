from __future__ import annotations

from pathlib import Path

import pytest

from experiments.helpers import Memory, Scripted, tiny_run
from hardalign.errors import HardalignError
from hardalign.experiments.engine import State, prepare, run_all
from hardalign.files import write_json
from hardalign.runs import RUN, Run, read_failures, read_results, read_run

RUNS = [tiny_run(seed=seed) for seed in range(5)]


def test_all_run_once_and_in_order(tmp_path: Path) -> None:
    engine, memory = Scripted(tmp_path), Memory()
    states = run_all(RUNS, tmp_path, engine, memory)
    assert states == dict.fromkeys(RUNS, "done")
    assert engine.started == RUNS
    assert engine.closed
    assert set(memory.seen[0].values()) == {"waiting"}
    assert all(list(seen.values()).count("running") <= 2 for seen in memory.seen)
    assert memory.seen[-1] == states
    assert [result.run for result in read_results(tmp_path)] == RUNS


def test_nothing_is_repeated_and_failures_do_not_stop_the_rest(tmp_path: Path) -> None:
    bad, taken = RUNS[1], RUNS[2]

    def outcome(run: Run) -> str:
        return "failed" if run == bad else "busy" if run == taken else "done"

    states = run_all(RUNS, tmp_path, Scripted(tmp_path, outcome=outcome), Memory())  # type: ignore[arg-type]
    assert states == {**dict.fromkeys(RUNS, "done"), bad: "failed", taken: "busy"}
    assert [failure.run for failure in read_failures(tmp_path)] == [bad]
    # The same command once more: what is complete stays as it is, and what is new is run as well.
    engine, new = Scripted(tmp_path), tiny_run("soft")
    states = run_all([*RUNS, new], tmp_path, engine, Memory())
    assert engine.started == [bad, taken, new]
    assert set(states.values()) == {"done"}


def test_interrupts_end_everything(tmp_path: Path) -> None:
    class Impatient(Memory):
        def update(self, states: dict[Run, State]) -> None:
            if "done" in states.values():
                raise KeyboardInterrupt

    engine = Scripted(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_all(RUNS, tmp_path, engine, Impatient())
    assert engine.closed


def test_a_folder_of_another_run(tmp_path: Path) -> None:
    assert prepare(tmp_path, RUNS[0])
    assert read_run(tmp_path / RUNS[0].name) == RUNS[0]
    write_json(tmp_path / RUNS[0].name / RUN, RUNS[1].to_dict())
    with pytest.raises(HardalignError, match="another run"):
        prepare(tmp_path, RUNS[0])
