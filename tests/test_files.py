from __future__ import annotations

from pathlib import Path

import pytest

from hardalign.errors import HardalignError
from hardalign.files import make_folder, read_json, whole_file, write_json


def test_nothing_appears_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with whole_file(path) as file:
        file.write(b"half")
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_stood_there_stays(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(error), whole_file(path) as file:  # noqa: PT012
        file.write(b"new")
        raise error
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"old")]


def test_full_disk(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match=r"cannot be written: No space left"):  # noqa: SIM117
        with whole_file(tmp_path / "file"):
            raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_json_round_trip_keeps_every_script(tmp_path: Path) -> None:
    value = {"नमस्ते": ["한글", "e\u0301", None, 1.5]}
    write_json(tmp_path / "a.json", value)
    assert read_json(tmp_path / "a.json") == value


def test_json_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(HardalignError, match=r"a\.json: no such file"):
        read_json(path)
    path.write_bytes(b'{"a": ')
    with pytest.raises(HardalignError, match=r"a\.json: cannot be read as JSON"):
        read_json(path)


def test_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HardalignError, match="cannot be written"):
        make_folder(tmp_path / "file" / "folder")
