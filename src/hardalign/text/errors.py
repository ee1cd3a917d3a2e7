"""Error reports: which symbols a model confuses, where they come from, how confident it was.

A report is text for the terminal, TSV, or a self-contained HTML page.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from importlib.resources import files
from operator import attrgetter
from string import Template
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from hardalign.alignment import BEGIN, END, Alignment
from hardalign.data.formats import Example, evaluation_items, training_pairs
from hardalign.data.text import Symbols, plural
from hardalign.plot import Table, label
from hardalign.predictor import Predictor
from hardalign.search import Search

LISTED = 20  # rows of a table of words, and confusions shown in the terminal
ON_PAGE = 30  # confusions shown on a page
EXAMPLES = 5  # words kept for each confusion


class Outcome(NamedTuple):
    """A prediction and the closest of its references."""

    example: Example
    predicted: Symbols
    expected: Symbols
    probability: float  # of the prediction, under the model
    finished: bool = True  # whether the prediction ended before the length limit
    alignments: tuple[Alignment | None, Alignment | None] = (None, None)
    """Of the prediction and of the reference (None if out of vocabulary); for errors only."""

    @property
    def correct(self) -> bool:
        """Whether the prediction is one of the references."""
        return self.predicted == self.expected


class Slip(NamedTuple):
    """One symbol that is wrong, missing (none predicted), or added (none expected)."""

    predicted: str
    expected: str

    def __str__(self) -> str:
        if self.predicted and self.expected:
            return f"{self.predicted} for {self.expected}"
        return f"{self.predicted} added" if self.predicted else f"{self.expected} missing"


@dataclass
class Confusion:
    """The same slip in several words."""

    slip: Slip
    count: int = 0
    letters: Counter[str] = field(default_factory=Counter)  # the source symbols it came from
    contexts: Counter[str] = field(default_factory=Counter)  # those symbols with their neighbours
    words: list[Outcome] = field(default_factory=list)  # the first few

    def add(self, outcome: Outcome, alignment: Alignment | None, index: int) -> None:
        """Count the slip in a word, at the given index of an alignment's target."""
        self.count += 1
        if alignment:
            letter, context = _origin(alignment, alignment.best[index])
            self.letters[letter] += 1
            self.contexts[context] += 1
        if len(self.words) < EXAMPLES and outcome not in self.words:
            self.words.append(outcome)


@dataclass
class ErrorReport:
    """The contents of a report."""

    n: int
    wrong: int
    slips: int
    confusions: list[Confusion]  # most frequent first
    tables: list[Table]
    cut_off: list[Example]  # items whose predictions reached the length limit


def find_errors(
    predictor: Predictor, examples: Sequence[Example], *, threads: int = 1
) -> ErrorReport:
    """Predict each distinct source greedily and analyse the errors."""
    outcomes = _outcomes(predictor, evaluation_items(examples), threads)
    confusions: dict[Slip, Confusion] = {}
    lengths, confidence, tags = (defaultdict[str, list[bool]](list) for _ in range(3))
    for outcome in outcomes:
        length, tenth = len(outcome.example.source), min(9, int(outcome.probability * 10))
        lengths[f"{length:2d}" if length < 16 else "16 and more"].append(outcome.correct)
        confidence[f"{tenth / 10:.1f} to {(tenth + 1) / 10:.1f}"].append(outcome.correct)
        for tag in outcome.example.tags:
            tags[tag].append(outcome.correct)
        for slip, alignment, index in slips(outcome):
            confusions.setdefault(slip, Confusion(slip)).add(outcome, alignment, index)
    # Each pair once, by its first line.
    distinct = {(pair.key, pair.targets): pair for pair in reversed([*training_pairs(examples)])}
    pairs = sorted(distinct.values(), key=lambda pair: pair.line)
    scores = map(math.fsum, predictor.score(pairs, threads=threads))
    doubtful = heapq.nsmallest(LISTED, zip(scores, pairs, strict=True), key=lambda pair: pair[0])
    right = [outcome for outcome in outcomes if outcome.correct]
    wrong = [outcome for outcome in outcomes if not outcome.correct]
    spell, probability = predictor.description.format.join_target, attrgetter("probability")

    tables = [
        _groups("By length of the source", sorted(lengths.items())),
        _groups("By confidence (probability of the prediction)", sorted(confidence.items())),
        _groups("By tag", sorted(tags.items(), key=lambda item: sum(item[1]) / len(item[1]))),
        _words("Most confident errors", heapq.nlargest(LISTED, wrong, probability), spell),
        _words("Least confident right answers", heapq.nsmallest(LISTED, right, probability), spell),
        Table(
            "Least probable pairs of the file: errors in the data?",
            ("source", "target", "line", "log p"),
            [
                (pair.text, spell(pair.targets[0]), str(pair.line or ""), f"{log_prob:.2f}")
                for log_prob, pair in doubtful
            ],
            texts=2,
        ),
    ]
    return ErrorReport(
        n=len(outcomes),
        wrong=len(wrong),
        slips=sum(confusion.count for confusion in confusions.values()),
        confusions=sorted(confusions.values(), key=lambda confusion: -confusion.count),
        tables=[table for table in tables if table.rows],
        cut_off=[outcome.example for outcome in outcomes if not outcome.finished],
    )


