"""Who waits for a path to hold a value. A write wakes the waiters at, above and below its path, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .reference import Reference, Segment

T = TypeVar("T")


@dataclass(slots=True)
class _Place(Generic[T]):
    waiters: dict[str | None, list[T]] = field(default_factory=dict[str | None, list[T]])
    inner: dict[Segment, _Place[T]] = field(default_factory=dict[Segment, Any])


class Waiting(Generic[T]):
    """Waiters by the path and the instance they read."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Place[T]] = {}

    def wait(self, reference: Reference, instance: str | None, waiter: T) -> None:
        """Be woken once by the next write that touches this path as this instance sees it."""
        place = self._kinds.setdefault(reference.kind, _Place())
        for segment in reference.path:
            place = place.inner.setdefault(segment, _Place())
        place.waiters.setdefault(instance, []).append(waiter)

    def wake(self, reference: Reference, instance: str | None) -> Iterator[tuple[T, bool]]:
        """Yield the waiters that a write touches, and whether it only filled in a part of what they wait for."""
        place = self._kinds.get(reference.kind)
        for segment in reference.path:
            if place is None:
                return
            yield from ((waiter, True) for waiter in _taken(place, instance))
            place = place.inner.get(segment)
        below = [place] if place is not None else []
        while below:
            place = below.pop()
            yield from ((waiter, False) for waiter in _taken(place, instance))
            below.extend(place.inner.values())
            if instance is None:  # a shared write has woken all of them
                place.inner.clear()


def _taken(place: _Place[T], instance: str | None) -> list[T]:
    if instance is not None:
        return place.waiters.pop(instance, [])
    taken = [waiter for waiters in place.waiters.values() for waiter in waiters]
    place.waiters.clear()
    return taken
