"""``hardalign lexicon``: a pronunciation dictionary of all words of a list or a text."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import tyro

from hardalign.cli.console import lines_to, note, note_score_kind, watched
from hardalign.cli.options import (
    Count,
    FileList,
    Model,
    Number,
    OutputFile,
    Share,
    Text,
    file_or_stdout,
    threads_or_cores,
)
from hardalign.errors import HardalignError


def lexicon(
    model: Model,
    words: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WORDS")],
    *,
    style: Annotated[str, tyro.conf.arg(metavar="{mfa,kaldi,cmudict,tsv}")],
    language: Text = None,
    known: FileList = (),
    no_lexicon: bool = False,
    mass: Share = None,
    nbest: Count = None,
    min_prob: Annotated[float, tyro.conf.arg(metavar="P")] = 0.0,
    ipa: bool = False,
    resume: bool = False,
    threads: Number = None,
    output: OutputFile = None,
) -> None:
    """Make a pronunciation dictionary of the words of a list or a text.

    $ hardalign lexicon en-g2p words.txt --style mfa --mass 0.9 --known cmudict --output en.dict

    $ hardalign lexicon en-g2p transcripts.txt --style kaldi --nbest 3 --output lexiconp.txt

    Every distinct word is written once for each pronunciation, words sorted by code point. WORDS
    may be a list, one word per line, or running text: numbers, symbols, addresses and words in
    other letters are passed over and named at the end.

    Styles: mfa is word TAB probability TAB P H O N E S, kaldi is a lexiconp.txt; in both the best
    pronunciation of a word has 1.0, as these tools expect. cmudict is word P H O N E S, the next
    one word(2) P H O N E S. tsv is word TAB P H O N E S TAB probability TAB lexicon or model, the
    probability as the model has it.

    After an interruption, or with more words, the same command with --resume computes only what is
    missing. Until all is done, what was computed stands in FILE.partial.

    Args:
        model: Folder of a trained model, or the name of a bundled one.
        words: List of words or text; - is standard input; gzip is recognised.
        style: How the dictionary is written.
        language: Of all words, for a model of several languages such as g2p: de, German or deu.
        known: Lexicon whose pronunciations are used for the words it has, before that of the model;
            cmudict is the dictionary of en-g2p. May be given several times: the first that has a
            word decides. Its words for silence and noise (<unk> spn) are written as they are.
        no_lexicon: Ask the model alone, also for words that the lexicon it brings has.
        mass: Write the fewest pronunciations that together have at least probability P; where a
            beam of 256 finds less, that is reported.
        nbest: Write the K most probable pronunciations. (default: the best one)
        min_prob: Leave out pronunciations with a smaller probability, but for the best one.
        ipa: Write ARPAbet as IPA, a symbol for each phone, without stress.
        resume: Keep the entries that the model gave FILE, or FILE.partial, in an earlier run, and
            compute those of other words only.
        threads: How many batches of words to work on at a time. (default: one per core)
        output: Write to this file, whole or not at all, instead of standard output (-).
    """
    from hardalign.data.reading import read_lines
    from hardalign.data.text import plural
    from hardalign.predictor import load
    from hardalign.search import MASS_BEAM_LIMIT, Search
    from hardalign.text.dictionary import (
        PARTIAL,
        STYLES,
        Dictionary,
        Entry,
        partial_file,
        read_entries,
        write_entry,
    )
    from hardalign.text.ipa import check_arpabet
    from hardalign.text.running import names

    if style not in STYLES:
        raise HardalignError(f"no style is called {style!r}; choose one of {', '.join(STYLES)}")
    if no_lexicon and known:
        raise HardalignError("choose one of --known and --no-lexicon")
    if not 0 <= min_prob < 1:
        raise HardalignError(f"--min-prob is from 0 to 1, not {min_prob:g}")
    output = file_or_stdout(output)
    if output is not None and output.is_dir():
        raise HardalignError(f"{output}: this is a folder; name a file")
    kept: dict[str, list[str]] = {}
    if resume:
        if output is None:
            raise HardalignError("--resume goes with --output")
        partial = output.with_name(output.name + PARTIAL)
        kept = read_entries(output, style) | read_entries(partial, style)
    search = Search(mass=mass, nbest=nbest)
    predictor = load(model, language=language, lexicon=None if no_lexicon else known)
    layout, phones = predictor.description.format, predictor.description.vocabulary.target
    if ipa:
        check_arpabet(phones.letters)
    dictionary = Dictionary(predictor, search)
    dictionary.add_text(read_lines(words))
    todo = dictionary.unanswered(kept)
    known_count = 0
    with partial_file(output, kept) as save:
        entries = dictionary.entries(todo, min_prob=min_prob, threads=threads_or_cores(threads))
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
    of_them = f", {known_count} of them known" if known_count else ""
    computed = len(todo) - known_count
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
