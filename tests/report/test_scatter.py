from __future__ import annotations

import pytest

from hardalign.report.cells import collect
from hardalign.report.paper import TASKS, paper_corpora, paper_systems
from hardalign.report.scatter import NAMED, STYLES, draw_against_paper, label
from report.synthetic import result, right


def test_a_point_for_each_system_and_data_set() -> None:
    cells = collect(
        [
            result(correct=right(72)),
            result(system="hard-hmm"),
            result("conll2017/danish", "soft", correct=right(91)),
            result("conll2017/danish", "soft", "large", correct=right(85)),
        ]
    )
    figure = draw_against_paper(cells)
    assert figure is not None
    titles = {ax.get_title(): ax for ax in figure.axes}
    assert list(titles) == [TASKS["grapheme to phoneme"], TASKS["inflection"]]
    g2p, inflection = titles.values()
    diagonal, hard = g2p.lines
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata())
    assert (*hard.get_xdata(), *hard.get_ydata()) == pytest.approx((71.2, 72))
    _, small, large = inflection.lines
    assert small.get_markerfacecolor() == small.get_color()
    assert large.get_markerfacecolor() == "none"
    assert {text.get_text() for text in g2p.texts} == {"NETtalk (4)"}
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["soft (3)", "hard (4)", "filled: small", "hollow: large"]


def test_few_points_are_named() -> None:
    results = [
        result(corpus, correct=right(40 + index))
        for index, corpus in enumerate(paper_corpora("inflection"))
    ]
    figure = draw_against_paper(collect(results))
    assert figure is not None
    assert len(figure.axes[0].lines) == 1 + 51
    assert len(figure.axes[0].texts) == NAMED


def test_nothing_to_draw() -> None:
    assert draw_against_paper({}) is None
    assert draw_against_paper(collect([result("toy:copy"), result(system="hard-hmm")])) is None


def test_every_system_of_the_paper_has_a_style() -> None:
    assert len(set(STYLES)) == len({marker for _, marker in STYLES}) == len(paper_systems())


def test_label() -> None:
    assert (label("hard"), label("hard-hmm")) == ("hard (4)", "hard-hmm")
