"""Texts of an answer while they arrive: what of them is certainly literal, not a reference nor a group (E1, O1).

What the rest of a text will be is known once that is resolved; until then it isn't shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..schema.json import Json, is_list, is_object
from .computing.text import REACH, group_end
from .computing.tokens import ComputingSyntax
from .reference import SIGIL, Path

_OPENING = re.compile(r"(?:†|\([( ]*+)?\Z")
"""All of a text of which it isn't known yet whether it is an expression (see `is_expression`)."""
_EXPRESSION = re.compile(r"†(?!†)|\([( ]*+†")
_SIGN = re.compile("[{†]")


class Arriving:
    """One text, piece by piece. `is_filled`: parts of it are filled in later, and nothing behind those is shown."""

    __slots__ = ("_depth", "_is_begun", "_length", "_pieces", "is_filled")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        """What has arrived and isn't shown."""
        self._length = self._depth = 0
        self._is_begun = False
        self.is_filled = False

    def add(self, piece: str) -> str:
        """Take in a piece and return what can be shown now."""
        if self.is_filled:
            return ""
        self._pieces.append(piece)
        self._length += len(piece)
        self._depth += piece.count("{") - piece.count("}")
        if self._can_wait(piece):
            return ""
        return self._released(is_whole=False)

    def end(self) -> str:
        """The text is whole: return what else of it can be shown."""
        return "" if self.is_filled else self._released(is_whole=True)

    def _can_wait(self, piece: str) -> bool:
        """Whether this piece can't decide what the text before it is, so that all of it need not be read again."""
        if len(self._pieces) == 1:
            return False
        if not self._is_begun:
            return not piece.strip("( ")
        return self._depth > 0 and self._length < REACH

    def _released(self, *, is_whole: bool) -> str:
        text = "".join(self._pieces)
        self._pieces = [text]
        if not self._is_begun:
            if not is_whole and _OPENING.match(text):
                return ""
            self._is_begun, self.is_filled = True, _EXPRESSION.match(text) is not None
            if self.is_filled:
                return ""
        return self._literal(text, is_whole=is_whole)

    def _literal(self, text: str, *, is_whole: bool) -> str:
        """What is literal up to where that can't be known yet; that is kept."""
        shown: list[str] = []
        position = 0
        while sign := _SIGN.search(text, position):
            at = sign.start()
            shown.append(text[position:at])
            position = at
            if sign.group() == "{":
                end = _group_end(text, at, is_whole=is_whole)
                if end != 0:
                    self.is_filled = end is not None
                    break
                position += 1
            elif at + 1 == len(text) and not is_whole:
                break
            else:
                position += 2 if text.startswith(SIGIL, at + 1) else 1
            shown.append(sign.group())
        else:
            shown.append(text[position:])
            position = len(text)
        rest = text[position:]
        self._pieces = [rest] if rest else []
        self._length, self._depth = len(rest), rest.count("{") - rest.count("}")
        return "".join(shown)


def _group_end(text: str, start: int, *, is_whole: bool) -> int | None:
    try:
        return group_end(text, start, is_whole=is_whole)
    except ComputingSyntax:
        return len(text)  # the answer will be refused


def shown(value: Json, *, is_whole: bool) -> Any:
    """A value of an answer without what is filled in later; null where nothing of a text can be shown.

    Of a value that is not whole, no text is known to be.
    """
    if isinstance(value, str):
        return _shown_text(value, is_whole=is_whole)
    if is_object(value):
        return {key: shown(member, is_whole=is_whole) for key, member in value.items()}
    return [shown(item, is_whole=is_whole) for item in value] if is_list(value) else value


def _shown_text(text: str, *, is_whole: bool) -> str | None:
    arriving = Arriving()
    found = arriving.add(text)
    if is_whole:
        found += arriving.end()
    return None if text and not found else found


def strings_in(value: Json, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The strings of a value, each with its path."""
    waiting: list[tuple[Path, Json]] = [(path, value)]
    while waiting:
        at, one = waiting.pop()
        if isinstance(one, str):
            yield at, one
        elif is_object(one):
            waiting += [((*at, key), member) for key, member in reversed(one.items())]
        elif is_list(one):
            waiting += [((*at, index), item) for index, item in reversed(list(enumerate(one)))]
