from __future__ import annotations

from pathlib import Path

from cli.conftest import Command, complains


def test_draws_a_row_per_symbol(command: Command, model: Path) -> None:
    lines = command("plot", model, "abc", "CA").out.splitlines()
    assert lines[0] == "abc → CA"
    assert lines[1].split() == ["⊢", "a", "b", "c", "⊣"]
    assert [line[0] for line in lines[2:]] == ["C", "A", "⊣"]


def test_draws_the_prediction(command: Command, model: Path) -> None:
    predicted = command("predict", model, stdin=b"abc\n").out.rstrip("\n").split("\t")[1]
    assert command("plot", model, "abc").out.startswith(f"abc → {predicted}\n")


def test_unknown_target_symbol(command: Command, model: Path) -> None:
    complains(command("plot", model, "abc", "CZ"), "'Z'", "never seen")
