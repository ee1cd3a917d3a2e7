"""Checks of a data set for common problems, before training."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median

from hardalign.data.formats import Example, Format, training_pairs
from hardalign.data.text import Symbols, shorten
from hardalign.data.vocabulary import LENGTH_LIMIT

RARE = 3
"""Symbols with fewer occurrences cannot be learned."""
FEW, MANY = 1000, 20_000
"""Below FEW pairs any model lacks data; from MANY on, size large pays off."""
PHONEME_LENGTH = 2.3
"""Characters per symbol: phonemes have fewer on average, syllables more."""
MAX_SAMPLES = 5
MAX_CHECKED, MIN_CHECKED = 2000, 5
"""Pairs that ``quick_check`` looks at; fewer than the minimum prove nothing."""
_TAGS = re.compile(r"[A-Z0-9][A-Z0-9.,+/()_:{}<>=|*%;-]*")
_GROUPS = (
    # Latin letters, with look-alikes in Cyrillic, Greek and Armenian
    *("AАΑ", "BВΒ", "CС", "EЕΕ", "HНΗ", "IІΙ", "JЈ", "KКΚ", "MМΜ", "NΝ", "OОΟ", "PРΡ", "SЅ"),
    *("TТΤ", "XХΧ", "YУΥ", "ZΖ", "aаα", "cсϲ", "eе", "hһ", "iіι", "jј", "oоοօ", "pрρ", "sѕ"),
    *("xх", "yу", "vν", "uυ", "kκĸ", "nո"),
    # IPA letters, with what is typed instead; pairs that are both IPA (x and χ) are left out
    *("gɡ", "əǝ", "ɛεє", "βßꞵ", "θѳ", "ʃ∫", ":ː", "!ǃ", "ɪı", "ʒӡ", "φɸ", "ŋη"),
    # punctuation
    *("'’‘ʼʹ′`´ˈ", '"“”„″', "-‐‑‒–—−", ",‚", ".․", "|ǀ", "…⋯", "/⁄∕"),
)
_LOOK_ALIKE = {ord(other): group[0] for group in _GROUPS for other in group[1:]}


@dataclass(frozen=True)
class Finding:
    """A kind of problem, with its count and some samples."""

    kind: str
    count: int
    message: str
    samples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """Statistics and findings of a data set; lengths are minimum, median and maximum."""

    pairs: int
    sources: int
    source_symbols: int
    target_symbols: int
    tags: int
    source_length: tuple[int, float, int]
    target_length: tuple[int, float, int]
    findings: tuple[Finding, ...]


def quick_check(examples: Iterable[Example], format: Format) -> list[str]:  # noqa: A002
    """Return signs that examples are in another format, each with the option to give instead.

    Reports clear cases only: names of two words contain spaces, but are not phonemes.
    """
    pairs = list(islice(training_pairs(examples), MAX_CHECKED))
    return list(_misread(pairs, format)) if len(pairs) >= MIN_CHECKED else []


def _misread(pairs: Sequence[Example], text_format: Format) -> Iterator[str]:
    sources = [text_format.join_source(pair.source) for pair in pairs]
    targets = [text_format.join_target(pair.targets[0]) for pair in pairs]
    tags = [text_format.tag_separator.join(pair.tags) for pair in pairs]

    quoted = _share(sources + targets, lambda text: len(text) > 1 and text[0] == text[-1] == '"')
    if quoted > 0.9:
        yield (
            "sources and targets are in quotation marks, as spreadsheets write them, which would "
            "be read as letters; name the file .csv, or remove them"
        )

    targets_are_tags = (
        _share(targets, _TAGS.fullmatch) > 0.9
        and _share(targets, lambda text: text_format.tag_separator in text) > 0.5
    )
    if targets_are_tags and any(tags) and _share(tags, _TAGS.fullmatch) < 0.1:
        swapped = {"target": "tags", "tags": "target"}
        columns = ",".join(swapped.get(column, column) for column in text_format.columns)
        yield (
            f"targets such as {shorten(targets[0])} look like tags, and tags such as "
            f"{shorten(tags[0])} like forms; give --columns {columns}"
        )

    letters = not text_format.source_separator and (
        _share(sources, lambda text: all(len(part) <= 1 for part in text.split(" "))) > 0.9
    )
    if letters and _share(sources, lambda text: len(text) > 1) > 0.5:
        yield (
            f"sources such as {shorten(sources[0])} look like letters with spaces between them; "
            "give --format spaced (or --source-separator ' ')"
        )

    parts = [part for target in targets for part in target.split()]
    words = len(pairs) if letters else sum(len(text.split()) for text in sources)
    short = len(parts) > 3 * words and len("".join(parts)) < PHONEME_LENGTH * len(parts)
    blanks = _share(targets, lambda text: " " in text) > 0.8
    if blanks and short and not text_format.target_separator:
        yield (
            f"targets such as {shorten(targets[0])} look like symbols with spaces between them; "
            f"give --format {'spaced' if letters else 'lexicon'} (or --target-separator ' ')"
        )


def _share(texts: Sequence[str], holds: Callable[[str], object]) -> float:
    """Return the share of texts for which a predicate holds."""
    return sum(bool(holds(text)) for text in texts) / len(texts)


def check(
    examples: Iterable[Example], text_format: Format, against: Iterable[Example] | None = None
) -> Report:
    """Check examples, and compare them with training examples if given.

    Both must have been read without the normalisation of ``text_format``.
    """
    spelt = list(training_pairs(examples))
    pairs = [_normalised(pair, text_format) for pair in spelt]
    rare = RARE if against is None else 0  # rare in a test set may be frequent in training
    found = [
        *_repetitions(pairs, text_format),
        *_symbols("source", [pair.source for pair in pairs], pairs, rare),
        *_symbols("target", [pair.targets[0] for pair in pairs], pairs, rare),
        *_symbols("tag", [pair.tags for pair in pairs], pairs, rare),
        *_lines(pairs, spelt, text_format),
    ]
    if against is not None:
        training = [_normalised(pair, text_format) for pair in training_pairs(against)]
        found += _comparison(pairs, training, text_format)
    findings = [
        Finding(kind, len(samples), message, tuple(samples[:MAX_SAMPLES]))
        for kind, message, samples in found
        if samples
    ]
    findings += [Finding("format", len(pairs), text) for text in quick_check(pairs, text_format)]
    if against is None:
        findings.append(_size(pairs))
    sources = [len(pair.source) for pair in pairs]
    targets = [len(pair.targets[0]) for pair in pairs]
    return Report(
        len(pairs),
        len({pair.key for pair in pairs}),
        len({symbol for pair in pairs for symbol in pair.source}),
        len({symbol for pair in pairs for symbol in pair.targets[0]}),
        len({tag for pair in pairs for tag in pair.tags}),
        (min(sources), median(sources), max(sources)),
        (min(targets), median(targets), max(targets)),
        tuple(findings),
    )


Found = tuple[str, str, list[str]]
"""Kind, message and all samples of a possible finding; without samples it is dropped."""


def _normalised(pair: Example, text_format: Format) -> Example:
    target = text_format.target_symbols(text_format.join_target(pair.targets[0]))
    return replace(pair, source=text_format.source_symbols(pair.text), targets=(target,))


def _show(pair: Example, text_format: Format) -> str:
    target = text_format.join_target(pair.targets[0])
    tags = f" ({text_format.tag_separator.join(pair.tags)})" if pair.tags else ""
    return f"line {pair.line}: {pair.text}{tags} → {target}"


def _repetitions(pairs: Sequence[Example], text_format: Format) -> Iterator[Found]:
    answers: dict[tuple[Symbols, Symbols], dict[Symbols, Example]] = defaultdict(dict)
    twice = []
    for pair in pairs:
        first = answers[pair.key].setdefault(pair.targets[0], pair)
        if first is not pair:
            twice.append(f"{_show(pair, text_format)} (as line {first.line})")
    several = [
        "; ".join(_show(pair, text_format) for pair in targets.values())
        for targets in answers.values()
        if len(targets) > 1
    ]
    yield "duplicates", "pairs that repeat an earlier one, and so weigh more", twice
    message = "sources with several targets, at most one of which is predicted"
    yield "contradictions", message, several


def _symbols(
    side: str, strings: Sequence[Symbols], pairs: Sequence[Example], rare: int
) -> Iterator[Found]:
    counts: Counter[str] = Counter()
    first_lines: dict[str, int] = {}
    for string, pair in zip(strings, pairs, strict=True):
        counts.update(string)
        for symbol in string:
            first_lines.setdefault(symbol, pair.line)

    def where(symbol: str) -> str:
        return f"{describe(symbol)} × {counts[symbol]}, first in line {first_lines[symbol]}"

    few = sorted((s for s in counts if counts[s] < rare), key=lambda s: (counts[s], first_lines[s]))
    message = f"they occur fewer than {rare} times: are they errors?"
    yield f"rare {side} symbols", message, [where(symbol) for symbol in few]
    alike = [" and ".join(map(where, group)) for group in look_alikes(counts)]
    yield f"look-alike {side} symbols", "groups that look alike but are not the same", alike
    invisible = [where(symbol) for symbol in sorted(counts) if is_invisible(symbol)]
    yield f"invisible {side} symbols", "white space or control characters", invisible


def _lines(
    pairs: Sequence[Example], spelt: Sequence[Example], text_format: Format
) -> Iterator[Found]:
    """Find problems of single lines."""

    def lines(odd: Callable[[Example], bool], among: Sequence[Example] = pairs) -> list[str]:
        return [_show(pair, text_format) for pair in among if odd(pair)]

    def has_outer_blanks(pair: Example) -> bool:
        ends = (end for part in (pair.source, *pair.targets) for end in part[:1] + part[-1:])
        return any(end.isspace() for end in ends)

    def is_not_nfc(pair: Example) -> bool:
        texts = pair.text, text_format.join_target(pair.targets[0])
        return not all(unicodedata.is_normalized("NFC", text) for text in texts)

    def is_long(pair: Example) -> bool:
        return len(pair.targets[0]) > LENGTH_LIMIT * (len(pair.source) + len(pair.tags) + 2)

    message = "sources or targets that begin or end with a blank symbol"
    yield "blanks at the ends", message, lines(has_outer_blanks)
    harm = f"no harm, as all are read as {text_format.normalization}"
    if text_format.normalization == "none":
        harm = "as nothing is normalised, the same letter is two symbols"
    message = f"pairs not in NFC, unlike the others; {harm}"
    other = lines(is_not_nfc, spelt)
    yield "mixed normalisation", message, other if len(other) < len(spelt) else []
    message = f"more than {LENGTH_LIMIT} times as long as their source, the limit of predictions"
    yield "long targets", message, lines(is_long)


def _comparison(
    pairs: Sequence[Example], training: Sequence[Example], text_format: Format
) -> Iterator[Found]:
    """Compare a test set with its training set."""
    lines = {pair.key: pair.line for pair in reversed(training)}
    asked = {pair.key: pair for pair in reversed(pairs)}
    shared = [pair for pair in reversed(asked.values()) if pair.key in lines]

    def unknown(symbols: Callable[[Example], Symbols]) -> list[str]:
        known = {symbol for pair in training for symbol in symbols(pair)}
        counts = Counter(s for pair in pairs for s in symbols(pair) if s not in known)
        return [f"{describe(symbol)} × {count}" for symbol, count in counts.most_common()]

    samples = [f"{_show(pair, text_format)} (there line {lines[pair.key]})" for pair in shared]
    yield "sources in training", "scores on them say little", samples
    message = "symbols and tags of sources that are not in the training data"
    yield "unknown symbols", message, unknown(lambda pair: (*pair.source, *pair.tags))
    message = "symbols of targets that are not in the training data: a model can write them "
    message += "only by copying them from the source"
    yield "unspellable symbols", message, unknown(lambda pair: pair.targets[0])


def _size(pairs: Sequence[Example]) -> Finding:
    """Recommend a model size for the number of pairs, by a rule of thumb."""
    distinct = len({(pair.key, pair.targets[0]) for pair in pairs})
    advice = "enough for size small" if distinct < MANY else "enough for sizes small and large"
    if distinct < FEW:
        advice = f"fewer than {FEW:,}: more data is the most effective improvement"
    return Finding("size", distinct, f"different pairs, {advice}")


def look_alikes(symbols: Iterable[str]) -> list[Symbols]:
    """Return groups of symbols that look alike.

    >>> look_alikes(["a", "b", "а"])  # the last is Cyrillic
    [('a', 'а')]
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for symbol in sorted(set(symbols)):
        groups[symbol.translate(_LOOK_ALIKE)].append(symbol)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def is_invisible(symbol: str) -> bool:
    """Whether a symbol is white space other than a space, or control characters."""
    kinds = {unicodedata.category(character) for character in symbol}
    return symbol != " " and kinds <= {"Zs", "Zl", "Zp", "Cc", "Cf"}


def describe(symbol: str) -> str:
    """Return a symbol with its code points, and its name if it is one character."""
    points = " ".join(f"U+{ord(character):04X}" for character in symbol)
    if is_invisible(symbol):
        return points
    name = unicodedata.name(symbol, "") if len(symbol) == 1 else ""
    return f"{symbol} ({f'{points} {name}'.strip()})"
