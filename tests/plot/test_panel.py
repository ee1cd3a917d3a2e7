from __future__ import annotations

import pytest

from hardalign.plot.panel import label


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [("a", "a"), (" ", "␣"), ("\u0301", "◌\u0301"), ("\u093e", "◌\u093e"), ("AE1", "AE1")],
)
def test_labels_can_stand_alone(symbol: str, shown: str) -> None:
    assert label(symbol) == shown
