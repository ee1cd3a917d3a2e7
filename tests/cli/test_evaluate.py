from __future__ import annotations

import json
import math
import os
import subprocess
import unicodedata
from pathlib import Path

import pytest

from hardalign.files import sha256
from hardalign.metrics import evaluate
from helpers import PAIRS, Command, assert_complains


def test_prints_metrics_and_signature(command: Command, model: Path, pairs: Path) -> None:
    result = command("evaluate", model, pairs)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].split() == ["n", "6"]
    for part in (str(pairs), sha256(PAIRS.encode())[:12], "6 examples", "hard", "hardalign 0."):
        assert part in lines[-1]


def test_the_signature_says_how_the_file_was_read(
    command: Command, model: Path, pairs: Path
) -> None:
    assert "| NFC |" in command("evaluate", model, pairs).out
    options = "--normalization", "NFKD", "--source-case", "lower"
    assert "| NFKD, sources in lower case |" in command("evaluate", model, pairs, *options).out


def test_json_agrees_with_the_table(command: Command, model: Path, pairs: Path) -> None:
    figures = json.loads(command("evaluate", model, pairs, "--json").out)
    fields = {"n", "acc", "wer", "per", "per_corpus", "mfs", "mld", "ece"}
    assert set(figures) == fields | {"intervals", "signature"}
    for name, (low, high) in figures["intervals"].items():
        assert low <= figures[name] <= high
    assert figures["acc"] + figures["wer"] == 100
    table = command("evaluate", model, pairs).out
    assert f"{figures['mld']:.4f}" in table


def test_several_references_are_one_item(command: Command, model: Path, tmp_path: Path) -> None:
    predicted = command("predict", model, stdin=b"ab\n").out.rstrip("\n").split("\t")[1]
    several = tmp_path / "several.tsv"
    several.write_text(f"ab\t{predicted}\nab\tCCC\n")
    figures = json.loads(command("evaluate", model, several, "--json", "--allow-empty").out)
    assert (figures["n"], figures["acc"]) == (1, 100)


def test_needs_targets(command: Command, model: Path, tmp_path: Path) -> None:
    assert_complains(command("evaluate", model), "give a file", f"hardalign evaluate {model} FILE")
    sources = tmp_path / "sources.txt"
    sources.write_text("ab\n")
    assert_complains(command("evaluate", model, sources), sources, "line 1", "found 1")


def test_standard_input_is_no_file_of_that_name(
    command: Command, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("c\tC\n")
    result = command("evaluate", model, "-", stdin=b"ab\tA\nba\tB\n")
    assert result.out.splitlines()[-1].startswith("standard input | 2 examples")


def test_a_pipe_is_read_once(command: Command, model: Path, pairs: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["dd", f"if={pairs}", f"of={pipe}", "status=none"]):
        piped = json.loads(command("evaluate", model, pipe, "--json").out)
    read = json.loads(command("evaluate", model, pairs, "--json", "--threads", 2).out)
    assert "sha256" not in piped.pop("signature")
    assert "sha256" in read.pop("signature")
    assert piped == read


def test_letters_below_the_syllable(command: Command, tmp_path: Path) -> None:
    """Jamo in, syllables out, and figures that count syllables, however the file is spelt."""
    words, out = ["한국", "국한", "각한국"], tmp_path / "m"
    composed, parted = tmp_path / "nfc.tsv", tmp_path / "nfd.tsv"
    composed.write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    parted.write_text(unicodedata.normalize("NFD", composed.read_text()))
    options = ["--set", "normalization=NFD", "--set", "copying=true", "--epochs", 3, "--out", out]
    assert command("train", composed, "--dev", composed, *options).code == 0
    rows = [line.split("\t") for line in command("predict", out, composed).out.splitlines()]
    assert [source for source, _ in rows] == words
    assert all(unicodedata.is_normalized("NFC", text) for _, text in rows)
    figures = json.loads(command("evaluate", out, composed, "--json").out)
    expected = evaluate([text for _, text in rows], [[word[::-1]] for word in words])
    assert figures["mld"] == expected.mld > 0
    assert figures["per"] == expected.per
    assert json.loads(command("evaluate", out, parted, "--json").out)["per"] == expected.per
    scores = [command("score", out, file).out.split() for file in (composed, parted)]
    assert scores[0][2::3] == scores[1][2::3]
    assert scores[0][1] == "국한"
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [row["dev_mld"] for row in rows if row["best"]][-1] == expected.mld


def test_all_items_in_a_file(command: Command, model: Path, tmp_path: Path) -> None:
    pairs, items = tmp_path / "pairs.tsv", tmp_path / "items.tsv"
    pairs.write_text("ab\tAB\nab\tBA\nc\tC\n")
    result = command("evaluate", model, pairs, "--items", items, "--json")
    assert result.code == 0, result.err
    names, first, second = (line.split("\t") for line in items.read_text().splitlines())
    assert names == ["source", "tags", "references", "prediction", "probability", "correct"]
    predicted = command("predict", model, "--scores", stdin=b"ab\nc\n").out.splitlines()
    for row, line in zip((first, second), predicted, strict=True):
        source, text, score = line.split("\t")
        assert [row[0], row[3]] == [source, text]
        assert float(row[4]) == pytest.approx(math.exp(float(score)), abs=1e-5)
    assert first[2] == "AB / BA"
    right = sum(int(row[5]) for row in (first, second))
    assert json.loads(result.out)["acc"] == 50 * right


def test_folds(command: Command, model: Path, pairs: Path, tmp_path: Path) -> None:
    """Every source is answered once, by a model that was trained without it."""
    items = tmp_path / "items.tsv"
    result = command("evaluate", model, pairs, "--folds", 3, "--items", items, "--json")
    assert result.code == 0, result.err
    assert "hardalign: fold 3 of 3: " in result.err
    figures = json.loads(result.out)
    assert (figures["n"], "| 3 folds |" in figures["signature"]) == (6, True)
    sources = [line.split("\t")[0] for line in items.read_text().splitlines()[1:]]
    assert sources == [line.split("\t")[0] for line in PAIRS.splitlines()]
    assert_complains(command("evaluate", model, pairs, "--folds", 7), "--folds must be from 2 to 6")


def test_nothing_in_the_data_is_obeyed_by_a_terminal(
    command: Command, model: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "\x1b[31m.tsv"
    pairs.write_text("a\x1b[2Jb\tA\x1b\n")
    for line in (("evaluate", model, pairs), ("analyze", model, pairs, "--threshold", 0)):
        result = command(*line)
        assert result.code == 0, result.err
        assert "\x1b" not in result.out + result.err
        assert r"\x1b[31m" in result.out
