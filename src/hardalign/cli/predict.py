"""Commands that predict: ``predict`` and ``lexicon``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional

from hardalign.cli import options as opt
from hardalign.cli.console import (
    STDOUT,
    as_they_come,
    lines_to,
    note,
    note_score_kind,
    watched,
)
from hardalign.cli.remarks import Remarks
from hardalign.data.reading import Skipped, read_examples, read_lines
from hardalign.data.text import Symbols, plural
from hardalign.data.vocabulary import Folding
from hardalign.errors import HardalignError
from hardalign.known_words import respond
from hardalign.predictor import Predictor, load
from hardalign.search import MASS_BEAM_LIMIT, Prediction, Search, cumulative_probability


def predict(
    model: opt.Model,
    file: Annotated[str, Positional, opt.arg("FILE")] = "-",
    *,
    beam: opt.Number = None,
    nbest: opt.Count = None,
    mass: opt.Share = None,
    sample: opt.Count = None,
    seed: opt.Number = None,
    temperature: opt.Temperature = None,
    scores: bool = False,
    alignments: bool = False,
    jsonl: bool = False,
    language: opt.Language = None,
    tags: opt.Text = None,
    lexicon: opt.Lexicons = (),
    no_lexicon: opt.NoLexicon = False,
    ipa: bool = False,
    text: bool = False,
    spell_capitals: bool = False,
    numbers: opt.Text = None,
    output: opt.Output = None,
    threads: opt.Threads = None,
    files: opt.FileOptions = opt.FileOptions(),
) -> None:
    """Predict a target for each source, one line per input line, in order.

    $ echo action | hardalign predict runs/g2p
    $ hardalign predict runs/g2p words.txt --scores --output lexicon.tsv
    $ hardalign predict runs/g2p words.txt --beam 10 --nbest 3 --jsonl
    $ hardalign predict en-g2p letter.txt --text --ipa
    $ hardalign predict g2p words.txt --language de

    An input line has a source alone (with tags: lemma TAB TAG;TAG), or all columns of the model's
    format, whose target is then ignored. An output line is source TAB prediction or, with tags,
    lemma TAB form TAB tags, as in SIGMORPHON files. Predictions are cut off at 4 times the length
    of the source (begin and end symbols included), which is reported. Lines that come through a
    pipe are answered as they arrive.

    The default is greedy search: the best symbol at every step.

    Args:
        file: File of sources; - is standard input; gzip is recognised.
        beam: Beam width; 1 is greedy search. (default: 1, with --nbest more)
        nbest: Print the K most probable strings found, best first, one per line. If fewer are
            found, that is reported. (default beam: K, at least 5)
        mass: Print the fewest strings whose probabilities add up to at least P, with a column of
            cumulative probability. The beam is doubled from 8 up to 256 until P is covered; if it
            never is, that is reported.
        sample: Print K strings sampled from the model's distribution, possibly with duplicates.
        seed: Random seed of --sample: a word at the same place in its file gets the same strings.
            (default: 0)
        temperature: Raise each symbol's probabilities to the power 1/T: above 1 flattens them,
            below 1 sharpens them. (default: calibrated in training; 1 is no scaling)
        scores: Add a column with the natural logarithm log p(prediction | source), as given by
            hardalign score, to float32 precision. It is exact for most systems, but hard-feed and
            hard-feed-reinforce give the probability under their decoding rule, monotonic a lower
            bound, summed over the ways to write the string that the search found.
        alignments: Add a column with the alignment: source-target index pairs, from 0, as printed
            by hardalign align.
        jsonl: Print one JSON object per input line: source and predictions, each with text,
            symbols, log_prob and finished (false if it was cut off).
        tags: Tags for all sources, which then have none of their own: deu, or V;PST.
        ipa: Write ARPAbet as IPA, with stress marks before syllables.
        text: The file is running text: pronounce its words and leave the rest unchanged.
        numbers: With --text, read numbers, years, ordinals, currency, times, percentages and common
            abbreviations as words of this language, such as en or de.
        spell_capitals: With --text, spell words in capitals letter by letter.
    """
    if seed is not None and sample is None:
        raise HardalignError("--seed goes with --sample")
    search, threads = Search(beam, nbest, mass, sample, seed or 0), opt.threads(threads)
    predictor = load(
        model,
        language=language,
        tags=tags,
        temperature=temperature,
        lexicon=opt.lexicons(lexicon, no_lexicon),
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
        beside = {"scores": scores, "alignments": alignments, "jsonl": jsonl}
        for name, given in {**beside, "nbest": nbest, "mass": mass, "sample": sample}.items():
            if given:
                raise HardalignError(
                    f"--{name} does not go with --text, which writes one pronunciation for each "
                    "word and nothing else"
                )
        from hardalign.text.numbers import Numbers

        spoken = None if numbers is None else Numbers(numbers)
        words: Any = {"spell_capitals": spell_capitals, "numbers": spoken}
        _pronounce(predictor, file, output, ipa=ipa, search=search, threads=threads, **words)
        return
    if spell_capitals or numbers:
        raise HardalignError(f"--{'numbers' if numbers else 'spell-capitals'} goes with --text")
    skipped, layout = Skipped(), files.resolve(description.format)
    if predictor.tags:
        layout = replace(layout, columns=tuple(one for one in layout.columns if one != "tags"))
    all_tags = () if predictor.languages else predictor.tags
    examples = read_examples(file, layout, "prediction", skipped=skipped)

    def written(predictions: list[Prediction]) -> Iterator[str]:
        if jsonl:
            yield dumps(_object(predictions, all_tags, mass, ipa), ensure_ascii=False) + "\n"
            return
        cumulative = cumulative_probability(predictions)
        for one, so_far in zip(predictions, cumulative, strict=True):
            columns = [one.source, _spelled(one, ipa)]
            columns += [f"{one.log_prob:.6f}"] if scores else []
            columns += [f"{so_far:.6f}"] if mass is not None else []
            if alignments:
                columns.append(one.alignment.pharaoh() if one.alignment else "")
            if one.tags or all_tags:  # last, so that other columns keep their places
                columns.append(layout.tag_separator.join(one.tags or all_tags))
            yield "\t".join(columns) + "\n"

    folding = Folding(description.vocabulary.source)
    remarks = Remarks(predictor, nbest or 1, mass)
    with lines_to(output) as lines:
        for chunk in as_they_come(file, examples):
            answers = respond(
                predictor,
                chunk,
                search,
                folding=folding,
                alignments=alignments,
                exact=scores or jsonl or mass is not None,
                threads=threads,
                first=remarks.items,
            )
            for predictions in watched(answers, "words", printed=output in STDOUT):
                remarks.see(predictions)
                lines.writelines(written(predictions))
            lines.flush()
    note(skipped.report(file, "answered with an empty prediction"))
    remarks.report()
    note(folding.remark())
    if scores or jsonl:
        note_score_kind(predictor.system.score)


def _pronounce(predictor: Predictor, file: str, output: Path | None, **options: Any) -> None:
    """Pronounce the words of a running text, with the options of ``pronounce_text``."""
    from hardalign.text.running import TextReport, pronounce_text

    report = TextReport()
    pronounced = pronounce_text(predictor, read_lines(file), report=report, **options)
    with lines_to(output) as lines:
        lines.writelines(line.text + "\n" for line in pronounced)
        if not report.words:
            raise HardalignError(report.refusal())
    for remark in (report.summary(), *report.remarks()):
        note(remark)


def _object(
    predictions: list[Prediction], all_tags: Symbols, mass: float | None, ipa: bool
) -> dict[str, Any]:
    """Return the predictions for one source as a JSON object."""
    source, tags = predictions[0].source, predictions[0].tags or all_tags
    content: dict[str, Any] = {"source": source} | ({"tags": tags} if tags else {})
    content["origin"] = predictions[0].origin
    # The empty prediction for a blank line is not the model's.
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


def lexicon(
    model: opt.Model,
    words: Annotated[str, Positional, opt.arg("WORDS")],
    *,
    style: Literal["mfa", "kaldi", "cmudict", "tsv"],
    language: opt.Language = None,
    known: opt.FileList = (),
    no_lexicon: opt.NoLexicon = False,
    mass: opt.Share = None,
    nbest: opt.Count = None,
    min_prob: Annotated[float, opt.arg("P")] = 0.0,
    ipa: bool = False,
    resume: bool = False,
    threads: opt.Threads = None,
    output: opt.Output = None,
) -> None:
    """Make a pronunciation dictionary for the words of a list or text.

    $ hardalign lexicon en-g2p words.txt --style mfa --mass 0.9 --known cmudict --output en.dict
    $ hardalign lexicon en-g2p transcripts.txt --style kaldi --nbest 3 --output lexiconp.txt

    Every distinct word has a line for each pronunciation; words are sorted by code point. WORDS may
    be a list, one word per line, or running text: numbers, symbols, addresses and words in other
    letters are skipped, and reported at the end.

    Styles: mfa is word TAB probability TAB P H O N E S, kaldi is a lexiconp.txt; in both the best
    pronunciation of a word has 1.0, as these tools expect. cmudict is word P H O N E S, and for the
    next pronunciation word(2) P H O N E S. tsv is word TAB P H O N E S TAB probability TAB lexicon
    or model, with the model's own probability.

    After an interruption, or with more words, the same command with --resume computes only what is
    missing. Results are kept in FILE.partial until the dictionary is complete.

    Args:
        words: List of words or text; - is standard input; gzip is recognised.
        style: Format of the dictionary.
        known: Lexicon of known words, to look up before the model's own; cmudict is the dictionary
            of en-g2p. Can be repeated: the first that has a word decides. Its words for silence and
            noise (<unk> spn) are copied unchanged.
        mass: Write the fewest pronunciations whose probabilities add up to at least P; if a beam of
            256 finds less, that is reported.
        nbest: Write the K most probable pronunciations. (default: the best one)
        min_prob: Leave out pronunciations less probable than P, except the best one.
        ipa: Write ARPAbet as IPA, a symbol for each phone, without stress.
        resume: Keep the model's entries in FILE or FILE.partial from an earlier run, and compute
            only the rest.
    """
    from hardalign.text.dictionary import (
        PARTIAL,
        Dictionary,
        Entry,
        partial_file,
        read_entries,
        write_entry,
    )
    from hardalign.text.ipa import check_arpabet
    from hardalign.text.running import names

    if not 0 <= min_prob < 1:
        raise HardalignError(f"--min-prob must be from 0 to 1, not {min_prob:g}")
    output = None if output in STDOUT else output
    if output is not None and output.is_dir():
        raise HardalignError(f"{output}: this is a folder; name a file")
    kept: dict[str, list[str]] = {}
    if resume:
        if output is None:
            raise HardalignError("--resume goes with --output")
        partial = output.with_name(output.name + PARTIAL)
        kept = read_entries(output, style) | read_entries(partial, style)
    search = Search(mass=mass, nbest=nbest)
    lexicons = opt.lexicons(known, no_lexicon, "--known")
    predictor = load(model, language=language, lexicon=lexicons)
    layout = predictor.description.format
    if ipa:
        check_arpabet(predictor.description.vocabulary.target.letters)
    dictionary = Dictionary(predictor, search)
    dictionary.add_text(read_lines(words))
    todo = dictionary.unanswered(kept)
    known_count = 0
    with partial_file(output, kept) as save:
        entries = dictionary.entries(todo, min_prob=min_prob, threads=opt.threads(threads))
        for entry in watched(entries, "words", total=len(todo)):
            kept[entry.word] = list(write_entry(entry, style, layout, ipa=ipa))
            save(kept[entry.word])
            known_count += entry.known
        spaced = replace(layout, target_separator=" ")
        silences = dict(predictor.lexicon.silences)
        for word, phone in silences.items():
            kept[word] = list(write_entry(Entry(word, [(0.0, phone)], known=True), style, spaced))
        written = sorted({*silences, *(word for word in dictionary.words() if word in kept)})
        with lines_to(output) as lines:
            for word in written:
                lines.writelines(kept[word])
    computed = len(todo) - known_count
    known_count += len(silences)
    of_them = f", {known_count} of them known" if known_count else ""
    note(f"{plural(len(written), 'word', 'words')} written{of_them}; {computed} computed now")
    if left_out := dictionary.left_out:
        one, more = "word got no pronunciation and is", "words got no pronunciation and are"
        note(f"{plural(left_out.total(), one, more)} left out: {names(left_out)}")
    if uncovered := dictionary.uncovered:
        count = plural(uncovered.total(), "word was not", "words were not")
        note(f"{count} covered to {mass} by a beam of {MASS_BEAM_LIMIT}: {names(uncovered)}")
    for remark in dictionary.report.remarks():
        note(remark)
    if style != "cmudict":
        note_score_kind(predictor.system.score)
