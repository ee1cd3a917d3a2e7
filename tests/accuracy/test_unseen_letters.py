"""Letters that training never showed: a model that copies writes them, from data to answers."""

from __future__ import annotations

import json
import math
import random
import warnings

import pytest

import hardalign
from hardalign.config import ModelConfig
from hardalign.predictor import UnknownSymbolsWarning
from hardalign.training.run import Reporter
from helpers import Command

SIZES = ModelConfig(embedding=12, encoder=12, decoder=12, dropout=0.0)
DRAW = random.Random(0)
WORDS = ["".join(DRAW.choices("abcdef", k=DRAW.randint(2, 5))) for _ in range(160)]
ROWS = [(word, word + "s") for word in WORDS]


def train(out, dev=ROWS[120:], **options):
    options = {
        "seed": 1,
        "epochs": 14,
        "learning_rate": 0.01,
        "copying": True,
        "unk_dropout": 0.5,
    } | options
    return hardalign.train(ROWS[:120], dev, out=out, system="hard-hmm", size=SIZES, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "copying"
    train(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return hardalign.load(folder)


@pytest.mark.parametrize("word", ["жab", "bжa", "üжcü", "ßaжb", "👍ab", "가나다라"])
def test_they_are_copied(model, word):
    with pytest.warns(UnknownSymbolsWarning, match="never seen in training"):
        predictions = model(word, nbest=4)
    assert predictions[0].text == word + "s"
    assert predictions[0].symbols == (*word, "s")
    with pytest.warns(UnknownSymbolsWarning):
        expected = model.log_prob(word, word + "s")
    assert predictions[0].log_prob == pytest.approx(expected, abs=1e-5)
    assert sum(math.exp(one.log_prob) for one in predictions) <= 1 + 1e-6
    with pytest.warns(UnknownSymbolsWarning):
        pairs = model.align(word, word + "s").pairs
    assert [(k, k) for k in range(len(word))] == list(pairs)[: len(word)]


def test_no_word_has_those_of_its_mates(model):
    words = ["жab", "cab", "abü", "dede", "üжa"]
    with warnings.catch_warnings(action="ignore"):
        together = [prediction.text for prediction in model(words, beam=3)]
        assert together == [model(word, beam=3).text for word in words]
        drawn = [sample.text for word in words for sample in model.sample(word, 40)]
    for text, word in zip(drawn, [word for word in words for _ in range(40)], strict=True):
        assert set(text) <= set(word) | set("abcdefs")


def test_what_cannot_be_written_is_told_from_what_can(command: Command, folder):
    pairs = "жab\tжabs\nжab\tщabs\nab\tabs\n".encode()
    result = command("score", folder, "-", stdin=pairs)
    scores = [float(line.split("\t")[2]) for line in result.out.splitlines()]
    assert scores[0] > -1
    assert scores[1] == -math.inf
    assert "1 target has log p = -inf, because of symbols" in result.err
    assert "'щ' × 1" in result.err
    assert "'ж'" in result.err  # read as unknown
    result = command("align", folder, "-", stdin=pairs)
    first, second, _ = result.out.splitlines()
    assert first.startswith("0-0 1-1 2-2")
    assert second == ""
    assert "could not be aligned: 1 (first: line 2)" in result.err


def test_evaluate_counts_them_as_right(command: Command, folder, tmp_path):
    file = tmp_path / "test.tsv"
    file.write_text("жab\tжabs\ncбe\tcбes\n", "utf-8")
    result = command("evaluate", folder, file, "--json")
    assert json.loads(result.out)["acc"] == 100
    assert "cannot write" not in result.err


def test_a_run_that_reads_rare_letters_as_unknown_ends_the_same_if_it_is_interrupted(tmp_path):
    train(tmp_path / "whole", epochs=3, recipe="paper")
    for epochs in (1, 3):
        train(tmp_path / "parts", epochs=epochs, resume=True, recipe="paper")
    files = [tmp_path / name / "weights.safetensors" for name in ("whole", "parts")]
    assert files[0].read_bytes() == files[1].read_bytes()
    other = train(tmp_path / "other", epochs=3, unk_dropout=0.0)
    assert other.description.model.unk_dropout == 0
    assert (tmp_path / "other/weights.safetensors").read_bytes() != files[0].read_bytes()


@pytest.mark.parametrize(
    ("word", "tags", "options", "advice"),
    [
        ("жab", "", {"unk_dropout": 0.0}, "--set unk_dropout=0.2 teaches how to read them"),
        ("жab", "", {"unk_dropout": 0.5}, None),
        ("ab", "", {"unk_dropout": 0.0}, None),
        ("жab", "PL", {"copying": False}, "--set copying=true can write them"),
        ("жab", "PL", {"copying": True}, None),
        ("жab", "PL", {"copying": False, "system": "monotonic"}, None),
        ("жab", "PL", {"copying": False, "system": "hard-monotonic"}, None),
    ],
)
def test_training_says_what_helps_with_unknown_letters(tmp_path, word, tags, options, advice):
    notes = []

    class Notes(Reporter):
        def note(self, text):
            notes.append(text)

    rows, dev = ([(*row, tags) for row in part] for part in (ROWS[:9], [(word, word), ROWS[0]]))
    if not tags:
        rows, dev = ([row[:2] for row in part] for part in (rows, dev))
    layout = "sigmorphon" if tags else "pairs"
    options = {"system": "hard-hmm", "size": SIZES, "epochs": 1} | options
    hardalign.train(rows, dev, out=tmp_path / "m", format=layout, reporter=Notes(), **options)
    problem = "1 of the 2 development sources have letters that never occur in the training data"
    assert any("never occur" in note for note in notes) == (advice is not None)
    assert advice is None or f"{problem}; {advice}" in notes
