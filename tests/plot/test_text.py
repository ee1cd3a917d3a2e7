from __future__ import annotations

import numpy as np
from rich.cells import cell_len

from hardalign.plot.panel import Panel
from hardalign.plot.text import draw_text


def test_shades_follow_the_weights() -> None:
    drawn = draw_text(Panel("", "x", "abcde", np.array([[0, 0.25, 0.5, 0.75, 1.0]])))
    assert drawn.splitlines()[1] == "x    ░░ ▒▒ ▓▓ ██"


def test_wide_and_combining_symbols_keep_their_columns() -> None:
    drawn = draw_text(Panel("", ["한", "\u0301"], ["語", "abc", "q"], np.eye(3)[1:]))
    header, first, second = drawn.splitlines()
    assert cell_len(header[: header.index("q")]) == cell_len(second[: second.index("█")])
    assert cell_len(header[: header.index("abc")]) == cell_len(first[: first.index("█")])
