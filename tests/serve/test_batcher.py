from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from msgspec import to_builtins
from starlette.exceptions import HTTPException

from hardalign.errors import HardalignError
from hardalign.serve import batcher as module
from hardalign.serve import questions
from hardalign.serve.batcher import Batcher
from hardalign.serve.messages import Limits, WordAnswer
from hardalign.serve.questions import Question, read_words
from serve.helpers import MODELS, Gate

T = TypeVar("T")
TAGS = {"tagged": "\tN;V"}


def question(*texts: str, model: str = "hard", **settings: Any) -> Question:
    body = {"model": model, "words": texts, **settings}
    return read_words(json.dumps(body).encode(), MODELS, Limits())


def with_batcher(use: Callable[[Batcher], Awaitable[T]], limit: int = 10_000) -> T:
    async def run() -> T:
        batcher = Batcher(MODELS, limit)
        async with batcher.running():
            return await use(batcher)

    return asyncio.run(run())


async def reached(gate: Gate) -> None:
    """Wait until the model is at work."""
    assert await asyncio.to_thread(gate.reached.wait, 30)


async def handed_in(batcher: Batcher, work: int) -> None:
    """Let tasks run until so much work waits."""
    for _ in range(1000):
        if batcher.waiting == work:
            return
        await asyncio.sleep(0)
    pytest.fail(f"{batcher.waiting} waits, not {work}")


