"""Requests answered in batches: whatever waits while the model works is its next batch.

The queue belongs to the event loop alone, so nothing needs a lock; the model runs in one thread of
its own. Nobody waits for a batch to fill: a lone request is answered at once, and batches grow by
themselves as requests pile up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException

from hardalign.errors import HardalignError
from hardalign.predictor import Predictor
from hardalign.serve.questions import Question

BATCH_WORK = 2048
"""Work of a batch, as ``Limits`` counts it. With more, answers come later without coming faster."""


@dataclass(eq=False)
class Order:
    """A question in the queue."""

    question: Question
    done: asyncio.Future[list[Any]]
    answers: dict[int, Any] = field(default_factory=dict)
    begun: int = 0
    """How many of its items have gone into batches."""

    @property
    def remaining(self) -> list[int]:
        """Return the work of each item that has not."""
        return self.question.work[self.begun :]


Batch = list[tuple[Order, int]]
"""Items to answer together: orders, and indexes into them."""


class Batcher:
    """Answer the questions of many requests with one thread; batch mates change no answer."""

    def __init__(self, models: Mapping[str, Predictor], limit: int) -> None:
        """Let at most so much work wait."""
        self._models, self._limit = models, limit
        self._orders: deque[Order] = deque()
        self._wake = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Return the work that no batch has taken yet."""
        return sum(sum(order.remaining) for order in self._orders)

    async def answer(self, question: Question) -> list[Any]:
        """Return the answer to each item; cancelling it takes the question back.

        Raises:
            HTTPException: 503 if too much work is waiting, 422 if the model cannot answer.
        """
        if self.waiting + sum(question.work) > self._limit:
            raise HTTPException(
                503,
                f"too busy: more work than {self._limit} would wait; try again later",
                {"Retry-After": "1"},
            )
        if not question.items:
            return []
        order = Order(question, asyncio.get_running_loop().create_future())
        self._orders.append(order)
        self._wake.set()
        try:
            return await order.done
        except HardalignError as error:
            raise HTTPException(422, str(error)) from error
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
        while True:
            await self._wake.wait()
            if batch := self._next_batch():
                await self._work(thread, batch)
            if not self._orders:
                self._wake.clear()

    async def _work(self, thread: ThreadPoolExecutor, batch: Batch) -> None:
        """Answer a batch; if that fails, each order alone, so that none spoils the others'."""
        loop = asyncio.get_running_loop()
        group = batch[0][0].question.group
        items = [order.question.items[index] for order, index in batch]
        try:
            answers = await loop.run_in_executor(
                thread, group.ask, self._models[group.model], items
            )
        except Exception as error:
            first, *others = dict(batch)
            if others:
                for order in (first, *others):
                    await self._work(thread, [part for part in batch if part[0] is order])
            elif not first.done.done():
                first.done.set_exception(error)
        else:
            for (order, index), answer in zip(batch, answers, strict=True):
                order.answers[index] = answer
                size = len(order.question.items)
                if len(order.answers) == size and not order.done.done():
                    order.done.set_result([order.answers[k] for k in range(size)])

    def _next_batch(self) -> Batch:
        """Take an item of each order in turn, so that a long list does not hold up a single word.

        All are of the group of the order that has waited longest; those that got an item in go to
        the end of the queue.
        """
        if not self._orders:  # whoever woke the loop has gone
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
