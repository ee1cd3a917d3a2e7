from __future__ import annotations

import sys

import pytest

from hardalign.errors import HardalignError
from hardalign.text.numbers import Numbers
from hardalign.text.running import TextReport, pronounce_text
from helpers import time_limit
from text.fakes import FakePredictor


def unchanged(language: str, *texts: str) -> list[tuple[str, str, str]]:
    return [(language, text, text) for text in texts]


@pytest.mark.parametrize(
    ("language", "text", "words"),
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
        ("en", "the 1990s", "the nineteen nineties"),
        ("en", "3.14", "three point one four"),
        ("en", "COVID-19, a 2-year plan", "COVID-nineteen, a two-year plan"),
        ("de", "1865", "achtzehnhundertfünfundsechzig"),
        ("de", "3,50€", "drei Euro und fünfzig Cent"),
        ("de", "5 €", "fünf Euro"),
        ("de", "12,5\u00a0%", "zwölf Komma fünf Prozent"),
        ("de", "90er", "neunziger"),
        ("de", "um 10:30 Uhr", "um zehn Uhr dreißig"),
        ("de", "20.15 Uhr, 1:00", "zwanzig Uhr fünfzehn, ein Uhr"),
        ("fr", "1er, 1re et 2e", "premier, première et deuxième"),
        ("fr", "5€", "cinq euros"),
        ("fr", "10h30, 10:30", "dix heures trente, dix heures trente"),
        ("fr", "à 1 h et 20 h 05", "à une heures et vingt heures cinq"),
        ("es", "a las 10:00", "a las diez"),
        ("es", "a las 10:30", "a las diez y treinta"),
        ("es", "a la 1:15", "a la una y quince"),
        ("es", "2ª, 3er, 4º", "segunda, tercer, cuarto"),
        ("es", "3,50", "tres coma cinco"),
        ("it", "12,05", "dodici virgola zero cinque"),
        ("is", "1865", "eitt þúsund átta hundruð sextíu og fimm"),
        *unchanged("en", "B2B", "2024-01-31", "1.000.000", "£1,2", "9" * 99, "3/4", "R2D2"),
        *unchanged("en", "https://a.org/1999", "a1@b.org", "10:305", "¥5", "12pm"),
        *unchanged("de", "3rd", "1990s", "$1,250"),
        *unchanged("de", "32.1.2026", "1.13.2026", "1.3.2026.4", "am 3.4.", "v1.3.2026"),
        # What follows or precedes a number may decide how it is read.
        ("de", "(3. Oktober)", "(dritter Oktober)"),
        ("de", "Der 3. Oktober", "Der dritte Oktober"),
        ("de", "Am 3. und 4. Mai", "Am dritten und vierten Mai"),
        ("de", "vom 30. April bis 1. Mai", "vom dreißigsten April bis ersten Mai"),
        ("de", "ab 3. Okt.", "ab dritten Oktober"),
        ("de", "im 19. Jahrhundert", "im neunzehnten Jahrhundert"),
        ("de", "im Jahr 3.", "im Jahr drei."),
        ("de", "am 32. Tag", "am zweiunddreißigsten Tag"),
        ("de", "Am 1.3.2026.", "Am ersten März zweitausendsechsundzwanzig."),
        ("de", "der 1. 3. 1999", "der erste März neunzehnhundertneunundneunzig"),
        ("de", "(01.12.1999)", "(erster Dezember neunzehnhundertneunundneunzig)"),
        ("de", "bis 5.3.2026", "bis fünften März zweitausendsechsundzwanzig"),
        ("de", "3. Oktoberfest", "drei. Oktoberfest"),
        ("en", "January 5, Oct. 3", "January fifth, October third"),
        ("en", "May 2023", "May twenty twenty-three"),
        ("en", "$3.5 million.", "three point five million dollars."),
        ("en", "a €1,000 Billion", "a one thousand Billion euros"),
        ("en", "£2 trillion", "two trillion pounds sterling"),
        ("en", "US$3.5 million, $3bn", "three point five million dollars, three billion dollars"),
        ("en", "$3 mm", "three dollars mm"),
        ("en", "$3.5 millionaire", "$3.5 millionaire"),
        *unchanged("en", "$3bnp", "AUS$3m", "$1.2.3 million"),
        ("fr", "1 250 euros", "mille deux cent cinquante euros"),
        ("fr", "12 345,5 m", "douze mille trois cent quarante-cinq virgule cinq m"),
        ("fr", "1 250 10", "un deux cent cinquante dix"),
        ("fr", "A1 250", "A1 deux cent cinquante"),
        (
            "en",
            "€5, €1, $2,400,350",
            "five euros, one euro, "
            "two million four hundred thousand three hundred and fifty dollars",
        ),
        ("en", "2,400 on 14 July", "two thousand four hundred on the fourteenth of July"),
        ("en", "The 3 Oct. show", "The third of October show"),
        ("de", "3 Mio. €, $1,5 Mrd", "drei Millionen Euro, eins Komma fünf Milliarden Dollar"),
        ("de", "1 Million €, 3 Millionen", "eine Million Euro, drei Millionen"),
        ("de", "2,1 Mio. €, 1 Mio.", "zwei Komma eins Millionen Euro, eine Millionen"),
        ("de", "1 %, 1 Euro, 1 Mal", "ein Prozent, ein Euro, eins Mal"),
        ("es", "21 años, 1 mes, 31 millones", "veintiún años, un mes, treinta y un millones"),
        ("es", "el 21 de mayo, 21 %", "el veintiuno de mayo, veintiuno por ciento"),
        ("fr", "3 millions €, 1,2 M€", "trois millions d'euros, un virgule deux millions d'euros"),
        ("fr", "US$2 milliards", "deux milliards de dollars"),
        ("es", "US$31 millones", "treinta y un millones de dólares"),
        ("es", "la 1.ª vez, el 2.º, 3.er", "la primera vez, el segundo, tercer"),
        ("pt", "1.ª, 2º", "primeira, segundo"),
        ("fr", "1ère, XXIe, Ier", "première, vingt et unième, premier"),
        ("es", "siglos XIX y XX, siglo IV", "siglos diecinueve y veinte, siglo cuatro"),
        *unchanged("fr", "XL", "Xes", "Louis XIV"),
        *unchanged("es", "XIX", "siglo IXA"),
        # Abbreviations
        ("fr", "p.ex. p. ex.", "par exemple par exemple"),
        ("es", "p.ej. EE.UU.", "por ejemplo Estados Unidos"),
        (
            "de",
            "z.B. Z. B. u. a. 44 v. Chr.",
            "zum Beispiel zum Beispiel unter anderem vierundvierzig vor Christus",
        ),
        ("en", "Dr. Who, e.g. (St. Ives)", "doctor Who, for example (saint Ives)"),
        ("en", "E.g. MR. SMITH", "for example mister SMITH"),
        ("de", "z. B. 3,5 Mio. Euro", "zum Beispiel drei Komma fünf Millionen Euro"),
        ("fr", "M. Roux, n° 7", "monsieur Roux, numéro sept"),
        ("es", "EE. UU., p.\u00a0ej.", "Estados Unidos, por ejemplo"),
        ("de", "D. h. D. H. Lawrence", "das heißt D. H. Lawrence"),
        ("en", "Main St. or St. John", "Main street or saint John"),
        ("en", "42nd St., MAIN ST.", "forty-second street, MAIN street"),
        ("en", "In St. Étienne, Mount St. Helens", "In saint Étienne, Mount saint Helens"),
        ("en", "down Wall St. The shop, Elm St. NW", "down Wall street The shop, Elm street NW"),
        *unchanged("en", "the St. is", "At St.", "St."),
        # Roman numerals
        ("en", "World War II, CHAPTER IV.", "World War two, CHAPTER four."),
        ("en", "Act V, Rocky III", "Act five, Rocky three"),
        ("en", "After World War I, I", "After World War one, I"),
        ("en", "John Paul II, Henry VIII's", "John Paul the second, Henry the eighth's"),
        *unchanged("en", "Elizabeth I am", "In Chapter I", "MIX DIM CV", "Rocky IIII", "Vitamin V"),
        *unchanged("en", "Start IV", "The II Corps", "a II", "Malcolm X", "Louis V. Gerstner"),
        *unchanged("fr", "10m.", "am.", "Mmes"),
    ],
)
def test_numbers_and_abbreviations(language: str, text: str, words: str) -> None:
    assert Numbers(language).expand(text) == words


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


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "$123456789012345678901234567"),  # more digits than a decimal number has
        ("vi", "$1 million"),  # num2words has no amounts of money in this language
        ("am", "1234567"),  # where num2words does not come to an end
        ("am", "$12345678.90"),
    ],
)
def test_what_num2words_cannot_write_stays(language: str, text: str) -> None:
    with time_limit(5):
        assert Numbers(language).expand(text) == text


def test_a_language_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HardalignError, match=r"'xx'; choose from .*de, en"):
        Numbers("xx")
    monkeypatch.setitem(sys.modules, "num2words", None)
    with pytest.raises(HardalignError, match=r"num2words, .*pip install .*\[text\]"):
        Numbers("en")
