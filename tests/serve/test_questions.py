from __future__ import annotations

import json
import time
from copy import copy
from dataclasses import replace
from itertools import product
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from hardalign.data.inflection import KnownForms
from hardalign.data.lexicon import Lexicon
from hardalign.search import Search
from hardalign.serve.messages import Limits, TextAnswer, WordsRequest
from hardalign.serve.questions import Group, Question, read_text, read_words
from hardalign.text.running import Line
from serve.helpers import MODELS, knowing

LIMITS = Limits(words=3, characters=20, symbols=5, beam=6, work=100)


def read(content: Any) -> Question:
    return read_words(json.dumps(content).encode(), MODELS, LIMITS)


def test_what_is_not_said_is_as_in_python() -> None:
    question = read({"words": ["ab"]})
    assert question == Question(Group("hard", Search()), [MODELS["hard"].example("ab")], [4])


def test_everything_said() -> None:
    said = {"model": "tagged", "words": ["ab\tN"], "nbest": 2, "beam": 6, "alignments": True}
    question = read(said)
    assert question.group == Group("tagged", Search(beam=6, nbest=2), True)
    assert question.work == [(2 + 1 + 2) * (2 + 1 + 27) // 25 * 6 * 2]
    assert question.items[0].tags == ("N",)


WRONG: list[tuple[Any, int, str]] = [
    ([], 422, "expected object, got array"),
    ({}, 422, "missing required field words"),
    ({"words": "ab"}, 422, "words: expected array, got str"),
    ({"words": [3]}, 422, r"words\[0\]: expected str, got int"),
    ({"words": ["ab", " "]}, 422, r"words\[1\]: .*no symbols"),
    ({"words": ["a"] * 4}, 413, "4 words; the limit is 3"),
    ({"words": ["a", "abcabc"]}, 413, r"words\[1\] has 6 symbols; the limit is 5"),
    ({"words": ["abcd\tN;V"], "model": "tagged"}, 413, "6 symbols; the limit is 5"),
    ({"words": ["abc"] * 3, "beam": 6, "alignments": True}, 413, "is 216, the limit 100;"),
    ({"words": ["abcd"] * 3, "beam": 6}, 413, "is 126, the limit 100"),
    ({"words": ["a\tb\tc"], "model": "tagged"}, 422, r"words\[0\]"),
    ({"words": ["a"], "model": "x"}, 404, "there are hard, soft, tagged"),
    ({"words": ["a"], "model": 1}, 422, "model: expected str"),
    ({"words": ["a"], "nbest": 0}, 422, "nbest: expected int >= 1"),
    ({"words": ["a"], "nbest": True}, 422, "nbest: expected int .*, got bool"),
    ({"words": ["a"], "nbest": 10**400}, 422, "nbest must be"),
    ({"words": ["a"], "nbest": 7}, 422, "beam of 7; the limit is 6"),
    ({"words": ["a"], "beam": 7}, 422, "beam of 7; the limit is 6"),
    ({"words": ["a"], "beam": 2, "nbest": 3}, 422, "widen the beam"),
    ({"words": ["a"], "alignments": 1}, 422, "alignments: expected bool"),
    ({"words": ["a"], "bream": 3}, 422, "words, model, .* unknown field bream"),
    ({"words": ["a\ud800"]}, 400, "not JSON"),
    ({"words": ["a"], "model": "\udfff"}, 400, "not JSON"),
    ({"words": ["a"], "\ud800": 1}, 400, "not JSON"),
    ({"words": ["a" * 21]}, 413, r"words\[0\] has 21 characters; the limit is 20"),
]


@pytest.mark.parametrize(("content", "status", "says"), WRONG)
def test_what_is_wrong_is_said(content: Any, status: int, says: str) -> None:
    with pytest.raises(HTTPException, match=says) as refused:
        read(content)
    assert refused.value.status_code == status


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b'{"words": ["\xed\xa0\x80"]}', b'{"words": ["\xff"]}']
)
def test_what_is_no_json(body: bytes) -> None:
    with pytest.raises(HTTPException, match="not JSON") as refused:
        read_words(body, MODELS, LIMITS)
    assert refused.value.status_code == 400


