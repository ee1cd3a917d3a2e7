from __future__ import annotations

import pytest

from hardalign.decoding import Search
from hardalign.serve.answering import answer_words
from serve.conftest import MODELS


def test_answers_are_what_the_predictor_says() -> None:
    predictor = MODELS["hard"]
    words = [predictor.example(text) for text in ("ab", "dcba")]
    first, second = answer_words(predictor, Search(nbest=3), words, [False, True])
    for answer, text in ((first, "ab"), (second, "dcba")):
        assert answer["source"] == text
        expected = predictor(text, nbest=3)
        assert [entry["text"] for entry in answer["predictions"]] == [one.text for one in expected]
        assert [entry["log_prob"] for entry in answer["predictions"]] == pytest.approx(
            [one.log_prob for one in expected], abs=1e-5
        )
    assert all("alignment" not in entry for entry in first["predictions"])
    for entry in second["predictions"]:
        assert entry["alignment"]["target"] == entry["symbols"]
        expected_alignment = predictor.align("dcba", entry["text"])
        assert entry["alignment"]["pairs"] == expected_alignment.pairs


def test_unknown_symbols_are_named_once() -> None:
    predictor = MODELS["tagged"]
    (answer,) = answer_words(predictor, Search(), [predictor.example("qaqz\tN;X")], [False])
    assert answer["unknown"] == ["X", "q", "z"]
    assert answer["tags"] == ("N", "X")
