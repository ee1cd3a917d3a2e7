from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

import hardalign
from hardalign.config import ModelConfig
from hardalign.data.corpora import load_corpus
from hardalign.data.formats import FORMATS, Example
from hardalign.data.reading import CorpusOrigin
from hardalign.errors import HardalignError
from hardalign.training.run import RESUME, Reporter

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


def test_a_lexicon_that_is_read_as_pairs_is_refused(tmp_path):
    rows = [(word, "K AE1 T S") for word in ("cats", "kats", "catz", "katz", "cads")]
    file = tmp_path / "lexicon.tsv"
    file.write_text("".join(f"{word}\t{phones}\n" for word, phones in rows))
    for data in (rows, file):
        with pytest.raises(hardalign.HardalignError, match="give --format lexicon"):
            hardalign.train(data, data, epochs=0, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_a_header_is_left_out_of_a_file_and_refused_in_rows(tmp_path, monkeypatch):
    notes = []
    monkeypatch.setattr(Reporter, "note", lambda self, text: notes.append(text))
    rows = [("word", "pronunciation"), ("cat", "K AE T")]
    with pytest.raises(hardalign.HardalignError, match="train rows, line 1: word, pronunciation"):
        hardalign.train(rows, rows, format="lexicon", epochs=0, out=tmp_path / "m")
    file = tmp_path / "lexicon.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in rows))
    model = hardalign.train(file, file, format="lexicon", epochs=0, out=tmp_path / "m")
    assert model.description.vocabulary.source.letters == tuple("act")
    assert sum("the header (word, pronunciation) passed over" in note for note in notes) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"system": "hrad"}, "no system is called 'hrad'"),
        ({"size": "medium"}, "no size is called 'medium'"),
        ({"format": "csv"}, "no format is called 'csv'"),
        ({"train": []}, "there are no train rows"),
        ({"train": [("cat", "K AE T"), ("cot",)]}, "train rows, line 2: expected 2 TAB"),
        ({"train": [[1]]}, "train rows, line 1: expected 2 TAB.*found 1 in '1'"),
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


def test_data_of_a_wrong_type_is_named(tmp_path):
    for given, name in (({"train": 3}, "train"), ({"dev": 3}, "dev")):
        with pytest.raises(HardalignError, match=f"{name} must be a file or rows of strings"):
            train(out=tmp_path / "model", **given)
    assert not (tmp_path / "model").exists()


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


def test_hallucinations_change_what_is_learned_and_no_symbol(tmp_path):
    plain, other = inflect(tmp_path / "1"), inflect(tmp_path / "2", hallucinate=10)
    assert plain.description.vocabulary == other.description.vocabulary
    assert plain.log_prob("walk\tV;PST", "walked") != pytest.approx(
        other.log_prob("walk\tV;PST", "walked"), abs=1e-9
    )


def test_what_cannot_be_invented_leaves_no_folder(tmp_path):
    with pytest.raises(hardalign.HardalignError, match="cannot hallucinate examples"):
        train(out=tmp_path / "m", hallucinate=5)
    assert not (tmp_path / "m").exists()


def test_resume_and_overwrite_contradict_each_other(tmp_path):
    with pytest.raises(hardalign.HardalignError, match="--resume keeps what"):
        train(resume=True, overwrite=True, out=tmp_path / "m")
    assert not (tmp_path / "m").exists()


class Stop(Reporter):
    """Interrupts training after so many epochs."""

    def __init__(self, epochs):
        self._epochs = epochs

    def epoch(self, row):
        if row["epoch"] == self._epochs:
            raise KeyboardInterrupt


class Notes(Reporter):
    def __init__(self):
        self.rows, self.notes = [], []

    def epoch(self, row):
        self.rows.append(row["epoch"])

    def note(self, text):
        self.notes.append(text)


