from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardalign.alignment import (
    Alignment,
    AnalyzedPrediction,
    Breakdown,
    Links,
    read_symbols,
    write_pharaoh,
    write_symbols,
)
from hardalign.errors import HardalignError


def alignment(columns: list[int], source: int, tags: int = 0) -> Alignment:
    """Every target symbol, and the end, from one column of begin, tags, source, end."""
    weights = np.eye(source + tags + 2)[[*columns, source + tags + 1]]
    letters = tuple("abcdefgh"[:source])
    return Alignment(letters, tuple("x" * len(columns)), ("T",) * tags, weights, "posterior")


def test_pairs_count_from_the_users_first_symbol() -> None:
    found = alignment([1, 3, 0, 5], source=4)
    assert found.pairs == [(0, 0), (2, 1)]
    assert found.best == [1, 3, 0, 5]
    assert alignment([1, 2, 3], source=3, tags=2).pairs == [(0, 2)]


def test_letters_from_which_nothing_came() -> None:
    assert alignment([1, 5], source=8).unaligned() == ["bcd", "fgh"]
    assert alignment([1, 4], source=4).unaligned() == []
    assert alignment([1, 4], source=4).unaligned(2) == ["bc"]
    assert alignment([0, 1], source=3, tags=1).unaligned() == ["abc"]


def test_posterior_is_over_the_users_symbols() -> None:
    found = alignment([1, 2, 3], source=3, tags=1)
    assert found.posterior.shape == (3, 3)
    assert found.posterior.sum(1).tolist() == [0, 1, 1]


def test_entropy() -> None:
    weights = np.array([[0, 0.5, 0.5, 0], [0, 0.25, 0.75, 0], [0, 0, 0, 1.0]])
    found = Alignment(("a", "b"), ("x", "y"), (), weights, "posterior")
    assert found.entropy[0] == pytest.approx(math.log(2))
    expected = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert found.entropy[1] == pytest.approx(expected)
    assert alignment([1], source=2).entropy.tolist() == [0]


@given(st.lists(st.integers(1, 4), max_size=6))
def test_monotonic_means_that_no_two_edges_cross(columns: list[int]) -> None:
    crossing = any(a > b for k, a in enumerate(columns) for b in columns[k:])
    assert alignment(columns, source=4).is_monotonic() == (not crossing)


def test_edges_to_the_frame_do_not_count() -> None:
    assert alignment([2, 0, 3, 5, 4], source=4).is_monotonic()
    assert alignment([2, 1, 3], source=3, tags=1).is_monotonic()


def test_an_edge_needs_its_threshold() -> None:
    weights = np.array([[0, 0.08, 0.92, 0], [0, 0.92, 0.08, 0], [0, 0, 0, 1.0]])
    assert not Alignment(("a", "b"), ("x", "y"), (), weights, "posterior").is_monotonic()
    weights = np.array([[0, 0.95, 0.05, 0], [0, 0.05, 0.95, 0], [0, 0, 0, 1.0]])
    found = Alignment(("a", "b"), ("x", "y"), (), weights, "posterior")
    assert found.is_monotonic()
    assert not found.is_monotonic(threshold=0.01)


def test_edges() -> None:
    weights = np.array([[0, 0.5, 0.5, 0], [0.2, 0.1, 0.7, 0], [0, 0, 0, 1.0]])
    found = Alignment(("a", "b"), ("x", "y"), (), weights, "attention")
    assert found.edges() == [(0, 0), (1, 0), (1, 1)]
    assert found.edges(0.05) == [(0, 0), (1, 0), (0, 1), (1, 1)]


def random_alignment(seed: int, source: int = 3, target: int = 3, tags: int = 1) -> Alignment:
    weights = np.random.default_rng(seed).dirichlet([0.5] * (source + tags + 2), target + 1)
    return Alignment(
        tuple("abcdefgh"[:source]),
        tuple("uvwxyz"[:target]),
        ("T",) * tags,
        weights,
        "posterior",
        "hard",
    )