def slips(outcome: Outcome) -> Iterator[tuple[Slip, Alignment | None, int]]:
    """Yield a minimal set of edits between a prediction and the reference.

    Each comes with the alignment and the index of its expected symbol, or of the added symbol.
    """
    predicted, expected = outcome.alignments
    for operation in Levenshtein.editops(outcome.predicted, outcome.expected):
        i, j = operation.src_pos, operation.dest_pos
        if operation.tag == "delete":
            yield Slip(outcome.predicted[i], ""), predicted, i
        else:
            said = "" if operation.tag == "insert" else outcome.predicted[i]
            yield Slip(said, outcome.expected[j]), expected, j


def _outcomes(predictor: Predictor, items: Sequence[Example], threads: int) -> list[Outcome]:
    """Return the outcome of each item, errors with their alignments."""
    answers = predictor.answers(items, Search(), exact=True, threads=threads)
    outcomes = []
    for item, (best,) in zip(items, answers, strict=True):
        closest = _closest(best.symbols, item.targets)
        probability = math.exp(best.log_prob)
        outcomes.append(Outcome(item, best.symbols, closest, probability, best.finished))
    pairs = [
        replace(outcome.example, targets=(target,))
        for outcome in outcomes
        if not outcome.correct
        for target in (outcome.predicted, outcome.expected)
    ]
    aligned = predictor.align_pairs(pairs, threads=threads)
    # Keep only the paths: the weights of all errors would fill the memory.
    alignments = iter(
        [one and replace(one, weights=np.empty((0, 0)), path=one.best) for _, one in aligned]
    )
    return [
        outcome
        if outcome.correct
        else outcome._replace(alignments=(next(alignments), next(alignments)))
        for outcome in outcomes
    ]


def _closest(predicted: Symbols, references: Sequence[Symbols]) -> Symbols:
    """Return the closest reference, the longest in a tie, as ``hardalign.metrics`` does."""
    return min(references, key=lambda t: (Levenshtein.distance(predicted, t), -len(t)))


def _origin(alignment: Alignment, column: int) -> tuple[str, str]:
    """Return the symbol of a column, alone and with its neighbours: ``o[u]g``."""
    if 0 < column <= len(alignment.tags):
        tag = alignment.tags[column - 1]
        return tag, tag
    frame = (BEGIN, *alignment.source, END)
    place = column - len(alignment.tags) if column else 0
    symbol = frame[place]
    inside = 0 < place < len(frame) - 1
    return symbol, f"{frame[place - 1]}[{symbol}]{frame[place + 1]}" if inside else symbol


def _groups(title: str, groups: Iterable[tuple[str, list[bool]]]) -> Table:
    """Count the errors in groups of items."""
    rows = []
    for name, correct in groups:
        wrong = correct.count(False)
        rows.append((name, str(len(correct)), str(wrong), _percentage(wrong, len(correct))))
    return Table(title, ("", "items", "wrong", "share"), rows)


def _words(title: str, outcomes: list[Outcome], spell: Callable[[Symbols], str]) -> Table:
    rows = [
        (one.example.text, spell(one.predicted), spell(one.expected), f"{one.probability:.3f}")
        for one in outcomes
    ]
    return Table(title, ("source", "prediction", "reference", "p"), rows, texts=3)


