from __future__ import annotations

from dataclasses import replace

import pytest

import hardalign
from hardalign.config import ModelConfig, default_batch_size
from hardalign.data.corpora import load_corpus
from hardalign.data.formats import FORMATS, Example
from hardalign.data.origin import CorpusOrigin
from hardalign.training.job import Reporter

TINY = ModelConfig(embedding=4, encoder=6, decoder=5)
ROWS = [("cat", "K AE T"), ("cot", "K AA T"), ("tact", "T AE K T")]


def train(train=ROWS, dev=ROWS, **options):
    options = {"format": "lexicon", "size": TINY, "epochs": 1, "device": "cpu"} | options
    return hardalign.train(train, dev, **options)


def test_rows_become_a_predictor_that_its_folder_holds_too(tmp_path):
    predictor = train(out=tmp_path / "model")
    again = hardalign.load(tmp_path / "model")
    assert set(predictor.description.vocabulary.target.letters) == {"K", "AE", "AA", "T"}
    assert predictor("cat").log_prob == again("cat").log_prob
    assert again.description.data.train.examples == 3
    assert again.description.data.train.file == "memory"


def test_a_file_and_its_rows_train_the_same_model(tmp_path):
    file = tmp_path / "rows.tsv"
    file.write_text("".join(f"{word}\t{phones}\n" for word, phones in ROWS), encoding="utf-8")
    one, other = train(file, str(file), out=tmp_path / "1"), train(out=tmp_path / "2")
    assert one.log_prob("cat", "K AE T") == other.log_prob("cat", "K AE T")


def test_a_corpus_is_data_as_it_is(tmp_path):
    corpus = load_corpus("toy:copy", size=30)
    predictor = train(corpus, None, out=tmp_path / "1")
    assert predictor.description.data.corpus == CorpusOrigin("toy:copy", size=30)
    assert predictor.description.format == corpus.format
    examples = train(corpus.train, corpus.dev, format=corpus.format, out=tmp_path / "2")
    assert examples.description.data.dev.examples == len(corpus.dev)
    assert examples.log_prob("cat", "cat") == predictor.log_prob("cat", "cat")


def test_sizes_of_ones_own_take_the_system_that_is_asked_for(tmp_path):
    predictor = train(system="soft", size=replace(TINY, system="hard"), out=tmp_path / "m")
    assert predictor.description.model == replace(TINY, system="soft")


def test_a_lexicon_that_is_read_as_pairs_is_noticed(tmp_path, monkeypatch):
    notes = []
    monkeypatch.setattr(Reporter, "note", lambda self, text: notes.append(text))
    train(epochs=0, out=tmp_path / "lexicon")
    assert not any("format is lexicon" in note for note in notes)
    train(format="pairs", epochs=0, out=tmp_path / "pairs")
    assert sum("format is lexicon" in note for note in notes) == 1


def test_a_header_is_noticed(tmp_path, monkeypatch):
    notes = []
    monkeypatch.setattr(Reporter, "note", lambda self, text: notes.append(text))
    rows = [("word", "pronunciation"), ("cat", "K AE T")]
    hardalign.train(rows, rows, format="lexicon", epochs=0, out=tmp_path / "m")
    assert sum("looks like a header" in note for note in notes) == 1


def test_large_models_are_clipped(tmp_path):
    assert train(size="large", epochs=0, out=tmp_path / "m").description.training.clip == 5.0


def test_dropout_is_that_of_the_size_unless_told_otherwise(tmp_path):
    for size, dropout, expected in (("large", None, 0.4), ("small", None, 0.2), (TINY, 0.5, 0.5)):
        out = tmp_path / f"{expected}"
        model = train(size=size, dropout=dropout, epochs=0, out=out).description.model
        assert model.dropout == expected
    with pytest.raises(hardalign.HardalignError, match="dropout must be"):
        train(dropout=1.0, out=tmp_path / "m")


def test_settings_of_the_recipe_arrive(tmp_path):
    given = {"state_dropout": 0.3, "symbol_dropout": 0.2, "rare_dropout": 0.1}
    description = train(size=TINY, patience=3, epochs=0, out=tmp_path / "m", **given).description
    assert description.training.patience == 3
    assert {name: getattr(description.model, name) for name in given} == given
    plain = train(epochs=0, out=tmp_path / "n").description
    assert (plain.training.patience, plain.model.state_dropout) == (1, 0.0)


