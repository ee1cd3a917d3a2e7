"""The page of newspaper paragraphs says what the program says."""

from __future__ import annotations

import runpy

import pytest

from docs.pages import ROOT

SCRIPT = runpy.run_path(str(ROOT / "benchmarks/texts.py"))


@pytest.mark.parametrize("language", SCRIPT["TEXTS"])
def test_the_page_and_the_program_agree(language: str) -> None:
    figures, section = SCRIPT["read"](language)
    page = SCRIPT["PAGE"].read_text("utf-8")
    assert f"\n{figures}" in page
    assert section in page
