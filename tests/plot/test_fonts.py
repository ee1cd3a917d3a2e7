from __future__ import annotations

import pytest

from hardalign.plot import fonts


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, frozenset[str]]:
    """Families and what they have, in the order of preference."""
    families = {
        fonts.DEFAULT: frozenset("abض◌"),
        "Noto Sans Devanagari": frozenset("aकि◌"),
        "Other": frozenset("한ab"),
    }
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
