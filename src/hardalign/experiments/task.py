"""What a machine of a Ray cluster does for a run: start its process, and wait for it."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hardalign.experiments.keeper import Snapshot, store
from hardalign.experiments.process import BUSY, DONE, FAILED, Circumstances, describe, start, stop

_PAUSE = 0.2
"""Seconds between two looks at what a run has written to its copy of its folder."""


class KilledError(Exception):
    """A run's process was killed: not the run's own doing, so it is tried again."""


def work(name: str, circumstances: Circumstances, marker: Path, keeper: Any) -> int:
    """The task: complete a run on whatever machine this is.

    Returns:
        The exit status of the run's process.

    Raises:
        KilledError: If it was killed.
    """
    if marker.exists():
        process = start(circumstances.folder / name, circumstances)
        status = _wait(process)
    else:
        status = _work_on_copy(name, circumstances, keeper)
    if status not in (DONE, FAILED, BUSY):
        raise KilledError(f"the process {describe(status)}")
    return status


def _work_on_copy(name: str, circumstances: Circumstances, keeper: Any) -> int:
    import ray

    loan = ray.get(keeper.lend.remote(name))
    if loan is None:
        return BUSY
    number, files = loan
    with tempfile.TemporaryDirectory(prefix="hardalign-") as scratch:
        folder = Path(scratch)
        store(folder, files)
        snapshot = Snapshot(folder)
        snapshot.changes()
        process = start(folder, circumstances)
        try:
            status = None
            while status is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    status = process.wait(_PAUSE)
                if changes := snapshot.changes():
                    ray.get(keeper.hand_in.remote(name, number, changes))
        finally:
            stop(process)
    ray.get(keeper.give_back.remote(name))
    return status


def _wait(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait()
    finally:
        stop(process)
