"""A file of pairs and a model of them, which learned nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import PAIRS, write_model


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """A file of training pairs."""
    path = tmp_path / "pairs.tsv"
    path.write_text(PAIRS, encoding="utf-8")
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of the pairs that has learned nothing."""
    return write_model(tmp_path / "model")
