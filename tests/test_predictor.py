from __future__ import annotations

import json
import math
import pickle
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardalign
from hardalign import batches
from hardalign.data.formats import Example
from hardalign.errors import HardalignError
from hardalign.known_words import respond
from hardalign.model_folder import WEIGHTS, write_description, write_tensors
from hardalign.predictor import UnknownSymbolsWarning
from hardalign.search import Search
from hardalign.systems import SYSTEMS
from helpers import tiny_predictor, tiny_tensors, tiny_vocabulary

systems = pytest.mark.parametrize("system", SYSTEMS)
posterior = [name for name, row in SYSTEMS.items() if row.alignment == "posterior"]
WORDS = ["ab\tN", "dcba\t", "a\tV;N", "b\tV"]


@systems
def test_one_or_many(system: str) -> None:
    predict = tiny_predictor(system)
    many = predict(WORDS)
    assert [one.source for one in many] == ["ab", "dcba", "a", "b"]
    for word, together in zip(WORDS, many, strict=True):
        alone = predict(word)
        assert alone.text == together.text == str(together)
        assert alone.log_prob == pytest.approx(together.log_prob, abs=1e-4)
        example = predict.example(word)
        columns = len(example.tags) + len(example.source) + 2
        assert alone.alpha.shape == (len(alone.symbols) + alone.finished, columns)
        np.testing.assert_allclose(alone.alpha.sum(1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "system", [name for name, row in SYSTEMS.items() if row.score != "best path"]
)
def test_the_score_of_a_prediction_is_its_log_probability(system: str) -> None:
    checked = 0
    for seed in range(3):
        predict = tiny_predictor(system, seed=seed, scale=3.0, end=3.0)
        for word, best in zip(WORDS, predict(WORDS, nbest=3), strict=True):
            for one in best:
                expected = pytest.approx(one.log_prob, abs=1e-5)
                assert not one.finished or predict.log_prob(word, one.text) == expected
                checked += one.finished
    assert checked > 20


@systems
def test_lists_where_several_are_wanted(system: str) -> None:
    predict = tiny_predictor(system, scale=3.0, end=3.0)
    many = predict(WORDS, beam=6, nbest=3)
    for word, best in zip(WORDS, many, strict=True):
        assert [one.text for one in predict(word, beam=6, nbest=3)] == [one.text for one in best]
        assert len({one.symbols for one in best}) == len(best)
        scores = [one.log_prob for one in best]
        assert scores == sorted(scores, reverse=True)
    assert isinstance(predict("ab\t", nbest=1), list)
    assert predict("ab\t", beam=1).text == predict("ab\t").text
    assert isinstance(predict(WORDS, beam=2)[0].text, str)
    assert predict([]) == predict([], nbest=2) == []


@systems
def test_alignments_come_with_the_answers(system: str) -> None:
    predict = tiny_predictor(system, scale=3.0, end=2.0)
    examples = [predict.example(word) for word in WORDS]
    for search in (Search(), Search(nbest=3), Search(samples=2)):
        lists = predict.answers(examples, search, alignments=True)
        for example, own in zip(examples, lists, strict=True):
            pairs = [replace(example, targets=(one.symbols,)) for one in own]
            for one, (_, expected) in zip(own, predict.align_pairs(pairs), strict=True):
                assert one.alignment is not None
                assert expected is not None
                np.testing.assert_allclose(one.alignment.weights, expected.weights, atol=1e-5)
                assert one.alignment.best == expected.best
                assert (one.alignment.source, one.alignment.tags) == (example.source, example.tags)
                assert one.alignment.target == one.symbols
    assert predict("ab\t").alignment is None


@systems
def test_samples(system: str) -> None:
    predict = tiny_predictor(system, scale=2.0)
    texts = [one.text for one in predict.sample("ab\t", 20)]
    assert len(texts) == 20
    assert texts == [one.text for one in predict.sample("ab\t", 20)]
    assert texts != [one.text for one in predict.sample("ab\t", 20, seed=1)]


def test_blank_examples_keep_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    predict = tiny_predictor()
    words = [Example(tuple("abcd"[: k % 5]), text=str(k)) for k in range(12)]
    search = Search(samples=3)
    together = [[one.text for one in own] for own in predict.answers(words, search)]
    assert [len(own) for own in together] == [1 if k % 5 == 0 else 3 for k in range(12)]
    monkeypatch.setattr(batches, "WINDOW", 6)
    assert [[one.text for one in own] for own in predict.answers(words, search)] == together
    blank = [Example((), text="")] * 3
    assert [[one.text for one in own] for own in predict.answers(blank, Search())] == [[""]] * 3


@systems
def test_mass_needs_exact_scores(system: str) -> None:
    predict = tiny_predictor(system, end=3.0)
    examples = [predict.example("ab\t")]
    if SYSTEMS[system].score == "exact":
        assert len(next(predict.answers(examples, Search(mass=0.01)))) >= 1
    else:
        with pytest.raises(HardalignError, match="not exact"):
            predict.answers(examples, Search(mass=0.01))


@systems
def test_symbols_add_up(system: str) -> None:
    predict = tiny_predictor(system)
    pairs = [replace(predict.example("abc\tN"), targets=(tuple("xyx"),))] * 2
    first, second = predict.score(pairs)
    assert first == pytest.approx(second, abs=1e-5)
    assert len(first) == 4
    assert math.fsum(first) == pytest.approx(predict.log_prob("abc\tN", "xyx"), abs=1e-5)


def test_unspellable_targets_have_no_probability() -> None:
    predict = tiny_predictor()
    with pytest.warns(UnknownSymbolsWarning, match="log p is -inf: .* 'q' × 1") as caught:
        assert predict.log_prob("ab\t", "xq") == -math.inf
    assert caught[0].filename == __file__
    with pytest.raises(HardalignError, match="never seen 'q'"):
        predict.align("ab\t", "xq")
    with pytest.raises(HardalignError, match="never seen 'q'"):
        predict.sample_alignments("ab\t", "xq", 2)


@systems
def test_alignments_are_distributions(system: str) -> None:
    alignment = tiny_predictor(system).align("abc\tN;V", "xyx")
    assert alignment.weights.shape == (4, 7)
    assert np.allclose(alignment.weights.sum(1), 1, atol=1e-5)
    assert (alignment.source, alignment.tags) == (tuple("abc"), ("N", "V"))
    assert alignment.target == tuple("xyx")
    assert (alignment.kind, alignment.system) == (SYSTEMS[system].alignment, system)


@pytest.mark.parametrize("system", posterior)
def test_whole_alignments_are_drawn_from_the_posterior(system: str) -> None:
    predict = tiny_predictor(system, scale=3.0)
    alignment = predict.align("abc\tN", "xyx")
    paths = predict.sample_alignments("abc\tN", "xyx", 10_000, seed=1)
    assert paths.shape == (10_000, 3)
    for column, share in zip(paths.T, alignment.weights, strict=False):
        frequency = np.bincount(column, minlength=len(share)) / len(column)
        error = np.sqrt(share * (1 - share) / len(column))
        assert np.all(np.abs(frequency - share) <= 4.5 * error + 1e-6)
    assert (paths == predict.sample_alignments("abc\tN", "xyx", 10_000, seed=1)).all()
    assert (paths != predict.sample_alignments("abc\tN", "xyx", 10_000, seed=2)).any()
    if system == "hard-monotonic":
        assert (np.diff(paths) >= 0).all()
    assert predict.sample_alignments("abc\tN", "", 4).shape == (4, 0)


@pytest.mark.parametrize("system", [name for name in SYSTEMS if name not in posterior])
def test_only_a_posterior_is_sampled_from(system: str) -> None:
    with pytest.raises(HardalignError, match="posterior"):
        tiny_predictor(system).sample_alignments("ab\t", "x", 1)


@systems
def test_pairs_that_cannot_be_spelled_keep_their_place(system: str) -> None:
    predict = tiny_predictor(system)
    targets = ["xyz"[: k % 4] if k not in (0, 4, 8) else "xq" for k in range(9)]
    pairs = [
        Example(tuple("abcd"[: 1 + k % 3]), (tuple(target),), ("N",) * (k % 2))
        for k, target in enumerate(targets)
    ]
    aligned = list(predict.align_pairs(pairs))
    assert [pair for pair, _ in aligned] == pairs
    assert [alignment is None for _, alignment in aligned] == [k in (0, 4, 8) for k in range(9)]
    for pair, alignment in aligned:
        if alignment is not None:
            source = "".join(pair.source) + "\t" + ";".join(pair.tags)
            alone = predict.align(source, "".join(pair.targets[0]))
            np.testing.assert_allclose(alone.weights, alignment.weights, atol=1e-5)
    assert [one for _, one in predict.align_pairs([pairs[0]] * 3)] == [None] * 3


def test_a_stream_is_answered_window_by_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "WINDOW", 3)
    read = []

    def words() -> Iterator[Example]:
        for k in range(10):
            read.append(k)
            yield Example(("a",) * (k % 4), text=str(k))

    lists = tiny_predictor().answers(words(), Search())
    assert next(lists)[0].text == ""
    assert len(read) < 8
    sources = [best.source for (best,) in lists]
    assert sources == ["1", "2", "3", "", "5", "6", "7", "", "9"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "lemma<TAB>TAG;TAG"),
        ("\tN", "no symbols"),
        ("ab", "lemma<TAB>TAG;TAG"),  # the tags are missing
        ("a\tN\tV", "lemma<TAB>TAG;TAG"),
    ],
)
def test_odd_sources(source: str, words: str) -> None:
    for ask in (tiny_predictor(), lambda text: tiny_predictor().log_prob(text, "x")):
        with pytest.raises(HardalignError, match=words):
            ask(source)


