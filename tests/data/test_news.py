import tracemalloc
from itertools import chain, repeat
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardalign.data import news
from hardalign.data.news import MAX_DEPTH, MAX_KINDS, MAX_TARGETS, MAX_TEXT, Name, read_names
from hardalign.errors import InputError

X = "x" * 1000
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def names(text: str) -> list[Name]:
    return list(read_names(text.split("\n"), "file.xml"))


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


def test_builtin_entities_and_cdata_are_text():
    text = "<c><Name><SourceName>a&amp;b&lt;s&gt;&#233;<![CDATA[<&]]></SourceName></Name></c>"
    assert names(text) == [Name(1, "a&b<s>é<&", ())]


def test_empty_elements_are_kept_for_the_caller_to_judge():
    text = "<c><Name><SourceName/><TargetName></TargetName></Name></c>"
    assert names(text) == [Name(1, "", ("",))]


def test_names_come_as_the_lines_do():
    def lines():
        yield "<c>"
        for index in range(1000):
            yield f"<Name><SourceName>{index}</SourceName></Name>"
        raise AssertionError("read to the end before giving the first name")

    assert next(read_names(lines(), "f")).source == "0"


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


@pytest.mark.parametrize(
    "declarations",
    [
        f'<!ENTITY e0 "ha">\n{BOMB}',
        '<!ENTITY e9 SYSTEM "file:///etc/passwd">',
        '<!ENTITY e9 PUBLIC "x" "http://localhost/x">',
        '<!ENTITY % e9 SYSTEM "http://localhost/x.dtd"> %e9;',
    ],
    ids=["bomb", "file", "address", "parameter"],
)
def test_hostile_entities(declarations):
    document = "<c><Name><SourceName>&e9;</SourceName></Name></c>"
    with pytest.raises(InputError, match=r"line 2: .*entity of its own, 'e\d'; write its text out"):
        names(f"{HEAD}<!DOCTYPE c [{declarations}]>\n{document}")


def test_an_entity_from_outside_is_not_silently_dropped():
    document = "<c><Name><SourceName>a&foreign;b</SourceName></Name></c>"
    with pytest.raises(InputError, match="'foreign'"):
        names(f'{HEAD}<!DOCTYPE c SYSTEM "http://localhost/x.dtd">\n{document}')


def test_a_harmless_doctype_is_no_problem():
    text = f"{HEAD}<!DOCTYPE c [<!ELEMENT c ANY>]>\n<c><Name><SourceName>a</SourceName></Name></c>"
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


ENDLESS = {
    "text": ("<c><Name><SourceName>", repeat(X), f"Name> with more than {MAX_TEXT} char"),
    "cdata": ("<c><Name><SourceName><![CDATA[", repeat(X), "more than .* characters"),
    "one long line": ("<c><Name><SourceName>", ["x" * (15 << 20)], "line 2: .* characters"),
    "attribute": ('<c>\n<Name a="', repeat(X), "line 2: one tag or comment has more than"),
    "comment": ("<c>\n\n<!--", repeat(X), "line 3: one tag or comment has more than"),
    "instruction": ("<c><?a ", repeat(X), "line 1: one tag or comment has more than"),
    "targets": ("<c><Name>", repeat("<TargetName/>" * 30), f"more than {MAX_TARGETS} <Target"),
    "sources": ("<c><Name>", repeat("<SourceName/>" * 30), f"more than {MAX_TARGETS} <Source"),
    "depth": ("<c>", repeat("<a>" * 30), f"line 5: more than {MAX_DEPTH} elements"),
    "elements": ("<c>", (f"<a{n}/>" for n in range(10**7)), f"more than {MAX_KINDS} kinds"),
    "attributes": ("<c>", (f"<a b{n}=''/>" for n in range(10**7)), "line 1000: more than"),
    "declarations": ("<!DOCTYPE c [", repeat("<!ELEMENT a ANY>"), "before the first element"),
    "blanks first": ("", repeat(" " * 1000), "before the first element"),
}


@pytest.mark.parametrize(("head", "rest", "message"), ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_is_refused_early_and_in_little_memory(head, rest, message):
    rest = iter(rest)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=rf"^file\.xml, .*{message}"):
            list(read_names(chain(head.split("\n"), rest), "file.xml"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


HARMLESS = {
    "comments": f"<!--{X}-->",
    "instructions": f"<?a {X}?>",
    "attributes": f"<a b='{X}'/>",
    "text outside names": X,
    "names": f"<Name><SourceName>{X}</SourceName></Name>",
}


@pytest.mark.parametrize("line", HARMLESS.values(), ids=HARMLESS)
def test_a_long_file_takes_constant_memory(line: str):
    lines = chain(["<c>"], repeat(line, 5_000), ["</c>"])
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_names(lines, "file.xml"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == (5_000 if "Name" in line else 0)
    assert peak < 1_000_000


def test_the_limits_themselves_are_allowed():
    targets = "<TargetName>b</TargetName>" * MAX_TARGETS
    body = f"<Name><SourceName>{'a' * (MAX_TEXT - MAX_TARGETS)}</SourceName>{targets}</Name>"
    deep = MAX_DEPTH - 3
    (name,) = names(f"<c>{'<a>' * deep}{body}{'</a>' * deep}<!--{X * 500}--></c>")
    assert len(name.source) + len(name.targets) == MAX_TEXT


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_where_blocks_are_cut_changes_nothing(size: int, monkeypatch: pytest.MonkeyPatch):
    text = f"{HEAD}<c>\n<!-- é -->\n\n<Name><SourceName>한&#233;b</SourceName></Name>\n</c>\n"
    whole = names(text)
    monkeypatch.setattr(news, "_BLOCK", size)
    assert names(text) == whole == [Name(5, "한éb", ())]
