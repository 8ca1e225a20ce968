"""Who waits for a path to hold a value. A write wakes the waiters at, above and below its path, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeAlias, TypeVar

from .path_tree import PathTree
from .reference import Reference

T = TypeVar("T")
_ByInstance: TypeAlias = "dict[str | None, list[T]]"


class Waiters(Generic[T]):
    """Waiters by the path and the instance they read."""

    def __init__(self) -> None:
        self._waiting: PathTree[_ByInstance[T]] = PathTree(dict)

    def wait(self, reference: Reference, instance: str | None, waiter: T) -> None:
        """Be woken once by the next write that touches this path as this instance sees it."""
        self._waiting.way(reference)[-1].setdefault(instance, []).append(waiter)

    def wake(self, reference: Reference, instance: str | None) -> Iterator[tuple[T, bool]]:
        """Yield the waiters that a write touches, and whether it only filled in a part of what they wait for."""
        above, _ = self._waiting.around(reference)
        for waiting in above:
            yield from ((waiter, True) for waiter in _taken(waiting, instance))
        # A shared write wakes all that wait inside.
        inside = self._waiting.cut(reference) if instance is None else self._waiting.inside(reference)
        for waiting in inside:
            yield from ((waiter, False) for waiter in _taken(waiting, instance))


def _taken(waiting: _ByInstance[T], instance: str | None) -> list[T]:
    if instance is not None:
        return waiting.pop(instance, [])
    taken = [waiter for waiters in waiting.values() for waiter in waiters]
    waiting.clear()
    return taken
