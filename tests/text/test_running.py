from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hardalign.data.formats import FORMATS
from hardalign.data.lexicon import Lexicon
from hardalign.errors import HardalignError
from hardalign.text import running as module
from hardalign.text.running import Line, TextReport, pronounce_text
from text.fakes import WORDS, FakePredictor


def known_words(**entries: str) -> Lexicon:
    lexicon = Lexicon(WORDS)
    for word, phones in entries.items():
        lexicon.add(tuple(word.replace("_", "-").replace("Q", "'")), tuple(phones.split()))
    return lexicon


def lines(text: str | list[str], **options: Any) -> list[Line]:
    predictor: Any = options.pop("predictor", None) or FakePredictor()
    predictor.lexicon = options.pop("lexicon", predictor.lexicon)
    given = [text] if isinstance(text, str) else text
    return list(pronounce_text(predictor, given, **options))


def spoken(text: str, **options: Any) -> str:
    (line,) = lines(text, **options)
    return line.text


def test_everything_but_the_words_stays() -> None:
    text = "  Hi, «you»\t(and me)!  "
    assert spoken(text) == "  {H I}, «{Y O U}»\t({A N D} {M E})!  "
    assert [line.text for line in lines(["a", "", "  ", "b."])] == ["{A}", "", "  ", "{B}."]


def test_apostrophes() -> None:
    assert spoken("isn't isn’t") == "{I S N ' T} {I S N ' T}"
    assert spoken("isn´t isn`t `hi´") == "{I S N ' T} {I S N ' T} `{H I}´"
    assert spoken("'hi' dogs'") == "'{H I}' {D O G S}'"
    known = known_words(Qem="AH0 M", hi="HH AY1")
    assert spoken("'em 'hi' em", lexicon=known) == "{AH0 M} '{HH AY1}' {E M}"
    assert spoken("‘’em", lexicon=known) == "‘{AH0 M}"


def test_what_the_model_cannot_end_is_named() -> None:
    class Endless(FakePredictor):
        def _said(self, example: Any, *rest: Any) -> Any:
            return replace(super()._said(example, *rest), finished="b" not in example.source)

    report = TextReport()
    assert spoken("ab a ab", predictor=Endless(), report=report) == "{A B} {A} {A B}"
    assert report.remarks() == ["cut off at the length limit: 'ab' × 2"]


def test_hyphens() -> None:
    assert spoken("well-known") == "{W E L L}-{K N O W N}"
    assert spoken("x‑ray", lexicon=known_words(x_ray="EH1 K S")) == "{EH1 K S}"


def test_abbreviations() -> None:
    assert spoken("U.S. a.m.") == "{U S} {A M}"
    known = Lexicon(WORDS)
    known.add(tuple("a.m."), ("EH1", "M"))
    assert spoken("U.S. a.m.", lexicon=known) == "{U S} {EH1 M}"


def test_capitals_are_words_unless_they_are_to_be_spelled() -> None:
    predictor = FakePredictor()
    report = TextReport()
    assert spoken("US I", predictor=predictor, report=report) == "{U S} {I}"
    assert predictor.asked == ["us", "i"]
    assert report.remarks() == ["read as words though in capitals: 'US'"]
    report = TextReport()
    assert spoken("US NASA КОТ", report=report, lexicon=known_words(nasa="N")) == "{U S} {N} КОТ"
    assert report.remarks()[1:] == ["read as words though in capitals: 'US'"]
    predictor, report = FakePredictor(), TextReport()
    known = known_words(us="AH1 S", u="Y UW1")
    spelled = {"spell_capitals": True, "lexicon": known, "report": report}
    assert spoken("US or Us", predictor=predictor, **spelled) == "{Y UW1 S} {O R} {AH1 S}"
    assert predictor.asked == ["s", "or"]
    assert report.remarks() == []
    assert spoken("THE US", spell_capitals=True, lexicon=known) == "{T H E} {AH1 S}"


