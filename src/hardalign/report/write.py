"""``hardalign reproduce --report``: what a grid's folder says, as Markdown, CSV, LaTeX and SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from hardalign.errors import HardalignError, install_command
from hardalign.files import make_folder, write_bytes
from hardalign.model_folder import RUN
from hardalign.report.cells import collect
from hardalign.report.figures import save_figures
from hardalign.report.findings import FINDINGS, SEEDS, decide, evidence_table, verdict_table
from hardalign.report.markup import MISSING, Table, escape_markdown
from hardalign.report.pairwise import overall_tables, pair_tables, squares
from hardalign.report.paper import METRICS, paper_corpora, remarks
from hardalign.report.significance import INTERVAL, LEVEL, SEED_TEST, TEST
from hardalign.report.spreadsheet import pairs_csv, results_csv
from hardalign.report.tables import average_tables, breakdown_tables, coverage_table, summary_table
from hardalign.runs import FAILURE, RESULT, Failure, read_failures, read_results
from hardalign.version import __version__

FOLDER = "report"


def write_report(folder: Path) -> list[Path]:
    """Writes the report of a grid into the folder ``report`` inside it.

    What is missing is shown as missing, and runs that failed are listed; a grid without a single
    complete run has a report too. Where no run is on the paper's data, nothing is said of the
    paper. Without matplotlib there are no pictures, and the report says so. Returns the files
    written, ``report.md`` first.

    Raises:
        HardalignError: If there is no such folder, no run in it, or a result in it is damaged.
    """
    results, failures = read_results(folder), read_failures(folder)
    if not any(folder.glob(f"*/{RUN}")):
        raise HardalignError(
            f"{folder}: has no runs; `hardalign reproduce PLAN --out DIR` makes some"
        )
    cells = collect(results)
    of_paper = not cells or any(s.corpus in paper_corpora(s.task) for s in cells)
    target = folder / FOLDER
    make_folder(target)

    decided = [(finding, *decide(finding, cells)) for finding in FINDINGS if of_paper]
    verdicts = verdict_table(decided)
    evidence = [evidence_table(finding, decisions) for finding, _, decisions in decided]
    averages, breakdowns = list(average_tables(cells)), list(breakdown_tables(cells))
    coverage, summary = coverage_table(cells), summary_table(cells)
    compared = squares(cells)
    pairs = [*overall_tables(cells), *pair_tables(cells, compared)]
    pictures = save_figures(target, cells)

    versions = ", ".join(sorted({result.version for result in results})) or MISSING
    head = (
        f"Runs: {len(results)} complete, {len(failures)} failed, {_unfinished(folder)} unfinished. "
        f"Evaluated by hardalign {versions}, reported by {__version__}."
    )
    against_paper = [
        "# Reproduction: the paper's figures and ours\n",
        f"{head} The paper is Wu, Shapiro & Cotterell (2018), Hard Non-Monotonic Attention for "
        "Character-Level Transduction.\n",
        "## The five findings\n",
        ABOUT_FINDINGS,
        verdicts.markdown(),
        *(
            f"### {finding.title}: {verdict}\n\n{table.markdown()}"
            for (finding, verdict, _), table in zip(decided, evidence, strict=True)
        ),
        "## Averages\n",
        ABOUT_TABLES,
        *(f"{escape_markdown(remark)}\n" for remark in remarks(s.corpus for s in cells)),
        *_markdown(averages),
        "## What is missing\n",
        coverage.markdown(),
    ]
    report = [
        *(against_paper if of_paper else (f"# Results\n\n{head}\n", summary.markdown())),
        *_failed(failures),
        "## Data set by data set\n",
        *_markdown(breakdowns),
        "## System against system\n",
        ABOUT_PAIRS,
        *_markdown(pairs),
        "## Pictures\n",
        *_shown(pictures),
    ]
    first = [verdicts, *evidence, *averages, coverage] if of_paper else [summary]
    tables = [*first, *breakdowns, *pairs]
    files = {
        "report.md": "\n".join(report),
        "results.csv": results_csv(cells),
        "significance.csv": pairs_csv(compared),
        "tables.tex": "\n".join([LATEX_HEAD, *(table.latex() for table in tables)]),
    }
    for name, text in files.items():
        write_bytes(target / name, text.encode())
    return [*(target / name for name in files), *(pictures or ())]


ABOUT_FINDINGS = f"""\
A finding consists of claims that one system is more accurate than another. A claim is supported or
contradicted only where two tests agree: over words and over seeds, both with p < {LEVEL}, corrected
for the claims of a finding by Holm's method. Only runs on the data of the paper's three tasks by
the paper's recipe count, trained to its end; every data set and size counts the same. Words: all
data sets with runs of both systems on the same items; {TEST}.
Seeds: those with at least {SEEDS} runs of both; {SEED_TEST}.
Where there are none of those, there are too few seeds for a verdict.
Interval: {INTERVAL}, over words. "Better in" counts combinations of data
set and size; the paper's points are in the same ones.
"""

DIRECTIONS = ", ".join(
    f"{metric.name}: {metric.best}"
    for metric in dict.fromkeys(metric for metrics in METRICS.values() for metric in metrics)
)

ABOUT_TABLES = f"""\
Ours is the mean over seeds, ± the standard deviation of the sample where there are several runs.
Difference is ours minus the paper's; {MISSING} is no figure. The averages, ours and "paper", are
over the data sets that have both a run of that system and a figure in the paper; "paper, all" is
the paper's own average, over all its data sets. Rows with different data sets do not compare.
{DIRECTIONS}.
"""

ABOUT_PAIRS = f"""\
In points of accuracy; * where p < {LEVEL}, corrected for all pairs of a table by Holm's method;
{MISSING} where two systems have no runs on the same items. Over all data sets of the paper's tasks,
those that both systems have count the same, and their number is in brackets. Test: {TEST}.
It speaks about other words, not about other seeds: of those, the standard deviations tell.
"""

LATEX_HEAD = r"% Needs \usepackage{booktabs,longtable}; some tables are wide." + "\n"


def _markdown(tables: Iterable[Table]) -> Iterator[str]:
    yield from [table.markdown() for table in tables] or ["No runs at hand.\n"]


def _failed(failures: list[Failure]) -> Iterator[str]:
    if failures:
        yield "These runs failed:\n"
        for failure in failures:
            name, error = escape_markdown(failure.run.name), escape_markdown(failure.error)
            yield f"- {name}: {error} (attempt {failure.attempt})"
        yield ""


def _shown(pictures: dict[Path, str] | None) -> Iterator[str]:
    if pictures is None:
        yield f"None: they need matplotlib; run {install_command('plot')}.\n"
    elif not pictures:
        yield "None: they are of runs by the paper's recipes.\n"
    else:
        yield from (f"![{text}]({path.name})\n" for path, text in pictures.items())


def _unfinished(folder: Path) -> int:
    """Returns how many runs were begun and have neither succeeded nor failed."""
    begun = [path.parent for path in folder.glob(f"*/{RUN}")]
    return sum(not (run / RESULT).exists() and not (run / FAILURE).exists() for run in begun)
