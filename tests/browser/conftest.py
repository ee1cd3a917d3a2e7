"""Debian's chromium looks at a real server; ``make test-browser`` runs this folder.

Whatever the page complains about in the browser's console fails the test, and so does any request
for something that is not the server's.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from browser.chromium import launch
from serve.helpers import running

PATIENCE = 30_000
"""Milliseconds; a busy machine is no failure."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Of a server of small untrained models."""
    with running() as (_, client):
        yield str(client.base_url).rstrip("/")


@pytest.fixture
def options() -> dict[str, object]:
    """Of the browser's window; a test may bring its own."""
    return {}


@pytest.fixture
def page(browser: Browser, address: str, options: dict[str, object]) -> Iterator[Page]:
    """The page, freshly loaded."""
    context = browser.new_context(base_url=address, **options)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    complaints: list[str] = []
    foreign: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((address, "blob:")) else foreign.append(request.url)
        ),
    )
    page.goto("/")
    page.locator("#model option").first.wait_for(state="attached")
    yield page
    context.close()
    # The browser notes every request that is refused, which tests do on purpose.
    assert [text for text in complaints if "Failed to load resource" not in text] == []
    assert foreign == []