@pytest.mark.parametrize("recipe", ["auto", "paper"])
@pytest.mark.parametrize("members", [1, 2])
def test_an_interrupted_run_goes_on_from_its_folder_alone(tmp_path, recipe, members):
    file = tmp_path / "rows.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in FORMS), encoding="utf-8")
    options = {"format": "sigmorphon", "epochs": 3, "recipe": recipe, "members": members}
    options |= {"hallucinate": 10, "dropout": 0.3, "seed": 7}
    train(file, file, out=tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        train(file, file, out=tmp_path / "parts", reporter=Stop(2), **options)
    assert (tmp_path / "parts" / RESUME).exists()
    hardalign.train(out=tmp_path / "parts", resume=True)
    weights = sorted((tmp_path / "whole").rglob("weights.safetensors"))
    assert len(weights) == members
    for path in [*weights, tmp_path / "whole" / "config.json"]:
        other = tmp_path / "parts" / path.relative_to(tmp_path / "whole")
        assert path.read_bytes() == other.read_bytes()
    for name in ("whole", "parts"):  # where the data lay is forgotten
        folder = tmp_path / name
        assert not any(
            str(tmp_path).encode() in one.read_bytes() for one in folder.rglob("*") if one.is_file()
        )
    notes = Notes()
    hardalign.train(out=tmp_path / "parts", resume=True, reporter=notes)
    assert (notes.rows, notes.notes) == ([], [f"{tmp_path / 'parts'}: nothing is left to train"])


def test_hangul_is_read_in_letters_also_when_a_run_goes_on(tmp_path):
    """Whether the data are files, rows or examples, with or without a part held out."""
    syllables = [chr(0xAC00 + 28 * k) for k in range(40)]
    rows = [(a + b, "k a") for a, b in pairwise(syllables)]
    file = tmp_path / "rows.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    notes = Notes()
    whole = train(file, None, out=tmp_path / "whole", epochs=3, reporter=notes)
    assert any("--set normalization=NFKC" in note for note in notes.notes)
    assert whole.description.format.normalization == "NFD"
    assert all(ord(one) < 0xAC00 for one in whole.description.vocabulary.source.letters)
    assert whole(rows[0][0]).source == rows[0][0]
    with pytest.raises(KeyboardInterrupt):
        train(file, None, out=tmp_path / "parts", epochs=3, reporter=Stop(2))
    hardalign.train(out=tmp_path / "parts", resume=True)
    for name in ("weights.safetensors", "config.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
    examples = [Example(tuple(word), (tuple(phones.split()),)) for word, phones in rows]
    one = train(rows, rows, epochs=0, out=tmp_path / "rows")
    other = train(examples, examples, epochs=0, out=tmp_path / "examples")
    assert one.description.vocabulary == other.description.vocabulary
    kept = replace(FORMATS["lexicon"], normalization="NFKC")
    for options in ({"recipe": "paper"}, {"format": kept}):
        as_they_are = train(rows, rows, epochs=0, out=tmp_path / "kept", overwrite=True, **options)
        assert syllables[0] in as_they_are.description.vocabulary.source.letters


def test_what_was_not_in_a_file_must_be_given_again(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(out=tmp_path / "m", epochs=2, reporter=Stop(1))
    with pytest.raises(hardalign.HardalignError, match="give its data again"):
        hardalign.train(out=tmp_path / "m", resume=True)
    with pytest.raises(hardalign.HardalignError, match="no such model folder"):
        hardalign.train(out=tmp_path / "none", resume=True)


def test_one_cosine_has_its_number_of_epochs_and_the_papers_recipe_more(tmp_path):
    for recipe in ("auto", "paper"):
        train(out=tmp_path / recipe, recipe=recipe)
    with pytest.raises(hardalign.HardalignError, match="epochs 1, now 3"):
        train(out=tmp_path / "auto", epochs=3, resume=True)
    notes = Notes()
    train(out=tmp_path / "paper", recipe="paper", epochs=3, resume=True, reporter=notes)
    assert notes.rows == [2, 3]


def test_a_finished_model_keeps_its_temperature_whatever_interrupts_its_resuming(
    tmp_path, monkeypatch
):
    before = train(out=tmp_path / "m", epochs=2).description.temperature
    assert before != 1

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hardalign.training.members.train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(out=tmp_path / "m", epochs=2, resume=True)
    assert hardalign.load(tmp_path / "m").description.temperature == before


def test_the_recipe_decides_what_is_not_given(tmp_path):
    notes = Notes()
    small = train(size="small", epochs=0, out=tmp_path / "1", reporter=notes).description
    assert (small.model.dropout, small.model.symbol_dropout) == (0.4, 0.2)
    assert small.training.learning_rate == 0.002
    assert any(note.startswith("3 pairs: 0 epochs, batch 5, ") for note in notes.notes)
    given = {"dropout": 0.1, "batch_size": 3, "learning_rate": 0.5, "clip": 2}
    own = train(size="small", epochs=0, out=tmp_path / "2", **given).description
    assert (own.model.dropout, own.training.batch_size, own.training.clip) == (0.1, 3, 2.0)
    # Sizes of one's own have their own dropout, too.
    assert train(epochs=0, out=tmp_path / "3").description.model.dropout == TINY.dropout
    paper = train(size="large", epochs=0, recipe="paper", out=tmp_path / "4").description
    assert (paper.training.clip, paper.model.dropout, paper.training.batch_size) == (5.0, 0.4, 20)


def test_a_tenth_is_held_out_unless_told_otherwise(tmp_path):
    rows = [(f"{a}{b}{c}", f"{a} {b} {c}") for a in "abcde" for b in "abcde" for c in "abcd"]
    notes = Notes()
    held_out = train(rows, None, out=tmp_path / "1", reporter=notes).description
    assert any("of 100 examples are held out" in note for note in notes.notes)
    assert held_out.temperature != 1
    everything = train(rows, "none", out=tmp_path / "2").description
    assert everything.temperature == 1
    assert everything.data.dev is None
    with pytest.raises(hardalign.HardalignError, match="stops early on development data"):
        train(rows, "none", recipe="paper", out=tmp_path / "3")


def test_a_base_that_was_renamed_is_the_same_and_another_is_not(tmp_path):
    for seed in (0, 1):
        train(out=tmp_path / str(seed), seed=seed)
    options = {"epochs": 2, "size": None, "system": None}
    with pytest.raises(KeyboardInterrupt):
        train(out=tmp_path / "m", start=tmp_path / "0", reporter=Stop(1), **options)
    (tmp_path / "0").rename(tmp_path / "moved")
    (tmp_path / "1").rename(tmp_path / "0")
    with pytest.raises(hardalign.HardalignError, match="cannot resume with different start"):
        train(out=tmp_path / "m", start=tmp_path / "0", resume=True, **options)
    train(out=tmp_path / "m", start=tmp_path / "moved", resume=True, **options)


def test_models_are_joined(tmp_path):
    alone = [train(out=tmp_path / str(seed), seed=seed) for seed in (0, 1)]
    joined = hardalign.join(tmp_path / "0", tmp_path / "1", out=tmp_path / "both")
    assert joined.parameters == 2 * alone[0].parameters
    assert joined.description.members == 2
    together = train(out=tmp_path / "together", members=2)
    for one, other in ((joined, together), (hardalign.load(tmp_path / "both"), joined)):
        scores = [
            hardalign.load(model, temperature=1).log_prob("cat", "K AE T")
            for model in (tmp_path / "both", tmp_path / "together")
        ]
        assert scores[0] == scores[1]
        assert one("cat").text == other("cat").text
    train(out=tmp_path / "soft", system="soft")
    for models, message in (
        (("0",), "at least two"),
        (("0", "soft"), "soft: has a different model from"),
        (("0", "both"), "is an ensemble itself"),
        (("0", "1"), "is not empty"),
    ):
        out = tmp_path / ("both" if message == "is not empty" else "new")
        with pytest.raises(hardalign.HardalignError, match=message):
            hardalign.join(*(tmp_path / model for model in models), out=out)
