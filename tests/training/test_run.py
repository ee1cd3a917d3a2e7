from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.formats import FORMATS
from hardalign.data.reading import Origin
from hardalign.errors import HardalignError
from hardalign.files import FRAGMENT, BusyError, locked
from hardalign.model_folder import (
    CHECKPOINT,
    CONFIG,
    MEMBER,
    VOCABULARY,
    WEIGHTS,
    Description,
    description_files,
    read_description,
)
from hardalign.training.run import Run, default_threads, open_folder
from helpers import TINY, tiny_vocabulary

RUN = Description(ModelConfig(), TrainingConfig(recipe="paper"), FORMATS["pairs"], TINY, Origin())


def claim_folder(
    folder: Path, description: Description, note: Callable[[str], None] = print, **how: bool
) -> Description:
    return open_folder(Run(folder, description, [], [], **how), note).description


def with_threads(threads: int | None) -> Description:
    return replace(RUN, training=replace(RUN.training, threads=threads))


def test_a_new_folder_is_described(tmp_path: Path) -> None:
    claimed = claim_folder(tmp_path / "a" / "b", RUN)
    assert claimed == with_threads(1)
    assert read_description(tmp_path / "a" / "b") == claimed


def test_what_is_not_ours_is_never_written_over(tmp_path: Path) -> None:
    for name in (VOCABULARY, WEIGHTS, CHECKPOINT):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text("a stranger's")
        for resume in (False, True):
            with pytest.raises(
                HardalignError, match=r"is not empty|cannot resume: \S+ found without"
            ):
                claim_folder(folder, RUN, resume=resume)
        assert [(p.name, p.read_text()) for p in folder.iterdir()] == [(name, "a stranger's")]


def test_a_run_that_was_killed_while_it_began_goes_on(tmp_path: Path) -> None:
    (tmp_path / VOCABULARY).write_bytes(description_files(RUN)[VOCABULARY])
    (tmp_path / f".{CONFIG}.1234{FRAGMENT}").write_bytes(b"half")
    (tmp_path / "mine.txt").touch()
    claim_folder(tmp_path, RUN, resume=True)
    assert {path.name for path in tmp_path.iterdir()} == {CONFIG, VOCABULARY, "mine.txt"}


def test_only_the_same_run_goes_on(tmp_path: Path) -> None:
    claim_folder(tmp_path, RUN)
    longer = replace(RUN, training=replace(RUN.training, epochs=99))
    assert claim_folder(tmp_path, longer, resume=True).training.epochs == 99
    others = {
        "model": replace(RUN.model, decoder=7),
        "training": replace(RUN.training, seed=7),
        "vocabulary": tiny_vocabulary("xyz"),
    }
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, value in others.items():
        with pytest.raises(HardalignError, match=f"cannot resume with different {name}"):
            claim_folder(tmp_path, replace(RUN, **{name: value}), resume=True)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("before", "now", "then", "remark"),
    [(3, None, 3, False), (3, 3, 3, False), (3, 2, 2, True), (None, None, 1, False)],
)
def test_threads_stay_as_they_were_or_a_remark_is_made(
    before: int | None, now: int | None, then: int, remark: bool, tmp_path: Path
) -> None:
    claim_folder(tmp_path, with_threads(before))
    (tmp_path / CHECKPOINT).touch()
    notes: list[str] = []
    claimed = claim_folder(tmp_path, with_threads(now), resume=True, note=notes.append)
    assert claimed.training.threads == then
    assert ["threads" in note for note in notes] == [True] * remark


@pytest.mark.parametrize(
    ("environment", "cores", "threads"),
    [
        ({}, 8, 1),
        ({"GOMP_SPINCOUNT": "1000"}, 8, 2),
        ({"GOMP_SPINCOUNT": "1000"}, 1, 1),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, 2, 2),
        ({"OMP_WAIT_POLICY": "active"}, 2, 1),
    ],
)
def test_two_threads_only_where_they_do_not_spin(
    environment: dict[str, str], cores: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch, "get_num_threads", lambda: cores)
    assert default_threads() == threads


def test_replacing_a_model_leaves_other_files(tmp_path: Path) -> None:
    claim_folder(tmp_path, RUN)
    (tmp_path / WEIGHTS).touch()
    (tmp_path / "mine.txt").touch()
    claim_folder(tmp_path, with_threads(2), overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} == {CONFIG, VOCABULARY, "mine.txt"}


def test_replacing_an_ensemble_leaves_none_of_its_members(tmp_path: Path) -> None:
    for number in range(2):
        member = tmp_path / MEMBER.format(number)
        claim_folder(member, with_threads(1))
        (member / WEIGHTS).touch()
    (tmp_path / MEMBER.format(1) / "notes.txt").write_text("mine")
    claim_folder(tmp_path, with_threads(1), overwrite=True)
    assert not (tmp_path / MEMBER.format(0)).exists()
    kept = [path.name for path in (tmp_path / MEMBER.format(1)).iterdir()]
    assert kept == ["notes.txt"]


def test_replacing_a_model_never_goes_through_links(tmp_path: Path) -> None:
    precious, ensemble = tmp_path / "precious", tmp_path / "ensemble"
    claim_folder(precious, RUN)
    (precious / WEIGHTS).touch()
    claim_folder(ensemble, RUN)
    (ensemble / MEMBER.format(0)).symlink_to(precious)
    (ensemble / MEMBER.format(1)).symlink_to("nowhere")
    (ensemble / WEIGHTS).symlink_to(precious / WEIGHTS)
    claim_folder(ensemble, RUN, overwrite=True)
    assert {path.name for path in precious.iterdir()} == {CONFIG, VOCABULARY, WEIGHTS}
    assert {path.name for path in ensemble.iterdir()} == {CONFIG, VOCABULARY}


def test_members_that_are_being_trained_are_left_alone(tmp_path: Path) -> None:
    claim_folder(tmp_path, RUN)
    for number in range(2):
        claim_folder(tmp_path / MEMBER.format(number), RUN)
    everything = sorted(tmp_path.rglob("*.json"))
    with locked(tmp_path / MEMBER.format(1), "train"), pytest.raises(BusyError, match="member-1"):
        claim_folder(tmp_path, RUN, overwrite=True)
    assert sorted(tmp_path.rglob("*.json")) == everything


def test_folders_that_cannot_be_had(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "file/folder", "n" * 300):
        with pytest.raises(HardalignError, match=r"is a file|cannot be written"):
            claim_folder(tmp_path / name, RUN)
