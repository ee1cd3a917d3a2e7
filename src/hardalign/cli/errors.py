"""``hardalign errors``: what a model gets wrong, where, and how sure it is."""

from __future__ import annotations

from hardalign.cli.console import note_score_kind
from hardalign.cli.options import File, Model, Number, OutputFile, PairOptions, threads_or_cores
from hardalign.errors import HardalignError
from hardalign.files import write_bytes
from hardalign.version import __version__

PAGES = (".html", ".htm", "")
"""How the name of a page may end: in nothing, if it is a pipe or a device."""


def errors(
    model: Model,
    file: File,
    *,
    output: OutputFile = None,
    tsv: bool = False,
    threads: Number = None,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    """Show what a model gets wrong: confusions, hard words, and doubtful data.

    $ hardalign errors en-g2p test.tsv

    $ hardalign errors en-g2p test.tsv --output report.html

    Sources are predicted greedily and compared with the closest of their references. Reported are
    the commonest confusions with the source symbols they come from, errors by length, by confidence
    and by tag, the most confident errors, the least confident right answers, and the pairs of the
    file that the model finds least probable: run on training data, these are often errors in it.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File with sources and targets; - is standard input.
        output: Write a page for the browser, with alignments, instead of the terminal report.
        tsv: Print everything as TAB-separated rows.
        threads: How many batches of words to work on at a time. (default: one per core)
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.cli.console import remark_on_items
    from hardalign.data.formats import evaluation_items
    from hardalign.data.reading import file_name
    from hardalign.data.text import printable
    from hardalign.data.vocabulary import UnknownSymbols
    from hardalign.predictor import load
    from hardalign.text.error_report import page, terminal_report, tsv_rows
    from hardalign.text.errors import find_errors

    if output is not None and tsv:
        raise HardalignError("choose one of --output, a page, and --tsv, rows on standard output")
    if output is not None and output.suffix.lower() not in PAGES:
        raise HardalignError(
            f"{output}: a page is .html, not {output.suffix}; for a table, --tsv prints rows"
        )
    predictor = load(model)
    layout = predictor.description.format
    examples = list(files.read(file, layout))
    unknown = UnknownSymbols(predictor.description.vocabulary.source)
    report = find_errors(predictor, examples, unknown=unknown, threads=threads_or_cores(threads))
    remark_on_items(predictor, evaluation_items(examples), unknown, report.cut_off)
    note_score_kind(predictor.system.score)
    spell = layout.join_target
    system = predictor.description.model.system
    name = file_name(file)
    signature = f"model {model} ({system}) | {name} | greedy | hardalign {__version__}"
    if output is not None:
        title = f"Errors of {model} on {name}"
        write_bytes(output, page(report, spell, title, signature).encode())
    elif tsv:
        for row in tsv_rows(report, spell):
            print(printable("\t".join(row)))
    else:
        print(printable(f"{terminal_report(report, spell)}\n\n{signature}"))
