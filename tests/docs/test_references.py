"""What the documents say about the source is true: names exist, and links lead somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT, name_of

NAME = re.compile(r"`([\w/]+\.py)::([\w.]+)`")
FILE = re.compile(r"`((?:src|tests|benchmarks|recipes|docs)/[\w/]+\.(?:py|toml|jsonl))`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
MATHEMATICS = ROOT / "docs/reference/mathematics.md"
PLAIN = {"__init__.py", "__main__.py", "errors.py"}
"""Modules that need no explanation."""


def defined(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """The names that a module defines, those in classes with the class before them."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from defined(node.body, f"{prefix}{node.name}.")


def anchor(heading: str) -> str:
    """The address of a heading on its page, as forges make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_in_the_source_exist(page: Path) -> None:
    for path, name in NAME.findall(page.read_text("utf-8")):
        module = ast.parse((ROOT / path).read_text("utf-8"))
        assert name in set(defined(module.body)), f"{path}::{name}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_are_named_exist(page: Path) -> None:
    names = FILE.findall(page.read_text("utf-8"))
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_every_equation_has_its_code() -> None:
    sections = re.split(r"^## ", MATHEMATICS.read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert len(sections) >= 6
    assert all(NAME.search(section) for section in sections)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCED.sub("", page.read_text("utf-8"))
    for link in LINK.findall(text):
        if link.startswith("https://"):
            continue
        path, _, place = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if place:
            headings = HEADING.findall(FENCED.sub("", target.read_text("utf-8")))
            assert place in map(anchor, headings), link


def test_every_module_has_a_place_in_the_house() -> None:
    """Whoever looks at the source for the first time finds all of it in one table."""
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    package = ROOT / "src/hardalign"
    modules = {path.name for path in package.glob("*.py")} - PLAIN
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    assert [name for name in sorted(modules | folders) if f"`{name}`" not in table] == []
