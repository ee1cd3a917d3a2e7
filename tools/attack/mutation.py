"""Random damage to bytes, text and JSON values."""

# ruff: noqa: E501 - lists of odd things read better in wide lines

from __future__ import annotations

import copy
import random
from typing import Any

MARKS = "\u0301\u0316"
"""An accent above and one below: many of one before many of the other take quadratic time."""
ODD_TEXTS = (
    "", " ", "\t", "\n", "\r", "\0", "-", "--", "a", "A", "é", "e\u0301", "한글", "नमस्ते", "\u202e", "\ufeff",
    "\u2028", "\U0001f600", "\udcff", "\ud800", "\\", "/", "..", "../..", "/dev/null", "/dev/full",
    "%s", "{}", "$(x)", "<a>", "&amp;", "]]>", "nan", "inf", "-inf", "1e999", "0x10", "1_0", "٣",
    "true", "null", "None", "x" * 300, "é" * 2000,
    "\x1b[2J\x1b]0;a\x07", "a" + MARKS[0] * 40 + MARKS[1] * 40,
)  # fmt: skip
ODD_NUMBERS = (
    0, 1, -1, 2, 3, 7, 255, 256, 1000, 2**15, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**30,
    0.0, -0.0, 0.5, 1e-300, 1e300, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
ODD_BYTES = (
    b"\0", b"\n", b"\r\n", b"\r", b"\t", b"\t\t", b" ", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf",
    b"\x1f\x8b", b"\xe2\x80\xa8", b"\xf4\x90\x80\x80", b"<", b">", b"&", b"&#0;", b"&#55296;",
    b"<!--", b"]]>", b"<![CDATA[", b"<!DOCTYPE a [", b"<?xml", b'"', b"'", b"{", b"[", b"]", b"}", b":",
    b",", b"=", b"#", b"null", b"NaN", b"-1", b"1e999", b"9" * 40, b"\\ud800", b"\\u0000", b";", b"|",
    b"a" * 1200, b"\t" * 60, b"\n" * 60, "نمس".encode(), "가".encode(), "e\u0301".encode(),
    b" " * 100_000, b"\x1b[2J", ("a" + MARKS[0] * 30_000 + MARKS[1] * 30_000).encode(),
)  # fmt: skip


def damaged(content: bytes, draw: random.Random, most: int = 4) -> bytes:
    """Returns the content with a few places changed, cut out, doubled, copied or inserted."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, most)):
        at = draw.randrange(len(changed) + 1)
        size = draw.choice((1, 1, 2, 8, 64, 1000))
        match draw.randrange(7):
            case 0 if at < len(changed):
                changed[at] ^= 1 << draw.randrange(8)
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = changed[at : at + size]
            case 3:
                changed[at : at + size] = draw.randbytes(size)
            case 4:
                del changed[at:]
            case 5:
                other = draw.randrange(len(changed) + 1)
                changed[at:at] = changed[other : other + size]
            case _:
                changed[at : at + draw.choice((0, 1, 4))] = draw.choice(ODD_BYTES)
    return bytes(changed)


def odd_value(draw: random.Random, depth: int = 2) -> Any:
    """Returns any JSON value, usually an awkward one."""
    kind = draw.randrange(7 if depth else 5)
    if kind < 2:
        return draw.choice(ODD_NUMBERS)
    if kind < 4:
        return draw.choice(ODD_TEXTS)
    if kind == 4:
        return draw.choice((None, True, False, [], {}))
    size = draw.randrange(4)
    if kind == 5:
        return [odd_value(draw, depth - 1) for _ in range(size)]
    return {draw.choice(ODD_TEXTS): odd_value(draw, depth - 1) for _ in range(size)}


def damaged_value(value: Any, draw: random.Random, most: int = 3) -> Any:
    """Returns a JSON value with a few of its parts replaced, removed, copied or added."""
    root = [copy.deepcopy(value)]
    for _ in range(draw.randint(1, most)):
        places = list(_places(root))
        holder, key = draw.choice(places)
        match draw.randrange(5):
            case 0 if holder is not root:
                del holder[key]
            case 1:
                other, name = draw.choice(places)
                holder[key] = copy.deepcopy(other[name])
            case 2 if isinstance(holder, dict):
                holder[draw.choice(ODD_TEXTS)] = odd_value(draw)
            case 3 if isinstance(holder[key], (int, float)) and holder[key] is not True:
                holder[key] = draw.choice((holder[key] + 1, -holder[key], str(holder[key])))
            case _:
                holder[key] = odd_value(draw)
    return root[0]


def _places(holder: Any) -> list[tuple[Any, Any]]:
    """Returns every place in nested lists and objects: what holds it, and its key there."""
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    places = [(holder, key) for key in keys]
    for key in keys:
        if isinstance(holder[key], (dict, list)):
            places += _places(holder[key])
    return places
