"""The names that the package shows."""

from __future__ import annotations

import pydoc

import hardalign


def test_the_public_names_can_be_seen_and_used() -> None:
    assert set(dir(hardalign)) == set(hardalign.__all__)
    for name in hardalign.__all__:
        assert getattr(hardalign, name) is not None, name
    assert {"load", "train"} <= set(dir(hardalign))


def test_help_describes_them() -> None:
    text = pydoc.plain(pydoc.render_doc(hardalign))
    for line in ("    load(", "    train(", "    class Prediction("):
        assert line in text, line
    assert "Any =" not in text
