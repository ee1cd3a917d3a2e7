"""``hardalign reproduce``: a grid of training runs, and its tables."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from hardalign.cli.console import note
from hardalign.cli.engines import EngineOptions, watched_runs
from hardalign.cli.options import OptionalFolder, Text, optional
from hardalign.errors import HardalignError

if TYPE_CHECKING:
    from hardalign.experiments.engine import State
    from hardalign.runs import Run


def reproduce(
    plan: Annotated[Text, tyro.conf.Positional, optional("PLAN")] = None,
    *,
    out: OptionalFolder = None,
    report: OptionalFolder = None,
    dry_run: bool = False,
    where: EngineOptions = EngineOptions(),  # noqa: B008 - frozen
) -> None:
    """Run the experiments of the paper, or your own, and make their tables.

    $ hardalign reproduce smoke --out runs/smoke

    $ hardalign reproduce --report runs/smoke

    Each run has a folder in DIR, named after its settings. The same command once more goes on where
    it was interrupted, tries again what failed, and repeats nothing that is complete; a changed
    plan runs what is new in it. At the end the accuracy of each system is printed. The exit status
    is 1 if some runs are not complete.

    Args:
        plan: g2p, transliteration, inflection, paper (all 896 runs), subset (25 of them) or smoke;
            or a TOML file with systems, corpora (or files of your own), sizes, seeds and overrides.
        out: Folder for the runs.
        report: Make the tables of the runs in this folder.
        dry_run: Only list the runs, and how long those at most take that are like some in DIR.
        where: Where to run.
    """
    if report is not None:
        if plan is not None or out is not None:
            raise HardalignError("give either a plan and --out DIR, or --report DIR")
        from hardalign.report.write import write_report

        for path in write_report(report):
            print(path)
        return
    if plan is None or out is None:
        raise HardalignError("give a plan and --out DIR; see hardalign reproduce --help")

    from hardalign.experiments.engine import run_all
    from hardalign.experiments.plan import load_plan

    runs = load_plan(plan)
    if dry_run:
        _list(runs, out)
        return
    where.check()
    with watched_runs(out) as table:
        states = run_all(runs, out, where.open(out), table)
    sys.exit(_conclude(states, out))


def _list(runs: list[Run], out: Path) -> None:
    """Prints each run with the time it still needs, where that was measured."""
    from hardalign.data.text import plural
    from hardalign.experiments.estimate import seconds_left
    from hardalign.runs import RESULT

    total, unknown = 0.0, 0
    for run, seconds in seconds_left(runs, out).items():
        if (out / run.name / RESULT).exists():
            time = "complete"
        elif seconds is None:
            time, unknown = "unknown", unknown + 1
        else:
            time, total = f"at most {timedelta(seconds=round(seconds))}", total + seconds
        print(f"{run.name}\t{time}")
    known = f"at most {timedelta(seconds=round(total))} of one core"
    more = f", and {unknown} of unknown length" if unknown else ""
    print(f"{plural(len(runs), 'run', 'runs')}\t{known}{more}")


def _conclude(states: dict[Run, State], out: Path) -> int:
    """Prints the figures of the runs and says how it went, failures last.

    Returns:
        The exit status: 0 if all runs are complete, or else 1.
    """
    from hardalign.cli.runs_table import note_failures
    from hardalign.report.cells import collect
    from hardalign.report.tables import summary_table
    from hardalign.runs import read_result

    done = [run for run, state in states.items() if state == "done"]
    if done:
        print(summary_table(collect(read_result(out / run.name) for run in done)).text(), end="")
    note_failures(states, out)
    note(f"{len(done)} of {len(states)} runs are complete in {out}")
    if failed := list(states.values()).count("failed"):
        note(f"{failed} failed; the same command tries them again")
    if done:
        note(
            f"hardalign reproduce --report {out} compares the systems and makes tables and figures"
        )
    return 0 if len(done) == len(states) else 1