def test_a_path_is_the_best_alignment() -> None:
    aligned = replace(random_alignment(0), path=[4, 2, 1, 5])
    assert aligned.best == [4, 2, 1]
    assert aligned.pairs == [(2, 0), (0, 1)]  # 1 is the tag's column


@given(st.integers(0, 50), st.integers(0, 5))
def test_the_best_alignment_is_the_most_probable_of_all(seed: int, target: int) -> None:
    found = random_alignment(seed, source=2, target=min(target, 3))
    rows = range(len(found.target))
    every = product(range(found.weights.shape[1]), repeat=len(found.target))
    best = max(every, key=lambda columns: math.prod(found.weights[i, columns[i]] for i in rows))
    assert found.best == list(best)


def test_texts() -> None:
    found = alignment([1, 2, 2, 0, 5], source=3, tags=1)
    assert found.pharaoh() == "0-1 0-2"
    assert found.symbol_text() == "⊢:x@3 +T:x@0 a:x|x b: c: ⊣:x@4"
    assert read_symbols(found.symbol_text()).columns == found.best


def test_as_json() -> None:
    found = random_alignment(4)
    content = json.loads(json.dumps(found.to_dict()))
    assert (content["kind"], content["system"]) == ("posterior", "hard")
    assert np.allclose(content["weights"], found.posterior, atol=1e-6)
    rows = zip(*(content[name] for name in ("begin", "tag_weights", "weights", "end")), strict=True)
    whole = [[begin, *tags, *row, end] for begin, tags, row, end in rows]
    stop = content["stop"]
    whole.append([stop["begin"], *stop["tags"], *stop["source"], stop["end"]])
    assert np.allclose(whole, found.weights, atol=1e-6)
    assert np.allclose(content["entropy"], found.entropy, atol=1e-6)
    assert [tuple(pair) for pair in content["pairs"]] == found.pairs


def test_nothing_to_align() -> None:
    found = random_alignment(0, target=0)
    assert (found.pairs, found.pharaoh(), found.symbol_text()) == ([], "", "+T: a: b: c:")
    assert found.entropy.shape == (0,)
    assert found.is_monotonic()
    assert found.to_dict()["weights"] == []


def test_shows_itself() -> None:
    assert repr(alignment([2, 1], source=2)) == "<Alignment a:x@1 b:x@0 (posterior)>"
    lines = str(alignment([2, 1], source=2)).splitlines()
    assert lines == ["  ⊢  a  b  ⊣", "x       ██", "x    ██", "⊣          ██"]


def test_shows_itself_in_a_notebook() -> None:
    found = replace(random_alignment(0), source=("<s>", "b", "c"))
    assert "hard: posterior" in found._repr_html_()
    assert "&lt;s&gt;" in found._repr_html_()
    assert "<s>" not in found._repr_html_()


def test_draws_files(tmp_path: Path) -> None:
    found = random_alignment(0)
    found.plot(tmp_path / "a.svg")
    found.plot(str(tmp_path / "b.png"), beside=random_alignment(1, source=5))
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    with pytest.warns(UserWarning, match="missing from font"):
        replace(found, target=("\U00080000", "v", "w")).plot(tmp_path / "c.png")


def item(correct: bool, monotonic: bool) -> AnalyzedPrediction:
    return AnalyzedPrediction("ab", "AB", ["AB"], correct, monotonic, [(1, 0), (0, 1)])


ITEMS = [item(True, True)] * 5 + [item(False, True)] * 3 + [item(True, False)] * 2
ITEMS += [item(False, False)]


def test_table() -> None:
    breakdown = Breakdown.of(iter(ITEMS))
    assert [line.split() for line in breakdown.table().splitlines()] == [
        ["correct", "incorrect"],
        ["monotonic", "5", "3"],
        ["non-monotonic", "2", "1"],
    ]
    assert breakdown.crossing == ITEMS[8:]


