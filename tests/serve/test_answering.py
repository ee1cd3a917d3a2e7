from __future__ import annotations

import pytest
from msgspec import UNSET

from hardalign.decoding import Search
from hardalign.serve.answering import answer_words
from hardalign.serve.messages import AlignmentAnswer
from serve.conftest import MODELS


@pytest.mark.parametrize("alignments", [False, True])
def test_answers_are_what_the_predictor_says(alignments: bool) -> None:
    predictor = MODELS["hard"]
    texts = ["ab", "dcba"]
    words = [predictor.example(text) for text in texts]
    answers = answer_words(predictor, Search(nbest=3), words, alignments)
    for text, answer in zip(texts, answers, strict=True):
        assert answer.source == text
        expected = predictor(text, nbest=3)
        assert [entry.text for entry in answer.predictions] == [one.text for one in expected]
        assert [entry.log_prob for entry in answer.predictions] == pytest.approx(
            [one.log_prob for one in expected], abs=1e-5
        )
        for entry in answer.predictions:
            if not alignments:
                assert entry.alignment is UNSET
                continue
            assert isinstance(entry.alignment, AlignmentAnswer)
            assert entry.alignment.target == entry.symbols
            assert entry.alignment.pairs == predictor.align(text, entry.text).pairs


def test_unknown_symbols_are_named_once() -> None:
    predictor = MODELS["tagged"]
    (answer,) = answer_words(predictor, Search(), [predictor.example("qaqz\tN;X")], False)
    assert answer.unknown == ["X", "q", "z"]
    assert answer.tags == ("N", "X")
