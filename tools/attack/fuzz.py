"""``make fuzz``: damaged data, arguments, model folders, plans and requests, by the thousand.

Every case depends only on the seed, its kind and its number, so a failure can be reproduced:

    PYTHONPATH=tools python -m attack.fuzz --kinds data --first 1234 --cases 1
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from attack.cases import KINDS
from attack.harness import MEMORY, SECONDS, Outcome, memory_limit
from attack.requests import serving
from attack.world import World, make_world

ALL = (*KINDS, "requests")
Case = Callable[[random.Random], Outcome]


def fuzz(
    world: World, kind: str, numbers: Sequence[int], seed: int, seconds: float, warm: int = 40
) -> tuple[Counter[str], dict[str, str]]:
    """Runs cases of one kind until they are done or time is up.

    Returns:
        Counts by exit status, and a report of each kind of trouble.
    """
    ends: Counter[str] = Counter()
    troubles: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        if kind == "requests":
            case = stack.enter_context(serving(world))
        else:

            def case(draw: random.Random) -> Outcome:
                return KINDS[kind](world, draw)

            for number in range(-warm, 0):  # imports what commands need, before memory is limited
                case(random.Random(f"{seed} {kind} {number}"))
            stack.enter_context(memory_limit())
        end = time.monotonic() + seconds
        for number in numbers:
            if time.monotonic() > end:
                break
            outcome = case(random.Random(f"{seed} {kind} {number}"))
            if outcome.trouble is None:
                status = outcome.out[9:12].decode() if kind == "requests" else outcome.code
                ends["none" if status in (None, "") else str(status)] += 1
            else:
                ends["trouble"] += 1
                if outcome.place not in troubles:
                    print(f"{kind} {number}: {outcome.trouble}", file=sys.stderr, flush=True)
                troubles.setdefault(outcome.place, f"{kind} {number}: {outcome.trouble}")
    return ends, troubles


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600, help="for all kinds together")
    parser.add_argument("--cases", type=int, default=10**9, help="maximum of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", choices=ALL, default=ALL)
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "HARDALIGN_CACHE": tempfile.gettempdir() + "/none"}
    total, failed = 0, 0
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # spare the disk
    with tempfile.TemporaryDirectory(prefix="hardalign-fuzz-", dir=memory) as name:
        world = make_world(Path(name) / "world")
        for kind in options.kinds:
            share = options.seconds / len(options.kinds)
            numbers = range(options.first, options.first + options.cases)
            started = time.monotonic()
            ends, troubles = fuzz(world, kind, numbers, options.seed, share)
            total, failed = total + ends.total(), failed + len(troubles)
            counts = ", ".join(f"{count} × {end}" for end, count in sorted(ends.items()))
            took = time.monotonic() - started
            print(f"{kind}: {ends.total()} cases in {took:.0f} s: {counts}", flush=True)
    limits = f"{SECONDS:g} s of processor time and {MEMORY >> 20} MB each"
    print(f"{total} cases, seed {options.seed}, at most {limits}: {failed} kinds of trouble")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
