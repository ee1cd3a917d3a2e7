"""What went wrong: which symbols a model confuses, where, and how sure it was.

A report is text for the terminal, TSV, or one self-contained HTML page.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files
from itertools import repeat
from string import Template
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from hardalign.alignment import BEGIN, END
from hardalign.data.formats import Example, evaluation_items, training_pairs
from hardalign.data.text import Symbols, plural
from hardalign.plot import label
from hardalign.predictor import Predictor
from hardalign.search import Search
from hardalign.table import Table

LISTED = 20  # items in each list of single words
KEPT = 5  # words kept as examples of a confusion
IN_TERMINAL, ON_PAGE = 20, 30  # confusions shown
NUMBERS = ("", "items", "wrong", "share", "p", "log p", "line")
"""Heads of the columns that a page aligns right."""
Spell = Callable[[Symbols], str]  # joins symbols as the model's format does


class Outcome(NamedTuple):
    """One prediction beside the closest of its references."""

    example: Example
    predicted: Symbols
    expected: Symbols
    probability: float  # that the model gives to its prediction
    predicted_from: tuple[int, ...] = ()
    """Of errors: the column (begin, tags, source, end) that each predicted symbol comes from."""
    expected_from: tuple[int, ...] = ()
    """The same for the reference; empty if the model cannot spell it."""
    finished: bool = True  # whether the prediction came to an end, and was not cut off
    read: Example | None = None
    """The example as the model read it, if that is not as it stands in the file."""

    @property
    def correct(self) -> bool:
        """Whether it is one of the references."""
        return self.predicted == self.expected

    @property
    def columns(self) -> Symbols:
        """What the columns stand for."""
        read = self.read or self.example
        return (BEGIN, *read.tags, *read.source, END)

    @property
    def letters(self) -> range:
        """The columns of source symbols."""
        return range(1 + len((self.read or self.example).tags), len(self.columns) - 1)

    def context(self, column: int) -> str:
        """Return a column's symbol between its neighbours: ``o[u]g``."""
        if column not in self.letters:
            return self.columns[column]
        left = self.columns[column - 1] if column > self.letters.start else BEGIN
        return f"{left}[{self.columns[column]}]{self.columns[column + 1]}"


class Slip(NamedTuple):
    """One symbol that is wrong, missing (none predicted), or added (none expected)."""

    predicted: str
    expected: str

    @property
    def kind(self) -> str:
        """Either "wrong", "missing" or "added"."""
        return ("wrong" if self.predicted else "missing") if self.expected else "added"

    def __str__(self) -> str:
        if self.kind == "wrong":
            return f"{self.predicted} for {self.expected}"
        return f"{self.predicted or self.expected} {self.kind}"


@dataclass
class Confusion:
    """The same slip in several words."""

    slip: Slip
    count: int = 0
    letters: Counter[str] = field(default_factory=Counter)  # the source symbols it came from
    contexts: Counter[str] = field(default_factory=Counter)  # the same between their neighbours
    tags: Counter[str] = field(default_factory=Counter)
    words: list[Outcome] = field(default_factory=list)  # the first ones

    def add(self, outcome: Outcome, column: int | None) -> None:
        """Count the slip once more, in a word whose ``column`` it comes from, if that is known."""
        self.count += 1
        if column is not None:
            self.letters[outcome.columns[column]] += 1
            self.contexts[outcome.context(column)] += 1
        self.tags.update(outcome.example.tags)
        if len(self.words) < KEPT and (not self.words or self.words[-1] is not outcome):
            self.words.append(outcome)


@dataclass
class Group:
    """Items that have something in common."""

    n: int = 0
    wrong: int = 0

    @property
    def share(self) -> float:
        """The percentage that is wrong."""
        return 100 * self.wrong / self.n


