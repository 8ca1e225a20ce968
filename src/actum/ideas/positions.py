"""Where each value of a JSON text is: from a path into the value to line and column, in one pass."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Path: TypeAlias = tuple["str | int", ...]

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+)')


@dataclass(slots=True)
class _Open:
    is_object: bool
    index: int = 0
    key: str | None = None


@dataclass(slots=True)
class Positions:
    """The positions of the values in a text that is known to be JSON."""

    text: str
    found: dict[Path, int] = field(default_factory=dict[Path, int])
    _lines: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self._read()

    def of(self, path: Sequence[str | int]) -> tuple[int, int]:
        """Line and column, from 1, of the value at a path, or of the nearest one that holds it."""
        known = tuple(path)
        while known and known not in self.found:
            known = known[:-1]
        offset = self.found.get(known, 0)
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def _read(self) -> None:
        stack: list[_Open] = []
        path: list[str | int] = []
        position = 0
        while match := _TOKEN.match(self.text, position):
            token, start, position = match.group(1), match.start(1), match.end()
            if token in "}]":
                stack.pop()
                self._after(stack, path)
            elif token in ",:":
                continue
            elif stack and stack[-1].is_object and stack[-1].key is None:
                stack[-1].key = str(json.loads(token))
                path.append(stack[-1].key)
            else:
                self._value(token, start, stack, path)

    def _value(self, token: str, start: int, stack: list[_Open], path: list[str | int]) -> None:
        if stack and not stack[-1].is_object:
            path.append(stack[-1].index)
            stack[-1].index += 1
        self.found[tuple(path)] = start
        if token in "{[":
            stack.append(_Open(token == "{"))
        else:
            self._after(stack, path)

    @staticmethod
    def _after(stack: list[_Open], path: list[str | int]) -> None:
        """A value has ended: leave its key or index."""
        if path:
            path.pop()
        if stack and stack[-1].is_object:
            stack[-1].key = None
