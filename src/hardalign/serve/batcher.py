"""Requests answered together: whatever waits while the model works is its next batch.

The waiting words are kept by the event loop alone, so nothing needs a lock; the model runs in one
thread of its own, so that the loop goes on reading requests meanwhile. Nobody waits for a batch to
fill: a lonely request is answered at once, and batches grow by themselves as requests pile up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException

from hardalign.predictor import Predictor
from hardalign.serve.answering import Answer, answer_words
from hardalign.serve.question import Question

BATCH_SYMBOLS = 2048
"""Source symbols in a batch; a beam counts each as often as it is wide. With more, answers come
later without coming faster."""


@dataclass(eq=False)
class _Order:
    """A question on its way."""

    question: Question
    done: asyncio.Future[list[Answer]]
    answers: dict[int, Answer] = field(default_factory=dict)
    asked: int = 0
    """How many of its words have gone into batches."""

    @property
    def rest(self) -> int:
        return len(self.question.words) - self.asked


Batch = list[tuple[_Order, int]]
"""Words to answer together: orders, and places in them."""


class Batcher:
    """Answers the questions of many requests with one thread.

    An answer does not depend on its batch mates: no model's does.
    """

    def __init__(self, models: Mapping[str, Predictor], most: int) -> None:
        """Keep at most so many words waiting."""
        self._models = models
        self._most = most
        self._orders: deque[_Order] = deque()
        self._wake = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Words that no batch has taken yet."""
        return sum(order.rest for order in self._orders)

    async def answer(self, question: Question) -> list[Answer]:
        """The answer to each word; whoever stops waiting for it takes the question back.

        Raises:
            HTTPException: 503, if too many words are waiting.
        """
        if self.waiting + len(question.words) > self._most:
            raise HTTPException(
                503,
                f"too busy: more than {self._most} words are waiting; try again later",
                {"Retry-After": "1"},
            )
        if not question.words:
            return []
        order = _Order(question, asyncio.get_running_loop().create_future())
        self._orders.append(order)
        self._wake.set()
        try:
            return await order.done
        finally:
            if order in self._orders:
                self._orders.remove(order)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer questions for as long as the context lasts."""
        with ThreadPoolExecutor(1, "hardalign-model") as thread:
            work = asyncio.create_task(self._run(thread))
            try:
                yield
            finally:
                work.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await work

    async def _run(self, thread: ThreadPoolExecutor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            batch = self._next_batch()
            try:
                answers = await loop.run_in_executor(thread, self._answer, batch)
            except Exception as error:
                for order in {order for order, _ in batch}:
                    if not order.done.done():
                        order.done.set_exception(error)
            else:
                _hand_out(batch, answers)
            if not self._orders:
                self._wake.clear()

    def _next_batch(self) -> Batch:
        """One word of each order in turn, so that a long list does not hold up a single word.

        All are of the group of the order that has waited longest; those that got a word in go to
        the end of the queue.
        """
        batch: Batch = []
        if not self._orders:  # whoever woke the loop has gone
            return batch
        first = self._orders[0].question
        mates = deque(o for o in self._orders if o.question.group == first.group)
        symbols = 0
        while mates and symbols < BATCH_SYMBOLS:
            order = mates.popleft()
            symbols += first.search.width * (len(order.question.words[order.asked].source) + 2)
            batch.append((order, order.asked))
            order.asked += 1
            if order.rest:
                mates.append(order)
        for order in dict(batch):
            self._orders.remove(order)
            if order.rest:
                self._orders.append(order)
        return batch

    def _answer(self, batch: Batch) -> list[Answer]:
        """Run the model; the only part that happens in the thread."""
        if not batch:
            return []
        question = batch[0][0].question
        words = [order.question.words[position] for order, position in batch]
        aligned = [order.question.alignments for order, _ in batch]
        return answer_words(self._models[question.model], question.search, words, aligned)


def _hand_out(batch: Batch, answers: list[Answer]) -> None:
    """Give each order its answers, and complete those that have them all."""
    for (order, position), answer in zip(batch, answers, strict=True):
        order.answers[position] = answer
        words = len(order.question.words)
        if len(order.answers) == words and not order.done.done():
            order.done.set_result([order.answers[k] for k in range(words)])
