import csv
import gzip
import io
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardalign.data.formats import FORMATS, MAX_SYMBOL, Example, Format
from hardalign.data.reading import Skipped, examples_of, read_examples
from hardalign.errors import HardalignError, InputError


@pytest.fixture
def read(tmp_path):
    """Writes text or bytes to a file and reads them back as examples."""
    path = tmp_path / "file"

    def run(content, format="pairs", purpose="training", **options):  # noqa: A002
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        chosen = format if isinstance(format, Format) else FORMATS[format]
        return list(read_examples(path, chosen, purpose, **options))

    return run


@pytest.fixture
def refused(read):
    """Gives the error that reading raises, without the folder of the file."""

    def run(*args, **options) -> InputError:
        with pytest.raises(InputError) as caught:
            read(*args, **options)
        assert str(caught.value).startswith(caught.value.file)
        return caught.value

    return run


def news(*names: str) -> str:
    return "<c>\n" + "\n".join(f"<Name>{name}</Name>" for name in names) + "\n</c>"


# --- what is read


def test_pairs(read):
    assert read("ab\tc d\n") == [Example(("a", "b"), (("c", " ", "d"),), (), "ab", 1)]


def test_lexicon(read):
    assert read("ab\tEY1 B\n", "lexicon") == [Example(("a", "b"), (("EY1", "B"),), (), "ab", 1)]


def test_spaced_with_blanks_at_the_end(read):
    expected = Example(("g", "oi"), (("g", "O"),), (), "g oi ", 1)
    assert read("g oi \tg  O \n", "spaced") == [expected]


def test_sigmorphon(read):
    expected = Example(("a",), (("a", "s"),), ("N", "PL"), "a", 1)
    assert read("a\tas\tN; PL\n", "sigmorphon") == [expected]
    assert read("a\tas\t\n", "sigmorphon") == [replace(expected, tags=())]


def test_news(read):
    text = news(
        "<SourceName> A B </SourceName><TargetName>क</TargetName><TargetName>ख</TargetName>"
    )
    assert read(text, "news") == [Example(("A", " ", "B"), (("क",), ("ख",)), (), "A B", 2)]


def test_own_columns_and_separators(read):
    own = Format("own", ("-", "target", "source"), source_separator="|", target_separator="+")
    expected = Example(("a", "b c"), (("x", "y"),), (), "a|b c", 1)
    assert read("7\tx+y\ta|b c\n", own) == [expected]


def test_nothing_is_quoted_and_no_spelling_is_reserved(read):
    text = '"a\t<s>\n[PAD]\t"\n\'\t</s>\\n\n'
    examples = read(text)
    assert [example.text for example in examples] == ['"a', "[PAD]", "'"]
    assert ["".join(example.targets[0]) for example in examples] == ["<s>", '"', "</s>\\n"]


def test_text_is_as_the_file_spells_it(read):
    (example,) = read("e\u0301\tx\n")
    assert example.source == ("é",)
    assert example.text == "e\u0301"


def test_normalisation_can_be_chosen(read):
    (example,) = read("é\té\n", replace(FORMATS["pairs"], normalization="NFD"))
    assert example.source == example.targets[0] == ("e", "\u0301")


@pytest.mark.parametrize("purpose", ["training", "evaluation", "prediction"])
def test_crlf_bom_gzip_and_no_last_newline(read, purpose):
    plain = read("a\tb\nc\td\n", purpose=purpose)
    content = "\ufeffa\tb\r\nc\td".encode()
    assert read(content, purpose=purpose) == plain
    assert read(gzip.compress(content), purpose=purpose) == plain


def test_news_with_crlf_bom_and_gzip(read):
    text = news("<SourceName>A</SourceName><TargetName>क</TargetName>")
    content = ("\ufeff" + text.replace("\n", "\r\n")).encode()
    assert read(gzip.compress(content), "news") == read(text, "news")


def test_unicode_line_ends_are_characters(read):
    (example,) = read("a\u2028b\x85\x0bc\tx\n")
    assert example.source == tuple("a\u2028b\x85\x0bc")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"a\tb\nc\n"))))
    reader = read_examples("-", FORMATS["pairs"], "training")
    assert next(reader).text == "a"
    with pytest.raises(InputError, match=r"^standard input, line 2: expected 2"):
        next(reader)


