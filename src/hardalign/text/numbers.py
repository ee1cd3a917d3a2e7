"""Numbers and abbreviations in running text, written out as words by num2words."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise
from typing import Any

from hardalign.errors import HardalignError, MissingPackageError

MAX_LENGTH = 30  # maximum characters of a number or abbreviation to expand
LARGEST = {"am": 10**6}
"""Limits for languages in which num2words does not terminate for many larger numbers."""
POINTS = {"en", "he", "ja", "ko", "th"}  # languages with a decimal point; others use a comma
CURRENCIES = {"$": "USD", "US$": "USD", "£": "GBP", "€": "EUR", "¥": "JPY"}


def _table(text: str) -> dict[str, str]:
    return dict(entry.strip().split("=") for entry in text.split(";"))


PERCENT = _table(
    "en=percent; de=Prozent; fr=pour cent; es=por ciento; it=per cento; pt=por cento; nl=procent; "
    "sv=procent; da=procent; no=prosent; pl=procent; is=prósent; ro=la sută"
)
TIMES = {
    "en": ("H:M", "{} o'clock", "{} {}"),
    "de": (r"H[:.]M(?:\sUhr|(?<=:\d\d))", "{} Uhr", "{} Uhr {}"),
    "fr": (r"H(?::(?=\d)|\s?h(?:\s?(?=[0-5]\d\b))?)M?", "{} heures", "{} heures {}"),
    "es": (r"H[:.]M(?:\s?h|(?<=:\d\d))", "{}", "{} y {}"),
    "it": ("H:M", "{}", "{} e {}"),
}
"""A pattern of hours H and minutes M, and how to read full hours, and hours with minutes."""
ONE_O_CLOCK = _table("de=ein; fr=une; es=una; it=una")  # where it differs from the number one
ABBREVIATIONS = {
    "en": _table(
        "Mr.=mister; Mrs.=missus; Dr.=doctor; Prof.=professor; St.=saint; Jr.=junior; Sr.=senior; "
        "vs.=versus; e.g.=for example; i.e.=that is; etc.=et cetera; approx.=approximately; "
        "Jan.=January; Feb.=February; Aug.=August; Sept.=September; Oct.=October; Nov.=November; "
        "Dec.=December"
    ),
    "de": _table(
        "Dr.=Doktor; Prof.=Professor; Hr.=Herr; Fr.=Frau; Nr.=Nummer; St.=Sankt; ca.=circa; "
        "z.B.=zum Beispiel; d.h.=das heißt; u.a.=unter anderem; v.Chr.=vor Christus; "
        "n.Chr.=nach Christus; usw.=und so weiter; bzw.=beziehungsweise; Mio.=Millionen; "
        "Mrd.=Milliarden; Jan.=Januar; Feb.=Februar; Apr.=April; Aug.=August; Sept.=September; "
        "Okt.=Oktober; Nov.=November; Dez.=Dezember"
    ),
    "fr": _table(
        "M.=monsieur; Mme=madame; Mlle=mademoiselle; Dr=docteur; Dr.=docteur; n°=numéro; "
        "p.ex.=par exemple; etc.=et cetera"
    ),
    "es": _table(
        "Sr.=señor; Sra.=señora; Dr.=doctor; Dra.=doctora; Ud.=usted; Uds.=ustedes; n.º=número; "
        "p.ej.=por ejemplo; EE.UU.=Estados Unidos; etc.=etcétera"
    ),
}
"""A space may follow an inner dot."""
_PLACES = {
    "en": r"(?P<place>\d+)(?P<suffix>st|nd|rd|th)",
    "fr": r"(?P<place>\d+|[IVX]+)(?P<suffix>er|ère|re|e|è|ème)",
    "es": r"(?P<place>\d+)\.?(?P<suffix>[ºª]|er)",
    "it": r"(?P<place>\d+)(?P<suffix>[ºª])",
    "pt": r"(?P<place>\d+)\.?(?P<suffix>[ºª])",
}
_INFLECTIONS = {"ª": ("o$", "a"), "re": ("er$", "ère"), "ère": ("er$", "ère"), "er": ("o$", "")}
"""Inflections of ordinals, by suffix: segunda, première, tercer."""
_NUMERALS = {
    "en": r"(?:(?i:(?<=world\swar\s))I|(?!I\b)(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3}))",
    "es": r"(?:(?<=[Ss]iglo\s)|(?<=[Ss]iglos\s)|(?<=[IVX]\sy\s))[IVX]+",
}
_NUMBERED = "act|article|book|bowl|chapter|episode|part|phase|scene|section|title|volume|war"
_MONARCHS = (
    "alexander|benedict|catherine|charles|edward|elizabeth|frederick|george|gregory|henry|james"
    "|john|leo|louis|napoleon|nicholas|paul|philip|pius|richard|william"
)
"""English words before Roman numerals: *Chapter IV*, *Elizabeth II*."""
_AMBIGUOUS = "V|X|IV|VI|XI|XX|XXX"
"""Numerals with other meanings: an intravenous drip, an editor, a president."""
_NO_NAMES = (
    "a|an|and|as|at|but|by|for|from|he|i|if|in|it|near|of|on|or|she|that|the|then|they|this|to|we"
    "|when|where|with|you|ne|nw|se|sw"
)
"""Words that are not names, even if capitalised next to *St.* or a numeral."""
_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Aug|Sept|Oct|Nov|Dec)\."
)
_GERMAN_MONTHS = (
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
)
_DATES = {
    "en": rf"(?P<month>{_MONTHS})\s(?P<day>\d{{1,2}})"
    rf"|(?P<article>[Tt]he\s)?(?P<nth>[12]?\d|3[01])\s(?P<of>{_MONTHS})(?!\w)",
    "de": r"(?:(?:(?P<article>(?i:d(?:er|ie|as|e[mns])|[ai]m|[vz][ou]m|beim))"
    r"|(?P<before>(?i:ab|bis|nach|seit|und)))\s)?(?P<day>\d{1,2})\."
    r"(?:\s?(?P<month>0?[1-9]|1[0-2])\.\s?(?P<year>(?:1[1-9]|20)\d\d)|(?(article)|(?!))"
    rf"|(?=\s(?:{_GERMAN_MONTHS}|Jänner|(?:Jan|Feb|Apr|Aug|Sept|Okt|Nov|Dez)\.)(?!\w)))",
}
"""Ordinals without a suffix: January 5, 5 January; am 3. Oktober, 1.3.2026."""
_SCALED = {
    "en": r"(?:[\s-](?P<scale>(?i:million|billion|trillion))|\s?(?P<short>m|bn|tn))",
    "de": r"\s(?:(?P<scale>Million(?:en)?|Milliarden?)|(?P<short>Mio|Mrd)\b\.?)",
    "fr": r"\s?(?:(?P<scale>millions?|milliards?)|(?P<short>Md?))",
    "es": r"\s?(?P<scale>millón|millones)",
}
_SCALES = _table(
    "m=million; bn=billion; tn=trillion; Mio=Millionen; Mrd=Milliarden; M=millions; Md=milliards"
)
_ONES = {
    "de": {r"\sMi(?:o|llion|lliarde)|\sMrd": "eine", r"\s(?:US-)?(?:Euro|Dollar|Cent|Proz)": "ein"},
    "es": {
        r"\s(?:mil|mill[óo]n|año|euro|dólar|punto|día|mes|minuto|metro|kilómetro)(?:e?s)?\b": "un"
    },
}
"""The form of a final *one* before a noun: ein Euro, eine Million, veintiún años."""
_DECADES = {"en": "s", "de": "er"}
_SIGN = "(?:US)?[$]|[£€¥]"


class Numbers:
    """Writes numbers, years, ordinals, currency, times and percentages of a language as words.

    Raises:
        HardalignError: If num2words is not installed or does not support the language.
    """

    def __init__(self, language: str) -> None:
        try:
            from num2words import (  # type: ignore[import-untyped]
                CONVERTER_CLASSES,
                num2words,
            )
        except ModuleNotFoundError as error:
            raise MissingPackageError("writing numbers as words", error.name, "text") from None
        if language not in CONVERTER_CLASSES:
            known = ", ".join(sorted(CONVERTER_CLASSES))
            raise HardalignError(f"num2words has no language {language!r}; choose from {known}")
        self._num2words, self._name = num2words, language
        self._language = language.partition("_")[0]
        self._point = "." if self._language in POINTS else ","
        self._abbreviations = {
            form: words
            for name, words in ABBREVIATIONS.get(self._language, {}).items()
            for form in (
                name,
                name[0].upper() + name[1:],
                name.upper() if name.count(".") < 2 else name,  # D. H. may be initials
            )
        }
        self._pattern = self._compile()

    def _compile(self) -> re.Pattern[str]:
        """Return a pattern of everything to expand, with a named group for each kind."""
        language, point = self._language, self._point
        group, blank = (",", "\u00a0\u202f") if point == "." else (".", " \u00a0\u202f")
        number = (
            rf"(?:(?<!\d\s)\d{{1,3}}(?:[{blank}]\d{{3}})+(?!\s?\d)"
            rf"|\d{{1,3}}(?:[{group}]\d{{3}})+|\d+)(?:[{point}]\d+)?"
        )
        time, *_ = TIMES.get(language, TIMES["it"])
        time = time.replace("H", r"(?P<hour>[01]?\d|2[0-4])").replace("M", r"(?P<minute>[0-5]\d)")
        names = sorted(map(re.escape, self._abbreviations), key=len, reverse=True)
        kinds = {
            "date": _DATES.get(language, "(?!)"),
            "abbreviation": re.sub(r"\\\.(?=\w)", r"\.\\s?", "|".join(names)) or "(?!)",
            "time": time,
            "ordinal": _PLACES.get(language, "(?!)"),
            "numeral": _NUMERALS.get(language, "(?!)"),
            "decade": r"(?P<tens>(?:[12]\d)?\d0)" + _DECADES.get(language, "(?!)"),
            "scaled": rf"(?P<unit>{_SIGN})?(?P<mantissa>{number}){_SCALED.get(language, '(?!)')}"
            r"(?(unit)|\s?(?P<coin>[$£€¥]))",
            "amount": rf"(?P<sign>{_SIGN})?(?P<number>{number})(?:\s?(?P<after>[$£€¥%]))?",
        }
        groups = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items())
        # Addresses, fractions, dates such as 2024-01-31 and the like are left as they are.
        return re.compile(
            rf"(?<!\S)\S*[/@]\S*|(?<![\w.+$£€¥])(?<!\d[-.,:])(?:{groups})(?![\w%$£€¥])(?![-.,:]\d)"
        )

    def expand(self, line: str, note: Callable[[str, str], object] = lambda *_: None) -> str:
        """Expand recognised numbers and abbreviations; call ``note`` with each and its expansion.

        >>> Numbers("en").expand("Dr. No paid $3.50.")
        'doctor No paid three dollars, fifty cents.'
        """

        def expanded(match: re.Match[str]) -> str:
            words = None
            if match.lastgroup and len(match[0]) <= MAX_LENGTH:
                # num2words may not support this kind in this language, or so large a number.
                with suppress(
                    NotImplementedError,
                    ArithmeticError,
                    LookupError,
                    TypeError,
                    ValueError,
                    AttributeError,
                ):
                    words = getattr(self, f"_{match.lastgroup}")(match)
            if words:
                note(match[0], words)
            return words or match[0]

        return self._pattern.sub(expanded, line)

    def _abbreviation(self, match: re.Match[str]) -> str | None:
        words = self._abbreviations[re.sub(r"\s", "", match[0])]
        if words != "saint":
            return words
        after = re.match(r"\s+(\w+)", match.string[match.end() : match.end() + MAX_LENGTH])
        if after and _is_name(after[1]):  # Mount St. Helens
            return words
        return "street" if _name_before(match) else None

    def _date(self, match: re.Match[str]) -> str | None:
        if self._language == "en" and match["nth"]:
            day, month = self._say(int(match["nth"]), "ordinal"), match["of"]
            return f"{match['article'] or 'the '}{day} of {self._abbreviations.get(month, month)}"
        if self._language == "en":
            month = self._abbreviations.get(match["month"], match["month"])
            return f"{month} {self._say(int(match['day']), 'ordinal')}"
        word, day = match["article"] or match["before"], self._say(int(match["day"]), "ordinal")
        ending = "" if word and word.lower() in ("der", "die", "das") else "n"
        words = f"{word} {day}{ending}" if word else f"{day}r"
        if not match["year"]:
            return words
        if not 1 <= int(match["day"]) <= 31:
            return None
        month = _GERMAN_MONTHS.split("|")[int(match["month"]) - 1]
        return f"{words} {month} {self._say(int(match['year']), 'year')}"

    def _time(self, match: re.Match[str]) -> str:
        hour, minute = int(match["hour"]), int(match["minute"] or 0)
        _, alone, together = TIMES.get(self._language, ("", "{}", "{} {}"))
        one = ONE_O_CLOCK.get(self._language, self._say(1))
        hours = re.sub(f"{self._say(1)}$", one, self._say(hour))
        if not minute:
            return alone.format(hours)
        oh = "oh " if self._language == "en" and minute < 10 else ""
        return together.format(hours, oh + self._say(minute))

    def _ordinal(self, match: re.Match[str]) -> str:
        place = match["place"]
        words = self._say(int(place) if place.isdecimal() else _roman(place), "ordinal")
        return re.sub(*_INFLECTIONS.get(match["suffix"], ("$", "")), words)

    def _numeral(self, match: re.Match[str]) -> str | None:
        text, value, name = match[0], _roman(match[0]), _name_before(match)
        if len(text) > 1 and re.fullmatch(_MONARCHS, name):  # not Louis V. Gerstner
            return f"the {self._say(value, 'ordinal')}"
        sure = re.fullmatch(_NUMBERED, name) or (name and not re.fullmatch(_AMBIGUOUS, text))
        return self._say(value) if sure or self._language == "es" else None

    def _decade(self, match: re.Match[str]) -> str:
        words = self._say(int(match["tens"]), "year")
        return f"{words}er" if self._language == "de" else re.sub("y$", "ie", words) + "s"

    def _scaled(self, match: re.Match[str]) -> str:
        scale = match["scale"] or _SCALES[match["short"]]
        coins = self._currency(Decimal(2), match["unit"] or match["coin"]).partition(" ")[2]
        number = self._counted(self._value(match["mantissa"]), f" {scale}")
        if self._language in ("es", "fr"):
            coins = f"d'{coins}" if (self._language, coins[0]) == ("fr", "e") else f"de {coins}"
        return f"{number} {scale} {coins}"

    def _amount(self, match: re.Match[str]) -> str | None:
        text, sign = match["number"], match["sign"] or match["after"]
        value = self._value(text)
        if match["after"] == "%":
            percent = PERCENT.get(self._language)
            return f"{self._counted(value, f' {percent}')} {percent}" if percent else None
        if sign:
            cents = len(text.partition(self._point)[2])
            return self._currency(value, sign) if cents in (0, 2) else None
        if re.fullmatch(r"1[1-9]\d\d|20\d\d", text):
            with suppress(NotImplementedError):
                return self._say(value, "year")
        return self._counted(value, match.string[match.end() : match.end() + MAX_LENGTH])

    def _counted(self, value: Decimal, noun: str) -> str:
        words = self._say(value)
        for pattern, one in _ONES.get(self._language, {}).items():
            if value % 1 == 0 and re.match(pattern, noun):
                words = re.sub(f"{self._say(1)}$", one, words)
        return words.replace("veintiun", "veintiún") if words.endswith("un") else words

    def _value(self, number: str) -> Decimal:
        return Decimal(re.sub(rf"[^\d{self._point}]", "", number).replace(",", "."))

    def _currency(self, value: Decimal, sign: str) -> str:
        exact, currency = value.quantize(Decimal("0.01")), CURRENCIES[sign]
        words = self._say(exact, "currency", currency=currency)
        if self._language == "en" and value != 1:
            words = re.sub(r"\beuro\b", "euros", words)
        # "Five euros, zero cents", "fünf Euro und null Cent".
        return words if value % 1 else re.sub(rf"(?:,| \w{{1,3}})? {self._say(0)} .*$", "", words)

    def _say(self, value: float | Decimal, to: str = "cardinal", **options: Any) -> str:
        if value > LARGEST.get(self._language, value):
            raise OverflowError
        number = int(value) if to != "currency" and value == int(value) else value
        words = str(self._num2words(number, lang=self._name, to=to, **options))
        if isinstance(number, Decimal) and words == self._say(int(value)):
            words = self._say(float(value))  # in Italian, num2words drops the fraction of a Decimal
        if self._language == "en":
            return re.sub("(thousand|illion),", r"\1", words)
        return words.replace(" punto ", " coma ") if self._language == "es" else words


def _roman(text: str) -> int:
    """Return the value of a Roman numeral up to 39."""
    values = [{"I": 1, "V": 5, "X": 10}[letter] for letter in text]
    return sum(-one if one < after else one for one, after in pairwise([*values, 0]))


def _is_name(word: str) -> bool:
    return word[:1].isupper() and not re.fullmatch(_NO_NAMES, word.lower())


def _name_before(match: re.Match[str]) -> str:
    """Return the name or ordinal (42nd) just before a match, lower-cased, or an empty string."""
    before = match.string[max(0, match.start() - MAX_LENGTH) : match.start()]
    found = re.search(r"(\w[\w'’-]*)\s$", before)
    if found and (_is_name(found[1]) or re.fullmatch(r"\d+(?:st|nd|rd|th)", found[1])):
        return found[1].lower()
    return ""
