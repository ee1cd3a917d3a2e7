"""What can be measured of the looks: sizes, names, contrast."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from browser.test_page import ask
from hardalign.data.formats import Example
from hardalign.text.errors import find_errors
from hardalign.text.errors import page as errors_page
from serve.helpers import MODELS

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
DARK = {"color_scheme": "dark"}


def luminance(colour: str) -> float:
    """WCAG's relative luminance of a computed colour."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(element: Locator) -> float:
    """Of an element's text with what is painted behind it."""
    text, behind = element.evaluate(
        """element => {
            let behind = element;
            while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
                behind = behind.parentElement;
            return [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor];
        }"""
    )
    dark, light = sorted((luminance(text), luminance(behind)))
    return (light + 0.05) / (dark + 0.05)


READ = ["h2", ".prediction", ".text", ".share", "figcaption", "th.frame", ".readout", "footer p",
        "nav a", "label", "h2 small", "#notes p", "footer a"]  # fmt: skip


@pytest.mark.parametrize("options", [{}, DARK])
def test_everything_can_be_read(page: Page) -> None:
    ask(page, "aqb")
    expect(page.locator("#notes p")).to_be_visible()
    weak = {
        selector: contrast(element)
        for selector in READ
        for element in page.locator(selector).all()
        if contrast(element) < 4.5
    }
    assert weak == {}


@pytest.mark.parametrize("options", [DARK])
def test_dark(page: Page) -> None:
    ask(page, "ab")
    paper, ink = page.locator("body").evaluate(
        "body => [getComputedStyle(body).backgroundColor, getComputedStyle(body).color]"
    )
    assert luminance(paper) < 0.05 < 0.7 < luminance(ink)


def test_everything_has_a_name(page: Page) -> None:
    ask(page, "ab")
    page.get_by_role("link", name="A list").click()
    nameless = page.locator("input, select, textarea, button, [role=grid], img:not([alt])")
    for element in nameless.all():
        snapshot = element.evaluate(
            """element => element.labels?.[0]?.textContent || element.ariaLabel
                || element.textContent || element.ariaLabelledByElements?.[0]?.textContent"""
        )
        assert snapshot, element.evaluate("element => element.outerHTML")


@pytest.mark.parametrize("options", [PHONE])
def test_a_phone_scrolls_no_sideways(page: Page) -> None:
    page.get_by_label("Compare with").select_option("soft")
    ask(page, "abcdabcdabcdabcd", panels=2)
    for view in ("One word", "A list"):
        page.get_by_role("link", name=view).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("link", name="One word").click()
    page.get_by_role("gridcell").nth(2).tap()
    expect(page.locator("article").first.locator("th.here").first).to_have_text("b")
    left, right = (panel.bounding_box() for panel in page.locator("article").all())
    assert left
    assert right
    assert left["x"] == right["x"]  # one below the other


@pytest.mark.parametrize("options", [{"reduced_motion": "reduce"}])
def test_nothing_moves_for_those_who_do_not_want_it(page: Page) -> None:
    moving = page.evaluate(
        """[...document.querySelectorAll("*")].filter((element) =>
            !["all", "none"].includes(getComputedStyle(element).transitionProperty)
            || getComputedStyle(element).animationName !== "none").length"""
    )
    assert moving == 0


def test_a_report_of_errors_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    items = [Example(tuple(word), (tuple("yyyx"),), text=word) for word in ("ab", "abcd" * 20)]
    report = find_errors(MODELS["hard"], items)
    file = "/a/folder/whose/name/is/long/" * 3 + "test.tsv"
    written = errors_page(report, f"Errors of hard on {file}", f"model hard | {file}")
    path = tmp_path / "report.html"
    path.write_text(written, encoding="utf-8")
    context = browser.new_context(**PHONE)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(path.as_uri())
    for one in page.locator("summary").all():
        one.tap()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()
