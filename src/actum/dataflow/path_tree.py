"""What is noted at paths, found by path: at it, above it, inside it. An operation costs the path, or what it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from .reference import Reference, Segment

T = TypeVar("T")


class _Place(Generic[T]):
    __slots__ = ("inner", "note")

    def __init__(self, note: T) -> None:
        self.note = note
        self.inner: dict[Segment, _Place[T]] | None = None


class PathTree(Generic[T]):
    """One note for each path; `make` makes that of a path that has none yet."""

    __slots__ = ("_kinds", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._kinds: dict[str, _Place[T]] = {}

    def way(self, reference: Reference) -> list[T]:
        """The notes from the reference's kind down to its path, made where there are none."""
        place = self._kinds.get(reference.kind)
        if place is None:
            place = self._kinds[reference.kind] = _Place(self._make())
        notes = [place.note]
        for segment in reference.path:
            if place.inner is None:
                place.inner = {}
            inner = place.inner.get(segment)
            if inner is None:
                inner = place.inner[segment] = _Place(self._make())
            place = inner
            notes.append(place.note)
        return notes

    def around(self, reference: Reference) -> tuple[list[T], T | None]:
        """The notes above a path, from its kind down, and the one at it."""
        notes: list[T] = []
        place = self._kinds.get(reference.kind)
        for segment in reference.path:
            if place is None:
                return notes, None
            notes.append(place.note)
            place = None if place.inner is None else place.inner.get(segment)
        return notes, None if place is None else place.note

    def inside(self, reference: Reference) -> list[T]:
        """The notes at a path and inside it."""
        place = self._kinds.get(reference.kind)
        for segment in reference.path:
            if place is None or place.inner is None:
                return []
            place = place.inner.get(segment)
        notes: list[T] = []
        places = [] if place is None else [place]
        while places:
            place = places.pop()
            notes.append(place.note)
            if place.inner is not None:
                places.extend(place.inner.values())
        return notes

    def cut(self, reference: Reference) -> list[T]:
        """The same, forgetting all notes inside the path; the one at it stays."""
        notes = self.inside(reference)
        if len(notes) > 1:
            place = self._kinds[reference.kind]
            for segment in reference.path:
                assert place.inner is not None
                place = place.inner[segment]
            place.inner = None
        return notes
