"""The strings of a JSON value while its text arrives: the new characters of each, with its path, in one pass.

It finds where strings begin and end, and reads their escapes; whoever decodes the whole text judges it. What is not
JSON gives strings that nobody will need.
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
"""One character: two escapes where UTF-16 needs them; a surrogate alone is none."""
_LONGEST_ESCAPE = 12


class StringPiece(NamedTuple):
    """What is new of the string at a path; `is_last` ends it."""

    path: Path
    text: str
    is_last: bool


class StringReader:
    """Feed it the text of one value; it yields what is new of every string in it that is not a key."""

    def __init__(self) -> None:
        self._way: list[Segment | None] = []
        """Where it reads: the key of each object around, None before the first; the index in each list."""
        self._is_key = self._in_string = False
        self._key: list[str] = []
        self._path: Path = ()
        self._rest = ""
        """An escape that isn't whole."""

    def feed(self, text: str) -> Iterator[StringPiece]:
        """Take in the next piece of the value's text."""
        text, self._rest = self._rest + text, ""
        position = 0
        while position < len(text):
            if self._in_string:
                position, found, is_last = self._inside(text, position)
                if self._is_key:
                    self._key.append(found)
                    if is_last:
                        self._way[-1] = "".join(self._key)
                        self._key.clear()
                elif found or is_last:
                    yield StringPiece(self._path, found, is_last)
                if self._rest:
                    return
                continue
            token = _TOKEN.search(text, position)
            if token is None:
                return
            position = token.end()
            self._step(token.group())

    def _step(self, token: str) -> None:
        """Read what stands between strings."""
        match token:
            case '"':
                self._in_string = True
                if not self._is_key:
                    self._path = tuple("" if one is None else one for one in self._way)
            case "{":
                self._way.append(None)
                self._is_key = True
            case "[":
                self._way.append(0)
                self._is_key = False
            case ":":
                self._is_key = False
            case ",":
                last = self._way[-1] if self._way else None
                self._is_key = isinstance(last, str)
                if isinstance(last, int):
                    self._way[-1] = last + 1
            case _:
                self._is_key = False
                if self._way:
                    self._way.pop()

    def _inside(self, text: str, position: int) -> tuple[int, str, bool]:
        """Read on in a string: where it stopped, what it read, and whether the string ended there."""
        found: list[str] = []
        while position < len(text):
            if plain := _PLAIN.match(text, position):
                found.append(plain.group())
                position = plain.end()
            elif text[position] == '"':
                self._in_string = False
                return position + 1, "".join(found), True
            elif escape := _ESCAPE.match(text, position):
                found.append(_read(escape.group()))
                position = escape.end()
            elif len(text) - position < _LONGEST_ESCAPE:
                self._rest = text[position:]
                return len(text), "".join(found), False
            else:
                position += 1  # no escape of JSON: the answer will be refused
        return position, "".join(found), False


def _read(escape: str) -> str:
    try:
        return json.loads(f'"{escape}"')
    except json.JSONDecodeError:
        return ""


class OutputTexts:
    """What of the strings of an output is literal, while the text of the output arrives.

    `is_filled`: of one of them, a part is filled in later. `is_literal`: a † means nothing in this output (D18).
    """

    def __init__(self, *, is_literal: bool) -> None:
        self._reader = StringReader()
        self._is_literal = is_literal
        self._arriving = ArrivingText()
        self.is_filled = False

    def feed(self, text: str) -> Iterator[tuple[Path, str]]:
        """Take in the next piece of the output's text; what is new of each string, with its path."""
        for piece in self._reader.feed(text):
            found = piece.text
            if not self._is_literal:
                found = self._arriving.add(found) + (self._arriving.end() if piece.is_last else "")
                self.is_filled = self.is_filled or self._arriving.is_filled
                if piece.is_last:
                    self._arriving = ArrivingText()
            if found:
                yield piece.path, found
