"""Where training runs: devices, the precision of the arithmetic, threads, and several processes.

The processes do what one would do with whole batches. Each takes its share of every batch, and the
gradients of the shares are added before every step.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.multiprocessing.spawn import spawn

from hardalign.errors import HardalignError

T = TypeVar("T")

PRECISIONS: dict[str, tuple[torch.dtype, torch.dtype | None]] = {
    "32-true": (torch.float32, None),
    "64-true": (torch.float64, None),
    "bf16-mixed": (torch.float32, torch.bfloat16),
    "16-mixed": (torch.float32, torch.float16),
}
"""The types of the weights, and of what can be computed with less."""
_PATIENCE = timedelta(hours=1)
"""How long processes wait for each other: longer than any development set takes."""
_READY = "ready"


@dataclass(frozen=True)
class Machine:
    """Says what to train on.

    Raises:
        HardalignError: If there is no such device here, or it cannot compute as it is told to.
    """

    device: str = "auto"
    """``auto``, ``cpu``, ``cuda`` or ``mps``."""
    devices: int = 1
    precision: str = "32-true"

    def __post_init__(self) -> None:
        there = {
            "cpu": 1024,
            "cuda": torch.cuda.device_count(),
            "mps": int(torch.backends.mps.is_available()),
        }
        if self.device not in ("auto", *there):
            raise HardalignError(f"no device is called {self.device!r}; there are auto, cpu, …")
        if self.precision not in PRECISIONS:
            names = ", ".join(PRECISIONS)
            raise HardalignError(f"no precision is called {self.precision!r}; there are {names}")
        if self.devices < 1:
            raise HardalignError(f"devices must be at least 1, not {self.devices}")
        if self.devices > there[self.kind]:
            raise HardalignError(
                f"cannot train on {self.devices} × {self.kind}: there are {there[self.kind]} here"
            )
        if self.kind == "cpu" and self.precision.endswith("mixed"):
            raise HardalignError(f"precision {self.precision} needs a GPU; choose 32-true")

    @property
    def kind(self) -> str:
        """The kind of device, chosen if it was left to us."""
        if self.device != "auto":
            return self.device
        has_cuda, has_mps = torch.cuda.is_available(), torch.backends.mps.is_available()
        return "cuda" if has_cuda else "mps" if has_mps else "cpu"


@dataclass(frozen=True)
class Process:
    """One process of a run, and what it has to do with the others; most runs have but one."""

    device: torch.device
    precision: str = "32-true"
    rank: int = 0
    """The first process, 0, writes and reports; the others only compute."""
    size: int = 1

    @property
    def dtype(self) -> torch.dtype:
        """The type of the weights."""
        return PRECISIONS[self.precision][0]

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """Returns a context that computes with less precision what can be, if that is wanted."""
        dtype = PRECISIONS[self.precision][1]
        return torch.autocast(self.device.type, dtype) if dtype else contextlib.nullcontext()

    def add_gradients(self, model: nn.Module) -> None:
        """Give every process the sum of all processes' gradients."""
        if self.size == 1:
            return
        parameters = list(model.parameters())
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        distributed.all_reduce(flat)
        sums = torch.split(flat, [parameter.numel() for parameter in parameters])
        for parameter, gradient in zip(parameters, sums, strict=True):
            parameter.grad = gradient.view_as(parameter)

    def total(self, values: Sequence[Tensor]) -> float:
        """Returns the sum of all processes' numbers, in double precision."""
        numbers = torch.stack(list(values)).tolist() if values else []
        total = torch.tensor(math.fsum(numbers), dtype=torch.float64)
        if self.size > 1:
            total = total.to(self.device)
            distributed.all_reduce(total)
        return total.item()

    def agree(self, value: T) -> T:
        """Returns the first process's value, in every process."""
        values = [value]
        if self.size > 1:
            distributed.broadcast_object_list(values, device=self.device)
        return values[0]

    def agree_on_buffers(self, model: nn.Module) -> None:
        """Give every process the first one's buffers, such as running averages."""
        for buffer in model.buffers() if self.size > 1 else ():
            distributed.broadcast(buffer, 0)


def launch(
    machine: Machine,
    threads: int,
    work: Callable[[Process], T],
    work_of_others: Callable[[Process], object],
) -> T:
    """Work in this process and, if the machine has several devices, in others.

    Args:
        machine: Where to work.
        threads: Of each process.
        work: What this process, the first, does.
        work_of_others: What the others do at the same time; it is sent to them.

    Returns:
        What the work of this process gave.

    Raises:
        HardalignError: If another process died.
    """
    with _threads(threads):
        if machine.devices == 1:
            return work(Process(torch.device(machine.kind), machine.precision))
        with tempfile.TemporaryDirectory(prefix="hardalign-") as name:
            meeting = Path(name)
            others = spawn(  # type: ignore[no-untyped-call]
                _start,
                (machine, threads, work_of_others, meeting),
                nprocs=machine.devices - 1,
                join=False,
            )
            try:
                _await(others.processes, meeting)
                return _join(0, machine, work, meeting)
            except RuntimeError as error:
                raise HardalignError(f"a process of this run failed: {error}") from error
            finally:
                for process in others.processes:
                    process.terminate()
                    process.join()


def _start(
    index: int, machine: Machine, threads: int, work: Callable[[Process], object], meeting: Path
) -> None:
    (meeting / f"{_READY}{index}").touch()
    with _threads(threads):
        _join(index + 1, machine, work, meeting)


def _await(processes: Sequence[BaseProcess], meeting: Path) -> None:
    """Wait until the others have started: one that never joins would be waited for too long."""
    while len(list(meeting.glob(f"{_READY}*"))) < len(processes):
        if not all(process.is_alive() for process in processes):
            raise RuntimeError("it did not start")
        time.sleep(0.02)


def _join(rank: int, machine: Machine, work: Callable[[Process], T], meeting: Path) -> T:
    """Work as one of several processes, connected for as long as that takes.

    A process that ends with open connections may be aborted by the threads that serve them.
    """
    cuda = machine.kind == "cuda"
    distributed.init_process_group(
        "nccl" if cuda else "gloo",
        init_method=f"file://{meeting.as_posix()}/store",
        rank=rank,
        world_size=machine.devices,
        timeout=_PATIENCE,
    )
    try:
        device = torch.device(machine.kind, rank) if cuda else torch.device(machine.kind)
        return work(Process(device, machine.precision, rank, machine.devices))
    finally:
        distributed.destroy_process_group()


@contextlib.contextmanager
def _threads(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
