"""What is odd in a data set, said before an hour is spent on it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median

from hardalign.data.formats import Example, Format, training_pairs
from hardalign.data.text import Symbols, describe, is_invisible, look_alikes, shorten

RARE = 3
"""Symbols with fewer occurrences are rare: a model cannot learn them."""
LONG = 4
"""A prediction is cut off at so many times the length of its source."""
FEW, MANY = 1000, 20_000
"""Pairs below which any model starves, and from which on the large size can be fed."""
SHORT = 2.3
"""Symbols of phonetic alphabets have fewer characters on average, syllables have more."""
SAMPLES = 5
"""The most examples that a finding shows."""


@dataclass(frozen=True)
class Finding:
    """Says one thing that is odd: how often it occurs, what it means, and where it is."""

    kind: str
    count: int
    message: str
    samples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """Sums up a data set."""

    pairs: int
    sources: int
    source_symbols: int
    target_symbols: int
    tags: int
    source_length: tuple[int, float, int]
    """The least, the median and the largest number of symbols."""
    target_length: tuple[int, float, int]
    findings: tuple[Finding, ...]


MOST_CHECKED = 2000
"""Pairs that the quick check looks at."""
LEAST_CHECKED = 5
"""Fewer pairs show nothing surely."""
_TAGS = re.compile(r"[A-Z0-9][A-Z0-9.,+/()_:{}<>=|*%;-]*")


def quick_check(examples: Iterable[Example], format: Format) -> list[str]:  # noqa: A002
    """Return in what way examples are surely not what their format says, and what would be right.

    Only what leaves no doubt counts: names in two words are pairs with blanks, not phonemes.
    """
    pairs = list(islice(training_pairs(examples), MOST_CHECKED))
    if len(pairs) < LEAST_CHECKED:
        return []
    sources = [format.join_source(pair.source) for pair in pairs]
    targets = [format.join_target(pair.targets[0]) for pair in pairs]
    tags = [format.tag_separator.join(pair.tags) for pair in pairs]
    problems = []

    def share(texts: Iterable[str], holds: Callable[[str], object]) -> float:
        return sum(map(bool, map(holds, texts))) / len(pairs)

    if share(sources + targets, lambda text: len(text) > 1 and text[0] == text[-1] == '"') > 1.8:
        problems.append(
            "sources and targets are in quotation marks, as spreadsheets write them, and these "
            "would be letters; call the file .csv, or remove them"
        )
    if (
        share(targets, _TAGS.fullmatch) > 0.9
        and share(targets, lambda text: format.tag_separator in text) > 0.5
        and share(tags, _TAGS.fullmatch) < 0.1
        and any(tags)
    ):
        columns = ",".join({"target": "tags", "tags": "target"}.get(c, c) for c in format.columns)
        problems.append(
            f"targets such as {shorten(targets[0])} look like tags, and tags such as "
            f"{shorten(tags[0])} like forms; give --columns {columns}"
        )

    def is_spaced(text: str) -> bool:
        return all(len(part) <= 1 for part in text.split(" "))

    letters = not format.source_separator and share(sources, is_spaced) > 0.9
    if letters and sum(len(text) > 1 for text in sources) > len(sources) / 2:
        problems.append(
            f"sources such as {shorten(sources[0])} look like letters with blanks between them; "
            "give --format spaced (or --source-separator ' ')"
        )
    parts = [target.split() for target in targets]
    count, length = sum(map(len, parts)), sum(len(part) for own in parts for part in own)
    if (
        not format.target_separator
        and share(targets, lambda text: " " in text) > 0.8
        and count > 3 * (len(pairs) if letters else sum(len(text.split()) for text in sources))
        and length < SHORT * count
    ):
        problems.append(
            f"targets such as {shorten(targets[0])} look like symbols with blanks between them; "
            f"give --format {'spaced' if letters else 'lexicon'} (or --target-separator ' ')"
        )
    if (
        format.target_separator == " "
        and share(targets, lambda text: len(text.split()) == 1) > 0.95
        and length > 4 * len(pairs)
        and len(set(targets)) > max(20, len(pairs) / 2)
    ):
        problems.append(
            f"targets such as {shorten(targets[0])} have no blanks, so that each would be one "
            "symbol; give --format pairs (or --target-separator '')"
        )
    return problems


def check(
    examples: Iterable[Example], text_format: Format, against: Iterable[Example] | None = None
) -> Report:
    """Look for what is odd in examples, and beside training examples, if there are any.

    Both are as they are spelt: read without the normalisation of ``text_format``.
    """
    spelt = list(training_pairs(examples))
    pairs = [_normalised(pair, text_format) for pair in spelt]
    rare = RARE if against is None else 0  # what is rare in a test set may be learned all the same
    findings = [
        *_repetitions(pairs, text_format),
        *_symbols("source", [pair.source for pair in pairs], pairs, rare),
        *_symbols("target", [pair.targets[0] for pair in pairs], pairs, rare),
        *_symbols("tag", [pair.tags for pair in pairs], pairs, rare),
        *_untagged(pairs, text_format),
        *(Finding("format", len(pairs), problem) for problem in quick_check(pairs, text_format)),
        *_blanks(pairs, text_format),
        *_spellings(spelt, text_format),
        *_lengths(pairs, text_format),
    ]
    if against is not None:
        training = [_normalised(pair, text_format) for pair in training_pairs(against)]
        findings += _comparison(pairs, training, text_format)
    else:
        findings.append(_appetite(pairs))
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


def _normalised(pair: Example, text_format: Format) -> Example:
    return replace(
        pair,
        source=text_format.source_symbols(pair.text),
        targets=(text_format.target_symbols(text_format.join_target(pair.targets[0])),),
    )


def _finding(kind: str, message: str, samples: Sequence[str]) -> list[Finding]:
    return [Finding(kind, len(samples), message, tuple(samples[:SAMPLES]))] if samples else []


def _show(pair: Example, text_format: Format) -> str:
    target = text_format.join_target(pair.targets[0])
    tags = f" ({text_format.tag_separator.join(pair.tags)})" if pair.tags else ""
    return f"line {pair.line}: {pair.text}{tags} → {target}"


def _untagged(pairs: Sequence[Example], text_format: Format) -> list[Finding]:
    """Finds lines whose tags are missing, where others have some."""
    bare = [_show(pair, text_format) for pair in pairs if not pair.tags]
    message = "lines whose column of tags is empty, where others have tags"
    return _finding("no tags", message, bare if len(bare) < len(pairs) else [])


def _repetitions(pairs: Sequence[Example], text_format: Format) -> list[Finding]:
    """Finds pairs that occur twice, and questions with several answers."""
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
    return [
        *_finding("duplicates", "pairs that occur once more, and so weigh more", twice),
        *_finding(
            "contradictions",
            "sources with several targets, of which one at most is predicted",
            several,
        ),
    ]


def _symbols(
    side: str, strings: Sequence[Symbols], pairs: Sequence[Example], rare: int
) -> list[Finding]:
    """Finds symbols that occur fewer than ``rare`` times, look like others, or show nothing."""
    counts = Counter(symbol for string in strings for symbol in string)
    placed = list(zip(strings, pairs, strict=True))[::-1]  # so that the first line stays
    lines = {symbol: pair.line for string, pair in placed for symbol in string}

    def where(symbol: str) -> str:
        return f"{describe(symbol)} × {counts[symbol]}, first in line {lines[symbol]}"

    few = sorted((s for s in counts if counts[s] < rare), key=lambda s: (counts[s], lines[s]))
    errors = f"they occur fewer than {rare} times: are they errors?"
    alike = [" and ".join(map(where, group)) for group in look_alikes(counts)]
    unseen = [where(symbol) for symbol in sorted(counts) if is_invisible(symbol)]
    return [
        *_finding(f"rare {side} symbols", errors, [where(symbol) for symbol in few]),
        *_finding(
            f"look-alike {side} symbols", "groups that look alike but are not the same", alike
        ),
        *_finding(f"invisible {side} symbols", "they show nothing", unseen),
    ]


def _blanks(pairs: Sequence[Example], text_format: Format) -> list[Finding]:
    """Finds blanks that are symbols and perhaps should not be."""
    edges = [
        _show(pair, text_format)
        for pair in pairs
        if any(
            end.isspace() for part in (pair.source, *pair.targets) for end in part[:1] + part[-1:]
        )
    ]
    return _finding("blanks at the ends", "of sources or targets, where they are symbols", edges)


def _spellings(spelt: Sequence[Example], text_format: Format) -> list[Finding]:
    """Finds strings that are not in the Unicode normal form C, where most text is."""
    other = [
        _show(pair, text_format)
        for pair in spelt
        if not unicodedata.is_normalized("NFC", pair.text)
        or not unicodedata.is_normalized("NFC", text_format.join_target(pair.targets[0]))
    ]
    if len(other) == len(spelt):  # they are at least all alike
        return []
    harm = (
        "as nothing is normalised, the same letter is two symbols"
        if text_format.normalization == "none"
        else f"no harm, as all are read as {text_format.normalization}"
    )
    message = f"pairs that are not in NFC as the others are; {harm}"
    return _finding("mixed normalisation", message, other)


def _lengths(pairs: Sequence[Example], text_format: Format) -> list[Finding]:
    too_long = [
        _show(pair, text_format)
        for pair in pairs
        if len(pair.targets[0]) > LONG * (len(pair.source) + len(pair.tags) + 2)
    ]
    message = f"more than {LONG} times as long as their source: predictions end before"
    return _finding("long targets", message, too_long)


def _comparison(
    pairs: Sequence[Example], training: Sequence[Example], text_format: Format
) -> list[Finding]:
    """Finds what a test set must not share with its training set, and what it must."""
    lines = {pair.key: pair.line for pair in reversed(training)}
    asked = {pair.key: pair for pair in reversed(pairs)}
    shared = [pair for pair in reversed(asked.values()) if pair.key in lines]

    def unknown(symbols: Callable[[Example], Symbols]) -> list[str]:
        known = {symbol for pair in training for symbol in symbols(pair)}
        counts = Counter(s for pair in pairs for s in symbols(pair) if s not in known)
        return [f"{describe(symbol)} × {count}" for symbol, count in counts.most_common()]

    return [
        *_finding(
            "sources in training",
            "scores on them say little",
            [f"{_show(pair, text_format)} (there line {lines[pair.key]})" for pair in shared],
        ),
        *_finding(
            "unknown symbols",
            "symbols and tags of sources that are not in the training data",
            unknown(lambda pair: (*pair.source, *pair.tags)),
        ),
        *_finding(
            "unspellable symbols",
            "symbols of targets that are not in the training data: no model of it can write them, "
            "but one that copies those of the source",
            unknown(lambda pair: pair.targets[0]),
        ),
    ]


def _appetite(pairs: Sequence[Example]) -> Finding:
    """Says how large a model the pairs can feed, by a rule of thumb."""
    distinct = len({(pair.key, pair.targets[0]) for pair in pairs})
    advice = "enough for size small" if distinct < MANY else "enough for sizes small and large"
    if distinct < FEW:
        advice = f"fewer than {FEW:,}: of all that may help, more data help most"
    return Finding("size", distinct, f"different pairs, {advice}")
