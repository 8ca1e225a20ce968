"""What is noted at paths, found by path: at it, above it, inside it. An operation costs the path, or what it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from .reference import Reference, Segment

T = TypeVar("T")


class _Node(Generic[T]):
    __slots__ = ("inner", "note")

    def __init__(self, note: T) -> None:
        self.note = note
        self.inner: dict[Segment, _Node[T]] | None = None


class PathTree(Generic[T]):
    """One note for each path; `make` makes that of a path that has none yet."""

    __slots__ = ("_kinds", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._kinds: dict[str, _Node[T]] = {}

    def way(self, reference: Reference) -> list[T]:
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
