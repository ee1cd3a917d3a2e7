"""``hardalign`` without its start-up: each call is a fork of a process that has imported torch.

The pages have so many commands that importing torch anew for each would take minutes. What runs is
the real ``main``, with the caller's arguments, folder, environment and three standard streams; but
what is trained is tiny, and the runs of an experiment have no processes of their own.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import sys
import traceback
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path

import hardalign
from hardalign.config import SIZES, ModelConfig

TINY: ModelConfig = replace(SIZES["small"], embedding=8, encoder=8, decoder=8)
"""What the pages' commands train in place of a small model."""
CLIENT = """\
#!{python} -IS
import json, os, socket, sys
resident = socket.socket(socket.AF_UNIX)
resident.connect({address!r})
request = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(resident, [len(request).to_bytes(4)], [0, 1, 2])
resident.sendall(request)
sys.exit(resident.recv(1)[0])
"""
"""A stand-in for the ``hardalign`` script."""


def write_client(path: Path, address: Path) -> None:
    """Write the stand-in that calls the process listening at an address."""
    path.write_text(CLIENT.format(python=sys.executable, address=str(address)), "utf-8")
    path.chmod(0o755)


def main(address: str) -> None:
    """Answer calls until somebody ends this process; says on standard output when it is ready."""
    # So that the forks need not: the first optimizer imports torch._dynamo, as slow as torch.
    import matplotlib.backends.backend_svg  # noqa: F401
    import torch._dynamo  # noqa: F401

    for module in pkgutil.walk_packages(hardalign.__path__, "hardalign."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    from hardalign.cli.main import COMMANDS, command, run
    from hardalign.experiments import engines

    for name in COMMANDS:
        with redirect_stdout(io.StringIO()), suppress(SystemExit):
            run(command(name), name, ["--help"])

    sys.path.insert(0, str(Path(__file__).parents[1]))
    from experiments.helpers import Here

    SIZES["small"] = TINY
    engines.start_process = Here  # type: ignore[assignment]
    gc.freeze()  # or every fork's collector reads, and so copies, all of this process's memory
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        while True:
            call, _ = listening.accept()
            if os.fork() == 0:
                _answer(call)
            call.close()


def _answer(call: socket.socket) -> None:
    from hardalign.cli.main import main as command

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, streams, *_ = socket.recv_fds(call, 4, 3)
    request = call.recv(int.from_bytes(length), socket.MSG_WAITALL)
    sys.argv, folder, environment = json.loads(request)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    # Anew, as what they know of this process's streams does not hold for the caller's.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    status = 1
    try:
        command()
        status = 0
    except SystemExit as stop:
        status = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    call.send(bytes([status]))
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1])
