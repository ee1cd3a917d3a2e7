from __future__ import annotations

import sys

import pytest

from hardalign.errors import HardalignError
from hardalign.text.numbers import Numbers
from hardalign.text.running import TextReport, pronounce_text
from text.fakes import FakePredictor


@pytest.mark.parametrize(
    ("language", "number", "words"),
    [
        ("en", "1865", "eighteen sixty-five"),
        ("en", "7", "seven"),
        ("en", "1,000,000", "one million"),
        ("en", "$3.50", "three dollars, fifty cents"),
        ("en", "$5", "five dollars"),
        ("en", "10:30", "ten thirty"),
        ("en", "10:05", "ten oh five"),
        ("en", "10:00", "ten o'clock"),
        ("en", "3rd", "third"),
        ("en", "50%", "fifty percent"),
        ("en", "1990s", "nineteen nineties"),
        ("en", "3.14", "three point one four"),
        ("de", "1865", "achtzehnhundertfünfundsechzig"),
        ("de", "3,50€", "drei Euro und fünfzig Cent"),
        ("de", "5€", "fünf Euro"),
        ("de", "10:30", "zehn Uhr dreißig"),
        ("fr", "1er", "premier"),
        ("fr", "5€", "cinq euros"),
        ("es", "10:00", "diez"),
        ("es", "10:30", "diez y treinta"),
        ("es", "3,50", "tres coma cinco"),
        ("it", "12,05", "dodici virgola zero cinque"),
        ("is", "1865", "eitt þúsund átta hundruð sextíu og fimm"),
        *(("en", text, None) for text in ("B2B", "2024-01-31", "1.000.000", "£1,2", "9" * 99)),
        *(("de", text, None) for text in ("3rd", "1990s", "$1,250")),
    ],
)
def test_numbers(language: str, number: str, words: str | None) -> None:
    assert Numbers(language)(number) == words


@pytest.mark.parametrize(
    ("language", "line", "words"),
    [
        ("de", "(3. Oktober)", "(dritter Oktober)"),
        ("de", "Der 3. Oktober", "Der dritte Oktober"),
        ("de", "Am 3. und 4. Mai", "Am dritten und vierten Mai"),
        ("de", "vom 30. April bis 1. Mai", "vom dreißigsten April bis ersten Mai"),
        ("en", "$3.5 million.", "three point five million dollars."),
        ("en", "a €1,000 Billion", "a one thousand Billion euro"),
        ("en", "£2 trillion", "two trillion pounds sterling"),
        ("en", "US$3.5 million, $3bn", "three point five million dollars, three billion dollars"),
        ("de", "ab 3. Okt.", "ab dritten Okt."),
        ("fr", "1 250 euros", "mille deux cent cinquante euros"),
        ("fr", "12 345,5 m", "douze mille trois cent quarante-cinq virgule cinq m"),
        *(("fr", text, text) for text in ("1990 250", "1 2500", "1 250 10", "A1 250", "10:01 250")),
        *(("en", text, text) for text in ("$3 mm", "$3 bnp", "AUS$3m")),
        *(("de", text, text) for text in ("im Jahr 3.", "3. Oktoberfest", "12.3. Mai", "3 Mai")),
        *(("en", text, text) for text in ("$3.5 millionaire", "$3.50 a", "$1.2.3 million")),
        ("fr", "$3 million", "$3 million"),
    ],
)
def test_numbers_that_depend_on_the_next_word(language: str, line: str, words: str) -> None:
    assert Numbers(language).phrases(line, lambda *_: None) == words


def test_what_is_expanded_in_text_is_counted_and_named() -> None:
    report, predictor = TextReport(), FakePredictor()
    text = ["Dr. Who, 3rd (e.g. 7), B2B", "at 7.", "$2 billion."]
    lines = list(pronounce_text(predictor, text, numbers=Numbers("en"), report=report))
    assert [line.text for line in lines] == [
        "{D O C T O R} {W H O}, {T H I R D} ({F O R} {E X A M P L E} {S E V E N}), B2B",
        "{A T} {S E V E N}.",
        "{T W O} {B I L L I O N} {D O L L A R S}.",
    ]
    assert report.remarks() == [
        "not pronounced: 1 number ('B2B')",
        "6 read as words: '7 as seven' × 2, 'Dr. as doctor', '3rd as third', 'e.g. as for example'"
        ", '$2 billion as two billion dollars'",
    ]


def test_a_language_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HardalignError, match=r"'xx'; there are .*de, en"):
        Numbers("xx")
    monkeypatch.setitem(sys.modules, "num2words", None)
    with pytest.raises(HardalignError, match=r"num2words, .*pip install .*\[text\]"):
        Numbers("en")
