"""``hardalign reproduce``: a grid of training runs, and its tables."""

from __future__ import annotations

import math
import signal
import sys
import uuid
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional

from hardalign.cli import options as opt
from hardalign.cli.console import cores, note
from hardalign.errors import HardalignError

if TYPE_CHECKING:
    from hardalign.experiments.engines import Engine, State
    from hardalign.experiments.run import Run


@dataclass(frozen=True)
class EngineOptions:
    """Where to run."""

    engine: Literal["local", "ray"] = "local"
    """Processes on this machine, or on a Ray cluster."""
    workers: opt.Number = None
    """Number of parallel runs. (default: one per core)"""
    address: Annotated[opt.Text, opt.optional("A")] = None
    """Address of a Ray cluster; auto on one of its machines. (default: a new local cluster)"""
    cpus_per_run: float = 1
    """CPUs that Ray reserves for a run, which uses one thread."""
    gpus_per_run: float = 0
    """GPUs that Ray reserves for a run; 0.5 lets two runs share one."""
    data_dir: Annotated[opt.OptionalFolder, opt.optional("D")] = None
    """Folder with local copies of corpora, on every machine."""

    def check(self) -> None:
        """Reject invalid options before a folder is made."""
        if self.workers is not None and self.workers < 1:
            raise HardalignError(f"--workers must be at least 1, not {self.workers}")
        need = self.cpus_per_run, self.gpus_per_run
        if not min(need) >= 0 or not 0 < max(need) < math.inf:
            raise HardalignError("--cpus-per-run and --gpus-per-run: a run needs one or the other")
        if self.engine == "local":
            if self.address is not None:
                raise HardalignError("--address goes with --engine ray")
            import hardalign.training  # noqa: F401 - raises if torch is not installed

    def open(self, folder: Path) -> Engine:
        """Start the engine for the runs in a folder."""
        from hardalign.experiments.engines import Cluster, Local

        folder = folder.absolute()
        device = "cpu" if self.engine == "ray" and not self.gpus_per_run else "auto"
        arguments = [uuid.uuid4().hex, device]
        arguments += [str(self.data_dir.absolute())] if self.data_dir else []
        if self.engine == "local":
            return Local(folder, arguments, self.workers or cores())
        return Cluster(
            folder,
            arguments,
            address=self.address,
            workers=self.workers,
            cpus=self.cpus_per_run,
            gpus=self.gpus_per_run,
        )


def reproduce(
    plan: Annotated[opt.Text, Positional, opt.optional("PLAN")] = None,
    *,
    out: opt.OptionalFolder = None,
    report: opt.OptionalFolder = None,
    dry_run: bool = False,
    where: EngineOptions = EngineOptions(),
) -> None:
    """Run the experiments of the paper, or your own, and make their tables.

    $ hardalign reproduce smoke --out runs/smoke
    $ hardalign reproduce --report runs/smoke

    Each run has a folder in DIR, named after its settings. Repeating the command resumes
    interrupted runs, retries failed ones and skips complete ones; if the plan has changed, it runs
    what is new. At the end, it prints the accuracy of each system. The exit status is 1 if some
    runs are incomplete, and 2 if every run failed because the input is wrong.

    Args:
        plan: g2p, transliteration, inflection, paper (all 896 runs), subset (25 of them) or smoke;
            or a TOML file with systems, corpora (or files of your own), sizes, seeds and overrides,
            where a list of values is a sweep.
        out: Folder for the runs.
        report: Write the tables of the runs in this folder.
        dry_run: Only list the runs, and which are complete.
        where: Where to run.
    """
    if report is not None:
        if plan is not None or out is not None:
            raise HardalignError("give either a plan and --out DIR, or --report DIR")
        from hardalign.experiments.report import write_report

        print(write_report(report))
        return
    if plan is None or out is None:
        raise HardalignError("give a plan and --out DIR; see hardalign reproduce --help")

    from hardalign.experiments.engines import run_all
    from hardalign.experiments.plan import load_plan
    from hardalign.experiments.run import RESULT
    from hardalign.files import make_folder

    runs = load_plan(plan)
    if dry_run:
        for run in runs:
            done = (out / run.name / RESULT).exists()
            print(f"{run.name}\t{'complete' if done else 'to do'}")
        return
    where.check()
    make_folder(out)
    try:
        # Ray prints messages of its own.
        with redirect_stdout(sys.stderr):
            states = run_all(runs, out, where.open(out), note_changes(out))
    except KeyboardInterrupt:
        note(f"interrupted; the same command resumes the runs in {out}")
        sys.exit(128 + signal.SIGINT)
    sys.exit(_conclude(states, out))


def _conclude(states: dict[Run, State], out: Path) -> int:
    """Print the results, report what went wrong, and return the exit status."""
    from hardalign.experiments.report import collect, summary_table
    from hardalign.experiments.run import LOG, read_failures, read_result

    done = [run for run, state in states.items() if state == "done"]
    failed = [run for run, state in states.items() if state == "failed"]
    if done:
        print(summary_table(collect(read_result(out / run.name) for run in done)).text(), end="")
    failures = read_failures(out)
    for run, state in states.items():
        if state == "busy":
            note(f"{run.name}: another command is running it")
        elif state == "failed":
            failure, log = failures[run.name], out / run.name / LOG
            note(f"{run.name}: {failure.error} (attempt {failure.attempt}; {log})")
    note(f"{len(done)} of {len(states)} runs are complete in {out}")
    if failed:
        note(f"{len(failed)} failed; the same command retries them")
    if done:
        note(f"hardalign reproduce --report {out} compares the systems in tables")
    if len(done) == len(states):
        return 0
    refused = len(failed) == len(states) and all(failures[run.name].refused for run in failed)
    return 2 if refused else 1


def note_changes(folder: Path) -> Callable[[dict[Run, State]], None]:
    """Return a callback that notes changes of state, except of runs that were complete before."""
    from hardalign.experiments.run import epochs_of

    known: dict[Run, State] = {}

    def watch(states: dict[Run, State]) -> None:
        complete = f"{list(states.values()).count('done')} of {len(states)}"
        for run, state in states.items():
            before = known.get(run, state if state == "done" else "waiting")
            if state != before:
                rows = epochs_of(folder / run.name)
                best = max((row["dev_acc"] for row in rows), default=0.0)
                progress = f", epoch {rows[-1]['epoch']}, dev acc {best:.2f}" if rows else ""
                note(f"{state}: {run.name}{progress} ({complete} complete)")
        known.update(states)

    return watch