@dataclass(frozen=True)
class ErrorReport:
    """Everything about the errors of a model on a file."""

    n: int
    wrong: int
    slips: int
    confusions: list[Confusion]  # commonest first
    lengths: dict[str, Group]  # by symbols of the source
    confidence: dict[str, Group]  # by the probability of the prediction
    tags: dict[str, Group]  # most often wrong first
    sure_wrong: list[Outcome]  # most confident first
    unsure_right: list[Outcome]  # least confident first
    doubts: list[tuple[Example, float]]
    """Pairs of the file with the lowest log-probabilities: perhaps errors in the data."""
    cut_off: list[Example]  # items whose prediction the length limit cut off


def find_errors(
    predictor: Predictor, examples: Sequence[Example], *, threads: int = 1
) -> ErrorReport:
    """Predict the sources of examples greedily, each once, and look at what is wrong."""
    outcomes = _outcomes(predictor, evaluation_items(examples), threads)
    right = [outcome for outcome in outcomes if outcome.correct]
    wrong = [outcome for outcome in outcomes if not outcome.correct]
    confusions: dict[Slip, Confusion] = {}
    lengths, confidence, tags = (defaultdict[str, Group](Group) for _ in range(3))
    for outcome in outcomes:
        length, tenth = len(outcome.example.source), min(9, int(outcome.probability * 10))
        of_length = lengths[f"{length:2d}" if length < 16 else "16 and more"]
        as_sure = confidence[f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}"]
        for group in of_length, as_sure, *(tags[tag] for tag in outcome.example.tags):
            group.n += 1
            group.wrong += not outcome.correct
        for slip, column in slips(outcome):
            confusions.setdefault(slip, Confusion(slip)).add(outcome, column)
    # Each pair once, where it stands in the file first.
    distinct = {(pair.key, pair.targets): pair for pair in reversed([*training_pairs(examples)])}
    pairs = sorted(distinct.values(), key=lambda pair: pair.line)
    scores = map(math.fsum, predictor.score(pairs, threads=threads))
    return ErrorReport(
        n=len(outcomes),
        wrong=len(wrong),
        slips=sum(confusion.count for confusion in confusions.values()),
        confusions=sorted(confusions.values(), key=lambda confusion: -confusion.count),
        lengths=dict(sorted(lengths.items())),
        confidence=dict(sorted(confidence.items())),
        tags=dict(sorted(tags.items(), key=lambda item: -item[1].share)),
        sure_wrong=heapq.nlargest(LISTED, wrong, key=lambda outcome: outcome.probability),
        unsure_right=heapq.nsmallest(LISTED, right, key=lambda outcome: outcome.probability),
        doubts=heapq.nsmallest(LISTED, zip(pairs, scores, strict=True), key=lambda pair: pair[1]),
        cut_off=[outcome.example for outcome in outcomes if not outcome.finished],
    )


def slips(outcome: Outcome) -> Iterator[tuple[Slip, int | None]]:
    """Yield the fewest changes that turn a prediction into the reference.

    With each comes the column that the expected symbol comes from, or where none was expected the
    added one; None if that is not known.
    """
    for operation in Levenshtein.editops(outcome.predicted, outcome.expected):
        i, j = operation.src_pos, operation.dest_pos
        predicted = "" if operation.tag == "insert" else outcome.predicted[i]
        expected = "" if operation.tag == "delete" else outcome.expected[j]
        columns = outcome.expected_from if expected else outcome.predicted_from
        yield Slip(predicted, expected), (columns[j if expected else i] if columns else None)


def _outcomes(predictor: Predictor, items: Sequence[Example], threads: int) -> list[Outcome]:
    """Return the outcome of each item; those that are wrong have their alignments."""
    answers = predictor.answers(items, Search(), exact=True, threads=threads)
    outcomes = [
        Outcome(
            item,
            best.symbols,
            _closest(best.symbols, item.targets),
            math.exp(best.log_prob),
            finished=best.finished,
            read=predictor.as_read(item),
        )
        for item, (best,) in zip(items, answers, strict=True)
    ]
    pairs = [
        replace(outcome.example, targets=(target,))
        for outcome in outcomes
        if not outcome.correct
        for target in (outcome.predicted, outcome.expected)
    ]
    aligned = predictor.align_pairs(pairs, threads=threads)
    columns = iter([tuple(alignment.best) if alignment else () for _, alignment in aligned])
    return [
        outcome
        if outcome.correct
        else outcome._replace(predicted_from=next(columns), expected_from=next(columns))
        for outcome in outcomes
    ]


