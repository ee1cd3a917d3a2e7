"""The routes: the pages, their static files, and the JSON API."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Mapping
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from hardalign.data.lexicon import Lexicon
from hardalign.predictor import Predictor
from hardalign.serve.batcher import Batcher
from hardalign.serve.collection import describe_models
from hardalign.serve.guard import Guard
from hardalign.serve.messages import Answers, Health, Limits, Models, Refusal
from hardalign.serve.openapi import describe_api
from hardalign.serve.question import read_question
from hardalign.version import __version__

PAGE = Path(__file__).with_name("page")
"""All that is served from the disk."""
FRESH = {"Cache-Control": "no-cache"}
"""The page of another version must not be shown; its files are small, and checked by their tags."""
JSON_ONLY = "the body should be JSON: send it with Content-Type: application/json"
T = TypeVar("T")


def create_app(
    models: Mapping[str, Predictor],
    limits: Limits,
    host: str,
    lexicons: Mapping[str, Lexicon] = MappingProxyType({}),
) -> ASGIApp:
    """Returns an application that answers for some models, by their names.

    The first model is meant where a request names none. ``host`` is the address it is served on,
    for ``Guard``; a model may have a lexicon of known words.
    """
    batcher = Batcher(models, limits.waiting, lexicons)
    description = Models(models=describe_models(models, lexicons), limits=limits)
    api = describe_api(limits)

    async def page(_: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=FRESH)

    async def docs(_: Request) -> Response:
        return FileResponse(PAGE / "docs.html", headers=FRESH)

    async def health(_: Request) -> Response:
        return _json(Health(version=__version__, waiting=batcher.waiting))

    async def list_models(_: Request) -> Response:
        return _json(description)

    async def openapi(_: Request) -> Response:
        return _json(api)

    async def predict(request: Request) -> Response:
        media_type = request.headers.get("content-type", "").partition(";")[0]
        if media_type.strip().lower() != "application/json":
            raise HTTPException(415, JSON_ONLY)
        try:
            async with asyncio.timeout(limits.seconds):
                question = read_question(await _body(request, limits.body), models, limits)
                answers = await _while_connected(request, batcher.answer(question))
        except TimeoutError:
            raise HTTPException(
                503,
                f"no answer within {limits.seconds:g} seconds, the limit; ask for fewer words or "
                "with a narrower beam, or try again later",
                {"Retry-After": "1"},
            ) from None
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        return _json(Answers(model=question.model, answers=answers))

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with batcher.running():
            yield

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/docs", docs),
            Route("/health", health),
            Route("/models", list_models),
            Route("/openapi.json", openapi),
            Route("/predict", predict, methods=["POST"]),
            Mount("/page", _Files(directory=PAGE)),
        ],
        exception_handlers={HTTPException: _refused, Exception: _failed},
        lifespan=lifespan,
    )
    return Guard(app, host)


class _Files(StaticFiles):
    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(FRESH)
        return response


async def _body(request: Request, limit: int) -> bytes:
    """Returns the body of a request; of one that is too long, no more is read than shows it."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise HTTPException(413, f"the body is too long; the limit is {limit} bytes")
    return bytes(body)


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Returns what some work comes to; ends it when the client goes, so that it costs no more."""
    working = asyncio.ensure_future(work)
    # Once the body has been read, nothing but the end of the connection can come.
    leaving = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


def _json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    try:
        body = msgspec.json.encode(content)
    except UnicodeEncodeError as error:
        raise HTTPException(422, "the answer has a symbol that is no Unicode text") from error
    return Response(body, status, headers, media_type="application/json")


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = error.detail
    if detail == HTTPStatus(error.status_code).phrase:  # the router's own: no such page or method
        detail = f"{detail}; /docs describes what there is"
    # A sentence may quote what cannot be sent.
    readable = detail.encode("utf-8", "backslashreplace").decode()
    return _json(Refusal(error=readable), error.status_code, error.headers)


async def _failed(_: Request, _error: Exception) -> Response:
    return _json(Refusal(error="the server failed; its log says why"), 500)
