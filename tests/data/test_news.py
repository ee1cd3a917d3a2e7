from itertools import chain, repeat
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardalign.data.news import MAX_CHARACTERS, Name, read_names
from hardalign.errors import InputError
from helpers import time_limit

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def names(text: str) -> list[Name]:
    return read_names(text.split("\n"), "file.xml")


def test_names_with_their_lines():
    text = (
        HEAD
        + """<TransliterationCorpus CorpusID="x">
    <Name ID="1">
        <SourceName>ABE</SourceName>
        <TargetName ID="1">安倍</TargetName>
        <TargetName ID="2">安部</TargetName>
    </Name>
    <Other>text</Other><TargetName>stray</TargetName>
    <Name ID="2"><SourceName>A B</SourceName></Name>
</TransliterationCorpus>"""
    )
    assert names(text) == [Name(3, "ABE", ("安倍", "安部")), Name(9, "A B", ())]


def test_white_space_around_is_stripped_and_layout_is_no_text():
    text = "<c><Name><SourceName>\n  AL  QASIM\n\t\tX </SourceName></Name></c>"
    assert names(text) == [Name(1, "AL  QASIM X", ())]


def test_blanks_take_linear_time() -> None:
    blanks = " " * 200_000  # half an hour, if it were quadratic
    with time_limit(10):
        (name,) = names(f"<c><Name><SourceName>a{blanks}b\n{blanks}c</SourceName></Name></c>")
    assert name.source == f"a{blanks}b c"


def test_builtin_entities_and_cdata_are_text():
    text = "<c><Name><SourceName>a&amp;b&lt;s&gt;&#233;<![CDATA[<&]]></SourceName></Name></c>"
    assert names(text) == [Name(1, "a&b<s>é<&", ())]


def test_empty_elements_are_kept_for_the_caller_to_judge():
    text = "<c><Name><SourceName/><TargetName></TargetName></Name></c>"
    assert names(text) == [Name(1, "", ("",))]


def test_lines_are_counted_over_a_long_comment():
    text = "<c><!--" + "\ncomment" * 30_000 + "-->\n<Name><SourceName>a</SourceName></Name></c>"
    assert names(text) == [Name(30_002, "a", ())]


@pytest.mark.parametrize("text", ["", "\n\n  \n"])
def test_nothing_has_no_names(text):
    assert names(text) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<c>\n<Name></Nam></c>", 2),
        ("<c>\n\n<Name>", 3),
        ("a\tb", 1),
        ("<c>\n&nix;</c>", 2),
        ("<c/>\n<c/>", 2),
        ("<c>\n\x00</c>", 2),
    ],
)
def test_malformed_xml(text, line):
    with pytest.raises(InputError, match=r"file\.xml, line .*malformed XML") as caught:
        names(text)
    assert caught.value.line == line


BOMB = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">\n' for i in range(1, 10))
QUADRATIC = "".join(f"<!ATTLIST a b{i} CDATA '1'>" for i in range(100_000))


@pytest.mark.parametrize(
    "declarations",
    [
        f'<!ENTITY e0 "ha">\n{BOMB}',
        '<!ENTITY e9 SYSTEM "file:///etc/passwd">',
        '<!ENTITY e9 PUBLIC "x" "http://localhost/x">',
        '<!ENTITY % e9 SYSTEM "http://localhost/x.dtd"> %e9;',
        QUADRATIC,
    ],
    ids=["bomb", "file", "address", "parameter", "attributes"],
)
def test_hostile_declarations(declarations):
    document = "<c><Name><SourceName>&e9;</SourceName></Name></c>"
    with pytest.raises(InputError, match=r"line 2: .*of its own; remove its <!DOCTYPE>"):
        names(f"{HEAD}<!DOCTYPE c [{declarations}]>\n{document}")


def test_an_entity_from_outside_is_not_silently_dropped():
    document = "<c><Name><SourceName>a&foreign;b</SourceName></Name></c>"
    with pytest.raises(InputError, match="'foreign'"):
        names(f'{HEAD}<!DOCTYPE c SYSTEM "http://localhost/x.dtd">\n{document}')


def test_a_harmless_doctype_is_no_problem():
    text = f'{HEAD}<!DOCTYPE c SYSTEM "c.dtd">\n<c><Name><SourceName>a</SourceName></Name></c>'
    assert names(text) == [Name(3, "a", ())]


@pytest.mark.parametrize(
    ("content", "count"),
    [("<TargetName>x</TargetName>", 0), ("<SourceName>a</SourceName>" * 2, 2)],
)
def test_a_name_has_one_source(content, count):
    with pytest.raises(InputError, match=f"line 2: a <Name> with {count} <SourceName>"):
        names(f"<c>\n<Name>{content}\n</Name></c>")


def test_nested_names():
    with pytest.raises(InputError, match="line 3: a <Name> inside a <Name>"):
        names("<c><Name>\n<SourceName>a</SourceName>\n<Name></Name></Name></c>")


@settings(deadline=None)
@given(st.lists(st.text("aé ع한हि्👩&<>\"'", min_size=1).map(str.strip)))
def test_round_trip(texts):
    body = "".join(f"<Name><SourceName>{escape(text)}</SourceName></Name>\n" for text in texts)
    assert [name.source for name in names(f"<c>{body}</c>")] == texts


@pytest.mark.parametrize("line", ["x" * 1000, "<a>", "<TargetName/>", "", "x" * (15 << 20)])
def test_what_never_ends_is_refused(line):
    lines = chain(["<c><Name><SourceName>"], repeat(line))
    with pytest.raises(InputError, match=rf"^file\.xml, line \d+: more than {MAX_CHARACTERS} char"):
        read_names(lines, "file.xml")