def same(one: Any, other: Any) -> bool:
    """Equal, numbers but for rounding."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == pytest.approx(other, abs=2e-5) if isinstance(one, float) else one == other)


def test_answers_do_not_depend_on_batch_mates(gate: Gate) -> None:
    texts = [("ab", "dcb"), ("a",), ("bbb", "q")]
    questions = [
        question(
            *[text + TAGS.get(name, "") for text in words],
            model=name,
            alignments=aligned,
            **search,
        )
        for words in texts
        for name in MODELS
        for search in ({}, {"beam": 3, "nbest": 2})
        for aligned in (False, True)
    ]

    async def use(batcher: Batcher) -> list[list[WordAnswer]]:
        first = asyncio.ensure_future(batcher.answer(questions[0]))
        await reached(gate)
        others = [asyncio.ensure_future(batcher.answer(one)) for one in questions[1:]]
        await handed_in(batcher, sum(sum(one.work) for one in questions[1:]))
        gate.opened.set()
        return await asyncio.gather(first, *others)

    found = with_batcher(use)
    assert (
        len(gate.batches) == 1 + len(MODELS) * 4
    )  # the first question, then a batch for each group
    for one, answers in zip(questions, found, strict=True):
        for word, answer in zip(one.items, answers, strict=True):
            (alone,) = one.group.ask(MODELS[one.group.model], [word])
            assert same(to_builtins(answer), to_builtins(alone))


def test_what_waits_is_the_next_batch(gate: Gate) -> None:
    async def use(batcher: Batcher) -> None:
        first = asyncio.ensure_future(batcher.answer(question("a")))
        await reached(gate)
        others = [asyncio.ensure_future(batcher.answer(question("b", "c"))) for _ in range(10)]
        await handed_in(batcher, 60)
        gate.opened.set()
        await asyncio.gather(first, *others)

    with_batcher(use)
    assert gate.batches == [["a"], ["b"] * 10 + ["c"] * 10]


def test_a_list_does_not_hold_up_a_word(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH_WORK", 12)

    async def use(batcher: Batcher) -> None:
        first = asyncio.ensure_future(batcher.answer(question(*["a"] * 40)))
        await reached(gate)
        word = asyncio.ensure_future(batcher.answer(question("b")))
        other_group = asyncio.ensure_future(batcher.answer(question("c", model="soft")))
        await handed_in(batcher, 38 * 3)
        gate.opened.set()
        await asyncio.gather(word, other_group)
        assert not first.done()
        assert len(await first) == 40

    with_batcher(use)
    # Four words of one letter, begin and end have 12 symbols.
    assert gate.batches[:3] == [["a"] * 4, ["a", "b", "a", "a"], ["c"]]
    assert all(len(batch) <= 4 for batch in gate.batches)


def test_a_beam_takes_its_share_of_a_batch(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH_WORK", 12)
    gate.opened.set()
    wide = question(*"abcd", beam=2)
    assert len(with_batcher(lambda batcher: batcher.answer(wide))) == 4
    assert [len(batch) for batch in gate.batches] == [2, 2]


@pytest.mark.parametrize("fails", [False, True])
def test_whoever_gives_up_costs_nothing_more(
    fails: bool, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated = questions.answer_words

    def fragile(model, words, *others):  # type: ignore[no-untyped-def]
        answers = gated(model, words, *others)
        if fails and words[0].text == "a":
            raise ZeroDivisionError
        return answers

    monkeypatch.setattr(questions, "answer_words", fragile)
    monkeypatch.setattr(module, "BATCH_WORK", 3)

    async def use(batcher: Batcher) -> None:
        impatient = asyncio.ensure_future(batcher.answer(question("a", "a", "a")))
        await reached(gate)
        impatient.cancel()
        await asyncio.wait([impatient])
        assert batcher.waiting == 0
        gate.opened.set()
        assert len(await asyncio.wait_for(batcher.answer(question("b")), 30)) == 1

    with_batcher(use)
    assert gate.batches == [["a"], ["b"]]


def test_a_failure_reaches_those_who_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[WordAnswer]:
        raise ZeroDivisionError

    async def use(batcher: Batcher) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(questions, "answer_words", fail)
            with pytest.raises(ZeroDivisionError):
                await batcher.answer(question("a"))
        assert len(await batcher.answer(question("a"))) == 1

    with_batcher(use)


def test_one_who_fails_spoils_nothing_for_the_others(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    gated = questions.answer_words

    def fragile(model, words, *others):  # type: ignore[no-untyped-def]
        answers = gated(model, words, *others)
        if any(word.text == "d" for word in words):
            raise ZeroDivisionError
        return answers

    monkeypatch.setattr(questions, "answer_words", fragile)

    async def use(batcher: Batcher) -> list[list[WordAnswer] | BaseException]:
        first = asyncio.ensure_future(batcher.answer(question("a")))
        await reached(gate)
        others = [asyncio.ensure_future(batcher.answer(question(text))) for text in "bdc"]
        await handed_in(batcher, 9)
        gate.opened.set()
        return await asyncio.gather(first, *others, return_exceptions=True)

    a, b, d, c = with_batcher(use)
    assert isinstance(d, ZeroDivisionError)
    assert [answer[0].source for answer in (a, b, c) if isinstance(answer, list)] == ["a", "b", "c"]


def test_too_much_waiting_is_refused(gate: Gate) -> None:
    async def use(batcher: Batcher) -> None:
        first = asyncio.ensure_future(batcher.answer(question("a")))
        await reached(gate)
        waiting = asyncio.ensure_future(batcher.answer(question("b", "b", "b")))
        await handed_in(batcher, 9)
        with pytest.raises(HTTPException, match="exceed the limit, 14") as refused:
            await batcher.answer(question("c", "c"))
        assert refused.value.status_code == 503
        gate.opened.set()
        await asyncio.gather(first, waiting)

    with_batcher(use, limit=14)


def test_no_words_no_work(gate: Gate) -> None:
    assert with_batcher(lambda batcher: batcher.answer(question())) == []
    assert gate.batches == []


def test_a_model_that_cannot_answer_is_no_failure_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> list[WordAnswer]:
        raise HardalignError("its weights are too large")

    monkeypatch.setattr(questions, "answer_words", refuse)
    with pytest.raises(HTTPException, match="too large") as refused:
        with_batcher(lambda batcher: batcher.answer(question("a")))
    assert refused.value.status_code == 422
