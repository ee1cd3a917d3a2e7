from __future__ import annotations

import pytest
from msgspec import UNSET

import hardalign
from hardalign.data.lexicon import Lexicon
from hardalign.search import Search
from hardalign.serve.answering import answer_words
from hardalign.serve.collection import describe_models
from hardalign.serve.messages import AlignmentAnswer
from serve.helpers import MODELS


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


def test_a_known_word_is_not_asked_of_the_model() -> None:
    predictor = MODELS["hard"]
    lexicon = Lexicon(predictor.description.format)
    for text in ("yyx", "x"):
        lexicon.add(("a", "b"), tuple(text))
    words = [predictor.example(text) for text in ("ab", "ba")]
    known, new = answer_words(predictor, Search(nbest=1), words, True, lexicon)
    assert (known.origin, new.origin) == ("lexicon", "model")
    assert [one.text for one in known.predictions] == ["yyx", "x"]
    assert known.predictions[0].log_prob == pytest.approx(predictor.log_prob("ab", "yyx"), abs=1e-5)
    assert isinstance(known.predictions[0].alignment, AlignmentAnswer)
    assert [one.text for one in new.predictions] == [predictor("ba", nbest=1)[0].text]


def test_arpabet_is_written_as_ipa_too() -> None:
    g2p = hardalign.load("en-g2p")
    lexicon = Lexicon(g2p.description.format)
    lexicon.add(tuple("of"), ("AH1", "V"))
    words = [g2p.example("of"), g2p.example("action")]
    answers = answer_words(g2p, Search(), words, False, lexicon)
    assert [answer.predictions[0].ipa for answer in answers] == ["ʌv", "ˈækʃən"]
    (other,) = answer_words(MODELS["hard"], Search(), [MODELS["hard"].example("ab")], False)
    assert other.predictions[0].ipa is UNSET
    described = describe_models({"en-g2p": g2p, "hard": MODELS["hard"]}, {})
    assert [model.ipa for model in described] == [True, False]
