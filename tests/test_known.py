from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardalign
from hardalign.data.formats import Example
from hardalign.data.lexicon import Lexicon, read_lexicon
from hardalign.data.vocabulary import Folding
from hardalign.known_words import respond
from hardalign.search import Prediction, Search, cumulative_probability
from helpers import time_limit
from text.fakes import WORDS, FakePredictor


def lexicon(tmp_path: Path, text: str, predictor: FakePredictor | None = None) -> Lexicon:
    path = tmp_path / "known.dict"
    path.write_text(text, encoding="utf-8")
    return read([path], predictor or FakePredictor())


def read(files: list[Any], predictor: FakePredictor) -> Lexicon:
    description = predictor.description
    return read_lexicon(files, description.format, description.vocabulary.target)


def words(*texts: str) -> list[Example]:
    return [Example(tuple(text.lower()), text=text) for text in texts]


def answered(
    predictor: FakePredictor, examples: Any, known: Lexicon, **options: Any
) -> Iterator[list[Prediction]]:
    predictor.lexicon = known
    return respond(predictor, examples, options.pop("search", Search()), **options)


def origins(answers: list[list[Prediction]]) -> str:
    """A letter for each answer: l if the lexicon had it, m if the model was asked."""
    return "".join(one[0].origin[0] for one in answers)


def test_known_words_are_found_as_people_write_them(tmp_path: Path) -> None:
    predictor = FakePredictor()
    known = lexicon(tmp_path, "don’t\tD\ncafe\tK\nnot\tN\n")
    folding = Folding(predictor.description.vocabulary.source)
    typed = words("don't", "don’t", "café", " not  ", "tés", "of ")
    answers = list(answered(predictor, typed, known, folding=folding))
    assert origins(answers) == "llllmm"
    assert [answer[0].source for answer in answers] == [one.text for one in typed]
    assert predictor.asked == ["tes", "of"]
    assert folding.changes == {("é", "e"): 2}


def test_letters_stay_where_the_model_can_copy_them() -> None:
    predictor = FakePredictor()
    predictor.description.model.copying = True
    list(answered(predictor, words("tés"), Lexicon(WORDS)))
    assert predictor.asked == ["tés"]


def test_blanks_that_the_model_knows_stay() -> None:
    predictor = FakePredictor(letters="of ")
    list(answered(predictor, words(" of "), Lexicon(WORDS)))
    assert predictor.asked == [" of "]


def test_what_has_blanks_is_answered_part_by_part(tmp_path: Path) -> None:
    predictor = FakePredictor()
    known = lexicon(tmp_path, "of\tAH1 V\nof\tAH0 V\n")
    asked = [*words("out  of it", "at"), Example((*"to it",), tags=("V",), text="to it")]
    answers = list(answered(predictor, asked, known, search=Search(nbest=2)))
    assert [(one.text, one.source, one.origin) for one in answers[0]] == [
        ("O U T AH1 V I T", "out  of it", "model"),
        ("O U T AH0 V I T", "out  of it", "model"),
    ]
    assert answers[0][0].symbols == ("O", "U", "T", "AH1", "V", "I", "T")
    assert answers[0][0].log_prob == pytest.approx(2 * np.log(0.6) - 1.0 * 3)
    assert predictor.asked == ["out", "it", "at", "to it"]  # tags are of the whole
    (one,), (two,) = answered(predictor, words("of of", "of a"), known)
    assert (one.origin, two.origin) == ("lexicon", "model")
    predictor.languages = ("V",)
    list(answered(predictor, asked[2:], known))
    assert predictor.asked[-2:] == ["to", "it"]


def test_an_underscore_stands_for_a_blank_unless_the_lexicon_has_it(tmp_path: Path) -> None:
    predictor = FakePredictor()
    known = lexicon(tmp_path, "to_it\tT\n")
    (whole,), (parts,), _ = answered(predictor, words("to_it", "at_it", "_"), known)
    assert (whole.text, parts.text) == ("T", "A T I T")
    assert predictor.asked == ["at", "it", "_"]
    predictor = FakePredictor(letters="of_")
    list(answered(predictor, words("o_f"), Lexicon(WORDS)))
    assert predictor.asked == ["o_f"]


def test_letters_are_folded_though_others_stay_unknown() -> None:
    predictor = FakePredictor(letters="abü")
    list(answered(predictor, words("zäü", "b2"), Lexicon(WORDS)))
    assert predictor.asked == ["zaü", "b2"]
    predictor = FakePredictor(letters="かた")
    folding = Folding(predictor.description.vocabulary.source)
    list(answered(predictor, words("カタ"), Lexicon(WORDS), folding=folding))
    assert predictor.asked == ["かた"]
    assert folding.changes == {("カ", "か"): 1, ("タ", "た"): 1}


