"""A reference names one value in the context: `†kind.path` (O1). Parsing and printing, not its value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ..schema.json import MAX_DEPTH, NotJson, decode, index_of

Segment: TypeAlias = str | int
Path: TypeAlias = tuple[Segment, ...]

SIGIL = "†"
CALLS = "calls"
"""The kind whose N-th member is the result of the N-th call of the same answer (O6)."""
RESULTS = "results"
"""The kind whose member N is the result that earlier answers have left, and a model was shown as that (O10)."""
NUMBERED = frozenset({CALLS, RESULTS})
"""What is referred to by a number: the calls of the same answer, the results that earlier ones have left (O6, O10)."""

_NAME = r'[^\s.\[\]()<>|&*"†?]+'
_KIND = re.compile(_NAME)
_SEGMENT = re.compile(rf'\.(?P<name>{_NAME})|\[(?P<index>[0-9]{{1,9}})\]|\[(?P<key>"(?:[^"\\]|\\.)*"|\'[^\'"\\]*\')\]')
_PLAIN = re.compile(rf"{_NAME}\Z")


class ReferenceSyntax(ValueError):
    """A text that begins like a reference but is not a valid one; in a JSON value, `at` is its path."""

    def __init__(self, reason: str, at: str = "") -> None:
        self.reason = reason
        self.at = at
        super().__init__(f"at {at}: {reason}" if at else reason)


@dataclass(frozen=True, slots=True)
class Reference:
    """`†kind.path`: the kind of a data message, or `calls`, and the way into its value."""

    kind: str
    path: Path = ()

    def __str__(self) -> str:
        if self.kind in NUMBERED and self.path and isinstance(self.path[0], int):
            return f"{SIGIL}{self.kind}.{self.path[0]}{print_path(self.path[1:])}"
        return f"{SIGIL}{self.kind}{print_path(self.path)}"

    def covers(self, other: Reference) -> bool:
        """Whether `other` is this path or one inside it."""
        return self.kind == other.kind and other.path[: len(self.path)] == self.path


def call_index(reference: Reference) -> int | None:
    """The N of `†calls.N` or `†results.N`, None where it has none."""
    return reference.path[0] if reference.path and isinstance(reference.path[0], int) else None


def overlaps(left: Reference, right: Reference) -> bool:
    """Whether one of two places lies in the other."""
    return left.covers(right) or right.covers(left)


def any_overlap(references: Iterable[Reference], place: Reference) -> bool:
    """Whether any of the places overlaps with this one."""
    return any(overlaps(reference, place) for reference in references)


def with_position(reference: Reference, depth: int) -> Reference | None:
    """The reference with a position where it has a key of digits, which no list has; None where it has none."""
    segment = reference.path[depth] if depth < len(reference.path) else 0
    if isinstance(segment, int) or (index := index_of(segment)) is None:
        return None
    return Reference(reference.kind, (*reference.path[:depth], index, *reference.path[depth + 1 :]))


def print_path(path: Path) -> str:
    """Write a path as it follows a kind: `.x[0]["odd key"]`."""
    return "".join(_print_segment(segment) for segment in path)


def _print_segment(segment: Segment) -> str:
    if isinstance(segment, int):
        return f"[{segment}]"
    if _PLAIN.match(segment):
        return f".{segment}"
    return f"[{json.dumps(segment, ensure_ascii=False)}]"


def scan_reference(text: str, start: int) -> tuple[Reference, int]:
    """Read the reference that begins at `start`; return it and where it ends.

    Raises:
        ReferenceSyntax: naming the character that is not allowed there.
    """
    kind = _KIND.match(text, start + 1)
    if kind is None:
        raise ReferenceSyntax(f"a kind must follow † at character {start + 1} of {clip(text)!r}")
    path: list[Segment] = []
    position = kind.end()
    while segment := _SEGMENT.match(text, position):
        path.append(_segment(segment))
        position = segment.end()
        if len(path) > MAX_DEPTH:
            raise ReferenceSyntax(f"a path of more than {MAX_DEPTH} steps leads nowhere: no value nests so deep")
    if position < len(text) and text[position] in '.["†':
        raise ReferenceSyntax(f"no path segment can be read at character {position} of {clip(text)!r}")
    if kind.group() in NUMBERED and path and isinstance(path[0], str) and (number := index_of(path[0])) is not None:
        path[0] = number
    return Reference(kind.group(), tuple(path)), position


def _segment(match: re.Match[str]) -> Segment:
    if (name := match["name"]) is not None:
        return name
    if (index := match["index"]) is not None:
        return int(index)
    try:
        return str(decode(f'"{match["key"][1:-1]}"'))
    except NotJson as error:
        raise ReferenceSyntax(f"{clip(match['key'])} is not a quoted key: {error}") from None


def clip(text: str, most: int = 80) -> str:
    """Shorten a text that is quoted in a message."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