def _closest(predicted: Symbols, references: Sequence[Symbols]) -> Symbols:
    """Return the closest reference, the longest of several, as ``hardalign.metrics`` does."""
    return min(references, key=lambda t: (Levenshtein.distance(predicted, t), -len(t)))


def terminal_report(report: ErrorReport, spell: Spell) -> str:
    """Format a report for the terminal."""
    rows = [
        (
            str(confusion.slip),
            str(confusion.count),
            _percentage(confusion.count, report.slips),
            _common(confusion.letters, 3),
            ", ".join(word.example.text for word in confusion.words[:3]),
        )
        for confusion in report.confusions[:IN_TERMINAL]
    ]
    heads = ("", "count", "share", "from", "words")
    lines = [
        f"{plural(report.n, 'item', 'items')}, {report.wrong} wrong "
        f"({_percentage(report.wrong, report.n)}), "
        f"{plural(report.slips, 'symbol', 'symbols')} wrong, missing or added"
    ]
    for table in (Table("Commonest confusions", heads, rows, len(heads)), *_tables(report, spell)):
        if table.rows:
            lines += ["", table.caption, *(f"  {line}" for line in table.text()[:-1].split("\n"))]
    return "\n".join(lines)


def tsv_rows(report: ErrorReport, spell: Spell) -> Iterator[list[str]]:
    """Yield the whole report as rows; the first column names the section."""

    def counts(count: int, total: int) -> list[str]:
        return [str(count), str(total), f"{count / max(1, total):.6f}"]

    yield ["section", "name", "count", "of", "share", "from", "context", "tags", "words"]
    for confusion in report.confusions:
        origins = confusion.letters, confusion.contexts, confusion.tags
        yield [
            confusion.slip.kind,
            str(confusion.slip),
            *counts(confusion.count, report.slips),
            *(_common(origin, 5) for origin in origins),
            ", ".join(word.example.text for word in confusion.words),
        ]
    groups = {"length": report.lengths, "confidence": report.confidence, "tag": report.tags}
    for name, members in groups.items():
        for key, group in members.items():
            yield [name, key.strip(), *counts(group.wrong, group.n)]
    lists = {"confident error": report.sure_wrong, "unsure but right": report.unsure_right}
    for name, outcomes in lists.items():
        for one in outcomes:
            strings = one.example.text, spell(one.predicted), spell(one.expected)
            yield [name, *strings, f"{one.probability:.6f}"]
    for pair, log_prob in report.doubts:
        strings = pair.text, spell(pair.targets[0]), str(pair.line or "")
        yield ["improbable pair", *strings, f"{log_prob:.6f}"]


def page(report: ErrorReport, spell: Spell, title: str, signature: str) -> str:
    """Format a report as a page without scripts; ``signature`` says what it was computed from."""
    template = Template((files(__package__) / "errors.html").read_text("utf-8"))
    share = _percentage(report.wrong, report.n)
    return template.substitute(
        title=escape(title),
        summary=f"<b>{report.wrong}</b> of {report.n} items are wrong ({share}), in "
        f"{report.slips} symbols that are wrong, missing or added.",
        confusions="\n".join(_confusion(one, report) for one in report.confusions[:ON_PAGE]),
        sections="\n".join(_table(one) for one in _tables(report, spell) if one.rows),
        signature=escape(signature),
    )


def aligned_rows(outcome: Outcome) -> tuple[list[str], list[str], list[str]]:
    """Return source symbols of an error, and what each became and should have become.

    Begin, tags and end are included only if something came from them.
    """
    became, due = defaultdict[int, list[str]](list), defaultdict[int, list[str]](list)
    for symbol, column in zip(outcome.predicted, outcome.predicted_from, strict=False):
        became[column].append(symbol)
    for symbol, column in zip(outcome.expected, outcome.expected_from, strict=False):
        due[column].append(symbol)
    shown = sorted({*outcome.letters, *became, *due})
    predicted, expected = ([" ".join(side[column]) for column in shown] for side in (became, due))
    return [outcome.columns[column] for column in shown], predicted, expected


