"""Where the runs of a grid run: the options that `reproduce` and `tune` share."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from hardalign.cli.options import Number
from hardalign.errors import HardalignError

if TYPE_CHECKING:
    from hardalign.experiments.engine import Engine


@dataclass(frozen=True)
class EngineOptions:
    """Where to run."""

    engine: Literal["local", "ray"] = "local"
    """Processes of this machine, or of a Ray cluster."""
    workers: Number = None
    """Runs at a time. (default: one per core)"""
    address: Annotated[str | None, tyro.conf.arg(metavar="A", help_behavior_hint="")] = None
    """Of a Ray cluster, e.g. auto on one of its machines. (default: a new one, of this machine)"""
    cpus_per_run: float = 1
    """What Ray reserves for a run; each uses one thread."""
    gpus_per_run: float = 0
    """What Ray reserves for a run; 0.5 lets two share a GPU."""
    data_dir: Annotated[Path | None, tyro.conf.arg(metavar="D", help_behavior_hint="")] = None
    """Folder with local copies of corpora, on every machine."""

    def open(self, folder: Path) -> Engine:
        """Start the engine for the runs of a grid's folder."""
        from hardalign.experiments.process import Circumstances

        command, data_dir = uuid.uuid4().hex, self.data_dir and self.data_dir.absolute()
        if self.workers is not None and self.workers < 1:
            raise HardalignError(f"--workers must be at least 1, not {self.workers}")
        if self.engine == "local":
            from hardalign.experiments.local import Local

            if self.address is not None:
                raise HardalignError("--address goes with --engine ray")
            return Local(
                Circumstances(folder.absolute(), command, data_dir), self.workers or _cores()
            )
        from hardalign.experiments.cluster import Cluster

        device = "auto" if self.gpus_per_run else "cpu"
        return Cluster(
            Circumstances(folder.absolute(), command, data_dir, device),
            address=self.address,
            workers=self.workers,
            cpus=self.cpus_per_run,
            gpus=self.gpus_per_run,
        )


def _cores() -> int:
    """The cores that this process may use, which in a container may be fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
