"""The figures in the documents are those of the record."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from hardalign.report.cells import collect
from hardalign.report.record import read_record
from report.synthetic import result, right

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
    cells = collect(read_record(results.RECORD))
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
