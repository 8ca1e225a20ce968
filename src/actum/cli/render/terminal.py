"""The one way to a terminal: what is told may be anybody's text, so nothing in it steers the terminal (ESC, BEL, bidi).

Everything that the command line prints goes through here; `ruff` refuses `print` anywhere else in it.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, TextIO

from ...errors import ActumError
from ...schema.quoting import printable


class Unwritable(ActumError):
    """What was to be told could not be written: a full disk, a closed stream."""

    code = "unwritable"


def _as_in_json(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("actum.json", _as_in_json)


def _encodable(text: str, named: str | None) -> str:
    """A text with what the stream's encoding doesn't have written as in JSON, so that JSON stays the same value."""
    encoding = named or "utf-8"  # what stands for the stream while something is drawn names none
    return text.encode(encoding, "actum.json").decode(encoding)


def say(line: object) -> None:
    """Print one line on stdout; a line break in it is spelled out, so that nothing passes for a line of its own.

    Raises:
        Unwritable: it can't be written, but for a pipe that nobody reads: BrokenPipeError.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] -- it was closed before the start
        raise Unwritable("nothing can be written to stdout: it is closed")
    try:
        print(_encodable(printable(str(line)), sys.stdout.encoding), flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritable(f"nothing can be written to stdout: {error.strerror or error}") from None


def say_below(depth: int, text: str) -> None:
    """Print a text under its indentation, which on a terminal its further lines keep."""
    indent, lines = "  " * depth, [text]
    if sys.stdout is not None and sys.stdout.isatty():  # pyright: ignore[reportUnnecessaryComparison] -- as above
        room = max(get_terminal_size().columns - len(indent) - 4, 20)
        lines = wrap(printable(text), room, break_on_hyphens=False) or lines
    for number, line in enumerate(lines):
        say(f"{indent}{'    ' if number else ''}{line}")


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
    """Print one line on stderr, as `say` does on stdout; where nobody can be told, a run still goes on."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] -- as above
        try:
            print(_encodable(printable(line), sys.stderr.encoding), end=end, file=sys.stderr, flush=True)
        except BlockingIOError:
            return  # it may take the next line
        except OSError:
            give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Let go of a stream that takes nothing: Python would complain when it flushes it on exit."""
    with suppress(OSError, ValueError):  # one that isn't a file, or is closed, is not flushed
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


class Passing:
    """A dim line on a terminal's stderr, of which what comes next takes the place; nowhere else is it written."""

    def __init__(self) -> None:
        self._text = ""
        self._is_shown = False

    def add(self, text: str) -> None:
        """Let it grow; of what is longer than the terminal is wide, the end is shown."""
        if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison] -- as above
            return
        self._text = (self._text + text)[-_MOST_PASSING:]
        with suppress(OSError):
            shown = _encodable(last_cells(printable(self._text), _columns() - 1), sys.stderr.encoding)
            print(f"\r\x1b[2K\x1b[2m{shown}\x1b[0m", end="", file=sys.stderr, flush=True)
            self._is_shown = True

    def end(self) -> None:
        """Take it away."""
        self._text = ""
        if self._is_shown:
            with suppress(OSError):
                print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
            self._is_shown = False


_MOST_PASSING = 1_000
"""How many characters of a passing line are kept: more than a terminal is wide."""


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def last_cells(text: str, most: int) -> str:
    """The end of a text that takes no more than so many columns: some signs take two."""
    from rich.cells import get_character_cell_size

    room, start = most, len(text)
    while start and (room := room - get_character_cell_size(text[start - 1])) >= 0:
        start -= 1
    return text[start:]


def tell_left_out(left_out: Iterable[str]) -> None:
    """Tell what is not known of an Idea's Python, since nothing of it is run."""
    for one in left_out:
        tell(f"actum: {one}")
