from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Command, assert_complains
from hardalign.cli.main import COMMANDS
from hardalign.version import __version__


def test_help_lists_the_commands(command: Command) -> None:
    for arguments in ((), ("--help",), ("-h",)):
        result = command(*arguments)
        assert result.code == 0
        assert all(f"  {name} " in result.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_shows_an_example(name: str, command: Command) -> None:
    result = command(name, "--help")
    assert result.code == 0
    assert f"hardalign {name}" in result.out.partition("$")[2]


def test_help_does_not_wait_for_torch() -> None:
    code = (
        "import sys; sys.argv = ['hardalign', 'train', '--help']\n"
        "from hardalign.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "False"


def test_version(command: Command) -> None:
    assert command("--version").out == f"hardalign {__version__}\n"


def test_wrong_usage(command: Command, pairs: Path) -> None:
    assert_complains(command("trian"), "'trian'", "train")
    assert command("train", pairs, "--no-such-flag").code == 2


def test_missing_model(command: Command, tmp_path: Path) -> None:
    for name in ("predict", "evaluate", "info"):
        assert_complains(command(name, tmp_path / "none"), tmp_path / "none", "no such model")
