"""``hardalign reproduce``: a grid of training runs, and its tables."""

from __future__ import annotations

import signal
import sys
from contextlib import redirect_stdout
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from hardalign.cli.console import note
from hardalign.cli.engines import EngineOptions
from hardalign.errors import HardalignError

if TYPE_CHECKING:
    from hardalign.experiments.engine import State
    from hardalign.experiments.runs import Run


def reproduce(
    plan: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="PLAN", help_behavior_hint="")
    ] = None,
    *,
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="")] = None,
    report: Annotated[Path | None, tyro.conf.arg(metavar="DIR", help_behavior_hint="")] = None,
    dry_run: bool = False,
    where: EngineOptions = EngineOptions(),  # noqa: B008 - frozen
) -> None:
    """Run the experiments of the paper, or your own, and make their tables.

    $ hardalign reproduce smoke --out runs/smoke

    $ hardalign reproduce --report runs/smoke

    Each run has a folder in DIR, named after its settings. The same command once more goes on where
    it was interrupted, tries again what failed, and repeats nothing that is complete; a changed
    plan runs what is new in it. The exit status is 1 if some runs are not complete.

    Args:
        plan: g2p, transliteration, inflection, paper (all 896 runs), subset (25 of them) or smoke;
            or a TOML file with systems, sizes, corpora, seeds and overrides.
        out: Folder for the runs.
        report: Make the tables of the runs in this folder.
        dry_run: Only list the runs, and about how long they will take.
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

    from hardalign.cli.runs_table import RunsTable
    from hardalign.experiments.engine import run_all
    from hardalign.experiments.plan import load_plan
    from hardalign.files import make_folder

    runs = load_plan(plan)
    if dry_run:
        _list(runs, out)
        return
    make_folder(out)
    try:
        # Ray says on standard output what happens to its machines.
        with redirect_stdout(sys.stderr), RunsTable(out) as table:
            states = run_all(runs, out, where.open(out), table)
    except KeyboardInterrupt:
        note(f"interrupted; the same command goes on with the runs in {out}")
        sys.exit(128 + signal.SIGINT)
    sys.exit(_conclude(states, out))


def _list(runs: list[Run], out: Path) -> None:
    """Print each run with the time it still needs."""
    from hardalign.experiments.estimate import SPEEDS, Estimate
    from hardalign.experiments.runs import RESULT

    estimate = Estimate(out)
    total, guessed = 0.0, False
    for run in runs:
        if (out / run.name / RESULT).exists():
            print(f"{run.name}\tcomplete")
            continue
        seconds = estimate.seconds(run)
        total += seconds
        guessed = guessed or not estimate.measured(run)
        print(f"{run.name}\t{timedelta(seconds=round(seconds))}")
    print(f"{len(runs)} runs\t{timedelta(seconds=round(total))} of one core")
    if guessed:
        speeds = ", ".join(f"{speed:.0f} ({size})" for size, speed in SPEEDS.items())
        note(
            f"where {out} has no run of a system and size, its words per second are taken as "
            f"{speeds}"
        )


def _conclude(states: dict[Run, State], out: Path) -> int:
    """Say how it went, failures last.

    Returns:
        The exit status: 0 if all runs are complete, or else 1.
    """
    from hardalign.experiments.runs import LOG, read_failures

    errors = {failure.run: failure for failure in read_failures(out)}
    counts = {state: list(states.values()).count(state) for state in ("done", "failed", "busy")}
    for run, state in states.items():
        if state == "busy":
            note(f"{run.name}: another command is at it")
        elif state == "failed":
            note(
                f"{run.name}: {errors[run].error} (attempt {errors[run].attempt}; "
                f"{out / run.name / LOG})"
            )
    note(f"{counts['done']} of {len(states)} runs are complete in {out}")
    if counts["failed"]:
        note(f"{counts['failed']} failed; the same command tries them again")
    return 0 if counts["done"] == len(states) else 1
