from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from cli.conftest import Command, assert_complains
from hardalign.serve.server import listen

MAIN = [sys.executable, "-c", "from hardalign.cli.main import main; main()", "serve"]


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_served_until_it_is_ended(model: Path, end: signal.Signals) -> None:
    command = [*MAIN, str(model), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.fullmatch(r"hardalign: serving model at (http://127.0.0.1:\d+) .*\n", line)
        assert found, line + process.stderr.read()
        with httpx.Client(base_url=found[1], trust_env=False, timeout=60) as client:
            answered = client.post("/predict", json={"words": ["abc"]}).json()
            assert answered["model"] == "model"
            assert answered["answers"][0]["source"] == "abc"
            process.send_signal(end)  # while the client keeps its connection open
            assert process.wait(30) == 0
        assert process.stderr.read() == ""


def test_a_port_in_use(command: Command, model: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert_complains(
            command("serve", model, "--port", port), port, "in use", "another host or port"
        )


def test_no_such_model(command: Command, tmp_path: Path) -> None:
    assert_complains(command("serve", tmp_path / "none"), "none", "no such model")


def test_without_the_libraries(
    command: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "hardalign.serve.server")
    assert_complains(command("serve", model), "uvicorn", "pip install 'hardalign[serve]'")