def _tables(report: ErrorReport, spell: Spell) -> Iterator[Table]:
    """Yield the tables that follow the confusions; those without rows are not shown."""
    for title, groups in (
        ("By length of the source", report.lengths),
        ("By confidence (probability of the prediction)", report.confidence),
        ("By tag", report.tags),
    ):
        rows = [(name, str(g.n), str(g.wrong), f"{g.share:.1f}%") for name, g in groups.items()]
        yield Table(title, ("", "items", "wrong", "share"), rows, 4)
    for title, outcomes in (
        ("Most confident errors", report.sure_wrong),
        ("Least confident right answers", report.unsure_right),
    ):
        rows = [
            (f"{o.probability:.3f}", o.example.text, spell(o.predicted), spell(o.expected))
            for o in outcomes
        ]
        yield Table(title, ("p", "source", "prediction", "reference"), rows, 4)
    rows = [
        (f"{log_prob:.2f}", str(pair.line or ""), pair.text, spell(pair.targets[0]))
        for pair, log_prob in report.doubts
    ]
    title = "Least probable pairs of the file: errors in the data?"
    yield Table(title, ("log p", "line", "source", "target"), rows, 4)


def _confusion(confusion: Confusion, report: ErrorReport) -> str:
    count, most = confusion.count, report.confusions[0].count
    origins = {"from": confusion.letters, "in": confusion.contexts, "with": confusion.tags}
    lines = [f"{word} {_common(counts, 5)}" for word, counts in origins.items() if counts]
    body = "".join(f"<p>{_text(line)}</p>" for line in lines)
    body += "".join(map(_aligned, confusion.words))
    return (
        f'<details><summary><b>{_text(str(confusion.slip))}</b><span class="count">{count} · '
        f'{_percentage(count, report.slips)}</span><span class="bar" '
        f'style="width:{100 * count / most:.1f}%"></span></summary>{body}</details>'
    )


def _aligned(outcome: Outcome) -> str:
    """Show an error: source symbols, what each became, and what it should have become."""
    columns, predicted, expected = aligned_rows(outcome)
    differ = [left != right for left, right in zip(predicted, expected, strict=True)]

    def row(name: str, cells: Iterable[str], mark: str) -> str:
        marked = zip(cells, differ, strict=True)
        return f"<tr><th>{name}</th>{''.join(_cell(cell, mark * bad) for cell, bad in marked)}</tr>"

    return (
        '<div class="scroll"><table class="aligned">'
        f"<caption>{_text(outcome.example.text)} · p = {outcome.probability:.3f}</caption>"
        f"{row('', map(label, columns), '')}{row('predicted', predicted, 'bad')}"
        f"{row('expected', expected, 'good')}</table></div>"
    )


def _table(table: Table) -> str:
    marks = ["n" if head in NUMBERS else "" for head in table.header]
    top = "".join(map(_cell, table.header, marks, repeat("th")))
    wide, body = "wide" if table.header[-1] == "share" else "", ""
    for row in table.rows:
        cells = "".join(map(_cell, row, marks))
        if wide:
            cells += f'<td class="wide"><span class="bar" style="width:{row[-1]}"></span></td>'
        body += f"<tr>{cells}</tr>"
    return (
        f'<h2>{escape(table.caption)}</h2><div class="scroll"><table class="{wide}">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(text: str, mark: str, tag: str = "td") -> str:
    return f'<{tag} class="{mark}">{_text(text)}</{tag}>'


def _text(text: str) -> str:
    """Escape text of any script and isolate its direction."""
    return f"<bdi>{escape(text)}</bdi>"


def _percentage(count: int, total: int) -> str:
    return f"{100 * count / max(1, total):.1f}%"


def _common(counts: Counter[str], most: int) -> str:
    shown = ", ".join(f"{name} × {count}" for name, count in counts.most_common(most))
    return shown + (", …" if len(counts) > most else "")
