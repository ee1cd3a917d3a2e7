"""``hardalign predict``: a file of sources in, their predictions out, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardalign.cli.console import lines_to, note, note_score_kind, watched
from hardalign.cli.options import (
    Count,
    File,
    FileList,
    FileOptions,
    Model,
    Number,
    OutputFile,
    Share,
    Temperature,
    file_or_stdout,
    threads_or_cores,
)
from hardalign.errors import HardalignError

if TYPE_CHECKING:
    from hardalign.predictor import Prediction


def predict(
    model: Model,
    file: File = "-",
    *,
    beam: Number = None,
    nbest: Count = None,
    mass: Share = None,
    sample: Count = None,
    seed: Number = None,
    temperature: Temperature = None,
    scores: bool = False,
    alignments: bool = False,
    jsonl: bool = False,
    lexicon: FileList = (),
    no_lexicon: bool = False,
    ipa: bool = False,
    text: bool = False,
    spell_capitals: bool = False,
    output: OutputFile = None,
    threads: Number = None,
    files: FileOptions = FileOptions(),  # noqa: B008 - frozen
) -> None:
    """Predict a target for each source, one line per input line, in order.

    $ echo action | hardalign predict runs/g2p

    $ hardalign predict runs/g2p words.txt --scores --output lexicon.tsv

    $ hardalign predict runs/g2p words.txt --beam 10 --nbest 3 --jsonl

    $ hardalign predict en-g2p letter.txt --text --ipa

    A line holds a source alone (with tags: lemma TAB TAG;TAG), or all the columns of the model's
    format, whose target is then ignored. Printed is: source TAB prediction. Predictions stop at 4
    times the length of the source (begin and end symbols included); if one does, it is reported.

    Without other wishes the search is greedy: the best symbol at every step.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File of sources; - is standard input; gzip is recognised.
        beam: Follow so many hypotheses side by side; 1 is greedy. (default: 1, with --nbest more)
        nbest: Print the K most probable strings found, best first, each on a line. Where fewer are
            found, fewer are printed and that is reported. (default beam: K, at least 5)
        mass: Print the fewest strings that together have at least probability P, and a last
            column with the probability covered so far. The beam is doubled from 8 up to 256 until
            P is covered; where it is not, that is reported.
        sample: Print K strings drawn from the model's distribution; equal ones may come up.
        seed: Of --sample: a word at the same place in its file gets the same strings again.
            (default: 0)
        temperature: Take each symbol's probabilities to the power 1/T, which makes them more alike
            above 1 and less below. (default: what training found to fit; 1 is as it learned)
        scores: Add a column, log p(prediction | source), the natural logarithm, which is what
            hardalign score gives, to the precision of float32. It is exact for most systems, but
            hard-feed and hard-feed-reinforce give the probability under the rule by which they
            decode, monotonic a lower bound, summed over the ways to write the string that the
            search found.
        alignments: Add a last column, where each symbol of the prediction came from: index pairs
            source-target, from 0, as hardalign align prints them.
        jsonl: Print one JSON object per input line: source and predictions, each with text,
            symbols, log_prob and finished (false if it was cut off).
        lexicon: A file of known words, or cmudict, to look up before the lexicon that the model
            brings (en-g2p has cmudict); the model is asked for other words, and orders several
            pronunciations of one. May be given several times: the first that has a word decides.
        no_lexicon: Ask the model alone, also for words that the lexicon it brings has.
        ipa: Write ARPAbet as IPA, with stress marks before syllables.
        text: The file is running text: words are pronounced, all else stays as it is.
        spell_capitals: In a text, spell words in capitals letter by letter.
        output: Write to this file, whole or not at all, instead of standard output (-).
        threads: How many batches of words to work on at a time. (default: one per core)
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.cli.remarks import Remarks
    from hardalign.data.folding import Folding
    from hardalign.data.reading import Skipped, read_examples, read_lines
    from hardalign.data.vocabulary import UnknownSymbols
    from hardalign.predictor import load
    from hardalign.search import Search
    from hardalign.text.ipa import check_arpabet
    from hardalign.text.running import TextReport, pronounce_text

    if seed is not None and sample is None:
        raise HardalignError("--seed goes with --sample")
    search, threads = Search(beam, nbest, mass, sample, seed or 0), threads_or_cores(threads)
    output = file_or_stdout(output)
    if no_lexicon and lexicon:
        raise HardalignError("choose one of --lexicon and --no-lexicon")
    predictor = load(model, temperature=temperature, lexicon=None if no_lexicon else lexicon)
    if file != "-" and not set("./") & set(file) and not Path(file).exists():
        raise HardalignError(
            f"{file}: no such file; words come from a file or from standard input: "
            f"echo {file} | hardalign predict {model} -"
        )
    description = predictor.description
    if ipa:
        check_arpabet(description.vocabulary.target.letters)
    if text:
        for name, option in (
            *(("scores", scores), ("alignments", alignments), ("jsonl", jsonl)),
            *(("nbest", nbest), ("mass", mass), ("sample", sample)),
        ):
            if option:
                raise HardalignError(
                    f"--{name} does not go with --text: a text has one pronunciation for each "
                    "word, and nothing beside it"
                )
        report = TextReport()
        pronounced = pronounce_text(
            predictor,
            read_lines(file),
            spell_capitals=spell_capitals,
            ipa=ipa,
            search=search,
            report=report,
            threads=threads,
        )
        with lines_to(output) as lines:
            lines.writelines(line.text + "\n" for line in pronounced)
        for remark in (report.summary(), *report.remarks()):
            note(remark)
        return
    if spell_capitals:
        raise HardalignError("--spell-capitals goes with --text")
    unknown = UnknownSymbols(description.vocabulary.source)
    folding = Folding(description.vocabulary.source)
    skipped = Skipped()
    layout = files.resolve(description.format)
    examples = read_examples(file, layout, "prediction", skipped=skipped)
    remarks = Remarks(nbest or 1, mass, description.vocabulary)
    answers = predictor.respond(
        remarks.watch(examples),
        search,
        folding=folding,
        alignments=alignments,
        exact=scores or jsonl or mass is not None,
        threads=threads,
    )
    with lines_to(output) as lines:
        for answer in watched(answers, "words", printed=output is None):
            remarks.see(answer)
            unknown.counts.update(answer[0].unknown)
            if jsonl:
                lines.write(dumps(_object(answer, mass, ipa), ensure_ascii=False) + "\n")
            else:
                lines.writelines(_rows(answer, scores, mass, alignments, ipa))
    note(skipped.report(file, "answered with an empty prediction"))
    note(unknown.report())
    note(folding.remark())
    if scores or jsonl:
        note_score_kind(predictor.system.score)
    remarks.report()