SCRIPTS = "abé عَرَبِيّ한국어हिन्दी\u0301\u0308👩\u200d🚀\"'<>[]|;#"
WORDS = st.text(SCRIPTS, min_size=1).filter(lambda text: not text.isspace())


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1), st.booleans(), st.booleans())
def test_round_trip(tmp_path_factory, pairs, crlf, zipped):
    end = "\r\n" if crlf else "\n"
    content = "".join(f"{source}\t{target}{end}" for source, target in pairs).encode()
    path = tmp_path_factory.getbasetemp() / "pairs"
    path.write_bytes(gzip.compress(content) if zipped else content)
    exact = replace(FORMATS["pairs"], normalization="none")
    examples = list(read_examples(path, exact, "training"))
    assert [(e.text, exact.join_target(e.targets[0])) for e in examples] == pairs
    assert [exact.join_source(e.source) for e in examples] == [source for source, _ in pairs]
    assert [e.line for e in examples] == list(range(1, len(pairs) + 1))


def test_constant_memory(tmp_path):
    path = tmp_path / "long.gz"
    path.write_bytes(gzip.compress(b"word\tW ER D\n" * 50_000 + b"wrong\n"))
    reader = read_examples(path, FORMATS["lexicon"], "training")
    tracemalloc.start()
    try:
        count = sum(1 for _ in islice(reader, 50_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 50_000
    assert peak < 1_000_000
    with pytest.raises(InputError, match="line 50001"):
        next(reader)


# --- blank lines


@pytest.mark.parametrize("purpose", ["training", "evaluation"])
def test_blank_lines_are_skipped_and_counted(read, purpose):
    skipped = Skipped()
    examples = read("a\tb\n\n  \n\u00a0\nc\td\n\n", purpose=purpose, skipped=skipped)
    assert [example.line for example in examples] == [1, 5]
    assert skipped == Skipped(blank_lines=4, first_blank=2)


def test_blank_lines_keep_their_place_in_prediction(read):
    skipped = Skipped()
    examples = read("\n \na\n\r\nb\tc\n\n", purpose="prediction", skipped=skipped)
    assert [example.text for example in examples] == ["", "", "a", "", "b", ""]
    assert [example.line for example in examples] == [1, 2, 3, 4, 5, 6]
    assert [len(example.source) for example in examples] == [0, 0, 1, 0, 1, 0]
    assert skipped == Skipped(blank_lines=4, first_blank=1)


@pytest.mark.parametrize("purpose", ["training", "evaluation", "prediction"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no examples: the file is empty"),
        ("\ufeff", "no examples: the file is empty"),
        ("\n  \n\r\n", "no examples: all 3 lines are blank"),
    ],
)
def test_no_examples(refused, purpose, content, message):
    assert message in str(refused(content, purpose=purpose))
    assert message in str(refused(gzip.compress(content.encode()), purpose=purpose))


@pytest.mark.parametrize("content", ["", "\n\n", "<c></c>"])
def test_no_names(refused, content):
    assert "no examples: there is no <Name>" in str(refused(content, "news"))


# --- columns


def test_commas_instead_of_tabs(refused):
    assert "separated by commas" in str(refused("af,aː v\n"))
    assert "separated by commas" not in str(refused("a,b,c\n"))


@pytest.mark.parametrize("purpose", ["training", "evaluation"])
def test_a_missing_column(refused, purpose):
    error = refused("a\tb\nword\n", purpose=purpose)
    assert error.line == 2
    assert str(error).endswith(
        "line 2: expected 2 TAB-separated columns (source, target), found 1 in 'word'; "
        "choose another --format or name the --columns"
    )


@pytest.mark.parametrize("purpose", ["training", "evaluation", "prediction"])
def test_too_many_columns(refused, purpose):
    assert "found 3 in 'a\\tb\\tc'" in str(refused("x\ty\na\tb\tc\n", purpose=purpose))


def test_a_file_of_another_format(refused):
    assert "columns (source, target, tags), found 2" in str(refused("a\tb\n", "sigmorphon"))
    assert "malformed XML" in str(refused("a\tb\n", "news"))
    assert refused(news("<SourceName>A</SourceName>")).line == 1


def test_prediction_names_both_layouts(refused):
    message = str(refused("a\tb\tc\td\n", "sigmorphon", "prediction"))
    assert "expected 3 TAB-separated columns (source, target, tags) or 2" in message
    assert "columns (source, tags), found 4" in message
    assert "or 1 TAB-separated column (source)" in str(refused("a\tb\tc", purpose="prediction"))


@pytest.mark.parametrize(
    ("format", "line", "expected"),
    [
        (FORMATS["pairs"], "a", Example(("a",))),
        (FORMATS["pairs"], "a\t", Example(("a",))),
        (FORMATS["pairs"], "a\tb", Example(("a",), (("b",),))),
        (FORMATS["sigmorphon"], "a\tN;PL", Example(("a",), tags=("N", "PL"))),
        (FORMATS["sigmorphon"], "a\t\tN", Example(("a",), tags=("N",))),
        (FORMATS["sigmorphon"], "a\tb\tN", Example(("a",), (("b",),), ("N",))),
        (Format("own", ("source", "target", "-")), "a", Example(("a",))),
        (Format("own", ("-", "target", "source")), "7\tb\ta", Example(("a",), (("b",),))),
        (Format("own", ("source",)), "a", Example(("a",))),
    ],
)
def test_prediction_needs_no_target(read, format, line, expected):  # noqa: A002
    assert read(line, format, "prediction") == [replace(expected, text="a", line=1)]


def test_training_needs_a_target_column(tmp_path):
    reader = read_examples(tmp_path / "x", Format("own", ("source", "tags")), "training")
    with pytest.raises(
        HardalignError, match=r"training needs a target.*'source,tags'.*name one of them target"
    ):
        next(reader)


# --- fields


@pytest.mark.parametrize("purpose", ["training", "evaluation", "prediction"])
@pytest.mark.parametrize("line", ["\tb", "  \tb", "\t", " \t "])
def test_empty_source(refused, purpose, line):
    error = refused(f"x\ty\n{line}\n", purpose=purpose, allow_empty=True)
    assert (error.line, error.column) == (2, 1)
    assert "line 2, column 1: the source is empty" in str(error)


@pytest.mark.parametrize("purpose", ["training", "evaluation"])
@pytest.mark.parametrize("line", ["a\t", "a\t "])
def test_empty_target(read, refused, purpose, line):
    error = refused(f"{line}\n", "lexicon", purpose)
    assert (error.line, error.column) == (1, 2)
    assert "the target is empty" in str(error)
    assert "allow_empty" in str(error)
    (example,) = read(f"{line}\n", "lexicon", purpose, allow_empty=True)
    assert example.targets == ((),)


def test_an_empty_symbol_names_its_column(refused):
    own = Format("own", target_separator="|")
    error = refused("a\tb||c\n", own)
    assert error.column == 2
    assert "'b||c' has an empty symbol" in str(error)


def test_an_empty_tag_names_its_column(refused):
    error = refused("a\tb\tN;;PL\n", "sigmorphon")
    assert (error.line, error.column) == (1, 3)
    assert "'N;;PL'" in str(error)


@pytest.mark.parametrize(("line", "column"), [("{}\tb", 1), ("a\t{}", 2)])
def test_a_line_of_ten_thousand_characters(read, refused, line, column):
    text = line.format("x" * 10_000)
    error = refused(text)
    assert (error.line, error.column) == (1, column)
    assert "10000 symbols, more than the limit of 1000" in str(error)
    assert "max_length" in str(error)
    assert len(str(error).removeprefix(error.file)) < 200
    assert len(read(text, replace(FORMATS["pairs"], max_length=10_000))) == 1


@pytest.mark.parametrize(
    ("format", "line", "column"),
    [("lexicon", "a\t{} b", 2), ("spaced", "{}\tb", 1), ("sigmorphon", "a\tb\t{}", 3)],
)
def test_a_symbol_of_thousands_of_characters(read, refused, format, line, column):  # noqa: A002
    assert len(read(line.format("x" * MAX_SYMBOL), format)) == 1
    error = refused("a b\tc\n" * (format != "sigmorphon") + line.format("x" * 5000), format)
    assert (error.line, error.column) == (2 if format != "sigmorphon" else 1, column)
    assert "a symbol of 5000 characters, 'xxxx" in str(error)
    assert "limit of 100" in str(error)


@pytest.mark.parametrize("format", ["pairs", "lexicon", "spaced"])
def test_a_line_of_millions_of_characters(refused, format):  # noqa: A002
    text = "x" * 15_000_000
    tracemalloc.start()
    try:
        error = refused(f"a\t{text}\n", format)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "line 1, column 2: the target 'xxxxxxxxxxxxxxxxxxx…' has 15000000 characters" in str(
        error
    )
    assert peak < 8 * len(text)


def test_invalid_utf8(refused):
    assert refused(b"a\tb\nc\td\xff\n").line == 2
    xml = news("<SourceName>A</SourceName><TargetName>क</TargetName>").encode("utf-8")
    assert refused(xml.replace("क".encode(), b"\xff"), "news").line == 2


def test_every_message_is_one_line(refused):
    assert "\n" not in str(refused("a\x0b\u2028\rb\n"))
    assert "\n" not in str(refused("a\tb\t\r\r\n", "pairs"))


# --- names


def test_a_name_without_source(refused):
    assert refused(news("<SourceName>A</SourceName>", ""), "news", "prediction").line == 3
    error = refused(news("<SourceName> </SourceName><TargetName>x</TargetName>"), "news")
    assert (error.line, error.column) == (2, None)
    assert "the source is empty" in str(error)


@pytest.mark.parametrize("purpose", ["training", "evaluation"])
def test_a_name_without_target(read, refused, purpose):
    text = news("<SourceName>AB</SourceName>")
    assert "line 2: the name 'AB' has no <TargetName>" in str(refused(text, "news", purpose))
    assert read(text, "news", "prediction") == [Example(("A", "B"), (), (), "AB", 2)]


def test_a_name_with_an_empty_target(read, refused):
    text = news("<SourceName>A</SourceName><TargetName/><TargetName>x</TargetName>")
    assert "allow_empty" in str(refused(text, "news"))
    assert read(text, "news", allow_empty=True)[0].targets == ((), ("x",))
    assert read(text, "news", "prediction")[0].targets == (("x",),)


def test_a_plain_list_of_names_for_prediction(read, refused):
    skipped = Skipped()
    examples = read("\n \nA B\n\nC\tx\n< D\n", "news", "prediction", skipped=skipped)
    assert [example.text for example in examples] == ["", "", "A B", "", "C", "< D"]
    assert [example.line for example in examples] == [1, 2, 3, 4, 5, 6]
    assert examples[4].targets == (("x",),)
    assert skipped == Skipped(blank_lines=3, first_blank=1)
    assert read("\ufeffA\n", "news", "prediction")[0].source == ("A",)
    for purpose in ("training", "evaluation"):
        assert "malformed XML" in str(refused("A\n", "news", purpose))


def test_names_in_xml_are_not_a_list(read):
    text = "\ufeff" + news("<SourceName>A</SourceName>")
    assert [example.line for example in read(text, "news", "prediction")] == [2]


def test_a_name_that_never_ends(tmp_path):
    """A gigabyte of text in two megabytes of gzip must not be unpacked to be refused."""
    path = tmp_path / "bomb.xml.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(b"<c><Name><SourceName>")
        for _ in range(40):
            stream.write((b"x" * 1023 + b"\n") * 1024)
    code = (
        "import resource, sys; from hardalign.data.reading import *; "
        "from hardalign.data.formats import FORMATS\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: list(read_examples(sys.argv[1], FORMATS['news'], 'prediction'))\n"
        "except HardalignError as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    message, grown = done.stdout.splitlines()
    assert message == f"{path}, line 8192: more than 8388608 characters of XML; split the file"
    assert int(grown) < 25_000  # kilobytes


def test_hostile_xml(refused):
    bomb = '<!DOCTYPE c [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>' + news("&b;")
    assert "declares entities" in str(refused(bomb, "news"))


def test_missing_file_and_folder(tmp_path):
    for path, message in ((tmp_path / "nix", "no such file"), (tmp_path, "folder")):
        for format in (FORMATS["pairs"], FORMATS["news"]):  # noqa: A001
            with pytest.raises(InputError, match=message):
                list(read_examples(path, format, "training"))


def test_blank_lines_are_reported() -> None:
    assert Skipped().report("words.tsv", "left out") is None
    one, several = Skipped(1, 3), Skipped(2, 5)
    assert one.report("-", "left out") == "standard input: 1 blank line left out (first: line 3)"
    assert several.report("a", "left out") == "a: 2 blank lines left out (first: line 5)"


# --- tables of spreadsheets


def test_a_header_is_left_out_and_said(read):
    skipped = Skipped()
    examples = read("Word\tIPA\ncat\tK AE T\n", "lexicon", skipped=skipped)
    assert [(example.text, example.line) for example in examples] == [("cat", 2)]
    assert skipped.report("words.tsv", "left out") == ("words.tsv: the header (Word, IPA) left out")
    assert [one.text for one in read("word\tIPA\ncat\t\n", "lexicon", "prediction")] == ["cat"]


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("phoneme\tphonemes\tN;PL\n", "sigmorphon"),
        ("word\tworded\tV\n", "sigmorphon"),
        ("cat\tkat\nword\tIPA\n", "pairs"),
        ("word\tW ER D\n", "lexicon"),
    ],
)
def test_a_word_is_no_header(read, text, format):  # noqa: A002
    assert len(read(text, format)) == text.count("\n")
    assert read("word\nform\n", "pairs", "prediction")[0].text == "word"


def test_a_header_that_names_the_columns_in_another_order(refused):
    error = refused("lemma\tfeatures\tform\ngo\tV;PST\twent\n", "sigmorphon")
    assert "give --columns source,tags,target" in str(error)
    assert "--columns target,source" in str(refused("IPA\tword\nkat\tcat\n"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_table_of_a_spreadsheet(tmp_path, delimiter, packed):
    rows = [("Word", "IPA"), ('"Go", she; said', "g o"), ("", ""), ("don't", 'd"o"n t'), ("a", "b")]
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)  # with CRLF
    content = ("\ufeff" + stream.getvalue()).encode()
    path = tmp_path / ("words.CSV.gz" if packed else "words.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    skipped = Skipped()
    examples = list(read_examples(path, FORMATS["lexicon"], "training", skipped=skipped))
    assert [example.text for example in examples] == ['"Go", she; said', "don't", "a"]
    assert [example.line for example in examples] == [2, 4, 5]
    assert examples[1].targets == (('d"o"n', "t"),)
    assert skipped == Skipped(1, 3, "Word, IPA")
    if delimiter == "\t":  # a header is enough to know a spreadsheet by
        path = tmp_path / "words.tsv"
        path.write_bytes(content)
        assert list(read_examples(path, FORMATS["lexicon"], "training")) == examples


def test_quotation_marks_below_a_header_that_do_not_match_are_refused(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text('word\tpron\nkat\t"k a t\n')
    with pytest.raises(InputError, match=r"line 2: quotation marks .* or leave out the header"):
        list(read_examples(path, FORMATS["lexicon"], "training"))
    path.write_text('kat\t"k a t\n')  # a mark of stress, say
    (example,) = read_examples(path, FORMATS["lexicon"], "training")
    assert example.targets == (('"k', "a", "t"),)


def test_without_a_header_all_of_a_csv_file_is_data(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text('cat,"k, t"\ndog,d\n')
    examples = read_examples(path, FORMATS["pairs"], "training")
    assert [(one.text, "".join(one.targets[0])) for one in examples] == [
        ("cat", "k, t"),
        ("dog", "d"),
    ]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ('word,ipa\na,b\nc,"d\ne",f\n', 3, "a cell with a line break"),
        ('word,ipa\na,b\nc,"d\ne,f\n', 3, "do not match"),
        ('word,ipa\na,"b"c\n', 2, "do not match"),
        ("word,ipa\na,b,c\n", 2, "expected 2"),
        ("word,ipa\n\n", None, "there is a header only"),
    ],
)
def test_damaged_tables(tmp_path, content, line, message):
    path = tmp_path / "words.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        list(read_examples(path, FORMATS["pairs"], "training"))
    assert caught.value.line == line


@pytest.mark.parametrize("row", ["ab", b"ab", {"source": "a", "target": "b"}, 5, None, (1, 2)])
def test_rows_that_are_none_are_refused(row):
    with pytest.raises(InputError, match=r"rows, line 1.*must be a"):
        list(examples_of([row], FORMATS["pairs"]))
