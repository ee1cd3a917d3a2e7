"""Training: the API, recipes, the loop, checkpoints and ensembles."""

from __future__ import annotations

from importlib.util import find_spec

from hardalign.errors import MissingPackageError

if missing := [name for name in ("torch", "filelock") if find_spec(name) is None]:
    raise MissingPackageError("training", missing[0], "train")
