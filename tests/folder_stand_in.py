"""Stands in for hardalign/folder.py until it is there; delete this file then, and its imports."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

try:
    import hardalign.folder  # noqa: F401
except ModuleNotFoundError:
    from safetensors.numpy import load_file

    from hardalign.training.storage import Description, read_description

    def load_folder(folder: Path) -> tuple[dict[str, Any], Description]:
        description = read_description(folder)
        return load_file(folder / "weights.safetensors"), description

    stand_in = ModuleType("hardalign.folder")
    vars(stand_in).update(Description=Description, load_folder=load_folder)
    sys.modules["hardalign.folder"] = stand_in
