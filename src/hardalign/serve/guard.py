"""Who may talk to the server, and what browsers are told to allow.

The model is no secret, but a page of somebody else's should neither read what a user types nor put
a user's computer to work. So there are no CORS headers; a server on a loopback address answers to
loopback names alone (else a foreign name could be pointed at it); and a POST that a browser marks
as coming from another site is refused.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; object-src 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Sent with everything."""


class Guard:
    """Stands before an application: refuses what is not for it, and adds ``HEADERS``."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        """Guards an application that is served on an address of this machine."""
        self.app = app
        self.local = is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, as ASGI has it."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif refused := self._refusal(scope["method"], Headers(scope=scope)):
            status, why = refused
            await JSONResponse({"error": why}, status)(scope, receive, send_with_headers)
        else:
            await self.app(scope, receive, send_with_headers)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if self.local and not is_loopback(_hostname(host)):
            return 421, f"this server is on a loopback address and is not called {host!r:.80}"
        if method == "POST" and not _same_origin(headers):
            return 403, "requests from other sites' pages are refused"
        return None


def is_loopback(host: str) -> bool:
    """Returns whether a name or address means this very machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _hostname(authority: str) -> str:
    """Returns the name in ``name:port``."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


def _same_origin(headers: Headers) -> bool:
    """Returns whether no browser says that a request comes from another site's page."""
    site = headers.get("sec-fetch-site")
    if site is not None:  # browsers say it, scripts of pages cannot
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == headers.get("host")
