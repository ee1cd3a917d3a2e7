"""``python -m hardalign`` is the ``hardalign`` command."""

from __future__ import annotations

from hardalign.cli import start

start()
