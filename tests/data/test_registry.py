from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from hardalign.data.corpora import CORPORA, collections, find_corpora, registry, unknown_corpus
from hardalign.data.formats import FORMATS
from hardalign.errors import HardalignError

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
    assert f"did you mean {proposed}" in unknown_corpus(name, tuple(CORPORA))


def test_nothing_is_proposed_where_nothing_is_near() -> None:
    assert unknown_corpus("xyzzy") == "unknown corpus 'xyzzy'; hardalign corpora lists all names"
