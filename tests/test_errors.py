"""What to install is named as this copy was installed."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from hardalign.errors import MissingPackageError, install_command


@pytest.mark.parametrize(
    ("direct", "command"),
    [
        (None, "pip install 'hardalign[data]'"),
        (
            {"url": "file:///a%20b/clone", "dir_info": {"editable": True}},
            "pip install --editable '/a b/clone[data]'",
        ),
        ({"url": "file:///clone", "dir_info": {}}, "pip install '/clone[data]'"),
        (
            {"url": "file:///d/hardalign.whl", "archive_info": {}},
            "pip install 'hardalign[data] @ file:///d/hardalign.whl'",
        ),
    ],
)
def test_the_command_suits_the_installation(
    direct: dict[str, object] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps(direct) if direct else None
    found = SimpleNamespace(read_text={"direct_url.json": text}.get)
    monkeypatch.setattr(metadata, "distribution", {"hardalign": found}.get)
    assert install_command("data") == command
    assert str(MissingPackageError("a download", "pooch", "data")).endswith(command)


def test_in_the_clone_itself_a_dot_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    found = SimpleNamespace(read_text=lambda _: text)
    monkeypatch.setattr(metadata, "distribution", lambda _: found)
    monkeypatch.chdir(tmp_path)
    assert install_command("train") == "pip install --editable '.[train]'"