def test_a_model_without_tags_takes_none() -> None:
    predict = tiny_predictor(layout="pairs", vocabulary=tiny_vocabulary(tags=()))
    assert predict("ab").source == "ab"
    for source in ("ab\tN", "ab\t"):
        with pytest.raises(HardalignError, match="without TABs"):
            predict(source)


def test_unknown_symbols_are_warned_of_where_they_are_asked() -> None:
    predict = tiny_predictor()
    with pytest.warns(UnknownSymbolsWarning, match="'é' × 2, 'W' × 1") as caught:
        one, other = predict(["aéé\tN", "b\tW"])
    assert caught[0].filename == __file__
    assert (one.unknown, other.unknown) == (("é", "é"), ("W",))
    questions: list[Callable[[], object]] = [
        lambda: predict.align("aq\tN", "x"),
        lambda: predict.log_prob("aq\tN", "x"),
        lambda: predict.sample("aq\tN", 2),
        lambda: predict.sample_alignments("aq\tN", "x", 2),
    ]
    for ask in questions:
        with pytest.warns(UnknownSymbolsWarning, match="'q'") as caught:
            ask()
        assert caught[0].filename == __file__


@systems
def test_threads_do_not_disturb_each_other(system: str) -> None:
    predict = tiny_predictor(system, scale=3.0, end=2.0)

    def ask(word: str) -> tuple[str, list[tuple[int, int]]]:
        best = predict(word, nbest=2)[0]
        return best.text, predict.align(word, best.text).pairs

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, WORDS * 5)) == list(map(ask, WORDS)) * 5


