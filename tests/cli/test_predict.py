from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hardalign
from hardalign.data.formats import FORMATS, Example
from helpers import Command, assert_complains, write_model


def test_one_line_per_line_in_order(command: Command, model: Path) -> None:
    words = ["abc", "c", "cab" * 30, "ab", "b"] * 7
    result = command("predict", model, stdin="\n".join(words).encode())
    assert result.code == 0
    assert [line.split("\t")[0] for line in result.out.splitlines()] == words
    alone = command("predict", model, "-", stdin=b"cab\n")
    assert alone.out in command("predict", model, stdin=b"abcabc\ncab\n").out


def test_blank_lines_keep_their_place(command: Command, model: Path) -> None:
    result = command("predict", model, "--scores", stdin=b"ab\n\nc\n")
    lines = [line.split("\t") for line in result.out.splitlines()]
    assert [line[0] for line in lines] == ["ab", "", "c"]
    assert lines[1][1] == ""
    assert "1 blank line" in result.err
    assert "line 2" in result.err


def test_unknown_symbols_are_reported_once(command: Command, model: Path) -> None:
    result = command("predict", model, stdin="aé\nééz\n".encode())
    assert result.code == 0
    assert result.err.count("never seen") == 1
    assert "'é' × 3" in result.err
    assert "'z' × 1" in result.err


def test_cut_off_predictions_are_reported(command: Command, model: Path) -> None:
    from hardalign.model_folder import WEIGHTS, read_tensors, write_tensors

    tensors, notes = read_tensors(model / WEIGHTS)
    tensors["head.attention.output.bias"][3] = -1e4  # the end: never
    write_tensors(model / WEIGHTS, tensors, notes)
    result = command("predict", model, stdin=b"abc\n")
    assert result.code == 0
    assert len(result.out.rstrip("\n").split("\t")[1]) == 4 * (3 + 2)
    assert "1 prediction" in result.err
    assert "cut off at 4 times" in result.err