def test_spelled_letters_are_called_by_their_names() -> None:
    known = known_words(a="AH0", n="EH1 N", nan="N AE1 N")
    known.add(("a", "."), ("EY1",))
    assert (
        spoken("NAN nan a", lexicon=known, spell_capitals=True)
        == "{EH1 N EY1 EH1 N} {N AE1 N} {AH0}"
    )
    assert spoken("N.A. n", lexicon=known) == "{EH1 N EY1} {EH1 N}"


def test_capitals_after_an_elision() -> None:
    known, report = known_words(lQ="L", onu="O N"), TextReport()
    text = "L'UE l’ONU d'UE l'Eau"
    assert spoken(text, lexicon=known, report=report) == "{L ' U E} {L O N} {D ' U E} {L ' E A U}"
    assert report.remarks() == ['read as words though in capitals: "L\'UE"']
    assert spoken(text, lexicon=known, spell_capitals=True) == (
        "{L U E} {L O N U} {D ' U E} {L ' E A U}"
    )


def test_what_the_lexicon_has_between_blanks_is_a_word() -> None:
    known = Lexicon(WORDS)
    for word in ("new_york", "<unk>", "r2d2", "in.", "a~b"):
        known.add(tuple(word), ("N",))
    text = "In New_York, (<unk>) new york R2D2! in_ a~b"
    expected = "{I N} {N}, ({N}) {N E W} {Y O R K} {N}! {I N}_ {N}"
    assert spoken(text, lexicon=known) == expected
    assert spoken("come in.", lexicon=known) == "{C O M E} {I N}."
    for word, phone in (("u.s", "Z"), ("u.s.", "S")):
        known.add(tuple(word), (phone,))
    assert spoken("the U.S. is", lexicon=known) == "{T H E} {S} {I S}"


def test_letters_that_the_model_has_not() -> None:
    report = TextReport()
    assert spoken("Café straße", report=report) == "{C A F E} {S T R A S S E}"
    assert any("é as e × 1, ß as ss × 1" in remark for remark in report.remarks())
    known = known_words(café="K AE1")
    assert spoken("Café", lexicon=known) == "{K AE1}"


def test_letters_that_are_several_or_wide() -> None:
    report = TextReport()
    assert spoken("ﬁnal ＦＵＬＬ", report=report) == "{F I N A L} {F U L L}"
    assert any("ﬁ as fi × 1" in remark for remark in report.remarks())


def test_what_is_invisible_inside_a_word_is_not_read() -> None:
    report, predictor = TextReport(), FakePredictor()
    assert spoken("hy\u00adphen \u200b zero\u200bwidth", report=report, predictor=predictor) == (
        "{H Y P H E N} \u200b {Z E R O W I D T H}"
    )
    assert report.remarks() == []
    assert spoken("a\u200cb", predictor=FakePredictor(letters="ab\u200c")) == "{A \u200c B}"
    assert spoken("a\u200cb") == "{A B}"


def test_addresses_are_not_pronounced() -> None:
    report = TextReport()
    text = "see https://a.org/b, or me@a.org"
    assert spoken(text, report=report) == "{S E E} https://a.org/b, {O R} me@a.org"
    assert report.remarks() == ["not pronounced: 2 addresses ('https://a.org/b', 'me@a.org')"]
    known = Lexicon(WORDS)
    known.add(tuple("cnn.com"), ("S", "E"))
    assert spoken("see cnn.com or bbc.com", lexicon=known) == "{S E E} {S E} {O R} bbc.com"


def test_what_is_not_pronounced_is_counted_and_named() -> None:
    report = TextReport()
    text = "In 1999, $3.50 & кот at 10:30 & 猫猫"
    assert spoken(text, report=report) == "{I N} 1999, $3.50 & кот {A T} 10:30 & 猫猫"
    assert report.summary() == "2 words were pronounced"
    assert report.remarks() == [
        "not pronounced: 3 numbers ('1999', '$3.50', '10:30'), 2 symbols ('&' × 2), "
        "2 words in other letters ('кот', '猫猫')"
    ]


