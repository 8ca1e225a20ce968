"""Reads the strings of a JSON value while its text arrives: the new characters of each, with its path, in one pass.

It finds where strings begin and end, and reads their escapes; the caller decodes and judges the complete text. Text
that isn't JSON gives meaningless strings, and is refused later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..dataflow.arriving import ArrivingText
from ..dataflow.reference import Path, Segment

_TOKEN = re.compile(r'["{}\[\],:]')
_PLAIN = re.compile(r'[^"\\]+')
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|[^u])", re.DOTALL
)
"""One escaped character: two escapes for a surrogate pair; a lone surrogate doesn't match."""
_LONGEST_ESCAPE = 12


class StringPiece(NamedTuple):
    """New characters of the string at a path; `is_last` ends it."""

    path: Path
    text: str
    is_last: bool


class StringReader:
    """Feed it the text of one value; it yields the new characters of every string in it that is not a key."""

    def __init__(self) -> None:
        self._location: list[Segment | None] = []
        """The current location: a key for each enclosing object, None before its first; an index for each list."""
        self._is_key = self._in_string = False
        self._key: list[str] = []
        self._path: Path = ()
        self._rest = ""
        """An incomplete escape."""

    def feed(self, text: str) -> Iterator[StringPiece]:
        """Take in the next piece of the value's text."""
        text, self._rest = self._rest + text, ""
        position = 0
        while position < len(text):
            if self._in_string:
                position, piece, is_last = self._inside(text, position)
                if self._is_key:
                    self._key.append(piece)
                    if is_last:
                        self._location[-1] = "".join(self._key)
                        self._key.clear()
                elif piece or is_last:
                    yield StringPiece(self._path, piece, is_last)
                if self._rest:
                    return
                continue
            token = _TOKEN.search(text, position)
            if token is None:
                return
            position = token.end()
            self._step(token.group())

    def _step(self, token: str) -> None:
        """Read a token between strings."""
        match token:
            case '"':
                self._in_string = True
                if not self._is_key:
                    self._path = tuple("" if segment is None else segment for segment in self._location)
            case "{":
                self._location.append(None)
                self._is_key = True
            case "[":
                self._location.append(0)
                self._is_key = False
            case ":":
                self._is_key = False
            case ",":
                last = self._location[-1] if self._location else None
                self._is_key = isinstance(last, str)
                if isinstance(last, int):
                    self._location[-1] = last + 1
            case _:
                self._is_key = False
                if self._location:
                    self._location.pop()

    def _inside(self, text: str, position: int) -> tuple[int, str, bool]:
        """Continue in a string: where reading stopped, what was read, and whether the string ended there."""
        pieces: list[str] = []
        while position < len(text):
            if plain := _PLAIN.match(text, position):
                pieces.append(plain.group())
                position = plain.end()
            elif text[position] == '"':
                self._in_string = False
                return position + 1, "".join(pieces), True
            elif escape := _ESCAPE.match(text, position):
                pieces.append(_read(escape.group()))
                position = escape.end()
            elif len(text) - position < _LONGEST_ESCAPE:
                self._rest = text[position:]
                return len(text), "".join(pieces), False
            else:
                position += 1  # not an escape of JSON: the answer will be refused
        return position, "".join(pieces), False


def _read(escape: str) -> str:
    try:
        return json.loads(f'"{escape}"')
    except json.JSONDecodeError:
        return ""


class OutputTexts:
    """Yields the literal parts of an output's strings while the text of the output arrives.

    `is_filled`: a part of some string is filled in later. `is_literal`: a † in this output is plain text (D18).
    """

    def __init__(self, *, is_literal: bool) -> None:
        self._reader = StringReader()
        self._is_literal = is_literal
        self._arriving = ArrivingText()
        self.is_filled = False

    def feed(self, text: str) -> Iterator[tuple[Path, str]]:
        """Take in the next piece of the output's text; yield the new characters of each string, with its path."""
        for piece in self._reader.feed(text):
            new = piece.text
            if not self._is_literal:
                new = self._arriving.add(new) + (self._arriving.end() if piece.is_last else "")
                self.is_filled = self.is_filled or self._arriving.is_filled
                if piece.is_last:
                    self._arriving = ArrivingText()
            if new:
                yield piece.path, new