def test_output_appears_whole_or_not_at_all(command: Command, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    good = command("predict", model, "--output", out, stdin=b"ab\nc\n")
    assert (good.code, good.out) == (0, "")
    assert out.read_text().count("\n") == 2
    bad = command("predict", model, "--output", out, stdin=b"ab\na\tb\tc\n")
    assert_complains(bad, "standard input", "line 2")
    assert out.read_text().count("\n") == 2
    assert [path.name for path in tmp_path.glob(".*")] == []
    assert_complains(command("predict", model, "--output", "/proc/no", stdin=b"ab\n"), "/proc/no")


@pytest.mark.parametrize("text", ["नमस्ते", "한글", "مرحبا", "e\u0301", "👩‍👩‍👧", '"<s>"', "[PAD]"])
def test_every_script_survives(text: str, command: Command, model: Path) -> None:
    result = command("predict", model, stdin=text.encode())
    assert result.code == 0
    assert result.out.split("\t")[0] == text


@pytest.mark.parametrize("stdin", [b"", b"\n\n", b"a\xff\n", b"a\tb\tc\n"])
def test_bad_input(stdin: bytes, command: Command, model: Path) -> None:
    assert_complains(command("predict", model, stdin=stdin), "standard input")


def test_letters_that_the_model_does_not_have(command: Command, model: Path) -> None:
    result = command("predict", model, stdin="bác\nab \nж".encode())
    assert "were read as others: á as a × 1\n" in result.err
    assert "1 source symbol was never seen in training" in result.err
    assert "blanks" not in result.err
    assert result.out.splitlines()[1].startswith("ab \t")


def test_broken_pipe_is_quiet(
    command: Command, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed(io.TextIOWrapper):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with Path("/dev/null").open("wb") as sink:
        monkeypatch.setattr(sys, "stdout", Closed(sink))
        result = command("predict", model, stdin=b"ab\n")
        assert result.code == 141
    assert result.err == ""


def rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


WORDS = b"abc\n\ncab\nb\n"


def test_a_beam_of_1_prints_what_greedy_search_does(command: Command, model: Path) -> None:
    greedy = command("predict", model, "--scores", stdin=WORDS)
    assert command("predict", model, "--scores", "--beam", 1, stdin=WORDS).out == greedy.out
    assert command("predict", model, "--beam", 4, stdin=WORDS).code == 0


def test_nbest_lists(command: Command, model: Path) -> None:
    result = command("predict", model, "--nbest", 3, "--beam", 9, "--scores", stdin=WORDS)
    assert result.code == 0
    found = rows(result.out)
    assert [row[0] for row in found] == ["abc"] * 3 + [""] + ["cab"] * 3 + ["b"] * 3
    for word in ("abc", "cab", "b"):
        own = [row for row in found if row[0] == word]
        scores = [float(row[2]) for row in own]
        assert scores == sorted(scores, reverse=True)
        assert len({row[1] for row in own}) == 3
    assert "fewer" not in result.err


def test_scores_are_those_of_hardalign_score(command: Command, model: Path, tmp_path: Path) -> None:
    predicted = command("predict", model, "--nbest", 3, "--scores", stdin=b"abc\ncab\n").out
    pairs = "".join(f"{source}\t{target}\n" for source, target, _ in rows(predicted))
    scored = command("score", model, "--allow-empty", stdin=pairs.encode())
    assert scored.code == 0, scored.err
    for one, other in zip(rows(predicted), rows(scored.out), strict=True):
        assert one[:2] == other[:2]
        assert float(one[2]) == pytest.approx(float(other[2]), abs=2e-6)


def test_fewer_strings_than_asked_for_are_reported(command: Command, model: Path) -> None:
    never_end(model, -30.0)
    result = command("predict", model, "--nbest", 5, stdin=WORDS)
    assert result.code == 0
    assert "3 items have fewer than 5 predictions" in result.err
    assert "(first: item 1)" in result.err


def never_end(folder: Path, bias: float) -> None:
    from hardalign.model_folder import WEIGHTS, read_tensors, write_tensors

    tensors, notes = read_tensors(folder / WEIGHTS)
    tensors["head.attention.output.bias"][3] = bias
    write_tensors(folder / WEIGHTS, tensors, notes)


def test_samples_can_be_drawn_again(command: Command, model: Path) -> None:
    first = command("predict", model, "--sample", 4, "--seed", 1, stdin=WORDS)
    assert [row[0] for row in rows(first.out)] == ["abc"] * 4 + [""] + ["cab"] * 4 + ["b"] * 4
    assert command("predict", model, "--sample", 4, "--seed", 1, stdin=WORDS).out == first.out
    assert command("predict", model, "--sample", 4, stdin=WORDS).out != first.out
    with_mates = command("predict", model, "--sample", 4, "--seed", 1, stdin=WORDS + b"cabcab\n")
    assert with_mates.out.startswith(first.out)


def test_mass_is_covered_and_printed(command: Command, model: Path) -> None:
    never_end(model, 3.0)
    result = command("predict", model, "--mass", 0.9, "--scores", stdin=b"abc\ncab\n")
    assert result.code == 0
    for word in ("abc", "cab"):
        own = [row for row in rows(result.out) if row[0] == word]
        covered = 0.0
        for row in own:
            assert covered < 0.9
            covered += math.exp(float(row[2]))
            assert float(row[3]) == pytest.approx(covered, abs=1e-5)
        assert covered >= 0.9
    assert "not covered" not in result.err


def test_known_words_cover_what_the_model_gives_them(
    command: Command, model: Path, tmp_path: Path
) -> None:
    known = tmp_path / "known.tsv"
    known.write_text("ab\tA\nab\tB\n")
    result = command("predict", model, "--mass", 0.9, "--lexicon", known, stdin=b"ab\n")
    rows = [line.split("\t") for line in result.out.splitlines()]
    assert {row[1] for row in rows[:2]} == {"A", "B"}  # then what the model finds
    covered = [float(row[2]) for row in rows]
    assert 0 < covered[0] < covered[1] < covered[-1] < 1
    assert covered[-2] < 0.9 <= covered[-1]


def test_known_words_have_as_many_lines_as_others(
    command: Command, model: Path, tmp_path: Path
) -> None:
    known = tmp_path / "known.tsv"
    known.write_text("ab\tA\nab\tB\n")
    for options, lines in (((), 1), (("--nbest", 2), 2), (("--nbest", 4), 4)):
        result = command("predict", model, *options, "--lexicon", known, stdin=b"ab\nba\n")
        assert len(result.out.splitlines()) == 2 * lines
    wrong = command("predict", model, "--no-lexicon", "--lexicon", known, stdin=b"ab\n")
    assert_complains(wrong, "--lexicon", "--no-lexicon")


def test_the_bundled_dictionary(command: Command) -> None:
    known = json.loads(command("predict", "en-g2p", "--jsonl", stdin=b"have\n").out)
    assert (known["origin"], known["predictions"][0]["text"]) == ("lexicon", "HH AE1 V")
    alone = command("predict", "en-g2p", "--jsonl", "--no-lexicon", stdin=b"have\n").out
    assert json.loads(alone)["origin"] == "model"


def test_mass_that_cannot_be_covered_is_reported(command: Command, model: Path) -> None:
    never_end(model, -3.0)
    result = command("predict", model, "--mass", 0.9, stdin=b"c\n")
    assert result.code == 0
    assert "1 item was not covered to 0.9 by a beam of 256" in result.err


def test_json_lines(command: Command, model: Path) -> None:
    result = command("predict", model, "--jsonl", "--nbest", 2, "--beam", 9, stdin=WORDS)
    assert result.code == 0
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert [line["source"] for line in lines] == ["abc", "", "cab", "b"]
    assert [len(line["predictions"]) for line in lines] == [2, 0, 2, 2]
    for line in lines:
        for entry in line["predictions"]:
            assert list(entry) == ["text", "symbols", "log_prob", "finished"]
            assert "".join(entry["symbols"]) == entry["text"]
            assert entry["log_prob"] < 0
            assert entry["finished"]
    result = command("predict", model, "--jsonl", "--mass", 0.01, stdin=b"abc\n")
    assert json.loads(result.out)["mass"] >= 0.01


@pytest.mark.parametrize("system", ["hard-feed", "monotonic"])
def test_scores_that_are_not_exact_are_labelled(
    system: str, command: Command, tmp_path: Path
) -> None:
    folder = write_model(tmp_path / system, system, end=2.0)
    assert "not exact" in command("predict", folder, "--scores", stdin=WORDS).err
    assert "not exact" in command("predict", folder, "--jsonl", stdin=WORDS).err
    assert "not exact" not in command("predict", folder, stdin=WORDS).err
    assert "not exact" in command("score", folder, stdin=b"abc\tABC\n").err
    assert_complains(command("predict", folder, "--mass", 0.5, stdin=WORDS), "not exact", system)
    assert command("predict", folder, "--nbest", 3, stdin=WORDS).code == 0
    assert command("predict", folder, "--sample", 3, stdin=WORDS).code == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--beam", 0),
        ("--nbest", 0),
        ("--beam", 2, "--nbest", 3),
        ("--mass", 1.5),
        ("--mass", 0.5, "--nbest", 2),
        ("--sample", 2, "--beam", 2),
        ("--sample", 2, "--seed", -1),
        ("--seed", 4),
    ],
)
def test_contradictory_wishes(options: tuple[object, ...], command: Command, model: Path) -> None:
    assert_complains(command("predict", model, *options, stdin=WORDS))