@systems
def test_a_predictor_can_be_pickled(system: str) -> None:
    predict = tiny_predictor(system)
    again = pickle.loads(pickle.dumps(predict))
    # Arrays lie otherwise in memory then, and are summed in another order.
    expected = pytest.approx(predict("abc\tN").log_prob, abs=1e-5)
    assert again("abc\tN").log_prob == expected
    assert again.description == predict.description


@systems
def test_load(system: str, tmp_path: Path) -> None:
    predict = tiny_predictor(system)
    write_description(tmp_path, predict.description)
    tensors = tiny_tensors(system, dtype=np.float32)
    write_tensors(tmp_path / WEIGHTS, tensors, {"epoch": 0})
    loaded = hardalign.load(tmp_path)
    assert loaded("abc\tN").log_prob == predict("abc\tN").log_prob
    assert loaded.system is SYSTEMS[system]
    assert loaded.parameters == sum(
        tensor.size for name, tensor in tensors.items() if name != "oracle.table"
    )
    with pytest.raises(HardalignError, match="no such model"):
        hardalign.load(tmp_path / "none")


def test_half_precision_answers_in_single(tmp_path: Path) -> None:
    predict = tiny_predictor()
    write_description(tmp_path, predict.description)
    tensors = tiny_tensors(dtype=np.float16)
    write_tensors(tmp_path / WEIGHTS, tensors, {"epoch": 0})
    prediction = hardalign.load(tmp_path)("abc\tN")
    assert prediction.alpha.dtype == np.float32
    assert prediction.log_prob == pytest.approx(predict("abc\tN").log_prob, abs=0.1)


def test_answering_needs_no_torch_and_leaves_the_environment_alone() -> None:
    code = """
import json, os, sys
before = dict(os.environ)
import hardalign
g2p = hardalign.load("en-g2p")
prediction = g2p("action")
g2p(["read", "lead"], nbest=3)
g2p.align("action", prediction.text).pairs
g2p.log_prob("action", prediction.text)
g2p.sample("action", 2)
g2p.sample_alignments("action", prediction.text, 2)
heavy = ("torch", "lightning_fabric", "matplotlib", "rich", "tyro")
loaded = [name for name in heavy if name in sys.modules]
print(json.dumps([prediction.text, loaded, dict(os.environ) == before]))
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert json.loads(result.stdout) == ["AE1 K SH AH0 N", [], True]


@pytest.mark.parametrize(("name", "value"), [("members", 2), ("temperature", 1.5)])
def test_particles_are_of_one_model_as_it_learned(name: str, value: float) -> None:
    predict = tiny_predictor("hard-feed")
    pairs = [replace(predict.example("abc\tN"), targets=(tuple("xyx"),))]
    assert next(predict.estimate(pairs, 3)) < 0
    predict.description = replace(predict.description, **{name: value})
    with pytest.raises(HardalignError, match="particles estimate"):
        predict.estimate(pairs, 3)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a matter of glibc")
def test_memory_is_not_given_back_at_every_step() -> None:
    program = """
