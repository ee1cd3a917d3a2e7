from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from hardalign.search import Search
from hardalign.serve.messages import Limits, Request
from hardalign.serve.question import Question, read_question
from serve.helpers import MODELS

LIMITS = Limits(words=3, symbols=5, beam=6, work=100)


def read(content: Any) -> Question:
    return read_question(json.dumps(content).encode(), MODELS, LIMITS)


def test_what_is_not_said_is_as_in_python() -> None:
    question = read({"words": ["ab"]})
    assert question == Question("hard", Search(), [MODELS["hard"].example("ab")], False)


def test_everything_said() -> None:
    said = {"model": "tagged", "words": ["ab\tN"], "nbest": 2, "beam": 6, "alignments": True}
    question = read(said)
    assert question.group == ("tagged", Search(beam=6, nbest=2), True)
    assert question.work == [(2 + 1 + 2) * (2 + 1 + 27) // 25 * 6 * 2]
    assert question.words[0].tags == ("N",)
    assert question.alignments


WRONG: list[tuple[Any, int, str]] = [
    ([], 422, "expected object, got array"),
    ({}, 422, "missing required field words"),
    ({"words": "ab"}, 422, "words: expected array, got str"),
    ({"words": [3]}, 422, r"words\[0\]: expected str, got int"),
    ({"words": ["ab", " "]}, 422, r"words\[1\]: .*no symbols"),
    ({"words": ["a"] * 4}, 413, "4 words; the limit of a request is 3"),
    ({"words": ["a", "abcabc"]}, 413, r"words\[1\] has 6 symbols; the limit is 5"),
    ({"words": ["abcd\tN;V"], "model": "tagged"}, 413, "6 symbols; the limit is 5"),
    ({"words": ["abc"] * 3, "beam": 6, "alignments": True}, 413, "is 216, the limit 100;"),
    ({"words": ["abcd"] * 3, "beam": 6}, 413, "is 126, the limit 100"),
    ({"words": ["a\tb\tc"], "model": "tagged"}, 422, r"words\[0\]"),
    ({"words": ["a"], "model": "x"}, 404, "there are hard, soft, tagged"),
    ({"words": ["a"], "model": 1}, 422, "model: expected str"),
    ({"words": ["a"], "nbest": 0}, 422, "nbest: expected int >= 1"),
    ({"words": ["a"], "nbest": True}, 422, "nbest: expected int .*, got bool"),
    ({"words": ["a"], "nbest": 1e400}, 422, "nbest: "),
    ({"words": ["a"], "nbest": 7}, 422, "beam of 7; the limit is 6"),
    ({"words": ["a"], "beam": 7}, 422, "beam of 7; the limit is 6"),
    ({"words": ["a"], "beam": 2, "nbest": 3}, 422, "widen the beam"),
    ({"words": ["a"], "alignments": 1}, 422, "alignments: expected bool"),
    ({"words": ["a"], "bream": 3}, 422, "unknown field bream; .* words, model"),
    ({"words": ["a\ud800"]}, 422, "half a character"),
    ({"words": ["a"], "model": "\udfff"}, 422, "half a character"),
    ({"words": ["a"], "\ud800": 1}, 422, "half a character"),
]


@pytest.mark.parametrize(("content", "status", "says"), WRONG)
def test_what_is_wrong_is_said(content: Any, status: int, says: str) -> None:
    with pytest.raises(HTTPException, match=says) as refused:
        read(content)
    assert refused.value.status_code == status


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b'{"words": ["\xed\xa0\x80"]}', b'{"words": [' + b"[" * 100_000]
)
def test_what_is_no_json(body: bytes) -> None:
    with pytest.raises(HTTPException, match="not JSON") as refused:
        read_question(body, MODELS, LIMITS)
    assert refused.value.status_code == 400


def test_pairs_of_surrogates_are_characters() -> None:
    assert read_question(b'{"words": ["\\ud83d\\ude00"]}', MODELS, LIMITS).words[0].text == "😀"


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"words": JSON | st.lists(ANY_TEXT)},
        optional={key: JSON for key in Request.__struct_fields__ if key != "words"},
    )
)
def test_any_json_is_read_or_refused(content: Any) -> None:
    try:
        question = read(content)
    except HTTPException as error:
        status = error.status_code
    else:
        status = 200
        assert len(question.words) <= LIMITS.words
        assert question.search.width <= LIMITS.beam
        assert sum(question.work) <= LIMITS.work
        msgspec.json.encode([word.text for word in question.words])
    assert status in (200, 404, 413, 422)


def test_any_one_word_within_the_limits_is_answered() -> None:
    limits = Limits()
    body = {"words": ["a" * limits.symbols], "nbest": limits.beam, "alignments": True}
    question = read_question(json.dumps(body).encode(), MODELS, limits)
    assert sum(question.work) <= limits.work <= limits.waiting


def test_what_could_not_be_answered_in_time_is_refused_at_once() -> None:
    body = json.dumps({"words": ["abcde" * 10] * 500}).encode()
    with pytest.raises(HTTPException, match="several requests") as refused:
        read_question(body, MODELS, Limits())
    assert refused.value.status_code == 413
