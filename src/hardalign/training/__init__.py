"""Training: the one road to a run, the loop, and where an interrupted run stands."""

from __future__ import annotations

from importlib.util import find_spec

from hardalign.errors import MissingPackageError

if missing := [name for name in ("torch", "filelock") if find_spec(name) is None]:
    raise MissingPackageError("training", missing[0], "train")
