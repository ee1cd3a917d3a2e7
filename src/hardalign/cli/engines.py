"""Where the runs of a grid run, and how they are watched: what `reproduce` and `tune` share."""

from __future__ import annotations

import math
import signal
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from hardalign.cli.console import cores, note
from hardalign.cli.options import Number, OptionalFolder, Text, optional
from hardalign.errors import HardalignError

if TYPE_CHECKING:
    from hardalign.cli.runs_table import RunsTable
    from hardalign.experiments.engine import Engine


@dataclass(frozen=True)
class EngineOptions:
    """Where to run."""

    engine: Literal["local", "ray"] = "local"
    """Processes of this machine, or of a Ray cluster."""
    workers: Number = None
    """Runs at a time. (default: one per core)"""
    address: Annotated[Text, optional("A")] = None
    """Of a Ray cluster, e.g. auto on one of its machines. (default: a new one, of this machine)"""
    cpus_per_run: float = 1
    """What Ray reserves for a run; each uses one thread."""
    gpus_per_run: float = 0
    """What Ray reserves for a run; 0.5 lets two share a GPU."""
    data_dir: Annotated[OptionalFolder, optional("D")] = None
    """Folder with local copies of corpora, on every machine."""

    def check(self) -> None:
        """Refuses what cannot work, before a folder is made."""
        if self.workers is not None and self.workers < 1:
            raise HardalignError(f"--workers must be at least 1, not {self.workers}")
        need = self.cpus_per_run, self.gpus_per_run
        if not min(need) >= 0 or not 0 < max(need) < math.inf:
            raise HardalignError("--cpus-per-run and --gpus-per-run: a run needs some of one")
        if self.engine == "local":
            if self.address is not None:
                raise HardalignError("--address goes with --engine ray")
            import hardalign.training  # noqa: F401 - which complains if torch is not here

    def open(self, folder: Path) -> Engine:
        """Starts the engine for the runs of a grid's folder."""
        from hardalign.experiments.local import Circumstances, Local

        circumstances = Circumstances(
            folder.absolute(),
            uuid.uuid4().hex,
            self.data_dir and self.data_dir.absolute(),
            "cpu" if self.engine == "ray" and not self.gpus_per_run else "auto",
        )
        if self.engine == "local":
            return Local(circumstances, self.workers or cores())
        from hardalign.experiments.cluster import Cluster

        return Cluster(
            circumstances,
            address=self.address,
            workers=self.workers,
            cpus=self.cpus_per_run,
            gpus=self.gpus_per_run,
        )


@contextmanager
def watched_runs(folder: Path) -> Iterator[RunsTable]:
    """Shows on standard error how the runs of a folder go, and ends with 130 upon Ctrl-C."""
    from hardalign.cli.runs_table import RunsTable
    from hardalign.files import make_folder

    make_folder(folder)
    try:
        # Ray says on standard output what happens to its machines.
        with redirect_stdout(sys.stderr), RunsTable(folder) as table:
            yield table
    except KeyboardInterrupt:
        note(f"interrupted; the same command goes on with the runs in {folder}")
        sys.exit(128 + signal.SIGINT)
