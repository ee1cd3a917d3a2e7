from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from matplotlib.font_manager import FontEntry, fontManager

from hardalign.plot import fonts


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, frozenset[str]]:
    """Families and what they have, in the order of preference."""
    families = {
        fonts.DEFAULT: frozenset("abض◌"),
        "Noto Sans Devanagari": frozenset("aकि◌"),
        "Other": frozenset("한ab"),
    }
    monkeypatch.setattr(fonts, "_add_new_fonts", lambda: None)
    monkeypatch.setattr(fonts, "_families", lambda: list(families))
    monkeypatch.setattr(fonts, "_covered", families.__getitem__)
    return families


@pytest.mark.usefixtures("installed")
class TestChoice:
    def test_the_first_font_that_has_all_of_a_label(self) -> None:
        assert fonts.font_for("ab").get_family() == [fonts.DEFAULT]
        assert fonts.font_for("◌ि").get_family() == ["Noto Sans Devanagari"]
        assert fonts.font_for("한b").get_family() == ["Other"]

    def test_joiners_need_no_glyph(self) -> None:
        assert fonts.font_for("a\u200db ").get_family() == [fonts.DEFAULT]
        assert fonts.missing(["a\u200db \u200b"]) == []

    def test_fonts_together_where_no_font_has_it_all(self) -> None:
        assert fonts.font_for("ض한").get_family() == [fonts.DEFAULT, "Other"]
        assert fonts.font_for("ض한क漢").get_family() == [
            fonts.DEFAULT,
            "Noto Sans Devanagari",
            "Other",
        ]

    def test_missing_glyphs_are_named_once(self) -> None:
        assert fonts.missing(["aक", "漢a", "漢ㅎ"]) == ["漢", "ㅎ"]
        report = fonts.describe_missing(["aक", "漢a", "漢ㅎ", "\U0001f468", "\ufffe"])
        assert report is not None
        assert "'漢' (CJK UNIFIED IDEOGRAPH-6F22)" in report
        assert "HANGUL LETTER HIEUH" in report
        assert "and 1 more" in report
        assert "fonts-noto-cjk" in report
        assert fonts.describe_missing(["ab"]) is None


@pytest.mark.parametrize("text", ["abc", "Жук", "ɲ̩ʃ", "مرحبا", "◌̃"])
def test_what_matplotlib_brings(text: str) -> None:
    assert fonts.font_for(text).get_family() == [fonts.DEFAULT]


def test_the_font_of_last_resort_is_no_font() -> None:
    assert fonts.missing(["\U00080000"]) == ["\U00080000"]


@pytest.fixture
def dejavu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FontEntry]:
    """A font that matplotlib does not know, because its list is empty."""
    caches = (fonts._add_new_fonts, fonts._families, fonts._faces, fonts._covered)
    entry = fonts._faces()[fonts.DEFAULT]
    monkeypatch.setattr(fontManager, "ttflist", [])
    for cache in caches:
        cache.cache_clear()
    yield entry
    for cache in caches:
        cache.cache_clear()


def test_fonts_installed_after_the_list_was_made(
    dejavu: FontEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []

    def look() -> list[str]:
        looks.append(True)
        return [dejavu.fname, __file__]

    monkeypatch.setattr(fonts, "findSystemFonts", look)
    assert fonts.missing(["a"]) == ["a"]
    assert fonts.font_for("abc").get_family() == [fonts.DEFAULT]
    assert fonts.missing(["a\U00080000"]) == ["\U00080000"]
    fonts.font_for("\U00080000")
    assert len(looks) == 1


def test_fonts_that_are_gone(dejavu: FontEntry) -> None:
    fontManager.ttflist += [dejavu, replace(dejavu, name="Noto Sans", fname="/none.ttf")]
    assert fonts.missing(["a\U00080000"]) == ["\U00080000"]
