"""A reference names one value in the context: `†kind.path` (O1). Parsing and printing, not its value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from ..schema.json import MAX_DEPTH, NotJson, decode, index_of

Segment: TypeAlias = str | int
Path: TypeAlias = tuple[Segment, ...]

SIGIL = "†"
CALLS = "calls"
"""The kind whose N-th member is the result of the N-th call of the same answer (O6)."""
RESULTS = "results"
"""The kind whose member N is a result of an earlier answer, by the number that a model was shown (O10)."""
NUMBERED = frozenset({CALLS, RESULTS})
"""The kinds whose values are referred to by number: calls of the same answer, results of earlier ones (O6, O10)."""

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


T = TypeVar("T")


class _Node(Generic[T]):
    __slots__ = ("inner", "note")

    def __init__(self, note: T) -> None:
        self.note = note
        self.inner: dict[Segment, _Node[T]] | None = None


class PathTree(Generic[T]):
    """One note for each path; `make` makes the note of a path that has none yet."""

    __slots__ = ("_kinds", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._kinds: dict[str, _Node[T]] = {}

    def notes_to(self, reference: Reference) -> list[T]:
        """The notes from the reference's kind down to its path, made where missing."""
        node = self._kinds.get(reference.kind)
        if node is None:
            node = self._kinds[reference.kind] = _Node(self._make())
        notes = [node.note]
        for segment in reference.path:
            if node.inner is None:
                node.inner = {}
            inner = node.inner.get(segment)
            if inner is None:
                inner = node.inner[segment] = _Node(self._make())
            node = inner
            notes.append(node.note)
        return notes

    def around(self, reference: Reference) -> tuple[list[T], T | None]:
        """The notes above a path, from its kind down, and the one at it."""
        notes: list[T] = []
        node = self._kinds.get(reference.kind)
        for segment in reference.path:
            if node is None:
                return notes, None
            notes.append(node.note)
            node = None if node.inner is None else node.inner.get(segment)
        return notes, None if node is None else node.note

    def inside(self, reference: Reference) -> list[T]:
        """The notes at a path and inside it."""
        node = self._kinds.get(reference.kind)
        for segment in reference.path:
            if node is None or node.inner is None:
                return []
            node = node.inner.get(segment)
        notes: list[T] = []
        nodes = [] if node is None else [node]
        while nodes:
            node = nodes.pop()
            notes.append(node.note)
            if node.inner is not None:
                nodes.extend(node.inner.values())
        return notes

    def cut(self, reference: Reference) -> list[T]:
        """The same, forgetting all notes inside the path; the one at it stays."""
        notes = self.inside(reference)
        if len(notes) > 1:
            node = self._kinds[reference.kind]
            for segment in reference.path:
                assert node.inner is not None
                node = node.inner[segment]
            node.inner = None
        return notes
