"""Texts of an answer while they arrive: what of them is certainly literal, not a reference nor a group (E1, O1).

What the rest of a text will be is known once that is resolved; until then it isn't shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..schema.json import Json, leaves_of, with_texts
from .computing.allowance import Allowance, Meter
from .computing.group_reader import REACH, braces
from .computing.operands import ComputingError
from .reference import SIGIL, Path

_OPENING = re.compile(r"(?:†|\([( ]*+)?\Z")
"""A text so far that may still turn out to be an expression (see `is_expression`)."""
_EXPRESSION = re.compile(r"†(?!†)|\([( ]*+†")
_MOST_READINGS = 4
"""How often a character may be read again, on average, before more of what may be a group is waited for."""


class ArrivingText:
    """One text, piece by piece. `is_filled`: parts of it are filled in later, and nothing behind those is shown."""

    __slots__ = ("_depth", "_is_begun", "_left", "_length", "_pieces", "is_filled")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        """What has arrived and isn't shown."""
        self._length = self._depth = 0
        self._left = _MOST_READINGS * REACH
        """How many characters may be read."""
        self._is_begun = False
        self.is_filled = False

    def add(self, piece: str) -> str:
        """Take in a piece and return what can be shown now."""
        if self.is_filled:
            return ""
        self._pieces.append(piece)
        self._length += len(piece)
        self._left += _MOST_READINGS * len(piece)
        self._depth += piece.count("{") - piece.count("}")
        if self._can_wait(piece):
            return ""
        return self._release(is_whole=False)

    def end(self) -> str:
        """Return what else can be shown, now that the text is whole."""
        return "" if self.is_filled else self._release(is_whole=True)

    def _can_wait(self, piece: str) -> bool:
        """Whether what has arrived need not be read again: this piece decides nothing, or it was read too often."""
        if len(self._pieces) == 1:
            return False
        if not self._is_begun:
            return not piece.strip("( ")
        return (self._depth > 0 and self._length < REACH) or self._length > self._left

    def _release(self, *, is_whole: bool) -> str:
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
        """The text that is certainly literal; the rest is kept."""
        self._left -= len(text)
        end = len(text)
        try:
            for brace in braces(text, 0, end, Meter(Allowance()), is_whole=is_whole):
                if brace.end != 0:
                    end, self.is_filled = brace.start, brace.end is not None
                    break
        except ComputingError:  # the answer will be refused
            end, self.is_filled = 0, True
        literal, rest = text[:end], text[end:]
        if not rest and not is_whole and (len(literal) - len(literal.rstrip(SIGIL))) % 2:
            literal, rest = literal[:-1], SIGIL
        self._pieces = [rest] if rest else []
        self._length, self._depth = len(rest), rest.count("{") - rest.count("}")
        return literal.replace(SIGIL * 2, SIGIL)


def shown_so_far(value: Json, *, is_whole: bool) -> Any:
    """A value of an answer without what is filled in later; null where nothing of a text can be shown.

    Of a value that is not whole, no text is known to be.
    """
    return with_texts(value, partial(_shown_text, is_whole=is_whole))


def _shown_text(text: str, *, is_whole: bool) -> str | None:
    arriving = ArrivingText()
    shown = arriving.add(text)
    if is_whole:
        shown += arriving.end()
    return None if text and not shown else shown


def strings_in(value: Json) -> Iterator[tuple[Path, str]]:
    """The strings of a value, each with its path."""
    return ((path, text) for path, text in leaves_of(value) if isinstance(text, str))
