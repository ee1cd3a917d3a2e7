from __future__ import annotations

from pathlib import Path

from cli.conftest import Command


def test_describes_the_model(command: Command, model: Path, pairs: Path) -> None:
    out = command("info", model).out
    for part in ("hard (4 in the paper)", "3 letters: a b c", "3 letters: A B C", "seed 0", "NFC"):
        assert part in out
    assert str(pairs) in out
