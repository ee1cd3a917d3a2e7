from __future__ import annotations

from pathlib import Path

import pytest

from hardalign.errors import HardalignError
from hardalign.predictor import Predictor
from hardalign.serve import collection
from hardalign.serve.collection import describe_models, load_lexicons, load_models
from hardalign.systems import SCORES
from serve.helpers import MODELS, tiny_predictor


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is loaded, without any folders."""
    loaded: list[str] = []

    def load(model: str) -> Predictor:
        loaded.append(model)
        return tiny_predictor()

    monkeypatch.setattr(collection, "load", load)
    return loaded


def test_models_are_called_by_their_last_names(loaded: list[str]) -> None:
    assert list(load_models(["runs/hard", "en-g2p", "other/soft/"])) == ["hard", "en-g2p", "soft"]
    assert loaded == ["runs/hard", "en-g2p", "other/soft/"]


def test_namesakes_are_told_apart_by_their_folders(loaded: list[str]) -> None:
    models = ["/data/secret/a/x/model", "b/x/model", "b/y/model", "c/soft"]
    assert list(load_models(models)) == ["a/x/model", "b/x/model", "y/model", "soft"]


def test_no_absolute_path_is_published(loaded: list[str], tmp_path: Path) -> None:
    models = load_models([f"{tmp_path}/A/model", f"{tmp_path}/B/model"])
    assert list(models) == ["A/model", "B/model"]
    assert str(tmp_path) not in str(describe_models(models, {}))


def test_names_can_be_given(loaded: list[str], tmp_path: Path) -> None:
    odd = tmp_path / "rate=0.1"
    odd.mkdir()
    models = load_models(["en-g2p", "ko=runs/ko", "x=a/model", "y=b/model", str(odd), "a/b=c"])
    assert list(models) == ["en-g2p", "ko", "x", "y", "rate=0.1", "b=c"]
    assert loaded == ["en-g2p", "runs/ko", "a/model", "b/model", str(odd), "a/b=c"]


@pytest.mark.parametrize("model", ["=runs/ko", "ko=", " =x"])
def test_half_a_name(loaded: list[str], model: str) -> None:
    with pytest.raises(HardalignError, match="should be NAME=MODEL"):
        load_models([model])


def test_a_name_that_is_no_text(loaded: list[str]) -> None:
    assert list(load_models(["runs/\udcff"])) == ["?"]


@pytest.mark.parametrize("models", [["a/hard", "a/hard"], ["x=a", "x=b"], ["x=a", "x"]])
def test_a_name_given_twice(loaded: list[str], models: list[str]) -> None:
    with pytest.raises(HardalignError, match=r"another model is called '(hard|x)'"):
        load_models(models)


def test_a_missing_model(tmp_path: Path) -> None:
    with pytest.raises(HardalignError, match="none"):
        load_models([str(tmp_path / "none")])


def test_descriptions() -> None:
    hard, soft, tagged = describe_models(MODELS, {})
    assert (hard.name, hard.alignment, hard.exact) == ("hard", "posterior", True)
    assert (soft.system, soft.alignment) == ("soft", "attention")
    assert (hard.tags, tagged.tags) == ([], ["N", "V"])
    assert tagged.score == SCORES["best path"]
    assert not tagged.exact
    assert (hard.examples, tagged.examples) == (["cab", "bad", "add"], [])


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("en-g2p", "knight"),
        ("fr-g2p", "oiseau"),
        ("is-g2p", "fjall"),
        ("nb-g2p", "skje"),
        ("en-ko", "Hamilton"),
        ("en-inflect", "city\tN;PL"),
    ],
)
def test_examples_are_of_the_language(model: str, word: str) -> None:
    (description,) = describe_models(load_models([model]), {})
    assert word in description.examples
    assert len(description.examples) == 5


def test_a_lexicon_is_read_for_every_model(tmp_path: Path) -> None:
    file = tmp_path / "known.tsv"
    file.write_text("ab\tyx\nab\txy\ncd\tz\n")
    models = {"hard": MODELS["hard"], "soft": MODELS["soft"]}
    lexicons = load_lexicons([str(file)], models)
    assert [model.known for model in describe_models(models, lexicons)] == [2, 2]
    assert load_lexicons([], models) == {}
    with pytest.raises(HardalignError, match=r"does not fit the model tagged: .* tags"):
        load_lexicons([str(file)], MODELS)
