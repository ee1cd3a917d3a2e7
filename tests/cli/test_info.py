from __future__ import annotations

from pathlib import Path

from hardalign.model_folder import BUNDLED
from hardalign.systems import SYSTEMS
from helpers import Command, write_model


def test_describes_the_model(command: Command, model: Path) -> None:
    out = command("info", model).out
    for part in ("hard (4 in the paper)", "3 letters: a b c", "3 letters: A B C", "seed 0", "NFC"):
        assert part in out
    assert "train (file pairs.tsv, examples 6" in out


def test_lists_the_systems_and_the_bundled_models(command: Command) -> None:
    systems, bundled = command("info").out.split("\n\n")
    assert [line.split()[0] for line in systems.splitlines()] == list(SYSTEMS)
    assert [line.split()[0] for line in bundled.splitlines()[1:]] == list(BUNDLED)
    assert "English: ARPAbet with stress, from CMUDict; WER" in bundled


def test_says_what_is_not_in_the_paper(command: Command, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "m", "hard-prior")
    assert "hard-prior (not in the paper)" in command("info", folder).out


def test_describes_a_bundled_model(command: Command) -> None:
    assert "hard-monotonic (not in the paper)" in command("info", "en-g2p").out
