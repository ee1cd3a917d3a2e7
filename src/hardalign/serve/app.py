"""The routes of the page, its files and the JSON API, and access control."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hardalign import __version__
from hardalign.errors import HardalignError
from hardalign.predictor import Predictor
from hardalign.serve.batcher import Batcher
from hardalign.serve.messages import Health, Limits, Models, Refusal, describe_api
from hardalign.serve.questions import Question, describe, read_text, read_words

PAGE = Path(__file__).with_name("page")
KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Sent with every response."""
T = TypeVar("T")


def create_app(
    models: Mapping[str, Predictor],
    limits: Limits,
    address: str = "127.0.0.1",
    name: str = "localhost",
    origins: Collection[str] = (),
) -> Starlette:
    """Return the application; the first model is the default.

    The server is bound to ``address``, known to users as ``name``. Pages from ``origins``, such as
    https://example.org, may use the API; * allows any.
    """
    for origin in origins:
        scheme, _, host = origin.partition("://")
        if origin != "*" and (not scheme or not host or "/" in host):
            raise HardalignError(
                f"--allow-origin {origin}: should be like https://example.org, without a path, or *"
            )
    batcher = Batcher(models, limits.waiting)
    fixed = {
        "/models": Models(models=[describe(*model) for model in models.items()], limits=limits),
        "/openapi.json": describe_api(),
    }

    async def health(_: Request) -> Response:
        return _json(Health(version=__version__, waiting=batcher.waiting))

    async def ask(read: Callable[..., Question], request: Request) -> Response:
        media_type = request.headers.get("content-type", "").partition(";")[0]
        if media_type.strip().lower() != "application/json":
            raise HTTPException(415, "send JSON, with Content-Type: application/json")
        try:
            async with asyncio.timeout(limits.seconds):
                body = await _body(request, limits.body)
                # Parsing and encoding run in threads, so as not to block the event loop.
                question = await asyncio.to_thread(read, body, models, limits)
                answers = await _while_connected(request, batcher.answer(question))
                return await asyncio.to_thread(lambda: _json(question.message(answers)))
        except TimeoutError:
            raise HTTPException(
                503,
                f"no answer within {limits.seconds:g} seconds, the limit; ask for fewer words or "
                "with a narrower beam, or try again later",
                {"Retry-After": "1"},
            ) from None
        except ClientDisconnect:
            return Response(status_code=400)  # the client is gone

    files = [*PAGE.iterdir()]
    paths = {"index.html": "/", "docs.html": "/docs"}
    app = Starlette(
        routes=[
            *[Route(paths.get(file.name, f"/page/{file.name}"), _file(file)) for file in files],
            *[Route(path, _json(it), methods=["GET"]) for path, it in fixed.items()],
            Route("/health", health),
            Route("/predict", partial(ask, read_words), methods=["POST"]),
            Route("/text", partial(ask, read_text), methods=["POST"]),
        ],
        middleware=[Middleware(Guard, address=address, name=name, origins=origins)],
        exception_handlers={HTTPException: _refused, Exception: _failed},
        lifespan=lambda _: batcher.running(),
    )
    app.router.redirect_slashes = False
    return app


class Guard:
    """Refuse DNS rebinding and cross-site requests, except from allowed origins (CORS).

    The models are not secret, but pages of other sites should neither read what users type nor use
    their computers. So a server on a loopback address answers only to its own names (otherwise a
    foreign name could be pointed at it), and a POST that the browser marks as cross-site is refused
    unless its origin is allowed.
    """

    def __init__(self, app: ASGIApp, address: str, name: str, origins: Collection[str]) -> None:
        self._app, self._name, self._origins = app, name.lower(), origins
        self._local = is_loopback(address)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (the ASGI interface)."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers, method = Headers(scope=scope), scope["method"]
        origin = headers.get("origin")
        cors = {}
        if origin is not None and ("*" in self._origins or origin in self._origins):
            cors = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}

        async def send_with_cors(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(cors)
            await send(message)

        app = self._app
        host = headers.get("host", "")
        if "transfer-encoding" in headers and "content-length" in headers:
            app = _refusal(400, "send Content-Length or Transfer-Encoding, not both")
        elif self._local and not is_loopback(_hostname(host)) and _hostname(host) != self._name:
            app = _refusal(
                421, f"this server is on a loopback address and is not called {host!r:.80}"
            )
        elif cors and method == "OPTIONS" and "access-control-request-method" in headers:
            app = Response(
                status_code=204,
                headers={
                    "Access-Control-Allow-Methods": "GET, POST",
                    "Access-Control-Allow-Headers": "Content-Type",
                    "Access-Control-Max-Age": "600",
                },
            )
        elif method == "POST" and not cors and not _same_origin(headers):
            app = _refusal(403, "requests from other sites' pages are refused")
        return await app(scope, receive, send_with_cors)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is that of the loopback interface."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _hostname(authority: str) -> str:
    """Return the name in ``name:port``."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


def _same_origin(headers: Headers) -> bool:
    """Return False if the browser says that a request comes from another site's page."""
    site = headers.get("sec-fetch-site")
    if site is not None:  # set by browsers; scripts on pages cannot set it
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")


def _file(path: Path) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    """Serve a file from memory; browsers revalidate it each time."""
    content = path.read_bytes()
    tag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"Cache-Control": "no-cache", "ETag": tag}

    async def get(request: Request) -> Response:
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=KINDS[path.suffix])

    return get


async def _body(request: Request, limit: int) -> bytes:
    """Return the body of a request; stop reading if it exceeds the limit."""
    too_long = HTTPException(413, f"the body is too long; the limit is {limit} bytes")
    declared = request.headers.get("content-length", "0")
    if len(declared) > 12 or int(declared) > limit:
        raise too_long
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limit:
            raise too_long
    return bytes(body)


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work; cancel it if the client disconnects."""
    working = asyncio.ensure_future(work)
    # Once the body has been read, only a disconnect can follow.
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
        raise HTTPException(422, "the answer has a symbol that is not Unicode text") from error
    return Response(body, status, headers, media_type="application/json")


def _refusal(status: int, error: str, headers: Mapping[str, str] | None = None) -> Response:
    # The message may quote lone surrogates, which cannot be encoded.
    readable = error.encode("utf-8", "backslashreplace").decode()
    return _json(Refusal(error=readable), status, headers)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = error.detail
    if detail == HTTPStatus(error.status_code).phrase:  # from the router: no such page or method
        detail = f"{detail}; see /docs for the API"
    return _refusal(error.status_code, detail, error.headers)


async def _failed(_: Request, _error: Exception) -> Response:
    return _refusal(500, "the server failed; its log says why")
