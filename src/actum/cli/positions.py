"""Where values stand in a JSON text: from paths into the value to line and column, in one pass over the text.

Also finds where the text is not JSON as the protocol takes it, every place that one pass can tell.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..schema.json import MAX_DEPTH, decode

Place: TypeAlias = tuple["str | int", ...]
Spot: TypeAlias = tuple[int, int]
"""Line and column, both from 1."""

_TOKEN = re.compile(r'[\s\ufeff]*("(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+)', re.DOTALL)


@dataclass(slots=True)
class _Wanted:
    """A place that is asked for, or one on the way to it. Steps are kept as text: an error's path tells no index."""

    offset: int | None = None
    below: dict[str, _Wanted] = field(default_factory=dict[str, "_Wanted"])


@dataclass(slots=True)
class _Open:
    """An object or array that the scan is inside of."""

    is_object: bool
    wanted: _Wanted | None
    index: int = 0
    key: str | None = None
    keys: set[str] = field(default_factory=set[str])


class Positions:
    """The places of some values in a text that is JSON."""

    def __init__(self, text: str, places: Iterable[Place]) -> None:
        self._lines = _line_starts(text)
        self._root = _Wanted()
        for place in places:
            wanted = self._root
            for step in place:
                wanted = wanted.below.setdefault(str(step), _Wanted())
        self._scan(text)

    def of(self, place: Place) -> Spot:
        """Where the value at a place begins, or the nearest one that holds it."""
        wanted = self._root
        offset = wanted.offset or 0
        for step in place:
            inner = wanted.below.get(str(step))
            if inner is None or inner.offset is None:
                break
            wanted, offset = inner, inner.offset
        return _spot(self._lines, offset)

    def _scan(self, text: str) -> None:
        stack: list[_Open] = []
        for token, offset in _tokens(text):
            holder = stack[-1] if stack else None
            if token in "]}":
                stack.pop()
            elif token == ",":
                if holder is not None:
                    holder.key, holder.index = None, holder.index + 1
            elif token != ":":
                if holder is not None and holder.is_object and holder.key is None:
                    holder.key = str(json.loads(token))
                    continue
                wanted = self._found(holder, offset)
                if token in "[{":
                    stack.append(_Open(token == "{", wanted))

    def _found(self, holder: _Open | None, offset: int) -> _Wanted | None:
        wanted = self._root
        if holder is not None:
            step = holder.key if holder.is_object else str(holder.index)
            inner = holder.wanted.below.get(step or "") if holder.wanted is not None else None
            if inner is None:
                return None
            wanted = inner
        wanted.offset = offset
        return wanted


def faults(text: str) -> list[tuple[Spot, str]]:
    """What keeps a text from being JSON, each with its place."""
    lines = _line_starts(text)
    found = [(_spot(lines, offset), message) for offset, message in _refused(text)]
    try:
        json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        found.append(((error.lineno, error.colno), error.msg))
    except (ValueError, RecursionError):  # too deep or too large, which was found above
        pass
    return found


def _refused(text: str) -> Iterator[tuple[int, str]]:
    """What is well-formed and still not taken: keys that stand twice, numbers without end, endless nesting."""
    stack: list[_Open] = []
    for token, offset in _tokens(text):
        holder = stack[-1] if stack else None
        if token in "[{":
            stack.append(_Open(token == "{", None))
            if len(stack) > MAX_DEPTH:
                yield offset, f"nests deeper than {MAX_DEPTH}"
                return
        elif token in "]}":
            if not stack:
                return
            stack.pop()
        elif token == "," and holder is not None:
            holder.key = None
        elif token not in ",:" and (message := _refusal(token, holder)) is not None:
            yield offset, message


def _refusal(token: str, holder: _Open | None) -> str | None:
    try:
        json.loads(token)
        value = decode(token)
    except json.JSONDecodeError:  # told once, by the place where reading ends, not token by token
        return None
    except ValueError as error:
        return str(error)
    if holder is None or not holder.is_object or holder.key is not None or not isinstance(value, str):
        return None
    holder.key = value
    if value in holder.keys:
        return f"the key {value!r} stands twice in one object"
    holder.keys.add(value)
    return None


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    position = 0
    while match := _TOKEN.match(text, position):
        yield match.group(1), match.start(1)
        position = match.end()


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _spot(lines: Sequence[int], offset: int) -> Spot:
    line = bisect_right(lines, offset)
    return line, offset - lines[line - 1] + 1
