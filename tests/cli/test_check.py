from __future__ import annotations

import json
from pathlib import Path

from helpers import Command, assert_complains


def test_check(command: Command) -> None:
    content = b"a\tK\n\na\tK\na\tL\n"
    result = command("check", "-", stdin=content)
    assert result.code == 0, result.err
    assert result.out.startswith("3 pairs of 1 different sources\n")
    assert "\nduplicates: 1 (" in result.out
    assert "\n  line 3: a → K (as line 1)\n" in result.out
    assert "standard input: 1 blank line passed over" in result.err


def test_against_and_json(command: Command, pairs: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("ab\tAB\nbb\tBB\n")
    result = command("check", test, "--against", pairs, "--json")
    kinds = {one["kind"]: one["count"] for one in json.loads(result.out)["findings"]}
    assert kinds["sources in training"] == 1
    assert "size" not in kinds


def test_a_file_that_cannot_be_read(command: Command, pairs: Path, tmp_path: Path) -> None:
    assert_complains(command("check", pairs, "--format", "sigmorphon"), "line 1", "expected 3")
    assert_complains(command("check", pairs, "--against", tmp_path / "no"), "no such file")


def test_data_cannot_command_the_terminal(command: Command) -> None:
    poison = "\x1b]0;owned\x07\x9b31m"
    result = command("check", "-", stdin=f"{poison}a\tb\n{poison}a\tb\n".encode())
    assert "line 2: \\x1b]0;owned" in result.out
    assert not set("\x1b\x07\x9b") & set(result.out + result.err)