def _rows(
    predictions: list[Prediction], scores: bool, mass: float | None, alignments: bool, ipa: bool
) -> Iterator[str]:
    """Yields a line for each prediction."""
    from hardalign.batches import cumulative_probability
    from hardalign.text.ipa import arpabet_to_ipa

    for prediction, so_far in zip(predictions, cumulative_probability(predictions), strict=True):
        text = arpabet_to_ipa(prediction.symbols) if ipa else prediction.text
        columns = [prediction.source, text]
        if scores:
            columns.append(f"{prediction.log_prob:.6f}")
        if mass is not None:
            columns.append(f"{so_far:.6f}")
        if alignments:
            columns.append(prediction.alignment.pharaoh() if prediction.alignment else "")
        yield "\t".join(columns) + "\n"


def _object(predictions: list[Prediction], mass: float | None, ipa: bool) -> dict[str, Any]:
    """Returns all predictions for one source."""
    from hardalign.batches import cumulative_probability
    from hardalign.text.ipa import arpabet_to_ipa

    source = predictions[0].source
    # A blank line has no source, and its empty prediction is not the model's.
    entries = [prediction.to_dict() for prediction in predictions if source]
    if ipa:
        for entry in entries:
            entry["ipa"] = arpabet_to_ipa(entry["symbols"])
    content = {"source": source, "origin": predictions[0].origin, "predictions": entries}
    return content if mass is None else content | {"mass": cumulative_probability(predictions)[-1]}
