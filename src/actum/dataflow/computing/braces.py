"""Which braces of a text open a group that is computed (E1): each of its signs is looked at once, however they nest."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from ..reference import SIGIL
from .allowance import Meter
from .tokens import MOST_CHARACTERS

REACH = MOST_CHARACTERS + 2
"""How far a group may reach, with its braces."""
OPEN = -1
"""Instead of where a group ends: it holds a † of its own, and isn't closed."""
_SIGN = re.compile("[{}'\"]|†+")
_MARKS = re.compile("†+")


class Brace(NamedTuple):
    """Where a brace opens and the group behind it ends; 0 where it is literal, None where that isn't known yet."""

    start: int
    end: int | None


def braces(text: str, start: int, stop: int, meter: Meter, *, is_whole: bool = True) -> Iterator[Brace]:
    """The opening braces of a part of a text, but for those inside of a group, in order.

    Of a text that is not whole, what one means may depend on what follows.
    """
    signs = _Signs(text, start, stop, meter)
    index = 0
    while (index := signs.opening(index)) < signs.count:
        at = signs.at[index]
        close = signs.closing[index + 1]
        if close < signs.count and signs.at[close] < at + REACH:
            is_group = signs.is_marked[index + 1]
            yield Brace(at, signs.at[close] + 1 if is_group else 0)
            index = close if is_group else index
        elif not is_whole and len(text) < at + REACH:
            yield Brace(at, None)
        else:
            yield Brace(at, OPEN if signs.own_mark[index + 1] < at + REACH else 0)
        index += 1


def marked_parts(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that have a † within reach."""
    start = end = 0
    for mark in _MARKS.finditer(text):
        if mark.start() - REACH > end:
            if end:
                yield start, end
            start = mark.start() - REACH
        end = mark.end() + REACH
    if end:
        yield start, min(end, len(text))


class _Signs:
    """The signs of a part of a text, and of each what follows it for whoever stands before it outside of quotes.

    What follows is the same for all who come by there. So it is found from the end on, in one pass: `closing` is the
    brace that closes what is open there, `is_marked` whether a reference stands before that, and `own_mark` where the
    first one stands that is in no braces of its own. Quotes are passed over, but for the f-strings among them.
    """

    def __init__(self, text: str, start: int, stop: int, meter: Meter) -> None:
        self._text = text
        self.at = array("q")
        self.words: list[str] = []
        for sign in _SIGN.finditer(text, start, stop):
            self.at.append(sign.start())
            self.words.append(sign.group())
            meter.spend(1)
        self.count = count = len(self.words)
        self.closing = array("q", [count]) * (count + 2)
        self.own_mark = array("q", [len(text) + REACH]) * (count + 2)
        self.is_marked = bytearray(count + 2)
        self._follow(meter)

    def opening(self, index: int) -> int:
        """The next opening brace from this sign on."""
        try:
            return self.words.index("{", index)
        except ValueError:
            return self.count

    def _follow(self, meter: Meter) -> None:
        closing, is_marked, own_mark = self.closing, self.is_marked, self.own_mark
        quotes = {"'": self.count, '"': self.count}
        references = array("q", [0]) * (self.count + 2)
        for index in range(self.count - 1, -1, -1):
            word, behind, has_mark = self.words[index], index + 1, False
            references[index] = references[behind]
            meter.spend(2)
            if word == "}":
                closing[index] = index
                continue
            if word == "{":
                has_mark = bool(is_marked[behind])
                behind = closing[behind] + 1
            elif word in quotes:
                closed, quotes[word] = quotes[word], index if self._may_close(index) else quotes[word]
                has_mark = self._is_formatted(index) and references[index + 1] > references[closed]
                behind = closed + 1
            elif len(word) % 2:  # pairs of † are the sign itself
                has_mark = True
                references[index] += 1
            closing[index], own_mark[index] = closing[behind], own_mark[behind]
            is_marked[index] = has_mark or is_marked[behind]
            if has_mark and word[0] == SIGIL and self._is_named(index):
                own_mark[index] = self.at[index]

    def _may_close(self, index: int) -> bool:
        """Whether a quote isn't escaped, for whoever stands inside of quotes."""
        at = before = self.at[index]
        while before and self._text[before - 1] == "\\":
            before -= 1
        return (at - before) % 2 == 0

    def _is_formatted(self, index: int) -> bool:
        """Whether a quote begins an f-string."""
        before = self._text[max(self.at[index] - 2, 0) : self.at[index]]
        return before[-1:] in ("f", "F") and not (before[:-1].isalnum() or before[:-1] == "_")

    def _is_named(self, index: int) -> bool:
        """Whether a name follows a †, as in a reference."""
        end = self.at[index] + len(self.words[index])
        return self._text[end : end + 1].isalpha()
