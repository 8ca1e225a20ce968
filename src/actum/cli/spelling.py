"""Rewrites the Python in error messages into what users of the command line write."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SPELLINGS: Mapping[re.Pattern[str], str] = {
    re.compile(r"Limits\((\w+)=…\) can't be held: give load\(…, price=Price\(…\)\)"): (
        r"config.limits.\1 can't be held: limit requests or tokens"
    ),
    re.compile(r"Config\((\w+)=(?:…|\[…\]|True)\)"): r"config.\1",
    re.compile(r"(?:Worker|run)\(…, deps=(?:…|\{name: …\})\)"): "--deps MODULE:FUNCTION, or NAME=MODULE:FUNCTION",
    re.compile(r"\bmember='([^']*)'"): r"--member \1",
}
"""Configs and limits are in an Idea's file; the rest are options."""


def spelled(message: str) -> str:
    """A message in the words of the command line."""
    for python, spelling in _SPELLINGS.items():
        message = python.sub(spelling, message)
    return message
