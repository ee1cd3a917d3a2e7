"""Temperatures, ensembles and warm starts on the road from data to a model folder."""

from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import hardalign
from hardalign.cli.measure import analyzed_predictions
from hardalign.config import LEARNING_ONLY, ModelConfig
from hardalign.data.formats import FORMATS, Example
from hardalign.errors import HardalignError
from hardalign.model_folder import load_folder
from hardalign.search import Search
from hardalign.text.errors import aligned_rows, find_errors
from hardalign.training.run import Reporter

SIZES = ModelConfig(embedding=4, encoder=6, decoder=5)
ROWS = [("cat", "K AE T"), ("cot", "K AA T"), ("tact", "T AE K T")]
TAGGED = [("cat", "cats", "N;PL"), ("tact", "tacts", "N;PL"), ("act", "acted", "V;PST")]


def train(rows=ROWS, dev=ROWS, **options):
    options = {
        "format": "lexicon",
        "system": "hard",
        "size": SIZES,
        "epochs": 1,
        "device": "cpu",
    } | options
    return hardalign.train(rows, dev, **options)


class Epochs(Reporter):
    def __init__(self):
        self.rows = []

    def epoch(self, row):
        self.rows.append(row["epoch"])


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ensemble") / "model"
    train(out=folder, members=2, seed=5)
    return folder


def log_prob(folder, temperature=1):
    return hardalign.load(folder, temperature=temperature).log_prob("cat", "K AE T")


def test_training_leaves_the_temperature_that_suits_the_development_set(tmp_path):
    predictor = train(out=tmp_path / "m", epochs=2)
    temperature = predictor.description.temperature
    assert temperature != 1

    def total(temperature):
        model = hardalign.load(tmp_path / "m", temperature=temperature)
        return sum(model.log_prob(*row) for row in ROWS)

    assert total(None) == total(temperature) > max(total(t) for t in (0.9 * temperature, 1))
    config = (tmp_path / "m" / "config.json").read_bytes()
    train(out=tmp_path / "m", epochs=2, resume=True)
    assert (tmp_path / "m" / "config.json").read_bytes() == config


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("temperature", value) for value in (0, -1, "hot", True, [1], None, 10**400)),
        *(("members", value) for value in (0, 1.5, True, "2", 10**9)),
        ("start", 5),
    ],
)
def test_strange_settings_are_refused(ensemble, tmp_path, name, value):
    files = json.loads((ensemble / "config.json").read_bytes())
    del files["sha256"]
    (tmp_path / "config.json").write_text(json.dumps(files | {name: value}))
    (tmp_path / "vocabulary.json").write_bytes((ensemble / "vocabulary.json").read_bytes())
    with pytest.raises(hardalign.HardalignError, match=rf"config.json: .*{name}"):
        hardalign.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [("model", {"system": "hard-sampled"}), ("format", {"source_case": "lower"})],
)
def test_members_of_another_kind_are_refused(ensemble, tmp_path, name, change):
    folder = shutil.copytree(ensemble, tmp_path / "m")
    path = folder / "member-1" / "config.json"
    config = json.loads(path.read_bytes())
    del config["sha256"]
    path.write_text(json.dumps(config | {name: config[name] | change}))
    with pytest.raises(hardalign.HardalignError, match=f"member-1: has a different {name} from"):
        hardalign.load(folder)


def test_a_member_that_is_a_copy_of_another_is_refused(ensemble, tmp_path):
    folder = shutil.copytree(ensemble, tmp_path / "m")
    shutil.copytree(folder / "member-0", folder / "member-1", dirs_exist_ok=True)
    with pytest.raises(hardalign.HardalignError, match="member-1: is a copy of member-0"):
        hardalign.load(folder)


def test_an_ensemble_is_the_mean_of_models_with_neighbouring_seeds(ensemble, tmp_path):
    own = []
    for seed in (5, 6):
        train(out=tmp_path / str(seed), seed=seed)
        model = hardalign.load(tmp_path / str(seed), temperature=1)
        pair = replace(model.example("cat"), targets=(("K", "AE", "T"),))
        own.append(np.exp(next(model.score([pair]))))
        tensors, _ = load_folder(tmp_path / str(seed))
        member, _ = load_folder(ensemble / f"member-{seed - 5}")
        assert all((tensors[name] == member[name]).all() for name in tensors)
    assert math.exp(log_prob(ensemble)) == pytest.approx(np.prod(np.mean(own, 0)), rel=1e-5)
    assert hardalign.load(ensemble).description.temperature != 1


