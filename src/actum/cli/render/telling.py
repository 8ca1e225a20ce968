"""The one way to a terminal: what is told may be anybody's text, so nothing in it steers the terminal (ESC, BEL, bidi).

Everything that the command line prints goes through here; `ruff` refuses `print` anywhere else in it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any


def printable(text: str) -> str:
    """A text without what would steer a terminal or turn its letters round: such characters are spelled out."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def say(line: object) -> None:
    """Print one line on stdout; a line break in it is spelled out, so that nothing passes for a line of its own."""
    print(printable(str(line)), flush=True)


def say_lines(text: str) -> None:
    """Print a text of several lines on stdout."""
    for line in text.split("\n"):
        say(line)


def say_piece(text: str) -> None:
    """Print a piece of a text on stdout as it arrives; its line breaks are its own."""
    print("\n".join(printable(line) for line in text.split("\n")), end="", flush=True)


def say_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON on stdout; what would steer a terminal is escaped, which leaves the value the same."""
    say_lines(json.dumps(value, ensure_ascii=False, indent=indent))


def tell(line: str, end: str = "\n") -> None:
    """Print one line on stderr, as `say` does on stdout."""
    print(printable(line), end=end, file=sys.stderr, flush=True)


def tell_left_out(left_out: Iterable[str]) -> None:
    """Tell what of an Idea's Python was not read, since nothing of it is run."""
    for one in left_out:
        tell(f"actum: left out, because looking runs no code: {one}")
