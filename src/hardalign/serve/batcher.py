"""Dynamic batching: the requests that arrive while the model works form its next batch.

Only the event loop touches the queue, so no locks are needed; the model runs in its own thread. No
request waits for a batch to fill: a lone one is answered at once, and batches grow with the load.
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
"""Work per batch, as ``Limits`` counts it. More would add latency without adding throughput."""


@dataclass(eq=False)
class Order:
    """A question in the queue."""

    question: Question
    done: asyncio.Future[list[Any]]
    answers: dict[int, Any] = field(default_factory=dict)
    begun: int = 0
    """Number of items already put into batches."""

    @property
    def remaining(self) -> list[int]:
        """The work of each item not yet in a batch."""
        return self.question.work[self.begun :]


Batch = list[tuple[Order, int]]
"""Items to answer together, each as an order and an index into it."""


class Batcher:
    """Answer the questions of many requests in one thread; an answer never depends on its batch."""

    def __init__(self, models: Mapping[str, Predictor], limit: int) -> None:
        """Let at most ``limit`` units of work wait."""
        self._models, self._limit = models, limit
        self._orders: deque[Order] = deque()
        self._wake = asyncio.Event()

    @property
    def waiting(self) -> int:
        """The work not yet in a batch."""
        return sum(sum(order.remaining) for order in self._orders)

    async def answer(self, question: Question) -> list[Any]:
        """Return the answer to each item; cancellation withdraws the question.

        Raises:
            HTTPException: 503 if too much work is waiting, 422 if the model cannot answer.
        """
        if self.waiting + sum(question.work) > self._limit:
            raise HTTPException(
                503,
                f"too busy: waiting work would exceed the limit, {self._limit}; try again later",
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
        """Answer questions while the context is open."""
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
        """Answer a batch; if that fails, answer each order alone, to isolate the faulty one."""
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
        """Take items from the orders in turn, so that a long list does not hold up a single word.

        All are from the group of the order first in the queue. Orders with items both in the batch
        and left over move to the end of the queue.
        """
        if not self._orders:  # the order that woke the loop was cancelled
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