def test_an_ensemble_answers_like_any_model(ensemble):
    predictor = hardalign.load(ensemble)
    one = hardalign.load(ensemble / "member-0")
    assert predictor.parameters == 2 * one.parameters
    best, *_ = predictor("cat", nbest=3)
    if best.finished:
        assert best.log_prob == pytest.approx(predictor.log_prob("cat", best.text), abs=1e-5)
    alignment = predictor.align("cat", "K AE T")
    np.testing.assert_allclose(alignment.weights.sum(-1), 1, atol=1e-5)
    assert predictor.sample_alignments("cat", "K AE T", 7).shape == (7, 3)


def test_members_that_are_complete_are_not_trained_again(ensemble, tmp_path):
    before = log_prob(ensemble, None)
    epochs = Epochs()
    train(out=ensemble, members=2, seed=5, resume=True, reporter=epochs)
    assert epochs.rows == []
    assert log_prob(ensemble, None) == before


def test_an_ensemble_may_grow_and_is_not_mistaken_for_a_model(tmp_path):
    train(out=tmp_path / "m", members=2)
    epochs = Epochs()
    grown = train(out=tmp_path / "m", members=3, resume=True, reporter=epochs)
    assert epochs.rows == [1]
    assert grown.description.members == 3
    with pytest.raises(hardalign.HardalignError, match="different members: 3, now 1"):
        train(out=tmp_path / "m", resume=True)
    with pytest.raises(hardalign.HardalignError, match="is an ensemble; take one of its members"):
        load_folder(tmp_path / "m")


def test_members_in_processes_of_their_own_are_the_same(ensemble, tmp_path):
    train(out=tmp_path / "m", members=2, seed=5, processes=2)
    assert log_prob(tmp_path / "m") == log_prob(ensemble)


def test_ctrl_c_does_not_reach_members_that_have_only_begun(ensemble, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "if 'spawn_main' in ' '.join(sys.orig_argv): os.kill(os.getpid(), signal.SIGINT)\n"
    )
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    monkeypatch.setenv("PYTHONPATH", path)
    train(out=tmp_path / "m", members=2, seed=5, processes=2)
    assert log_prob(tmp_path / "m") == log_prob(ensemble)


def test_a_member_that_fails_ends_the_training(tmp_path):
    (tmp_path / "m" / "member-1").mkdir(parents=True)
    (tmp_path / "m" / "member-1" / "weights.safetensors").touch()
    with pytest.raises(hardalign.HardalignError, match="member-1: cannot resume"):
        train(out=tmp_path / "m", members=2, epochs=0, processes=2, resume=True)


def test_an_incomplete_ensemble_says_what_is_missing(ensemble, tmp_path):
    for name in ("config.json", "vocabulary.json"):
        (tmp_path / name).write_bytes((ensemble / name).read_bytes())
    with pytest.raises(hardalign.HardalignError, match="has no member-0 yet"):
        hardalign.load(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": 0}, "members must be from 1 to 1000, not 0"),
        ({"members": 2, "seed": 2**63 - 1}, "seed must be int <="),
        ({"members": 2, "processes": 0}, "processes must be at least 1, not 0"),
        ({"start": "nowhere"}, "nowhere: no such model folder"),
        ({"system": "soft", "copying": True}, "soft cannot copy"),
        ({"system": "hard-feed", "tags": "beside"}, "hard-feed cannot have tags beside"),
    ],
)
def test_impossible_wishes_are_refused_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(hardalign.HardalignError, match=message):
        train(out=tmp_path / "m", **options)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("system", ["hard", "hard-monotonic", "soft-feed-large"])
def test_a_model_that_begins_with_another_says_the_same_of_known_symbols(tmp_path, system):
    old = train(out=tmp_path / "old", system=system)
    # New letters, and none that is to be written: the old words' probabilities stay exactly.
    rows = [("kitten", "K AE T"), ("zoo", "T AA")]
    new = train(rows, rows, out=tmp_path / "new", system=system, epochs=0, start=tmp_path / "old")
    raw = hardalign.load(tmp_path / "old", temperature=1)
    assert new.log_prob("cat", "K AE T") == pytest.approx(raw.log_prob("cat", "K AE T"), abs=1e-5)
    assert new.description.vocabulary.source.letters == (*"acot", *"eiknz")
    assert new.description.start.startswith("old sha256:")
    assert old.description.start is None


