"""Settings of every test, and the command line as a fixture."""

from __future__ import annotations

import io
import os
import signal
import sys
from dataclasses import replace

import pytest
from hypothesis import settings

from helpers import Command, Result

# The machine may be busy, and a fixed number of examples bounds the time well enough.
settings.register_profile("hardalign", deadline=None, max_examples=25)
settings.load_profile("hardalign")
# Before anything imports NumPy or torch, here and in the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests started in the background by a shell ignore Ctrl-C, and so would the commands that they
# start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Run ``hardalign`` with some arguments and, if given, bytes on standard input."""
    from hardalign.cli.main import main
    from hardalign.config import SIZES

    tiny = replace(SIZES["small"], embedding=8, encoder=8, decoder=8)
    monkeypatch.setitem(SIZES, "small", tiny)

    def run(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "argv", ["hardalign", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the test that waits longest first, so that others run meanwhile."""
    items.sort(key=lambda item: item.name != "test_a_machine_dies")
