"""Numbers and abbreviations written out as words, by the package num2words."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from itertools import takewhile
from typing import Any

from hardalign.errors import HardalignError, MissingPackageError

LONGEST = 20  # characters of a number that is written as words
POINTS = {"en", "he", "ja", "ko", "th"}  # languages with a decimal point; others have a comma
CURRENCIES = {"$": "USD", "£": "GBP", "€": "EUR", "¥": "JPY"}


def _table(text: str) -> dict[str, str]:
    return dict(entry.strip().split("=") for entry in text.split(";"))


PERCENT = _table(
    "en=percent; de=Prozent; fr=pour cent; es=por ciento; it=per cento; pt=por cento; nl=procent; "
    "sv=procent; da=procent; no=prosent; pl=procent; is=prósent; ro=la sută"
)
TIMES = {
    "en": ("{} o'clock", "{} {}"),
    "de": ("{} Uhr", "{} Uhr {}"),
    "fr": ("{} heures", "{} heures {}"),
    "es": ("{}", "{} y {}"),
    "it": ("{}", "{} e {}"),
}
"""Hours alone, and hours with minutes; articles stand before them in the text (a las 10:30)."""
ABBREVIATIONS = {
    "en": _table(
        "mr.=mister; mrs.=missus; dr.=doctor; prof.=professor; st.=saint; jr.=junior; sr.=senior; "
        "vs.=versus; e.g.=for example; i.e.=that is; etc.=et cetera; approx.=approximately; "
        "jan.=January; feb.=February; aug.=August; sept.=September; oct.=October; nov.=November; "
        "dec.=December"
    ),
    "de": _table(
        "dr.=Doktor; prof.=Professor; hr.=Herr; fr.=Frau; nr.=Nummer; st.=Sankt; "
        "z.b.=zum Beispiel; d.h.=das heißt; usw.=und so weiter; jan.=Januar; feb.=Februar; "
        "apr.=April; aug.=August; sept.=September; okt.=Oktober; nov.=November; dez.=Dezember"
    ),
    "fr": _table("m.=monsieur; mme=madame; dr.=docteur; etc.=et cetera"),
    "es": _table("sr.=señor; sra.=señora; dr.=doctor; dra.=doctora; etc.=etcétera"),
}
_ORDINALS = _table("en=st|nd|rd|th; fr=er|re|e|è|ème; es=[ºª]|er; it=[ºª]; pt=[ºª]")
_MONTHS = (
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
    r"|(?:Jan|Feb|Apr|Aug|Sept|Okt|Nov|Dez)\."
)
_SCALES = _table("m=million; bn=billion; tn=trillion")
_PHRASES = {
    "de": r"(?P<before>(?:\b(?i:der|am|ab|beim|bis|dem|den|des|nach|seit|und|vom|zum)\s+)?)"
    r"(?<![\w.,])(?P<day>\d{1,2})\."
    rf"(?=\s*(?:(?:und|bis|bis zum)\s+\d{{1,2}}\.\s*)?(?:{_MONTHS}))",
    "en": r"(?<!\w)(?:US)?(?P<sign>[$£€])(?P<amount>\d[\d,]*(?:\.\d+)?)"
    r"(?:[\s-](?P<scale>(?i:million|billion|trillion))|\s?(?P<short>m|bn|tn))\b",
    "fr": r"(?<!\d )(?<![\w.,:])(?P<grouped>\d{1,3}(?: \d{3})+(?:,\d+)?)(?![\w.,:]?\d)(?! \d)",
}
"""Numbers whose reading depends on the next word: 3. Oktober, $3.5 million, 1 250."""
_AND = re.compile(r"(,| und| et| con| e| y| en| og| och| i| and)?\s*$")


class Numbers:
    """Writes numbers, years, ordinals, currency, times and percentages of a language as words.

    Raises:
        HardalignError: If num2words is not installed, or does not have the language.
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
            raise HardalignError(f"no numbers of language {language!r}; there are {known}")
        self._num2words, self._name = num2words, language
        self._language = language.partition("_")[0]
        point, group = ".," if self._language in POINTS else ",."
        whole = rf"\d{{1,3}}(?:[{group}\u00a0\u202f]\d{{3}})+|\d+"
        number = rf"(?P<whole>{whole})(?:[{point}](?P<part>\d+))?"
        signs = "".join(CURRENCIES)
        ordinal = _ORDINALS.get(self._language, "(?!)")
        self._pattern = re.compile(
            rf"(?P<hour>[01]?\d|2[0-4])[:](?P<minute>[0-5]\d)"
            rf"|(?P<before>[{signs}])?{number}(?P<after>[{signs}%])?"
            rf"|(?P<ordinal>\d+)(?:{ordinal})|(?P<decade>[12]\d\d0)s"
        )
        self._phrases = re.compile(_PHRASES.get(self._language, "(?!)"))

    def __call__(self, text: str) -> str | None:
        """Return a number in words, or None if it is of no kind that is known.

        >>> Numbers("en")("$3.50")
        'three dollars, fifty cents'
        """
        match = self._pattern.fullmatch(text) if len(text) <= LONGEST else None
        if match is None:
            return None
        try:
            return self._written(match)
        except (NotImplementedError, OverflowError, KeyError, IndexError, TypeError, ValueError):
            return None  # num2words lacks this kind in this language, or so large a number

    def abbreviation(self, text: str) -> str | None:
        """Return what an abbreviation stands for, or None if it is none that is known."""
        return ABBREVIATIONS.get(self._language, {}).get(text.lower())

    def phrases(self, line: str, note: Callable[[str, str], None]) -> str:
        """Write the numbers of a line that depend on the next word; ``note`` is told of each.

        >>> Numbers("de").phrases("Am 3. Oktober im Jahr 3.", print)
        Am 3. Am dritten
        'Am dritten Oktober im Jahr 3.'
        """

        def read(match: re.Match[str]) -> str:
            if words := self._phrase(match):
                note(match[0], words)
            return words or match[0]

        return self._phrases.sub(read, line)

    def _phrase(self, match: re.Match[str]) -> str | None:
        if self._language == "de":
            ending = {"der": "", "": "r"}.get(match["before"].strip().lower(), "n")
            return f"{match['before']}{self._say(int(match['day']), 'ordinal')}{ending}"
        if self._language == "fr":
            return self(match["grouped"].replace(" ", ""))
        amount, two = self(match["amount"]), self(f"{match['sign']}2")
        scale = match["scale"] or _SCALES[match["short"]]
        return f"{amount} {scale} {two.partition(' ')[2]}" if amount and two else None

    def _written(self, match: re.Match[str]) -> str | None:
        if match["hour"]:
            return self._time(int(match["hour"]), int(match["minute"]))
        if match["ordinal"]:
            return self._say(int(match["ordinal"]), "ordinal")
        if match["decade"]:
            decade = self._say(int(match["decade"]), "year")
            return re.sub("y$", "ies", decade) if self._language == "en" else None
        whole = re.sub(r"\D", "", match["whole"])
        value = Decimal(f"{whole}.{match['part']}" if match["part"] else whole)
        sign = match["before"] or match["after"]
        if sign == "%":
            percent = PERCENT.get(self._language)
            return f"{self._say(value)} {percent}" if percent else None
        if sign:
            cents = len(match["part"] or "")
            return self._currency(value, CURRENCIES[sign]) if cents in (0, 2) else None
        if re.fullmatch(r"1[1-9]\d\d|20\d\d", match["whole"]) and not match["part"]:
            with suppress(NotImplementedError):
                return self._say(value, "year")
        return self._say(value)

    def _currency(self, value: Decimal, currency: str) -> str:
        if value != value.to_integral():
            return self._say(value, "currency", currency=currency)
        # Without "zero cents": up to where it differs from the same with one cent.
        cents = [Decimal(value) + Decimal(n) / 100 for n in (0, 1, 2)]
        texts = [self._say(one, "currency", currency=currency) for one in cents]
        alike = takewhile(lambda column: len(set(column)) == 1, zip(*texts, strict=False))
        return _AND.sub("", "".join(column[0] for column in alike))

    def _time(self, hour: int, minute: int) -> str:
        alone, together = TIMES.get(self._language, ("{}", "{} {}"))
        if not minute:
            return alone.format(self._say(hour))
        oh = "oh " if self._language == "en" and minute < 10 else ""
        return together.format(self._say(hour), oh + self._say(minute))

    def _say(self, value: float | Decimal, to: str = "cardinal", **options: Any) -> str:
        number = int(value) if to != "currency" and value == int(value) else value
        words = str(self._num2words(number, lang=self._name, to=to, **options))
        if isinstance(number, Decimal) and words == self._say(int(value)):
            words = self._say(float(value))  # of decimals, num2words leaves out a part in Italian
        return words.replace(" punto ", " coma ") if self._language == "es" else words
