from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import hardalign
from conftest import TINY, tiny_model
from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.example import Example
from hardalign.data.formats import FORMATS
from hardalign.data.vocabulary import UnknownSymbols
from hardalign.errors import HardalignError
from hardalign.models.systems import SYSTEMS
from hardalign.predictor import Predictor
from hardalign.storage import WEIGHTS, Description, claim_folder, write_tensors


def predictor(system: str = "hard", layout: str = "sigmorphon", seed: int = 0) -> Predictor:
    sizes = ModelConfig(system, embedding=3, encoder=4, decoder=5)
    description = Description(sizes, TrainingConfig(), FORMATS[layout], TINY, {})
    return Predictor(tiny_model(system, seed=seed, dtype=torch.float32), description)


systems = pytest.mark.parametrize("system", SYSTEMS)


@systems
def test_one_or_many(system: str) -> None:
    predict = predictor(system)
    words = ["ab\tN", "dcba", "a\tV;N", "b"]
    many = predict(words)
    assert [one.source for one in many] == ["ab", "dcba", "a", "b"]
    for word, together in zip(words, many, strict=True):
        alone = predict(word)
        assert alone.text == together.text == str(together)
        assert alone.log_prob == pytest.approx(together.log_prob, abs=1e-5)


@pytest.mark.parametrize(
    "system", [name for name, row in SYSTEMS.items() if row.score != "best path"]
)
def test_the_score_of_a_prediction_is_its_log_probability(system: str) -> None:
    checked = 0
    for predict in (predictor(system, seed=seed) for seed in range(6)):
        for word in ("abc\tV", "a", "dd\tN", "bbbb"):
            found = predict(word)
            if found.finished:
                expected = pytest.approx(found.log_prob, abs=1e-5)
                assert predict.log_prob(word, found.text) == expected
                checked += 1
    assert checked


def test_unspellable_targets_have_no_probability() -> None:
    assert predictor().log_prob("ab", "xq") == -math.inf
    with pytest.raises(HardalignError, match="never seen 'q'"):
        predictor().align("ab", "xq")


@systems
def test_alignments_are_distributions(system: str) -> None:
    found = predictor(system).align("abc\tN;V", "xyx")
    assert found.weights.shape == (4, 7)
    assert np.allclose(found.weights.sum(1), 1, atol=1e-5)
    assert (found.source, found.tags, found.target) == (tuple("abc"), ("N", "V"), tuple("xyx"))
    assert found.kind == SYSTEMS[system].alignment


def test_a_stream_is_answered_window_by_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardalign.predictor.WINDOW", 3)
    read = []

    def words() -> object:
        for k in range(10):
            read.append(k)
            yield Example(("a",) * (k % 4), text=str(k))

    unknown = UnknownSymbols(TINY.source)
    answers = predictor().predict(words(), unknown)  # type: ignore[arg-type]
    assert next(answers).text == ""
    assert len(read) == 3
    assert [answer.source for answer in answers] == ["1", "2", "3", "", "5", "6", "7", "", "9"]


@pytest.mark.parametrize("source", ["", "  ", "a\tN\tV"])
def test_odd_sources(source: str) -> None:
    with pytest.raises(HardalignError):
        predictor()(source)


def test_load(tmp_path: Path) -> None:
    made = predictor()
    claim_folder(tmp_path, made.description)
    write_tensors(tmp_path / WEIGHTS, made.model.state_dict(), {"epoch": 0})
    assert hardalign.load(tmp_path)("abc").text == made("abc").text
    with pytest.raises(HardalignError, match="no such model"):
        hardalign.load(tmp_path / "none")