def test_known_words_are_not_asked_and_all_keep_their_places(tmp_path: Path) -> None:
    predictor = FakePredictor()
    known = lexicon(tmp_path, "of\tAH1 V\nof\tAH0 V\n")
    examples = [*words("at", "Of", "to", "of"), Example(()), *words("ж")]
    answers = list(answered(predictor, examples, known, search=Search(nbest=2)))
    assert [[one.text for one in answer][:2] for answer in answers] == [
        *(["A T", "A T A T"], ["AH1 V", "AH0 V"], ["T O", "T O T O"], ["AH1 V", "AH0 V"], [""]),
        ["Ж", "Ж Ж"],
    ]
    assert origins(answers) == "mlmlmm"
    assert answers[1][0].source == "Of"
    assert predictor.asked == ["at", "to", "ж"]


def test_known_words_have_the_models_scores_order_and_alignments(tmp_path: Path) -> None:
    known = lexicon(tmp_path, "of\tAH0 V\nof\tO F\n")
    options: Any = {"alignments": True, "search": Search(nbest=5)}
    first, second = answered(FakePredictor(), words("at", "of"), known, **options)
    found = [(one.text, one.log_prob) for one in second]
    assert found[:2] == [("O F", -0.75), ("AH0 V", -3.0)]
    assert [one.origin for one in second] == ["lexicon"] * 2 + ["model"] * 3
    second = second[:2]
    assert [one.alignment.pairs for one in second if one.alignment] == [[(0, 0), (1, 1)]] * 2
    assert first[0].alignment is not None
    (quick,) = answered(FakePredictor(), words("of"), known, exact=False)
    assert [one.text for one in quick] == ["O F"]
    (in_order,) = answered(FakePredictor(), words("of"), known, exact=False, ranked=False)
    assert [(one.text, one.log_prob, one.alignment) for one in in_order] == [("AH0 V", 0.0, None)]


@pytest.mark.parametrize(
    ("search", "texts"),
    [
        (Search(), ["O F"]),
        (Search(beam=8), ["O F"]),
        (Search(nbest=2), ["O F", "AH0 V"]),
        (Search(mass=0.4), ["O F"]),  # exp(-0.75) = 0.47
        (Search(mass=0.5), ["O F", "AH0 V"]),  # exp(-3) = 0.05
        (Search(mass=0.54), ["O F", "AH0 V", "V"]),  # exp(-3.5) = 0.03
        (Search(mass=0.6), ["O F", "AH0 V", "V", "O F O F"]),  # the next of the model
    ],
)
def test_a_search_chooses_among_known_ones(
    search: Search, texts: list[str], tmp_path: Path
) -> None:
    known = lexicon(tmp_path, "of\tAH0 V\nof\tO F\nof\tV\n")

    class Third(FakePredictor):
        def score(self, pairs: Any, *, threads: int = 1) -> Iterator[list[float]]:
            for pair in pairs:
                (scores,) = super().score([pair])
                yield [-3.5] if pair.targets == (("V",),) else scores

    (answer,) = answered(Third(), words("of"), known, search=search)
    assert [one.text for one in answer] == texts
    (answer,) = answered(Third(), words("of"), known, search=search, fill=False)
    assert [one.text for one in answer] == texts[:3]


def test_samples_are_the_models(tmp_path: Path) -> None:
    """Of known words, and of what has blanks, too."""
    predictor, known = FakePredictor(), lexicon(tmp_path, "of\tAH1 V\n")
    asked = words("of", "of it")
    assert origins(list(answered(predictor, asked, known, search=Search(samples=2)))) == "mm"
    assert predictor.asked == ["of", "of it"]


def test_memory_does_not_grow_with_known_words(tmp_path: Path) -> None:
    read = 0

    def stream() -> Iterator[Example]:
        nonlocal read
        for example in words("of") * 100_000:
            read += 1
            yield example

    answers = answered(FakePredictor(), stream(), lexicon(tmp_path, "of\tAH1 V\n"))
    assert next(answers)[0].origin == "lexicon"
    assert read < 10_000


def test_what_answers_is_seen_through_to_its_end(tmp_path: Path) -> None:
    """So that no thread is waited for where the last reference to it is dropped."""
    ended = []

    class Watched(FakePredictor):
        def answers(self, *arguments: Any, **options: Any) -> Iterator[list[Prediction]]:
            yield from super().answers(*arguments, **options)
            ended.append("answers")

    answers = answered(Watched(), words("ab", "of", "c"), lexicon(tmp_path, "of\tAH1 V\n"))
    assert origins(list(answers)) == "mlm"
    assert ended == ["answers"]


