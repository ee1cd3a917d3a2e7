"""The routes: the page, its static files, and the JSON API."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from hardalign.predictor import Predictor
from hardalign.serve.batcher import Batcher
from hardalign.serve.collection import describe_models
from hardalign.serve.guard import Guard
from hardalign.serve.limits import Limits
from hardalign.serve.openapi import describe_api
from hardalign.serve.question import read_question
from hardalign.version import __version__

PAGE = Path(__file__).with_name("page")
"""All that is served from the disk."""
FRESH = {"Cache-Control": "no-cache"}
"""The page of another version must not be shown; its files are small, and checked by their tags."""
JSON_ONLY = "the body should be JSON: send it with Content-Type: application/json"


def create_app(models: Mapping[str, Predictor], limits: Limits, host: str) -> ASGIApp:
    """An application that answers for some models.

    Args:
        models: By the names they are to have; the first is the one meant where none is named.
        limits: Of requests.
        host: The address it is served on; see ``Guard``.
    """
    batcher = Batcher(models, limits.waiting)
    described = {"models": describe_models(models), "limits": asdict(limits)}
    api = describe_api(limits)

    async def page(_: Request) -> Response:
        return FileResponse(PAGE / "index.html", headers=FRESH)

    async def health(_: Request) -> Response:
        status = {"status": "ok", "version": __version__, "waiting": batcher.waiting}
        return JSONResponse(status)

    async def list_models(_: Request) -> Response:
        return JSONResponse(described)

    async def openapi(_: Request) -> Response:
        return JSONResponse(api)

    async def predict(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise HTTPException(415, JSON_ONLY)
        try:
            async with asyncio.timeout(limits.seconds):
                question = read_question(await _body(request, limits.body), models, limits)
                answers = await batcher.answer(question)
        except TimeoutError:
            raise HTTPException(
                503,
                f"no answer within {limits.seconds:g} seconds, the limit; ask for fewer words or "
                "with a narrower beam, or try again later",
                {"Retry-After": "1"},
            ) from None
        return JSONResponse({"model": question.model, "answers": answers})

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with batcher.running():
            yield

    app = Starlette(
        routes=[
            Route("/", page),
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
    """The body of a request; of one that is too long, no more is read than shows it."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise HTTPException(413, f"the body is too long; the limit is {limit} bytes")
    return bytes(body)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = error.detail
    if detail == HTTPStatus(error.status_code).phrase:  # the router's own: no such page or method
        detail = f"{detail}; /openapi.json describes what there is"
    return JSONResponse({"error": detail}, error.status_code, error.headers)


async def _failed(_: Request, _error: Exception) -> Response:
    return JSONResponse({"error": "the server failed; its log says why"}, 500)
