"""The notebook runs, and shows what it shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docs import resident
from docs.pages import ROOT
from hardalign.config import SIZES
from notebook import code_cells, run_cell

NOTEBOOK = ROOT / "docs/notebooks/first-steps.ipynb"


def texts(outputs: list[dict[str, Any]]) -> list[list[str]]:
    return [one["data"]["text/plain"] if "data" in one else one["text"] for one in outputs]


def test_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SIZES, "small", resident.TINY)
    variables: dict[str, Any] = {}
    trained = False
    for cell in code_cells(json.loads(NOTEBOOK.read_text("utf-8"))):
        code = "".join(cell["source"])
        outputs = run_cell(code, variables)
        trained = trained or "hardalign.train" in code
        if not trained:  # what is trained here is smaller
            assert texts(outputs) == texts(cell["outputs"]), code
    assert trained
