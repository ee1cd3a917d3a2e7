from __future__ import annotations

from pathlib import Path

import pytest

from hardalign.errors import InputError
from hardalign.report.record import add_to_record, read_record
from report.synthetic import result, right


def test_what_is_added_is_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    results = [
        result(correct=right(71, 101)),
        result(seed=1, correct=right(70)),
        result("conll2017/danish", "soft", "large", epochs=3),
    ]
    add_to_record(path, results[1:])
    add_to_record(path, results[:1])
    kept = {one.run.name: one for one in read_record(path)}
    assert kept.keys() == {one.run.name for one in results}
    for one in results:
        assert kept[one.run.name].run == one.run
        assert kept[one.run.name].metrics == pytest.approx(one.metrics, abs=1e-5)
        assert kept[one.run.name].correct == one.correct


def test_the_same_run_has_one_row(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    add_to_record(path, [result(correct=right(50)), result(seed=1)])
    before = path.read_text()
    add_to_record(path, [result(seed=1)])
    assert path.read_text() == before
    add_to_record(path, [result(correct=right(60))])
    assert sorted(one.metrics["acc"] for one in read_record(path)) == [60, 75]


def test_damaged(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"corpus": "toy:copy"}\n')
    with pytest.raises(InputError, match=r"runs\.jsonl, line 1: is not a result"):
        read_record(path)
