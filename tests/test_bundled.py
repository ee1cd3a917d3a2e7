from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hardalign
from hardalign.bundled import BUNDLED, model_folder
from hardalign.decoding import Search
from hardalign.metrics import evaluate


@pytest.fixture(scope="module")
def g2p() -> hardalign.Predictor:
    return hardalign.load("en-g2p")


@pytest.mark.parametrize("name", BUNDLED)
def test_small_enough_to_ship(name: str) -> None:
    files = [path for path in model_folder(name).rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"README.md", "weights.safetensors", "figures.json"}
    assert sum(path.stat().st_size for path in files) < 6e6


def test_a_folder_of_that_name_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_folder("en-g2p").is_absolute()
    Path("en-g2p").mkdir()
    assert model_folder("en-g2p") == Path("en-g2p")
    with pytest.raises(hardalign.HardalignError, match=r"en-g2p.config\.json"):
        hardalign.load("en-g2p")


def test_what_is_no_model_is_told_which_there_are() -> None:
    with pytest.raises(hardalign.HardalignError, match="bundled models: en-g2p"):
        hardalign.load("en-g2q")


def test_the_sample_comes_out_as_the_model_card_says(g2p: hardalign.Predictor) -> None:
    figures = json.loads((model_folder("en-g2p") / "figures.json").read_text("utf-8"))
    sample = figures["sample"]
    test = hardalign.load_corpus("cmudict").test[: sample["words"]]
    found = [best.symbols for (best,) in g2p.answers(test, Search(), exact=False)]
    metrics = evaluate(found, [example.targets for example in test])
    # Another processor may round otherwise: one word of the sample may go the other way.
    assert abs(metrics.wer - sample["wer"]) <= 100 / sample["words"]
    assert metrics.per == pytest.approx(sample["per"], abs=0.002)
    card = (model_folder("en-g2p") / "README.md").read_text("utf-8")
    for part in ("with stress", "without stress"):
        assert f"{figures[part]['wer']:.2f}" in card
        assert f"{figures[part]['per']:.4f}" in card


def test_the_contract(g2p: hardalign.Predictor) -> None:
    assert g2p("action").text == "AE1 K SH AH0 N"
    assert (g2p("Action").source, g2p("Action").text) == ("Action", "AE1 K SH AH0 N")
    best = g2p(["action", "aachen"], beam=5, nbest=3)
    assert [len(found) for found in best] == [3, 3]
    alignment = g2p.align("action", "AE1 K SH AH0 N")
    assert alignment.is_monotonic()
    assert g2p.log_prob("action", "AE1 K SH AH0 N") == pytest.approx(best[0][0].log_prob, abs=1e-4)


def test_a_predictor_can_be_pickled(g2p: hardalign.Predictor) -> None:
    again = pickle.loads(pickle.dumps(g2p))
    assert again("thought").log_prob == g2p("thought").log_prob


def test_threads_can_share_a_predictor(g2p: hardalign.Predictor) -> None:
    words = ["action", "thought", "knight", "colonel", "phone", "rhythm", "queue", "psychology"]
    alone = [g2p(word, nbest=2) for word in words]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda word: g2p(word, nbest=2), words * 5))
    texts = [[(one.text, one.log_prob) for one in found] for found in alone]
    assert [[(one.text, one.log_prob) for one in found] for found in together] == texts * 5
