"""The reference of commands is what ``--help`` prints."""

from __future__ import annotations

import commands


def test_the_page_is_up_to_date() -> None:
    assert commands.PAGE.read_text("utf-8") == commands.page(), "run `make reference`"
