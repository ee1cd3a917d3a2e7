from __future__ import annotations

import pickle
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hardalign
from hardalign.data.formats import evaluation_items
from hardalign.data.reading import read_examples
from hardalign.metrics import evaluate
from hardalign.model_folder import BUNDLED, describe_bundled, find_model
from hardalign.search import Search


@pytest.fixture(scope="module")
def g2p() -> hardalign.Predictor:
    return hardalign.load("en-g2p")


@pytest.mark.parametrize("name", BUNDLED)
def test_small_enough_to_ship(name: str) -> None:
    files = [path for path in find_model(name).rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"README.md", "weights.safetensors", "figures.json"}
    lexicons = [path for path in files if path.name.startswith("lexicon") and path.suffix == ".tsv"]
    assert sum(path.stat().st_size for path in set(files) - set(lexicons)) < 6e6
    packed = [zlib.compress(path.read_bytes()) for path in lexicons]
    assert sum(map(len, packed)) < 2e6  # as in a wheel


def test_the_wheel_stays_small() -> None:
    files = [path for name in BUNDLED for path in find_model(name).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 55e6  # of 60 MB; the rest is source


def test_a_folder_of_that_name_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_model("en-g2p").is_absolute()
    Path("en-g2p").mkdir()
    assert find_model("en-g2p") == Path("en-g2p")
    with pytest.raises(hardalign.HardalignError, match=r"en-g2p.config\.json"):
        hardalign.load("en-g2p")


def test_what_is_no_model_is_told_which_there_are() -> None:
    with pytest.raises(hardalign.HardalignError, match=f"bundled models: {', '.join(BUNDLED)}"):
        hardalign.load("en-g2q")


@pytest.mark.parametrize("name", BUNDLED)
def test_the_sample_comes_out_as_the_model_card_says(name: str) -> None:
    measured, folder = describe_bundled(name), find_model(name)
    card = (folder / "README.md").read_text("utf-8")
    for figures in (measured, measured.get("without stress", measured)):
        assert f"{figures['wer']:.2f}" in card
        assert f"{figures['per']:.4f}" in card
    assert f"{measured['ece']:.3f}" in card
    assert f"{measured['words']:,}" in card
    guide = (Path(__file__).parents[1] / "docs/reference/models.md").read_text("utf-8")
    (row,) = (line for line in guide.splitlines() if line.startswith(f"| `{name}` |"))
    shown = (f"{measured['wer']:.2f}", f"{measured['per']:.4f}", f"{measured['ece']:.3f}")
    assert row.endswith(f"| {' | '.join(shown)} | {measured['words']:,} |")
    if "sample" not in measured:  # the data may not be given on
        return
    predictor = hardalign.load(name)
    layout = predictor.description.format
    reading = read_examples(folder / "sample.tsv", layout, "evaluation")
    test = evaluation_items(reading)
    best = [one.symbols for (one,) in predictor.answers(test, Search(), exact=False)]
    metrics = evaluate(best, [example.targets for example in test])
    sample = measured["sample"]
    assert metrics.n == sample["words"]
    # Another processor may round otherwise: one word of the sample may go the other way.
    assert abs(metrics.wer - sample["wer"]) <= 100 / sample["words"]
    assert metrics.per == pytest.approx(sample["per"], abs=0.005)


@pytest.mark.filterwarnings("ignore::hardalign.predictor.UnknownSymbolsWarning")  # piñata
@pytest.mark.parametrize("name", BUNDLED)
def test_the_examples_of_the_model_card(name: str) -> None:
    card = (find_model(name) / "README.md").read_text("utf-8")
    examples = re.findall(r"\*([^*]+)\* → `([^`]+)`", card)
    assert examples
    tagged = "tags" in hardalign.load(name).description.format.columns
    for source, text in examples:
        word = source.replace(" ", "\t") if tagged else source
        assert hardalign.load(name)(word).text == text


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
