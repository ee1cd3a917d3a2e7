from hardalign.data.formats import Example, evaluation_items, training_pairs


def test_every_target_becomes_a_training_pair():
    example = Example(("a",), (("x",), ("y",)), ("N",), "a", 7)
    assert list(training_pairs([example])) == [
        Example(("a",), (("x",),), ("N",), "a", 7),
        Example(("a",), (("y",),), ("N",), "a", 7),
    ]


def test_an_example_without_targets_gives_no_training_pair():
    assert list(training_pairs([Example(("a",))])) == []


def test_the_same_question_becomes_one_item_with_its_distinct_references():
    examples = [
        Example(("a",), (("x",),), line=1),
        Example(("b",), (("z",), ("z",)), line=2),
        Example(("a",), (("y",), ("x",)), line=3),
    ]
    assert evaluation_items(examples) == [
        Example(("a",), (("x",), ("y",)), line=1),
        Example(("b",), (("z",),), line=2),
    ]


def test_tags_make_another_question():
    examples = [Example(("a",), (("x",),), ("N",)), Example(("a",), (("x",),), ("V",))]
    assert evaluation_items(examples) == examples


def test_a_tag_is_no_source_symbol():
    assert Example(("N", "a")).key != Example(("a",), tags=("N",)).key