def test_a_word_without_end_is_not_named_whole() -> None:
    report = TextReport()
    spoken(f"a {'к' * 100_000}", report=report)
    (remark,) = report.remarks()
    assert "'ккк" in remark
    assert len(remark) < 200


def test_known_words_first() -> None:
    report, predictor = TextReport(), FakePredictor()
    (line,) = lines("Of it", lexicon=known_words(of="AH1 V"), report=report, predictor=predictor)
    assert line.text == "{AH1 V} {I T}"
    assert [(word.text, word.known) for word in line.words] == [("Of", True), ("it", False)]
    assert report.summary() == "2 words were pronounced, 1 of them known"
    assert predictor.asked == ["it"]


def test_the_letters_of_a_spelled_word_stay_apart_in_ipa() -> None:
    letters = known_words(n="EH1 N", a="EY1", h="EY1 CH")
    options: Any = {"lexicon": letters, "ipa": True, "spell_capitals": True}
    predictor = FakePredictor(phones=["EH1", "N", "EY1", "CH"])
    assert spoken("NAH a", predictor=predictor, **options) == "ˈɛnˈeɪˈeɪtʃ eɪ"


def test_ipa() -> None:
    known = known_words(about="AH0 B AE1 T", a="AH0")
    predictor = FakePredictor(phones=["AH0", "AE1", "B", "T"])
    assert spoken("About: a", lexicon=known, ipa=True, predictor=predictor) == "əˈbæt: ə"
    with pytest.raises(HardalignError, match="only ARPAbet"):
        lines("a", ipa=True)


def test_symbols_that_are_characters_need_no_braces() -> None:
    assert spoken("ab, c", predictor=FakePredictor(layout=FORMATS["pairs"])) == "AB, C"


def test_words_of_a_spaced_model() -> None:
    predictor = FakePredictor(layout=FORMATS["spaced"])
    assert spoken("ab c", predictor=predictor) == "{A B} {C}"


def test_a_word_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 2)
    predictor = FakePredictor()
    text = [line.text for line in lines(["a b", "b a", "A", "c a"] * 3, predictor=predictor)]
    assert text == ["{A} {B}", "{B} {A}", "{A}", "{C} {A}"] * 3
    assert predictor.asked == ["a", "b", "c"]
    monkeypatch.setattr(module, "CACHE", 0)
    assert [line.text for line in lines(["a b", "b a", "A", "c a"] * 3)] == text


def test_a_long_text_is_not_held() -> None:
    read = 0

    def stream() -> Iterator[str]:
        nonlocal read
        for _ in range(100_000):
            read += 1
            yield "a"

    predictor: Any = FakePredictor()
    assert next(pronounce_text(predictor, stream())).text == "{A}"
    assert read == module.CHUNK


@pytest.mark.parametrize(
    ("text", "reason"),
    [([], "empty"), (["", " "], "empty"), (["кот", "1999"], "'кот'"), (["..."], "empty")],
)
def test_text_without_words(text: list[str], reason: str) -> None:
    report = TextReport()
    assert [line.text for line in lines(text, report=report)] == text
    assert report.words == 0
    assert reason in report.refusal()


def test_a_model_with_tags_is_refused() -> None:
    with pytest.raises(HardalignError, match="tags"):
        lines("a", predictor=FakePredictor(layout=FORMATS["sigmorphon"]))


def test_no_word_is_too_long() -> None:
    report = TextReport()
    assert spoken("a " + "b" * 5000, report=report) == "{A} " + "b" * 5000
    assert report.remarks() == [f"not pronounced: 1 word that is too long ('{'b' * 39}…')"]


@pytest.mark.parametrize("word", ["a" * 60 + "1", "ʼ" * 60 + "1", "а" * 60 + "_"])
def test_no_word_takes_exponential_time(word: str) -> None:
    assert spoken(f"a {word}").startswith("{A} ")