def test_pairs_of_surrogates_are_characters() -> None:
    assert read_words(b'{"words": ["\\ud83d\\ude00"]}', MODELS, LIMITS).items[0].text == "😀"


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"words": JSON | st.lists(ANY_TEXT)},
        optional={key: JSON for key in WordsRequest.__struct_fields__ if key != "words"},
    )
)
def test_any_json_is_read_or_refused(content: Any) -> None:
    try:
        question = read(content)
    except HTTPException as error:
        status = error.status_code
    else:
        status = 200
        assert len(question.items) <= LIMITS.words
        assert question.group.search.width <= LIMITS.beam
        assert sum(question.work) <= LIMITS.work
        msgspec.json.encode([word.text for word in question.items])
    assert status in (200, 400, 404, 413, 422)


def test_any_one_word_within_the_limits_is_answered() -> None:
    limits = Limits()
    body = {"words": ["a" * limits.symbols], "nbest": limits.beam, "alignments": True}
    question = read_words(json.dumps(body).encode(), MODELS, limits)
    assert sum(question.work) <= limits.work <= limits.waiting


def test_what_could_not_be_answered_in_time_is_refused_at_once() -> None:
    body = json.dumps({"words": ["abcde" * 10] * 500}).encode()
    with pytest.raises(HTTPException, match="several requests") as refused:
        read_words(body, MODELS, Limits())
    assert refused.value.status_code == 413


def test_marks_are_counted_before_they_are_normalised() -> None:
    """Normalising takes quadratic time for such a word, and Python answers nobody meanwhile."""
    start = time.perf_counter()
    for count in (400, 30_000):
        word = "a" + "\u0301" * count + "\u0316" * count
        body = json.dumps({"words": [word]}, ensure_ascii=False).encode()
        with pytest.raises(HTTPException) as refused:
            read_words(body, MODELS, Limits())
        assert refused.value.status_code in (413, 422)
    assert time.perf_counter() - start < 1


def test_known_forms_are_work() -> None:
    """A known word has all its forms scored, however narrow the beam."""
    predictor = MODELS["hard"]
    lexicon = Lexicon(predictor.description.format)
    forms = list(product("xyz", repeat=5))
    for form in forms:
        lexicon.add(("a", "b"), form)
    models = {"hard": knowing(predictor, lexicon)}
    question = read_words(b'{"words": ["ab"], "alignments": true}', models, Limits())
    assert question.work == [len(forms) * ((5 + 1) * (2 + 27) // 25) * 2]
    with pytest.raises(HTTPException, match="too much for one request"):
        read_words(json.dumps({"words": ["ab"] * 20}).encode(), models, Limits())


def test_forms_that_are_read_beside_a_word_are_work() -> None:
    predictor = copy(MODELS["tagged"])
    forms = KnownForms(((("a",), ("V",), ("x",) * 100),), 1)
    predictor.description = replace(predictor.description, known_forms=forms)
    question = read_words(b'{"words": ["a\\tN"]}', {"m": predictor}, Limits())
    assert question.work == [(1 + 1 + 2) * (1 + 1 + 100 + 2 + 27) // 25]  # ||, and the tag 1:V


def test_a_text_is_cut_at_blanks() -> None:
    body = json.dumps({"text": "ab,  cd\nab\u00a0dc\n", "model": "soft"}).encode()
    question = read_text(body, MODELS, Limits())
    assert [item.text for item in question.items] == ["ab,", "cd", "ab", "dc"]
    assert question.group == Group("soft", text=True)
    pieces = [Line(item.text.upper(), []) for item in question.items]
    assert question.message(pieces) == TextAnswer("soft", "AB,  CD\nAB\u00a0DC\n", [])


@pytest.mark.parametrize(
    ("content", "status", "says"),
    [
        ({}, 422, "missing required field text"),
        ({"text": "ab", "model": "tagged"}, 422, "needs tags"),
        ({"text": "ab", "ipa": True}, 422, "ARPAbet"),
        ({"text": "a" * 1001}, 413, "1001 characters without a blank; the limit is 1000"),
        ({"text": " ".join(map(str, range(10**5, 10**5 + 3000)))}, 413, "several requests"),
    ],
)
def test_what_is_wrong_with_a_text(content: Any, status: int, says: str) -> None:
    with pytest.raises(HTTPException, match=says) as refused:
        read_text(json.dumps(content).encode(), MODELS, Limits())
    assert refused.value.status_code == status
