from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hardalign.training.storage import WEIGHTS, Description, claim_folder, write_tensors

import hardalign
from conftest import TINY
from hardalign.config import ModelConfig, TrainingConfig
from hardalign.data.example import Example
from hardalign.data.formats import FORMATS
from hardalign.data.vocabulary import UnknownSymbols
from hardalign.decoding import Search
from hardalign.errors import HardalignError
from hardalign.predictor import Predictor
from hardalign.systems import SYSTEMS
from tiny import tiny_model


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


@systems
def test_lists_where_they_are_asked_for(system: str) -> None:
    predict = predictor(system)
    words = ["ab\tN", "dcba", "a\tV;N"]
    many = predict(words, beam=6, nbest=3)
    assert [found[0].source for found in many] == ["ab", "dcba", "a"]
    for word, found in zip(words, many, strict=True):
        assert [one.text for one in predict(word, beam=6, nbest=3)] == [one.text for one in found]
        assert len({one.symbols for one in found}) == len(found)
        scores = [one.log_prob for one in found]
        assert scores == sorted(scores, reverse=True)
        assert (
            found[0].weights.shape[1] == len(predict.example(word).tags) + len(found[0].source) + 2
        )
    assert isinstance(predict("ab", nbest=1), list)
    assert predict("ab", beam=1).text == predict("ab").text
    assert isinstance(predict(words, beam=2)[0].text, str)


@systems
def test_samples(system: str) -> None:
    predict = predictor(system)
    drawn = predict.sample("ab", 20)
    assert len(drawn) == 20
    assert [one.text for one in drawn] == [one.text for one in predict.sample("ab", 20)]
    assert [one.text for one in drawn] != [one.text for one in predict.sample("ab", 20, seed=1)]


def test_a_words_samples_do_not_depend_on_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    predict = predictor()
    words = [Example(tuple("abcd"[: k % 5]), text=str(k)) for k in range(12)]
    search = Search(samples=3)
    together = [[one.text for one in found] for found in predict.answers(words, search)]
    monkeypatch.setattr("hardalign.predictor.WINDOW", 6)
    assert [[one.text for one in found] for found in predict.answers(words, search)] == together


@systems
def test_mass_needs_exact_scores(system: str) -> None:
    predict = predictor(system)
    found = predict.answers([predict.example("ab")], Search(mass=0.01))
    if SYSTEMS[system].score == "exact":
        assert len(next(found)) >= 1
    else:
        with pytest.raises(HardalignError, match="not exact"):
            next(found)


@systems
def test_symbols_add_up(system: str) -> None:
    predict = predictor(system)
    pairs = [replace(predict.example("abc\tN"), targets=(tuple("xyx"),))] * 2
    first, second = predict.symbol_log_probs(pairs)
    assert first == pytest.approx(second, abs=1e-6)
    assert len(first) == 4
    assert sum(first) == pytest.approx(predict.log_prob("abc\tN", "xyx"), abs=1e-6)


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
    assert (found.path is not None) == ("chain" in SYSTEMS[system].attention)


@pytest.mark.parametrize(
    "system", [s for s, row in SYSTEMS.items() if row.alignment == "posterior"]
)
def test_whole_alignments_are_drawn_from_the_posterior(system: str) -> None:
    found = predictor(system).align("abc\tN", "xyx")
    drawn = found.samples(10_000, seed=1)
    assert drawn.shape == (10_000, 3)
    for column, share in zip(drawn.T, found.weights, strict=False):
        frequency = np.bincount(column, minlength=len(share)) / len(column)
        error = np.sqrt(share * (1 - share) / len(column))
        assert np.all(np.abs(frequency - share) <= 4.5 * error + 1e-6)
    assert (drawn == found.samples(10_000, seed=1)).all()
    assert (drawn != found.samples(10_000, seed=2)).any()
    if system == "hard-monotonic":
        assert (np.diff(drawn) >= 0).all()


@systems
def test_pairs_are_aligned_window_by_window(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardalign.predictor.CELLS", 40)
    predict = predictor(system)
    read = []

    def pairs() -> Iterator[Example]:
        for k in range(9):
            read.append(k)
            target = "xq" if k == 4 else "xyz"[: k % 4]
            yield Example(tuple("abcd"[: 1 + k % 3]), (tuple(target),), ("N",) * (k % 2))

    aligned = predict.align_pairs(pairs())
    found = [next(aligned)]
    assert 1 < len(read) < 9
    found += aligned
    assert [alignment is None for _, alignment in found] == [k == 4 for k in range(9)]
    for pair, alignment in found:
        if alignment is not None:
            tags = "\t" + ";".join(pair.tags) if pair.tags else ""
            alone = predict.align("".join(pair.source) + tags, "".join(pair.targets[0]))
            assert np.allclose(alone.weights, alignment.weights, atol=1e-5)
            assert alignment.system == system


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


@systems
def test_threads_do_not_disturb_each_other(system: str) -> None:
    predict = predictor(system)
    words = ["ab\tN", "dcba", "a\tV;N", "b"] * 5

    def ask(word: str) -> tuple[str, list[tuple[int, int]]]:
        found = predict(word, nbest=2)[0]
        return found.text, predict.align(word, found.text).pairs

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, words)) == list(map(ask, words))


def test_as_json() -> None:
    found = predictor()("ab")
    content = found.to_dict()
    assert content.keys() == {"text", "symbols", "log_prob", "finished"}
    assert "".join(content["symbols"]) == content["text"] == found.text


def test_load(tmp_path: Path) -> None:
    made = predictor()
    claim_folder(tmp_path, made.description)
    write_tensors(tmp_path / WEIGHTS, made.model.state_dict(), {"epoch": 0})
    assert hardalign.load(tmp_path)("abc").text == made("abc").text
    with pytest.raises(HardalignError, match="no such model"):
        hardalign.load(tmp_path / "none")