@pytest.mark.parametrize("system", ["hard", "hard-hmm", "monotonic"])
def test_every_symbol_keeps_its_own_row(tmp_path, system):
    options = {"format": "sigmorphon", "system": system}
    rows = [("bat", "bats", "N;PL"), ("bit", "bitzN", "N;PST")]
    train(TAGGED, TAGGED, out=tmp_path / "old", **options)
    start = tmp_path / "old"
    train(rows, rows, out=tmp_path / "new", epochs=0, start=start, **options)
    (old, before), (new, after) = load_folder(tmp_path / "old"), load_folder(tmp_path / "new")

    def rows_of(tensors, description, side):
        alphabet = getattr(description.vocabulary, side)
        name = {"source": "encoder", "target": "decoder"}[side]
        table = tensors[f"{name}.embedding.weight"]
        numbers = {letter: alphabet.encode([letter])[0] for letter in alphabet.letters}
        numbers |= {f"+{tag}": alphabet.encode([], [tag])[0] for tag in alphabet.tags}
        return {symbol: table[number] for symbol, number in numbers.items()}

    for side in ("source", "target"):
        known, now = rows_of(old, before, side), rows_of(new, after, side)
        assert known.keys() <= now.keys()
        for symbol, row in known.items():
            assert (now[symbol] == row).all()
    assert "+N" in rows_of(new, after, "source")
    name = f"{'decoder' if system == 'monotonic' else 'head.attention'}.output.weight"
    letters = before.vocabulary.target.letters
    for letter in letters:
        (k,), (i,) = (d.vocabulary.target.encode([letter]) for d in (before, after))
        assert (old[name][k] == new[name][i]).all()
    if system == "monotonic":
        assert (old[name][-1] == new[name][-1]).all()


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        (TAGGED, {}, "inside"),  # they are few, and copied from
        (TAGGED, {"tags": "beside"}, "beside"),
        (TAGGED, {"tags": "inside"}, "inside"),
        (TAGGED, {"system": "soft-feed"}, "inside"),  # it cannot have them elsewhere
        (TAGGED, {"size": SIZES}, "inside"),  # as the size says
        ([row[:2] for row in TAGGED], {"format": "pairs"}, "inside"),  # there are none
    ],
)
def test_where_tags_are(rows, options, expected, tmp_path):
    options = {"format": "sigmorphon", "size": "small", "epochs": 0} | options
    predictor = train(rows, rows, out=tmp_path / "m", **options)
    assert predictor.description.model.tags == expected
    options = {"format": options["format"], "system": None, "size": None, "epochs": 0}
    further = train(rows, rows, out=tmp_path / "n", start=tmp_path / "m", **options)
    assert further.description.model.tags == expected


def test_a_run_goes_on_though_its_files_have_moved(tmp_path):
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("".join(f"{word}\t{phonemes}\n" for word, phonemes in ROWS))
    train(first, first, out=tmp_path / "m", recipe="paper")
    first.rename(second)
    train(second, second, out=tmp_path / "m", epochs=2, resume=True, recipe="paper")
    assert hardalign.load(tmp_path / "m").description.data.train.file == second.name
    second.write_text(2 * second.read_text())
    with pytest.raises(hardalign.HardalignError, match="resume with different data"):
        train(second, second, out=tmp_path / "m", epochs=2, resume=True, recipe="paper")


def test_a_width_that_depends_on_the_symbols_cannot_grow(tmp_path):
    options = {"system": "soft-feed", "size": ModelConfig(embedding=20, encoder=6, decoder=5)}
    train(out=tmp_path / "old", epochs=0, **options)
    rows = [("cat", " ".join(f"P{k}" for k in range(40)))]
    with pytest.raises(hardalign.HardalignError, match="the data have new ones, first 'P0'"):
        train(rows, rows, out=tmp_path / "new", start=tmp_path / "old", **options)
    assert not (tmp_path / "new").exists()


