from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hardalign.data.reading import FileOrigin, Origin
from hardalign.model_folder import BUNDLED, read_description, write_description
from hardalign.systems import SYSTEMS
from helpers import Command, write_model


def test_describes_the_model(command: Command, model: Path) -> None:
    out = command("info", model).out
    for part in ("hard (4 in the paper)", "3 letters: a b c", "3 letters: A B C", "seed 0", "NFC"):
        assert part in out
    assert "train (file pairs.tsv, examples 6" in out


def test_names_of_files_in_a_strangers_folder_do_not_steer_the_terminal(
    command: Command, tmp_path: Path
) -> None:
    folder = write_model(tmp_path / "model")
    data = Origin(train=FileOrigin("\x1b[2J", 1, "0"))
    write_description(folder, replace(read_description(folder), data=data))
    out = command("info", folder).out
    assert r"\x1b[2J" in out
    assert "\x1b" not in out


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
