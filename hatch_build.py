"""Makes a package index's description from README.md: without relative links and pictures.

Relative addresses only work in the repository.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


def standalone(text: str) -> str:
    """Returns Markdown without relative pictures, and with relative links as plain text."""
    return LINK.sub(r"\1", PICTURE.sub("", text))


class CustomMetadataHook(MetadataHookInterface):
    """The hook for hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the text to the metadata of the package."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": standalone(text)}