def test_the_bundled_dictionary_is_looked_up_by_default() -> None:
    g2p = hardalign.load("en-g2p")
    assert [g2p(word).text for word in ("have", "Do", "should", "nguyen's")] == [
        *("HH AE1 V", "D UW1", "SH UH1 D", "N UW0 Y EH1 N Z")
    ]
    assert g2p("have").origin == "lexicon"
    assert g2p("blorf").origin == "model"
    read = g2p("read", nbest=5)
    assert {one.text for one in read if one.origin == "lexicon"} == {"R EH1 D", "R IY1 D"}
    assert len({one.text for one in read}) == 5
    assert (
        read[0].log_prob
        > read[1].log_prob
        == pytest.approx(g2p.log_prob("read", read[1].text), abs=1e-5)
    )
    alone = hardalign.load("en-g2p", lexicon=None)
    assert alone("have").origin == "model"
    (own,) = alone.answers([alone.example("have")], Search())
    (same,) = g2p.answers([g2p.example("have")], Search())
    assert own[0].text == same[0].text  # whatever evaluates asks the model


def test_own_words_come_before_the_bundled_ones(tmp_path: Path) -> None:
    mine = tmp_path / "mine.tsv"
    mine.write_text("have\tK\nzyx\tZ IH1 K S\n")
    for files in ([mine], mine, str(mine)):
        assert hardalign.load("en-g2p", lexicon=files)("have").text == "K"
    g2p = hardalign.load("en-g2p", lexicon=[mine], ipa=True)
    assert [g2p(word).text for word in ("do", "zyx", "action")] == ["du", "zɪks", "ˈækʃən"]
    assert g2p("action").symbols == ("AE1", "K", "SH", "AH0", "N")
    g2p.ipa = False
    assert [g2p(word).text for word in ("have", "do", "zyxes")] == [
        *("K", "D UW1", "Z IH1 K S IH0 Z")
    ]


def test_elided_words_before_known_ones(tmp_path: Path) -> None:
    known = lexicon(tmp_path, "l'\tL\nete\tO T O\nete\tO T\nl'on\tL O\n")
    found = {word: known.pronunciations(tuple(word)) for word in ("l'ete", "l'on", "l'an", "d'ete")}
    assert found == {
        "l'ete": (("L", "O", "T", "O"), ("L", "O", "T")),
        "l'on": (("L", "O"),),
        "l'an": (),
        "d'ete": (),
    }


def test_many_answers_to_parts_are_not_all_combined() -> None:
    class Prolific(FakePredictor):
        def answers(self, examples: Any, search: Any, **_: Any) -> Iterator[list[Prediction]]:
            for example in examples:
                base = 3 if example.text == "a" else 2
                scores = (-math.log(base * (k + 1)) for k in range(search.most))
                yield [Prediction(example.text, f"{k}", (), x) for k, x in enumerate(scores)]

    def texts(nbest: int) -> list[str]:
        search = Search(nbest=nbest)
        ((*found,),) = answered(Prolific(), words("a b c"), Lexicon(WORDS), search=search)
        assert [one.log_prob for one in found] == sorted((x.log_prob for x in found), reverse=True)
        return [one.text for one in found]

    places = product(range(8), repeat=3)
    best = sorted(places, key=lambda ks: math.prod(k + 1 for k in ks))
    assert set(texts(7)) == {" ".join(map(str, ks)) for ks in best[:7]}
    with time_limit(10):
        assert len(texts(3000)) == 3000  # of nine million combinations of two parts


def test_answers_to_parts_cover_the_mass_together() -> None:
    class Covering(FakePredictor):
        def answers(self, examples: Any, search: Any, **_: Any) -> Iterator[list[Prediction]]:
            for example in examples:
                scores = (math.log(0.5) * (k + 1) for k in range(20))
                answers = [Prediction(example.text, f"{k}", (), x) for k, x in enumerate(scores)]
                yield search.wanted(answers)

    asked, search = words("a", "a b", "a", "a b c"), Search(mass=0.7)
    for found in answered(Covering(), asked, Lexicon(WORDS), search=search):
        cumulative = cumulative_probability(found)
        assert cumulative[-1] >= 0.7 > cumulative[-2]
    (many,) = answered(Covering(), words("a b c d e f"), Lexicon(WORDS), search=search)
    assert len(many) == search.most


def test_a_window_holds_parts_not_lines(tmp_path: Path) -> None:
    read = 0

    def stream() -> Iterator[Example]:
        nonlocal read
        for example in words("of " * 300) * 1000:
            read += 1
            yield example

    answers = answered(FakePredictor(), stream(), lexicon(tmp_path, "of\tAH1 V\n"))
    assert len(next(answers)[0].symbols) == 600
    assert read < 100
