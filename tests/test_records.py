from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hardalign.errors import HardalignError
from hardalign.records import build_record, read_json, write_json


@dataclass(frozen=True)
class Bird:
    name: str
    weight: float
    eggs: int = 2
    songs: tuple[str, ...] = ()
    places: dict[str, int] = field(default_factory=dict)
    ring: str | None = None


def test_json_round_trip_keeps_every_script(tmp_path: Path) -> None:
    value = {"नमस्ते": ["한글", "e\u0301", None, 1.5, "no\udcffUTF-8"]}
    write_json(tmp_path / "a.json", value)
    assert read_json(tmp_path / "a.json") == value


def test_json_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(HardalignError, match=r"a\.json: no such file"):
        read_json(path)
    path.write_bytes(b'{"a": ')
    with pytest.raises(HardalignError, match=r"a\.json: cannot be read as JSON"):
        read_json(path)


def test_a_record_comes_back() -> None:
    values = {
        "name": "wren",
        "weight": 9,
        "songs": ["tic", "zrr"],
        "places": {"a": 1},
        "ring": None,
    }
    assert build_record(Bird, values, "a bird") == Bird(
        "wren", 9, 2, ("tic", "zrr"), {"a": 1}, None
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 1}, "a bird has a strange name: 1 is not of type str"),
        ({"weight": float("nan")}, "strange weight"),
        ({"weight": True}, "strange weight"),
        ({"eggs": True}, "strange eggs"),
        ({"eggs": 1.0}, "strange eggs"),
        ({"songs": "tic"}, "strange songs"),
        ({"songs": ["tic", 1]}, "strange songs"),
        ({"places": {"a": "b"}}, "strange places"),
        ({"ring": 5}, "strange ring"),
        ({"colour": "red"}, "a bird has an unknown entry 'colour'"),
    ],
)
def test_damaged_values(change: dict[str, object], message: str) -> None:
    with pytest.raises(HardalignError, match=message):
        build_record(Bird, {"name": "wren", "weight": 9.0, **change}, "a bird")


def test_what_may_be_missing_or_too_much() -> None:
    with pytest.raises(HardalignError, match="a bird has no weight"):
        build_record(Bird, {"name": "wren"}, "a bird")
    with pytest.raises(HardalignError, match="a bird has no eggs"):
        build_record(
            Bird, {"name": "wren", "weight": 9.0}, "a bird", optional=("songs", "ring", "places")
        )
    with pytest.raises(HardalignError, match=r"a bird must have name, weight, .*found None"):
        build_record(Bird, None, "a bird")
    extra = {"name": "wren", "weight": 9.0, "colour": "red"}
    assert build_record(Bird, extra, "a bird", extra=True) == Bird("wren", 9.0)