import resource
import sys
import hardalign
from hardalign import predictor
if sys.argv[1:]:
    predictor.FREED = 1
g2p = hardalign.load("en-g2p")
ends = ("ster", "ness", "ward", "ing", "le", "ton")
words = [a + b + c for a in "abcdefghijklmnopqrst" for b in ("ai", "oun", "ri", "u") for c in ends]
g2p(words)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
g2p(words)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    kept, given_back = (
        int(subprocess.check_output([sys.executable, "-c", program, *options]))
        for options in ([], ["give back"])
    )
    assert 3 * kept < given_back  # the system may take pages away of its own, but not so many


@pytest.mark.parametrize(
    "ask",
    [
        lambda g2p: g2p(5),
        lambda g2p: g2p(None),
        lambda g2p: g2p(b"cat"),
        lambda g2p: g2p([None]),
        lambda g2p: g2p(["cat", float("nan")]),
        lambda g2p: g2p.log_prob("cat", None),
        lambda g2p: g2p.log_prob(["cat"], ["K"]),
        lambda g2p: g2p.sample(["cat"], 2),
        lambda g2p: g2p("cat", nbest="3"),
        lambda g2p: g2p("cat", beam=2.0),
        lambda g2p: g2p.sample("cat", 2, seed="x"),
        lambda g2p: g2p.sample_alignments("cat", "K", -1),
        lambda g2p: g2p.sample_alignments("cat", "K", 10**9),
        lambda g2p: g2p.sample_alignments("cat", "K", 2, seed=-1),
        lambda g2p: g2p.answers([], Search(), threads=0),
        lambda g2p: g2p.score([], threads=0),
        lambda g2p: g2p.align_pairs([], threads=-1),
        lambda g2p: g2p.answers([], Search(samples=2), first=-1),
        lambda g2p: g2p.answers(None, Search()),
        lambda g2p: g2p.answers([], None),
        lambda g2p: g2p.score("cat"),
        lambda g2p: g2p.align_pairs(None),
        lambda g2p: next(respond(g2p, [None], Search())),
        lambda g2p: next(respond(g2p, None, Search())),
        lambda g2p: next(g2p.answers(["cat"], Search())),
        lambda g2p: next(g2p.score([("cat", "K")])),
        lambda _: hardalign.load(3),  # type: ignore[arg-type]
        lambda _: hardalign.load("en-g2p", lexicon=3),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_string_and_no_number_is_named(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(
        HardalignError,
        match=r"must be (a string|a whole number|a file)|expected (Example|Iterable|Search), not",
    ):
        ask(hardalign.load("en-g2p"))


def test_only_arpabet_is_written_as_ipa() -> None:
    with pytest.raises(HardalignError, match="ARPAbet"):
        hardalign.load("fr-g2p", ipa=True)


def test_a_prediction_is_a_value_on_one_line() -> None:
    predict = tiny_predictor(end=9.0)
    one, again, other = predict("ab\tN"), predict("ab\tN"), predict("ba\tN")
    assert one == again != other
    assert len({one, again, other}) == 2
    assert one.tags == ("N",)
    assert repr(one) == f"<Prediction 'ab' N → {one.text!r}, log p {one.log_prob:.6g}>"
    assert ", cut off>" in repr(tiny_predictor(end=-1e6)("ab\tN"))
    assert "\n" not in repr(predict)
    assert repr(predict).startswith("<Predictor hard: 4 source and 3 target symbols")


def test_a_prediction_as_json() -> None:
    predict = tiny_predictor()
    (best,) = next(predict.answers([predict.example("ab\t")], Search()))
    assert list(best.to_dict()) == ["text", "symbols", "log_prob", "finished"]
    (best,) = next(predict.answers([predict.example("ab\t")], Search(), alignments=True))
    assert best.alignment is not None
    assert best.to_dict()["alignment"] == best.alignment.to_dict()
    assert json.loads(json.dumps(best.to_dict()))["symbols"] == list(best.symbols)
