from __future__ import annotations

import re
import subprocess

import pytest

from hardalign.cli.main import COMMANDS
from hardalign.data.formats import FORMATS
from hardalign.systems import SYSTEMS
from helpers import Command, assert_complains


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_knows_commands_flags_and_values(shell: str, command: Command) -> None:
    result = command("completion", shell)
    assert (result.code, result.err) == (0, "")
    for name in (*COMMANDS, "--alignments", "--unsupervised", *FORMATS, *SYSTEMS):
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", result.out), name


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_script_is_one_that_the_shell_can_read(shell: str, command: Command) -> None:
    script = command("completion", shell).out
    assert script.startswith("#compdef hardalign\n") == (shell == "zsh")
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_bash_completes(command: Command) -> None:
    script = command("completion", "bash").out
    function = re.findall(r"complete .*-F (\S+) hardalign$", script, re.MULTILINE)[0]

    def completed(*words: str) -> list[str]:
        line = f'{script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {function}; '
        line += 'for one in "${COMPREPLY[@]}"; do echo "$one"; done'
        arguments = ["bash", "--norc", "-c", line, "bash", "hardalign", *words]
        run = subprocess.run(arguments, capture_output=True, text=True, check=True)
        return run.stdout.split()

    assert completed("tr") == ["train"]
    assert completed("train", "--sys") == ["--system"]
    assert "large" in completed("train", "--size", "l")


def test_an_unknown_shell(command: Command) -> None:
    assert_complains(command("completion", "tcsh"), "tcsh", "bash", "zsh", "fish")