def terminal_report(report: ErrorReport) -> str:
    """Format a report for the terminal."""
    lines = [
        f"{plural(report.n, 'item', 'items')}, {report.wrong} wrong "
        f"({_percentage(report.wrong, report.n)}), "
        f"{plural(report.slips, 'symbol', 'symbols')} wrong, missing or added"
    ]
    confusions = _confusion_table(report)
    rows = [row[:5] for row in confusions.rows[:LISTED]]
    first = [replace(confusions, header=confusions.header[:5], rows=rows)] if rows else []
    for table in first + report.tables:
        lines += ["", table.caption, *(f"  {line}" for line in table.text()[:-1].split("\n"))]
    return "\n".join(lines)


def tsv_rows(report: ErrorReport) -> Iterator[list[str]]:
    """Yield the rows of all tables, headers included, each after its table's caption."""
    for table in (_confusion_table(report), *report.tables):
        for row in (table.header, *table.rows):
            yield [table.caption, *(cell.strip() for cell in row)]


def _confusion_table(report: ErrorReport) -> Table:
    header = "", "count", "share", "from", "words", "context"
    rows = [
        (
            str(one.slip),
            str(one.count),
            _percentage(one.count, report.slips),
            _common(one.letters, 3),
            ", ".join(word.example.text for word in one.words[:3]),
            _common(one.contexts, 5),
        )
        for one in report.confusions
    ]
    return Table("Commonest confusions", header, rows, texts=len(header))


def page(report: ErrorReport, title: str, signature: str) -> str:
    """Format a report as an HTML page without scripts; ``signature`` states its origin."""
    template = Template((files(__package__) / "errors.html").read_text("utf-8"))
    share = _percentage(report.wrong, report.n)
    return template.substitute(
        title=escape(title),
        summary=f"<b>{report.wrong}</b> of {report.n} items are wrong ({share}), in "
        f"{report.slips} symbols that are wrong, missing or added.",
        confusions="\n".join(_confusion(one, report) for one in report.confusions[:ON_PAGE]),
        sections="\n".join(map(_table, report.tables)),
        signature=escape(signature),
    )


def aligned_rows(outcome: Outcome) -> tuple[list[str], list[str], list[str]]:
    """Return the source symbols of an error, what each became, and what it should have become.

    Begin, tags and end are included only if something came from them.
    """
    known = next(filter(None, outcome.alignments), None) or outcome.example
    frame, first = (BEGIN, *known.tags, *known.source, END), 1 + len(known.tags)
    sides = []
    for alignment in outcome.alignments:
        side: list[list[str]] = [[] for _ in frame]
        if alignment:
            for symbol, column in zip(alignment.target, alignment.best, strict=True):
                side[column].append(symbol)
        sides.append([" ".join(symbols) for symbols in side])
    shown = [
        column
        for column in range(len(frame))
        if first <= column < len(frame) - 1 or sides[0][column] or sides[1][column]
    ]
    became, due = ([side[column] for column in shown] for side in sides)
    return [frame[column] for column in shown], became, due


def _confusion(confusion: Confusion, report: ErrorReport) -> str:
    count, most = confusion.count, report.confusions[0].count
    origins = {"from": confusion.letters, "in": confusion.contexts}
    lines = [f"{word} {_common(counts, 5)}" for word, counts in origins.items() if counts]
    body = "".join(f"<p>{_text(line)}</p>" for line in lines)
    body += "".join(map(_aligned, confusion.words))
    return (
        f'<details><summary><b>{_text(str(confusion.slip))}</b><span class="count">{count} · '
        f'{_percentage(count, report.slips)}</span><span class="bar" '
        f'style="width:{100 * count / most:.1f}%"></span></summary>{body}</details>'
    )


def _aligned(outcome: Outcome) -> str:
    """Format the ``aligned_rows`` of an error as an HTML table."""
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
    def row(cells: Sequence[str], tag: str) -> str:
        marked = (_cell(cell, "n" * (k >= table.texts), tag) for k, cell in enumerate(cells))
        return f"<tr>{''.join(marked)}</tr>"

    body = "".join(row(cells, "td") for cells in table.rows)
    return (
        f'<h2>{escape(table.caption)}</h2><div class="scroll"><table>'
        f"<thead>{row(table.header, 'th')}</thead><tbody>{body}</tbody></table></div>"
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
