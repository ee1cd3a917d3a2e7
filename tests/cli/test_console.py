from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.table import Table

from hardalign.cli.console import console, note, watched
from helpers import Command


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("total", [None, 3])
def test_progress_names_things_as_they_are(
    total: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    assert list(watched("abc", "words of {x}[red]", total=total)) == ["a", "b", "c"]
    assert "words of {x}[red]" in terminal.getvalue()


def test_each_fold_of_a_cross_validation_has_its_bar(
    command: Command, model: Path, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    assert command("evaluate", model, pairs, "--folds", 2).code == 0
    for fold in (1, 2):
        assert f"fold {fold} of 2, epoch 1 of " in terminal.getvalue()


def test_a_name_in_a_table_is_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    table = Table("run")
    table.add_row("mine[red].hard")
    console().print(table)
    assert "mine[red].hard" in terminal.getvalue()


def test_a_note_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    note("a stranger's \x1b[2J")
    assert capsys.readouterr().err == "hardalign: a stranger's \\x1b[2J\n"