def test_a_breakdown_as_json() -> None:
    content = json.loads(json.dumps(Breakdown.of(ITEMS, 0.2).to_dict()))
    assert content["n"] == 11
    assert content["correct"] == {"monotonic": 5, "non_monotonic": 2}
    assert content["incorrect"] == {"monotonic": 3, "non_monotonic": 1}
    assert content["threshold"] == 0.2
    assert content["non_monotonic_items"][0]["edges"] == [[1, 0], [0, 1]]


def test_nothing_to_break_down() -> None:
    assert Breakdown.of([]).to_dict()["n"] == 0


def links(source: str, target: str, columns: list[int | None], tags: str = "") -> Links:
    return Links(tuple(source.split()), tuple(tags.split()), tuple(target.split()), columns)


def test_pharaoh() -> None:
    assert write_pharaoh([(0, 0), (2, 1), (1, 2)]) == "0-0 2-1 1-2"
    assert write_pharaoh([]) == ""


def test_links_count_from_the_users_first_symbol() -> None:
    found = links("a b", "w x y z u", [0, 2, 3, None, 4], tags="T")
    assert found.pairs == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("links", "text"),
    [
        (links("a c t i o n", "AE K SH AH N", [1, 2, 3, 5, 6]), "a:AE c:K t:SH i: o:AH n:N"),
        (links("m e j r", "m e j m e j r", [1, 2, 3, 1, 2, 3, 4]),
         "m:m|m@3 e:e@1|e@4 j:j@2|j@5 r:r"),
        (links("x", "k s", [1, 1]), "x:k|s"),
        (links("d o g", "d o g s", [3, 4, 5, 2], tags="N PL"), "+N: +PL:s@3 d:d@0 o:o g:g"),
        (links("a", "p a s", [0, 1, 2]), "⊢:p a:a ⊣:s"),
        (links("a b", "x y z", [None, 1, None]), ":x a:y :z b:"),
        (links("i :", "i: :", [1, 2]), r"i:i: \u{3a}::"),
        (links("+ ⊢ \\", "| @ @3", [1, 2, 3]), r"\u{2b}:\u{7c} \u{22a2}:@ \u{5c}:\u{40}3"),
        (Links(("New", " "), (), ("\u3000",), [2]), r"New: \s:\u{3000}"),
        (Links(("a",), (), ("b@" + "1" * 5000,), [1]), "a:b@" + "1" * 5000),
        (Links((), (), (), []), ""),
    ],
)  # fmt: skip
def test_aligned_symbols(links: Links, text: str) -> None:
    assert write_symbols(links) == text
    assert read_symbols(text) == links


SYMBOLS = st.text(st.sampled_from("ab:|@+⊢⊣\\ su{}0129\t\n\u00a0\u2028\u0301한"), min_size=1)


@given(st.data(), *(st.lists(SYMBOLS, max_size=5) for _ in range(3)))
def test_whatever_is_written_can_be_read(
    data: st.DataObject, source: list[str], tags: list[str], target: list[str]
) -> None:
    places = st.none() | st.integers(0, len(source) + len(tags) + 1)
    columns = data.draw(st.lists(places, min_size=len(target), max_size=len(target)))
    given = Links(tuple(source), tuple(tags), tuple(target), columns)
    written = write_symbols(given)
    assert "\n" not in written
    assert "\t" not in written
    assert read_symbols(written) == given


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "a:x b",
        "a:x||y",
        "a:x@1",
        "a:x b:y@0",
        "a:x\\",
        "a: +T:",
        "a:x  b:y",
        r"a:\u{110000}",
        "a:x@" + "1" * 9,
    ],
)
def test_what_is_no_notation(text: str) -> None:
    with pytest.raises(HardalignError):
        read_symbols(text)
