"""Prints on the terminal. Texts may come from anybody, so nothing in them controls the terminal (ESC, BEL, bidi).

Everything that the command line prints goes through here; `ruff` refuses `print` elsewhere in it.
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
    """Output could not be written: a full disk, a closed stream."""

    code = "unwritable"


def _as_in_json(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("actum.json", _as_in_json)


def _encodable(text: str, stream_encoding: str | None) -> str:
    """A text with characters that the encoding lacks escaped as in JSON, so that JSON keeps its value."""
    encoding = stream_encoding or "utf-8"  # the stream's replacement during live drawing names none
    return text.encode(encoding, "actum.json").decode(encoding)


def say(line: object) -> None:
    """Print one line on stdout; line breaks in it are escaped, so that no text can fake a line of its own.

    Raises:
        Unwritable: it can't be written; for a pipe that nobody reads, BrokenPipeError instead.
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
    """Print a text with an indentation, which wrapped lines keep on a terminal."""
    indent, lines = "  " * depth, [text]
    if sys.stdout is not None and sys.stdout.isatty():  # pyright: ignore[reportUnnecessaryComparison] -- as above
        room = max(get_terminal_size().columns - len(indent) - 4, 20)
        lines = wrap(printable(text), room, break_on_hyphens=False) or lines
    for number, line in enumerate(lines):
        say(f"{indent}{'    ' if number else ''}{line}")


def say_lines(text: str) -> None:
    """Print a text with line breaks on stdout."""
    for line in text.split("\n"):
        say(line)


def say_piece(text: str) -> None:
    """Print a piece of a text on stdout as it arrives, with its own line breaks."""
    print("\n".join(printable(line) for line in text.split("\n")), end="", flush=True)


def say_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON on stdout; control characters are escaped, which keeps the value."""
    say_lines(json.dumps(value, ensure_ascii=False, indent=indent))


def tell(line: str, end: str = "\n") -> None:
    """Print one line on stderr, as `say` does on stdout; if that fails, the run goes on."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] -- as above
        try:
            print(_encodable(printable(line), sys.stderr.encoding), end=end, file=sys.stderr, flush=True)
        except BlockingIOError:
            return  # the next line may get through
        except OSError:
            give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Redirect a broken stream to nowhere: otherwise Python complains when it flushes it on exit."""
    with suppress(OSError, ValueError):  # a stream without a file, or a closed one, isn't flushed
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, stream.fileno())
        os.close(devnull)


class PassingLine:
    """A dim line on a terminal's stderr that the next output replaces; without a terminal, nothing is written."""

    def __init__(self) -> None:
        self._text = ""
        self._is_shown = False

    def add(self, text: str) -> None:
        """Append to the line; if it is wider than the terminal, its end is shown."""
        if sys.stderr is None or not sys.stderr.isatty():  # pyright: ignore[reportUnnecessaryComparison] -- as above
            return
        self._text = (self._text + text)[-_MOST_PASSING:]
        with suppress(OSError):
            shown = _encodable(last_cells(printable(self._text), _columns() - 1), sys.stderr.encoding)
            print(f"\r\x1b[2K\x1b[2m{shown}\x1b[0m", end="", file=sys.stderr, flush=True)
            self._is_shown = True

    def end(self) -> None:
        """Remove the line."""
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
    """The end of a text that fits into `most` columns; some characters take two."""
    from rich.cells import get_character_cell_size

    room, start = most, len(text)
    while start and (room := room - get_character_cell_size(text[start - 1])) >= 0:
        start -= 1
    return text[start:]


def tell_left_out(left_out: Iterable[str]) -> None:
    """Say what is not known of an Idea's Python, since none of it is run."""
    for line in left_out:
        tell(f"actum: {line}")
