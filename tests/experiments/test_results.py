"""The figures in the documents are those of the record, and the record those of the runs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from experiments.helpers import result, right
from hardalign.errors import InputError
from hardalign.experiments.tables import collect

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results() -> ModuleType:
    """The script behind `make results`."""
    spec = importlib.util.spec_from_file_location("results", ROOT / "docs" / "results.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_documents_and_record_agree(results: ModuleType) -> None:
    cells = collect(results.read_record(results.RECORD))
    for page in results.PAGES:
        text = page.read_text("utf-8")
        assert "<!-- results:" in text, page
        assert results.written(text, cells) == text, f"{page}: run make results"


def test_tables_follow_the_runs(results: ModuleType) -> None:
    text = "a\n<!-- results:across g2p/NETtalk -->\nstale\n<!-- end -->\nb\n"
    runs = [result(seed=seed, correct=right(70 + seed)) for seed in (0, 2)]
    cells = collect([*runs, result(system="hard-hmm", correct=right(60))])
    assert results.written(text, cells) == (
        "a\n<!-- results:across g2p/NETtalk -->\n"
        "|  | `hard` | `hard-hmm` |\n|---|---|---|\n"
        "| paper | 28.8 |  |\n| hardalign | **29.0 ± 1.4** | 40.0 |\n"
        "<!-- end -->\nb\n"
    )


def test_what_is_added_is_read(results: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    added = [
        result(correct=right(71, 101)),
        result(seed=1, correct=right(70)),
        result("conll2017/danish", "soft", "large", epochs=3),
    ]
    results.add_to_record(path, added[1:])
    results.add_to_record(path, added[:1])
    kept = {one.run.name: one for one in results.read_record(path)}
    assert kept.keys() == {one.run.name for one in added}
    for one in added:
        assert kept[one.run.name].run == one.run
        assert kept[one.run.name].metrics == pytest.approx(one.metrics, abs=1e-5)
        assert kept[one.run.name].correct == one.correct


def test_the_same_run_has_one_row(results: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    results.add_to_record(path, [result(correct=right(50)), result(seed=1)])
    before = path.read_text()
    results.add_to_record(path, [result(seed=1)])
    assert path.read_text() == before
    results.add_to_record(path, [result(correct=right(60))])
    assert sorted(one.metrics["acc"] for one in results.read_record(path)) == [60, 75]


def test_damaged(results: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"corpus": "toy:copy"}\n')
    with pytest.raises(InputError, match=r"runs\.jsonl, line 1: is not a result"):
        results.read_record(path)
