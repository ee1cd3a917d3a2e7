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

from hardalign.data.lexicon import Lexicon
from hardalign.predictor import Predictor
from hardalign.serve.answering import answer_words
from hardalign.serve.messages import WordAnswer
from hardalign.serve.question import Question

BATCH_WORK = 2048
"""Work of a batch, as ``Limits`` counts it. With more, answers come later without coming faster."""


@dataclass(eq=False)
class _Order:
    """A question on its way."""

    question: Question
    done: asyncio.Future[list[WordAnswer]]
    answers: dict[int, WordAnswer] = field(default_factory=dict)
    begun: int = 0
    """How many of its words have gone into batches."""

    @property
    def remaining(self) -> list[int]:
        """Returns the work of each word that has not."""
        return self.question.work[self.begun :]


Batch = list[tuple[_Order, int]]
"""Words to answer together: orders, and places in them."""


class Batcher:
    """Answers the questions of many requests with one thread.

    An answer does not depend on its batch mates: no model's does.
    """

    def __init__(
        self, models: Mapping[str, Predictor], most: int, lexicons: Mapping[str, Lexicon]
    ) -> None:
        """Keeps at most so much work waiting; a model may have a lexicon of known words."""
        self._models, self._lexicons, self._most = models, lexicons, most
        self._orders: deque[_Order] = deque()
        self._wake = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Returns the work that no batch has taken yet."""
        return sum(sum(order.remaining) for order in self._orders)

    async def answer(self, question: Question) -> list[WordAnswer]:
        """Returns the answer to each word; who stops waiting for it takes the question back.

        Raises:
            HTTPException: 503, if too much work is waiting.
        """
        if self.waiting + sum(question.work) > self._most:
            raise HTTPException(
                503,
                f"too busy: more work than {self._most} would wait; try again later",
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
        """Answers questions for as long as the context lasts."""
        with ThreadPoolExecutor(1, "hardalign-model") as thread:
            work = asyncio.create_task(self._run(thread))
            try:
                yield
            finally:
                work.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await work

    async def _run(self, thread: ThreadPoolExecutor) -> None:
        while True:
            await self._wake.wait()
            if batch := self._next_batch():
                await self._work(thread, batch)
            if not self._orders:
                self._wake.clear()

    async def _work(self, thread: ThreadPoolExecutor, batch: Batch) -> None:
        """Answers a batch; if that fails, each order alone, so that none can spoil the others'."""
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(thread, self._answer, batch)
        except Exception as error:
            first, *others = dict(batch)
            if others:
                for order in (first, *others):
                    await self._work(thread, [part for part in batch if part[0] is order])
            elif not first.done.done():
                first.done.set_exception(error)
        else:
            _hand_out(batch, answers)

    def _next_batch(self) -> Batch:
        """Takes a word of each order in turn, so that a long list does not hold up a single word.

        All are of the group of the order that has waited longest; those that got a word in go to
        the end of the queue.
        """
        if not self._orders:  # who woke the loop has gone
            return []
        group = self._orders[0].question.group
        mates = deque(order for order in self._orders if order.question.group == group)
        batch, work = Batch(), 0
        while mates and work < BATCH_WORK:
            order = mates.popleft()
            work += order.remaining[0]
            batch.append((order, order.begun))
            order.begun += 1
            if order.remaining:
                mates.append(order)
        for order in dict(batch):
            self._orders.remove(order)
            if order.remaining:
                self._orders.append(order)
        return batch

    def _answer(self, batch: Batch) -> list[WordAnswer]:
        """Runs the model; this alone happens in the thread."""
        model, search, alignments = batch[0][0].question.group
        words = [order.question.words[position] for order, position in batch]
        predictor, lexicon = self._models[model], self._lexicons.get(model)
        return answer_words(predictor, search, words, alignments, lexicon)


def _hand_out(batch: Batch, answers: list[WordAnswer]) -> None:
    """Gives each order its answers, and completes those that have them all."""
    for (order, position), answer in zip(batch, answers, strict=True):
        order.answers[position] = answer
        words = len(order.question.words)
        if len(order.answers) == words and not order.done.done():
            order.done.set_result([order.answers[k] for k in range(words)])