def test_the_system_and_the_sizes_are_those_of_the_model_to_begin_with(tmp_path):
    train(out=tmp_path / "old", epochs=0, system="hard-monotonic")
    new = train(out=tmp_path / "new", epochs=0, start=tmp_path / "old", system=None, size=None)
    dropouts = {name: getattr(new.description.model, name) for name in LEARNING_ONLY}
    assert new.description.model == replace(SIZES, system="hard-monotonic", **dropouts)
    assert dropouts["dropout"] == 0.4  # as the recipe has it for so few


def test_another_system_or_size_is_refused_in_one_line(tmp_path, ensemble):
    train(out=tmp_path / "old", epochs=0)
    for options, message in (
        ({"system": "soft"}, "its system is hard, not soft"),
        ({"size": replace(SIZES, decoder=6)}, "its decoder is 5, not 6"),
        ({"copying": True}, "its copying is False, not True"),
    ):
        with pytest.raises(hardalign.HardalignError, match=message) as caught:
            train(out=tmp_path / "new", start=tmp_path / "old", **options)
        assert "\n" not in str(caught.value)
    with pytest.raises(hardalign.HardalignError, match="is an ensemble"):
        train(out=tmp_path / "new", start=ensemble)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source_case": "lower"}, "reads text as NFC, sources in lower case"),
        ({"target_parts": True}, "reads text as NFC, target symbols in characters"),
    ],
)
def test_data_are_read_as_the_model_to_begin_with_reads(change, message, tmp_path):
    layout = replace(FORMATS["lexicon"], **change)
    train(out=tmp_path / "old", format=layout, epochs=0)
    start = {"start": tmp_path / "old", "epochs": 0}
    for name, given in (("a", None), ("b", "lexicon"), ("c", layout)):
        new = train(out=tmp_path / name, format=given, **start)
        assert new.description.format == layout
    with pytest.raises(HardalignError, match=message):
        train(out=tmp_path / "d", format=FORMATS["lexicon"], **start)
    assert not (tmp_path / "d").exists()


class Notes(Reporter):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_what_is_new_to_the_model_to_begin_with_is_said(tmp_path):
    train(out=tmp_path / "old", epochs=0)
    told = Notes()
    rows = [("cat", "K AE T"), ("dog", "D AO G")]
    train(rows, ROWS, out=tmp_path / "new", epochs=0, start=tmp_path / "old", reporter=told)
    expected = "had never seen 2 of the 6 source symbols, such as 'd' and 3 of the 6 target symbols"
    assert any(expected in note for note in told.notes)


def test_a_development_set_that_is_learned_from_is_named(tmp_path):
    told = Notes()
    train(out=tmp_path / "m", reporter=told)
    assert any("3 of the 3 development sources are in the training" in n for n in told.notes)
    told = Notes()
    train(dev=[("act", "AE K T")], out=tmp_path / "n", reporter=told)
    assert not any("development sources" in note for note in told.notes)


FORMS = [
    (stem, stem + ending, tags)
    for stem in ("cat", "tact", "act")
    for ending, tags in (("s", "PL"), ("ses", "PL;GEN"))
]
KNOWN = {"format": "sigmorphon", "known_forms": 1, "copying": True, "tags": "beside"}


def test_known_forms_are_as_if_they_stood_in_the_data(tmp_path):
    def spelled(lemma, form, tags):
        other = lemma + ("ses" if tags == "PL" else "s")
        known = ("1:PL", "1:GEN") if tags == "PL" else ("1:PL",)
        return Example((*lemma, "||", *other), (tuple(form),), (*tags.split(";"), *known))

    model = train(FORMS[1:], FORMS[:1], out=tmp_path / "m", **KNOWN)
    rows = [spelled(*row) for row in FORMS]
    rows[1] = Example(tuple("cat"), (tuple("catses"),), ("PL", "GEN"))  # its only known form
    plain = {**KNOWN, "known_forms": 0}
    other = train(rows[1:], rows[:1], out=tmp_path / "plain", **plain)
    tensors, _ = load_folder(tmp_path / "m")
    expected, _ = load_folder(tmp_path / "plain")
    assert all((tensors[name] == expected[name]).all() for name in expected)

    log_prob = model.log_prob("cat\tPL", "cats")
    assert math.isclose(log_prob, sum(next(other.score(rows[:1]))), rel_tol=1e-12)
    assert model.align("cat\tPL", "cats").source == rows[0].source
    assert (model.sample_alignments("cat\tPL", "cats", 9) < len("⊢PLGcat||catses⊣")).all()
    prediction = model("cat\tPL")
    assert prediction.text == next(other.answers(rows[:1], Search()))[0].text
    assert prediction.source == "cat"
    assert prediction.alpha.shape[1] == len(rows[0].source) + len(rows[0].tags) + 2


