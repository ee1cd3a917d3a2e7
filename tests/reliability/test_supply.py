"""Licences and hashes of what hardalign is built on."""

from __future__ import annotations

import contextlib
import re
import runpy
import sys
import tomllib
import types
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest

from hashes import LEFT_OUT, is_of
from licences import EXCEPTIONS, installed, is_allowed, licence_of, refused

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("declared", "licence"),
    [
        (("MIT", None, []), "MIT"),
        ((None, "Apache 2.0", []), "Apache-2.0"),
        ((None, "a\nwhole\ntext", ["License :: OSI Approved :: BSD License"]), "BSD"),
        ((None, "a\nwhole\ntext", []), "not declared"),
        ((None, None, ["Topic :: Text Processing"]), "not declared"),
        ((None, None, ["License :: A :: MIT License", "License :: B"]), "MIT AND B"),
    ],
)
def test_what_packages_declare(
    declared: tuple[str | None, str | None, list[str]], licence: str
) -> None:
    assert licence_of(*declared) == licence


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("Apache-2.0 AND GPL-3.0-only", False),
        ("(MIT OR GPL-2.0-only) AND PSF-2.0", True),
        ("GPL-3.0-or-later", False),
        ("not declared", False),
    ],
)
def test_what_is_allowed(licence: str, allowed: bool) -> None:
    assert is_allowed(licence) == allowed
    assert refused({"a": licence, "hardalign": "anything"}) == ([] if allowed else ["a"])


def test_exceptions_are_exceptions() -> None:
    licences = installed()
    assert not refused(licences)
    for name in EXCEPTIONS:
        assert name not in licences or not is_allowed(licences[name])


def test_the_build_backend_is_pinned() -> None:
    """And with it what it needs, as far as it is installed here: ``make`` builds without others."""
    pins = {
        pin.partition("==")[0]
        for pin in (ROOT / "requirements/constraints.txt").read_text().split()
    }
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    while wanted:
        name = re.split(r"[^\w.-]", wanted.pop())[0].lower()
        assert name in pins
        with contextlib.suppress(PackageNotFoundError):
            wanted += [one for one in requires(name) or [] if ";" not in one]


def test_every_pin_has_its_hashes() -> None:
    pins = set((ROOT / "requirements/constraints.txt").read_text().split())
    entries = (ROOT / "requirements/hashes.txt").read_text().replace("\\\n", " ").splitlines()[1:]
    hashed = {entry.split()[0]: entry.split()[1:] for entry in entries}
    missing = {pin for pin in pins if pin.partition("==")[0] not in LEFT_OUT} ^ set(hashed)
    assert not missing, "run `make hashes`"
    assert all(
        sums and all(one.startswith("--hash=sha256:") for one in sums) for sums in hashed.values()
    )


@pytest.mark.parametrize(
    ("file", "belongs"),
    [
        ("some_thing-1.0-py3-none-any.whl", True),
        ("Some-Thing-1.0.tar.gz", True),
        ("some-thing-1.0.1.tar.gz", False),
        ("some_thing-1.0.1-py3-none-any.whl", False),
        ("some_thing-1.0-py3-none-any.whl.metadata", False),
        ("something-1.0.tar.gz", False),
    ],
)
def test_files_of_a_version(file: str, belongs: bool) -> None:
    assert is_of(file, "Some.thing", "1.0") == belongs


def test_a_package_index_gets_no_broken_links(monkeypatch: pytest.MonkeyPatch) -> None:
    interface = types.ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    hook = runpy.run_path(str(ROOT / "hatch_build.py"))["CustomMetadataHook"]()
    hook.root = str(ROOT)
    metadata: dict[str, dict[str, str]] = {}
    hook.update(metadata)
    text = metadata["readme"]["text"]
    addresses = re.findall(r"\]\(([^)]*)\)", text)
    assert addresses
    assert all(address.startswith("https://") for address in addresses)
    assert "results, speed" in text
    assert "docs/serve/light.png" not in text
