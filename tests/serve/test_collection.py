from __future__ import annotations

from pathlib import Path

import pytest

from hardalign.errors import HardalignError
from hardalign.predictor import Predictor
from hardalign.serve import collection
from hardalign.serve.collection import describe_models, load_models
from hardalign.systems import SCORES
from serve.conftest import MODELS, tiny_predictor


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is loaded, without any folders."""
    loaded: list[str] = []

    def load(model: str) -> Predictor:
        loaded.append(model)
        return tiny_predictor()

    monkeypatch.setattr(collection, "load", load)
    return loaded


def test_models_are_called_by_their_last_names(loaded: list[str]) -> None:
    assert list(load_models(["runs/hard", "en-g2p", "other/soft/"])) == ["hard", "en-g2p", "soft"]
    assert loaded == ["runs/hard", "en-g2p", "other/soft/"]


def test_namesakes_are_called_by_their_paths(loaded: list[str]) -> None:
    assert list(load_models(["a/hard", "b/hard", "c/soft"])) == ["a/hard", "b/hard", "soft"]


def test_a_model_given_twice(loaded: list[str]) -> None:
    with pytest.raises(HardalignError, match="a/hard: is given twice"):
        load_models(["a/hard", "a/hard"])


def test_a_missing_model(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="none"):
        load_models([str(tmp_path / "none")])


def test_descriptions() -> None:
    hard, soft, tagged = describe_models(MODELS)
    assert (hard["name"], hard["alignment"], hard["exact"]) == ("hard", "posterior", True)
    assert (soft["system"], soft["alignment"]) == ("soft", "attention")
    assert (hard["tags"], tagged["tags"]) == ([], ["N", "V"])
    assert tagged["score"] == SCORES["best path"]
    assert not tagged["exact"]
