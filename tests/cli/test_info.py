from __future__ import annotations

from pathlib import Path

from cli.conftest import Command
from hardalign.models.systems import SYSTEMS


def test_describes_the_model(command: Command, model: Path, pairs: Path) -> None:
    out = command("info", model).out
    for part in ("hard (4 in the paper)", "3 letters: a b c", "3 letters: A B C", "seed 0", "NFC"):
        assert part in out
    assert str(pairs) in out


def test_lists_the_systems(command: Command) -> None:
    lines = command("info").out.splitlines()
    assert [line.split()[0] for line in lines] == list(SYSTEMS)
    helped = command("train", "--help").out
    assert all(f"{name}: {row.summary[:20]}" in helped for name, row in SYSTEMS.items())
