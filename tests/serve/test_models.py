from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import UNSET

import hardalign
from hardalign.cli import model as module
from hardalign.cli.model import load_models
from hardalign.data.lexicon import Lexicon, read_lexicon
from hardalign.errors import HardalignError
from hardalign.predictor import Predictor
from hardalign.search import Search
from hardalign.serve import messages
from hardalign.serve.questions import answer_words, describe
from hardalign.systems import SCORES
from helpers import TINY
from serve.helpers import MODELS, knowing, tiny_predictor


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is loaded, without any folders."""
    loaded: list[str] = []

    def load(model: str, **options: object) -> Predictor:
        loaded.append(model)
        return tiny_predictor()

    monkeypatch.setattr(module, "load", load)
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
    assert str(tmp_path) not in str([describe(*model) for model in models.items()])


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
    hard, soft, tagged = (describe(*model) for model in MODELS.items())
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
    description = describe(model, load_models([model])[model])
    assert word in description.examples
    assert len(description.examples) == 5


def test_a_language_of_several_needs_no_tags_and_shows_no_other_language() -> None:
    description = describe("g2p", load_models(["g2p"], language="de")["g2p"])
    assert (description.tags, description.examples) == ([], [])


def test_a_lexicon_is_read_for_every_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "known.tsv"
    file.write_text("ab\tyx\nab\txy\ncd\tz\n")

    def load(model: str, language: None, lexicon: list[str] | None) -> Predictor:
        layout, alphabet = MODELS[model].description.format, TINY.target
        return knowing(MODELS[model], read_lexicon(lexicon or [], layout, alphabet))

    monkeypatch.setattr(module, "load", load)
    models = load_models(["hard", "soft"], [str(file)])
    assert [describe(*model).known for model in models.items()] == [2, 2]
    with pytest.raises(HardalignError, match=r"does not fit the model tagged: .* tags"):
        load_models(MODELS, [str(file)])


@pytest.mark.parametrize("alignments", [False, True])
def test_answers_are_what_the_predictor_says(alignments: bool) -> None:
    predictor = MODELS["hard"]
    texts = ["ab", "dcba"]
    words = [predictor.example(text) for text in texts]
    answers = answer_words(MODELS["hard"], words, Search(nbest=3), alignments)
    for text, answer in zip(texts, answers, strict=True):
        assert answer.source == text
        expected = predictor(text, nbest=3)
        assert [entry.text for entry in answer.predictions] == [one.text for one in expected]
        assert [entry.log_prob for entry in answer.predictions] == pytest.approx(
            [one.log_prob for one in expected], abs=1e-5
        )
        for entry in answer.predictions:
            if not alignments:
                assert entry.alignment is UNSET
                continue
            assert isinstance(entry.alignment, messages.Alignment)
            assert entry.alignment.target == entry.symbols
            assert entry.alignment.pairs == predictor.align(text, entry.text).pairs


def test_unknown_symbols_are_named_once() -> None:
    predictor = MODELS["tagged"]
    (answer,) = answer_words(MODELS["tagged"], [predictor.example("qaqz\tN;X")], Search(), False)
    assert answer.unknown == ["X", "q", "z"]
    assert answer.tags == ("N", "X")


def test_a_known_word_is_not_asked_of_the_model() -> None:
    predictor = MODELS["hard"]
    lexicon = Lexicon(predictor.description.format)
    for text in ("yyx", "x"):
        lexicon.add(("a", "b"), tuple(text))
    words = [predictor.example(text) for text in ("ab", "ba")]
    known, new = answer_words(knowing(predictor, lexicon), words, Search(nbest=2), True)
    assert (known.origin, new.origin) == ("lexicon", "model")
    assert [one.text for one in known.predictions] == ["x", "yyx"]  # the more probable one first
    assert known.predictions[1].log_prob == pytest.approx(predictor.log_prob("ab", "yyx"), abs=1e-5)
    assert isinstance(known.predictions[0].alignment, messages.Alignment)
    assert [one.text for one in new.predictions] == [one.text for one in predictor("ba", nbest=2)]


def test_arpabet_is_written_as_ipa_too() -> None:
    g2p = hardalign.load("en-g2p")
    words = [g2p.example("of"), g2p.example("action")]
    answers = answer_words(g2p, words, Search(), False)
    assert [answer.predictions[0].ipa for answer in answers] == ["ʌv", "ˈækʃən"]
    (other,) = answer_words(MODELS["hard"], [MODELS["hard"].example("ab")], Search(), False)
    assert other.predictions[0].ipa is UNSET
    assert describe("en-g2p", g2p).ipa
    assert not describe("hard", MODELS["hard"]).ipa