@pytest.mark.parametrize("option", ["scores", "alignments", "jsonl", "nbest", "mass", "sample"])
def test_a_text_has_words_alone(option: str, command: Command, model: Path) -> None:
    value = {"nbest": [2], "mass": [0.5], "sample": [1]}.get(option, [])
    result = command("predict", model, "--text", f"--{option}", *value, stdin=WORDS)
    assert_complains(result, f"--{option} does not go with --text")


def test_a_text_without_words_is_refused(command: Command, model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    result = command("predict", model, "--text", "--output", output, stdin=b"1999\n")
    assert_complains(result, "there is no word in the text that the model can read", "'1999'")
    assert not output.exists()


def test_a_word_is_no_file(command: Command, model: Path) -> None:
    advice = f"echo action | hardalign predict {model} -"
    assert_complains(command("predict", model, "action"), "action: no such file", advice)
    missing = command("predict", model, "action.txt")
    assert_complains(missing, "action.txt: no such file; check the name")


def test_alignments_of_predictions(command: Command, model: Path, tmp_path: Path) -> None:
    result = command("predict", model, "--alignments", stdin=b"ab\n\ncab\n")
    assert result.code == 0, result.err
    first, blank, second = (line.split("\t") for line in result.out.split("\n")[:-1])
    assert blank == ["", "", ""]
    for source, target, pairs in (first, second):
        given = tmp_path / "pair.tsv"
        given.write_text(f"{source}\t{target}\n")
        assert command("align", model, given, "--allow-empty").out == f"{pairs}\n"
    found = json.loads(command("predict", model, "--alignments", "--jsonl", stdin=b"ab").out)
    assert found["predictions"][0]["alignment"]["kind"] == "posterior"


def test_threads_change_nothing(command: Command, model: Path) -> None:
    words = "\n".join("abc"[: 1 + k % 3] * (1 + k % 7) for k in range(60)).encode()
    for options in ((), ("--nbest", 3), ("--sample", 2), ("--alignments", "--scores")):
        one = command("predict", model, *options, "--threads", 1, stdin=words)
        two = command("predict", model, *options, "--threads", 2, stdin=words)
        assert (one.code, one.out) == (two.code, two.out)
        assert len(one.out) > 100


def test_standard_output_by_its_name(
    command: Command, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command("predict", model, "--output", "-", stdin=b"ab\nc\n")
    assert result == command("predict", model, stdin=b"ab\nc\n")
    assert not Path("-").exists()


def test_an_output_that_is_no_file_is_written_to_as_it_is(
    command: Command, model: Path, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert command("predict", model, "--output", pipe, stdin=b"ab\nc\n").code == 0
        written, _ = reader.communicate(timeout=30)
    assert written.decode() == command("predict", model, stdin=b"ab\nc\n").out
    assert pipe.is_fifo()
    assert command("predict", model, "--output", "/dev/null", stdin=b"ab\n").code == 0


@pytest.mark.parametrize("options", [(), ("--jsonl",), ("--nbest", "2")])
def test_a_line_from_a_pipe_is_answered_before_the_next_is_read(
    options: tuple[str, ...], model: Path
) -> None:
    command = [sys.executable, "-m", "hardalign", "predict", model, *options]
    lines = 2 if "--nbest" in options else 1
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for word in ("ab", "c", "cab"):
            process.stdin.write(f"{word}\n")
            answers = [process.stdout.readline() for _ in range(lines)]  # would wait for ever
            assert all(word in answer for answer in answers)
        process.stdin.write("ba")  # the end of the file ends the line, too
        process.stdin.close()
        assert process.stdout.read().count("ba") >= lines
    assert process.returncode == 0


def test_a_pipe_is_answered_as_a_file_is(model: Path, tmp_path: Path) -> None:
    """Also in few batches where much has come, with samples by the places of words."""
    words = tmp_path / "words"
    words.write_text("".join(f"{'abc'[: 1 + k % 3]}\n" for k in range(400)))
    command = f"{sys.executable} -m hardalign predict {model} --sample 1"
    from_file = subprocess.check_output(f"{command} {words}", shell=True)
    assert from_file.count(b"\n") == 400
    for line in (f"cat {words} | {command}", f"gzip -c {words} | {command}"):
        assert subprocess.check_output(line, shell=True) == from_file


def test_tags_are_printed_with_their_words(command: Command, tmp_path: Path) -> None:
    examples = [Example(("a", "b"), (("A",),), ("N", "V"))]
    model = write_model(tmp_path / "model", examples=examples, layout=FORMATS["sigmorphon"])
    first, second = rows(command("predict", model, stdin=b"ab\tN;V\nba\tV\n").out)
    assert (first[0], first[2], second[0], second[2]) == ("ab", "N;V", "ba", "V")
    again = "".join(f"{a}\t{b}\t{c}\n" for a, b, c in (first, second)).encode()
    assert rows(command("predict", model, "--format", "sigmorphon", stdin=again).out) == [
        first,
        second,
    ]
    found = json.loads(command("predict", model, "--jsonl", stdin=b"ab\tN;V\n").out)
    assert (found["source"], found["tags"]) == ("ab", ["N", "V"])
    (scored,) = rows(command("predict", model, "--scores", stdin=b"ab\tN;V\n").out)
    assert [*scored[:2], scored[3]] == first
    assert float(scored[2]) < 0


def test_tags_and_languages_of_all_words(command: Command, tmp_path: Path) -> None:
    examples = [Example(("a", "b"), (("A",),), (tag,)) for tag in ("deu", "fra")]
    model = write_model(tmp_path / "model", examples=examples, layout=FORMATS["sigmorphon"])
    (model / "languages.json").write_text('{"deu": ["de", "German"], "fra": ["fr", "French"]}')
    (model / "lexicon-fra.tsv").write_text("ba\tA A\n")
    alone = ("predict", model, "--scores", "--no-lexicon")
    asked = rows(command(*alone, stdin=b"ab\tdeu\nba\tfra\n").out)
    known = rows(command("predict", model, stdin=b"ba\tdeu\nba\tfra\n").out)
    assert known[1] == ["ba", "A A", "fra"] != known[0]
    for name in ("--tags=deu", "--language=deu", "--language=de", "--language=german"):
        (found,) = rows(command("predict", model, name, "--scores", stdin=b"ab\n").out)
        assert found == asked[0][:3]
    predictor = hardalign.load(model, language="fr", lexicon=None)
    assert f"{predictor('ba').log_prob:.6f}" == asked[1][2]
    pair = "ba", asked[1][1]
    assert predictor.log_prob(*pair) == hardalign.load(model).log_prob("ba\tfra", pair[1])
    assert hardalign.load(model, language="fr")("ba").text == "A A"  # which its dictionary has
    text = command("predict", model, "--language=fr", "--text", stdin=b"ba, ba!\n").out
    assert text == "A A, A A!\n"
    wrong = command("predict", model, "--language=es", stdin=b"ab\n")
    assert_complains(wrong, "does not know the language 'es'; it knows German, French")
    assert_complains(command("predict", model, "--tags=spa", stdin=b"a\n"), "has no tag 'spa'")
    assert "2: German (deu, de), French (fra, fr)" in command("info", model).out


def test_tags_of_all_words_are_printed(command: Command, tmp_path: Path) -> None:
    examples = [Example(("a", "b"), (("A",),), ("V", "PST"))]
    model = write_model(tmp_path / "model", examples=examples, layout=FORMATS["sigmorphon"])
    line = rows(command("predict", model, stdin=b"ab\tV;PST\n").out)
    for more in ((), ("--format", "sigmorphon")):
        found = command("predict", model, "--tags", "V;PST", *more, stdin=b"ab\n")
        assert rows(found.out) == line
        assert line[0][2] == "V;PST"
    found = command("predict", model, "--tags", "V;PST", "--jsonl", stdin=b"ab\n")
    assert json.loads(found.out)["tags"] == ["V", "PST"]


def test_a_standard_input_that_nobody_else_holds(model: Path) -> None:
    """It is read to its end, although it is replaced by a reader of its lines as they come."""
    code = (
        "import os, sys; sys.stdin = open(os.dup(0)); sys.argv = ['hardalign', *sys.argv[1:]]; "
        "from hardalign.cli.main import main; main()"
    )
    command = [sys.executable, "-c", code, "predict", str(model)]
    found = subprocess.run(command, input="ab\nc\n", capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")
    assert [row[0] for row in rows(found.stdout)] == ["ab", "c"]
