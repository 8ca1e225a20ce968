"""What errors say to programs in Python, as users of the command line write it."""

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
"""Configs and limits stand in an Idea's file, and what else is said in Python is an option."""


def spelled(message: str) -> str:
    """A message as the command line has it."""
    for python, own in _SPELLINGS.items():
        message = python.sub(own, message)
    return message
