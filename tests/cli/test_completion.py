from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Command
from hardalign.cli.completion import arguments
from hardalign.cli.main import COMMANDS
from hardalign.data.formats import FORMATS
from hardalign.systems import SYSTEMS


@pytest.fixture
def bash(command: Command, tmp_path: Path) -> Path:
    """The script for bash."""
    result = command("completion", "bash")
    assert (result.code, result.err) == (0, "")
    path = tmp_path / "hardalign.bash"
    path.write_text(result.out, encoding="utf-8")
    return path


def completed(script: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words after ``hardalign``."""
    run = subprocess.run(
        [
            "bash",
            "--norc",
            "-euc",
            'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hardalign || true; '
            'for one in "${COMPREPLY[@]}"; do echo "$one"; done',
            "bash",
            script,
            "hardalign",
            *words,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    return run.stdout.split()


def test_bash_completes_commands(bash: Path) -> None:
    assert completed(bash, "tr") == ["train"]
    assert completed(bash, "e") == ["evaluate", "export"]
    assert completed(bash, "--v") == ["--version"]
    assert set(COMMANDS) < set(completed(bash, ""))


def test_bash_completes_flags(bash: Path) -> None:
    assert completed(bash, "train", "--sys") == ["--system"]
    assert completed(bash, "train", "a.tsv", "--de") == ["--dev", "--device", "--devices"]
    assert completed(bash, "predict", "train", "--form") == ["--format"]
    assert completed(bash, "info", "--sys") == []


def test_bash_completes_values(bash: Path) -> None:
    assert completed(bash, "train", "--system", "") == list(SYSTEMS)
    assert completed(bash, "train", "--size", "l") == ["large"]
    assert completed(bash, "score", "m", "--format", "s") == ["spaced", "sigmorphon"]
    assert completed(bash, "completion", "z") == ["zsh"]


def test_bash_leaves_file_names_to_itself(bash: Path) -> None:
    assert completed(bash, "train", "wor") == []
    assert completed(bash, "train", "--out", "ru") == []
    assert completed(bash, "predict", "completion", "z") == []
    shown = subprocess.run(
        ["bash", "--norc", "-c", 'source "$1"; complete -p hardalign', "bash", bash],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "complete -o default -F _hardalign hardalign\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_arguments_are_those_of_the_help(name: str, command: Command) -> None:
    taken = list(arguments(COMMANDS[name]))
    shown = command(name, "--help").out
    flags = set(re.findall(r"^│? *(--[a-z-]+)", shown, re.MULTILINE))
    assert {one.flag for one in taken if one.flag} == flags
    for one in taken:
        if one.flag:
            rest = re.search(rf"^│? *{one.flag}\b(?!-)(.*)", shown, re.MULTILINE)
            assert rest is not None
            assert one.is_switch == (
                not re.match(r" +\S", rest[1].removesuffix("│").split("  ")[0])
            )


def test_formats_are_offered() -> None:
    offered = {one.flag: one.choices for one in arguments(COMMANDS["predict"])}
    assert offered["--format"] == list(FORMATS)
    assert offered["--beam"] == []


def test_zsh_chooses_as_bash_does(command: Command, bash: Path) -> None:
    def cases(script: str) -> list[str]:
        return re.findall(r"^    .*;;$", script, re.MULTILINE)

    script = command("completion", "zsh").out
    assert cases(script) == cases(bash.read_text(encoding="utf-8"))
    assert len(cases(script)) > len(COMMANDS)
    assert script.startswith("#compdef hardalign\n")
    # The syntax of the function is one that bash reads as well.
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_fish_has_a_line_for_everything(command: Command) -> None:
    lines = command("completion", "fish").out.splitlines()
    assert all(line.startswith("complete -c hardalign -n ") for line in lines)
    assert all(line.count("'") % 2 == 0 for line in lines)
    for name, function in COMMANDS.items():
        assert any(f"__fish_use_subcommand -f -a {name} -d '" in line for line in lines)
        own = [line for line in lines if f"__fish_seen_subcommand_from {name}'" in line]
        for one in arguments(function):
            if one.flag:
                (line,) = (line for line in own if f"{line} ".count(f" -l {one.flag[2:]} "))
                assert (" -r" in line) != one.is_switch
                assert all(choice in line for choice in one.choices)


def test_an_unknown_shell(command: Command) -> None:
    result = command("completion", "tcsh")
    assert result.code == 2
    assert "tcsh" in result.err


def test_does_not_wait_for_torch() -> None:
    code = (
        "import sys; sys.argv = ['hardalign', 'completion', 'bash']\n"
        "from hardalign.cli.main import main\n"
        "main()\n"
        "print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "False"