def test_known_forms_are_kept_in_the_folder_and_checked(tmp_path):
    train(FORMS, FORMS, out=tmp_path / "m", members=2, **KNOWN)
    before = hardalign.load(tmp_path / "m").log_prob("cat\tPL", "cats")
    again = train(FORMS, FORMS, out=tmp_path / "m", members=3, resume=True, **KNOWN)
    assert again.description.members == 3
    assert again.log_prob("cat\tPL", "cats") != before
    with pytest.raises(HardalignError, match="cannot resume with different model: known_forms 1"):
        train(FORMS, FORMS, out=tmp_path / "m", resume=True, **KNOWN | {"known_forms": 2})
    path = tmp_path / "m" / "member-1" / "known-forms.jsonl"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"t", b"d"))
    with pytest.raises(HardalignError, match=r"known-forms.jsonl: damaged: its checksum"):
        hardalign.load(tmp_path / "m")
    path.unlink()
    with pytest.raises(HardalignError, match=r"known-forms.jsonl"):
        hardalign.load(tmp_path / "m")
    path.write_bytes(content)
    train(FORMS, FORMS, out=tmp_path / "m", overwrite=True, **KNOWN | {"known_forms": 0})
    assert not list(tmp_path.rglob("known-forms.jsonl"))


def test_reports_know_what_a_model_of_known_forms_has_read(tmp_path):
    model = train(FORMS, FORMS, out=tmp_path / "m", **KNOWN)
    items = [replace(model.example("cat\tPL"), targets=(tuple("cats"),))]
    report = find_errors(model, items)
    words = [word for confusion in report.confusions for word in confusion.words]
    columns, _, _ = aligned_rows(words[0])
    assert "".join(columns).strip("⊢⊣").endswith("cat||catses")
    (item,) = analyzed_predictions(model, items, threshold=0.0)
    places = {j for j, _ in item.edges}
    assert places == set(range(len("cat||catses") - 1))  # the separator is one symbol


def test_known_forms_come_with_the_model_that_training_goes_on_from(tmp_path):
    train(FORMS, FORMS, out=tmp_path / "m", **KNOWN)
    more = [("fact", "facts", "PL"), ("fact", "factses", "PL;GEN")]
    options = {"system": None, "size": None, "format": None}
    model = train(more, more, out=tmp_path / "more", start=tmp_path / "m", **options)
    assert model.description.model.known_forms == 1
    assert "".join(model.align("fact\tPL", "facts").source) == "fact||factses"
    assert "".join(model.align("cat\tPL", "cats").source) == "cat"


@pytest.mark.parametrize(
    ("dev", "options", "advised"),
    [
        (FORMS[:1], {"known_forms": 0}, True),
        (FORMS[:1], {"known_forms": 1}, False),
        (FORMS[:1], {"known_forms": 0, "epochs": 0}, False),
        ([("fact", "facts", "PL"), FORMS[0]], {"known_forms": 0}, False),  # a half is too few
    ],
)
def test_training_says_when_known_forms_would_help(tmp_path, dev, options, advised):
    notes = Notes()
    train(FORMS[1:], dev, out=tmp_path / "m", reporter=notes, **KNOWN | options)
    advice = "1 of the 1 development sources have other forms"
    assert any(advice in text for text in notes.notes) == advised


def test_known_forms_without_use_are_refused(tmp_path):
    with pytest.raises(HardalignError, match="a hallucinated lemma has no known forms"):
        train(FORMS, FORMS, out=tmp_path / "m", hallucinate=5, **KNOWN)
    with pytest.raises(HardalignError, match="no known forms to learn from"):
        train(FORMS[::2], FORMS, out=tmp_path / "m", **KNOWN)
    assert not (tmp_path / "m").exists()