def test_training_goes_on_where_it_stopped(tmp_path):
    rows, notes = [], []

    class Notes(Reporter):
        def epoch(self, row):
            rows.append(row["epoch"])

        def note(self, text):
            notes.append(text)

    train(out=tmp_path / "m", reporter=Notes())
    train(out=tmp_path / "m", epochs=3, resume=True, reporter=Notes())
    assert rows == [1, 2, 3]
    assert not any("nothing was left to train" in note for note in notes)
    train(out=tmp_path / "m", epochs=2, resume=True, reporter=Notes())
    assert rows == [1, 2, 3]
    assert any("nothing was left to train after epoch 3" in note for note in notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"system": "hrad"}, "no system is called 'hrad'"),
        ({"size": "medium"}, "no size is called 'medium'"),
        ({"format": "csv"}, "no format is called 'csv'"),
        ({"train": []}, "there are no train rows"),
        ({"train": [("cat", "K AE T"), ("cot",)]}, "train rows, line 2: expected 2 TAB"),
        ({"dev": [("cat", "")]}, "dev rows, line 1, column 2: the target is empty"),
        ({"dev": [("ЯЖ", "K AE T")]}, "most source symbols never occur in the training data"),
        ({"dev": [Example(("Я",), (("K",),))] * 3}, "memory: most source symbols never occur"),
        ({"dev": [("cat", "K AE1 T"), ("cot", "K AA1 T")]}, "line 1: every target .* first 'AE1'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(tmp_path, options, message):
    with pytest.raises(hardalign.HardalignError, match=message):
        train(out=tmp_path / "m", **options)
    assert not (tmp_path / "m").exists()


def test_a_folder_that_is_taken_is_not_touched(tmp_path):
    train(out=tmp_path / "m")
    with pytest.raises(hardalign.HardalignError, match="is not empty"):
        train(out=tmp_path / "m")


FORMS = [
    (stem, stem + ending, tag)
    for stem in ("walk", "talk", "jump", "play")
    for ending, tag in (("ed", "V;PST"), ("ing", "V;PTCP"))
]


def inflect(out, **options):
    options = {"format": "sigmorphon", "system": "hard-monotonic"} | options
    return train(FORMS, FORMS, out=out, **options)


def test_a_run_with_inventions_ends_the_same_if_it_is_interrupted(tmp_path):
    whole = inflect(tmp_path / "whole", epochs=3, invent=10)
    for epochs in (1, 3):
        parts = inflect(tmp_path / "parts", epochs=epochs, resume=True, invent=10)
    files = [tmp_path / name / "weights.safetensors" for name in ("whole", "parts")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert whole.description.training == parts.description.training
    assert whole.description.training.invent == 10


def test_inventions_change_what_is_learned_and_no_symbol(tmp_path):
    plain, other = inflect(tmp_path / "1"), inflect(tmp_path / "2", invent=10)
    assert plain.description.vocabulary == other.description.vocabulary
    assert plain.log_prob("walk\tV;PST", "walked") != pytest.approx(
        other.log_prob("walk\tV;PST", "walked"), abs=1e-9
    )


@pytest.mark.parametrize(
    ("pairs", "batch_size"), [(1, 5), (90, 5), (800, 8), (2000, 20), (100_000, 20)]
)
def test_little_data_has_small_batches(pairs, batch_size):
    assert default_batch_size(pairs) == batch_size


def test_the_batch_size_follows_from_real_and_invented_examples(tmp_path):
    def batch_size(name, **options):
        return inflect(tmp_path / name, epochs=0, **options).description.training.batch_size

    assert batch_size("1") == 5
    assert batch_size("2", invent=1492) == 15
    assert batch_size("3", batch_size=3) == 3


def test_little_data_has_advice(tmp_path):
    notes = []

    class Notes(Reporter):
        def note(self, text):
            notes.append(text)

    inflect(tmp_path / "1", reporter=Notes())
    train(out=tmp_path / "2", reporter=Notes())
    inflect(tmp_path / "3", members=2, invent=5, reporter=Notes())
    train(ROWS * 334, out=tmp_path / "4", reporter=Notes())
    advice = [note for note in notes if "only" in note]
    assert ["8 training pairs" in one for one in advice] == [True, False]
    assert ["invent" in one for one in advice] == [True, False]
    assert ["dropout" in one for one in advice] == [False, True]
    assert all("members" in one for one in advice)


@pytest.mark.parametrize("target_parts", [False, True])
def test_symbols_of_several_characters_have_advice(tmp_path, target_parts):
    notes = []

    class Notes(Reporter):
        def note(self, text):
            notes.append(text)

    rows, layout = (
        [("a", "aː"), ("t", "tʰ")],
        replace(FORMATS["lexicon"], target_parts=target_parts),
    )
    train(rows, rows, out=tmp_path / "m", format=layout, reporter=Notes())
    assert any("target parts" in note for note in notes) == (not target_parts)


def test_what_cannot_be_invented_leaves_no_folder(tmp_path):
    with pytest.raises(hardalign.HardalignError, match="cannot invent examples"):
        train(out=tmp_path / "m", invent=5)
    assert not (tmp_path / "m").exists()


def test_resume_and_overwrite_contradict_each_other(tmp_path):
    with pytest.raises(hardalign.HardalignError, match="resume keeps what overwrite would remove"):
        train(resume=True, overwrite=True, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()
