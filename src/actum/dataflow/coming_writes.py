"""What calls wait for: writes that are to come at, above and below a path (P1), and paths that are to hold a value."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Generic, TypeAlias, TypeVar

from .path_tree import PathTree
from .reference import Reference

T = TypeVar("T")


class Region(Generic[T]):
    """The numbers of the writers still to come in one region, with those that wait for the lower ones to be gone."""

    # Every path that is written has two of these, so what is seldom needed is made on first use.
    __slots__ = ("_gone", "_numbers", "_waiters")

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._gone: list[int] | None = None
        self._waiters: list[tuple[float, int, T]] | None = None

    def announce(self, number: int) -> None:
        """A writer of this number is to come."""
        heappush(self._numbers, number)

    def settle(self, number: int) -> Iterator[T]:
        """The writer is done, or never will be: yield those that waited only for it."""
        if self._numbers and self._numbers[0] == number:
            heappop(self._numbers)
        else:
            self._gone = self._gone or []
            heappush(self._gone, number)  # as often as it was announced: a call may write two paths of one region
        if self._waiters is not None:
            lowest = self.lowest()
            while self._waiters and self._waiters[0][0] <= lowest:
                yield heappop(self._waiters)[2]

    def lowest(self) -> float:
        """The lowest number still to come; infinity if there is none."""
        while self._gone and self._numbers and self._gone[0] == self._numbers[0]:
            heappop(self._gone)
            heappop(self._numbers)
        return self._numbers[0] if self._numbers else inf

    def wait(self, number: float, waiter: T) -> None:
        """Be yielded by `settle` when no number below this one is to come."""
        self._waiters = self._waiters or []
        heappush(self._waiters, (number, next(_ties), waiter))


_ties = count()
"""Tells waiters of one number apart, so that a heap never compares them."""


class _Writers(Generic[T]):
    """The writers of exactly one path, and those of it or inside it, by the instance that they write."""

    __slots__ = ("below", "here")

    def __init__(self) -> None:
        self.below: dict[str | None, Region[T]] = {}
        self.here: dict[str | None, Region[T]] | None = None


class ComingWrites(Generic[T]):
    """The writes to come of all paths. Announcing, settling and asking cost the depth of the path."""

    def __init__(self) -> None:
        self._writers: PathTree[_Writers[T]] = PathTree(_Writers[T])

    def announce(self, reference: Reference, instance: str | None, number: int) -> None:
        """A call of this number is to write this path."""
        way = self._writers.way(reference)
        for writers in way:
            _of(writers.below, instance).announce(number)
        last = way[-1]
        if last.here is None:
            last.here = {}
        _of(last.here, instance).announce(number)

    def settle(self, reference: Reference, instance: str | None, number: int) -> Iterator[T]:
        """That call has written, or never will; yield those that waited for it alone."""
        way = self._writers.way(reference)
        for writers in way:
            yield from writers.below[instance].settle(number)
        if (here := way[-1].here) is not None:
            yield from here[instance].settle(number)

    def before(self, reference: Reference, instance: str | None, number: float) -> Region[T] | None:
        """A region in which a write is to come that a reader of this path and number must wait for."""
        above, own = self._writers.around(reference)
        regions = [writers.here for writers in above if writers.here is not None]
        if own is not None:
            regions.append(own.below)
        for by_instance in regions:
            for reader in (None,) if instance is None else (None, instance):
                region = by_instance.get(reader)
                if region is not None and region.lowest() < number:
                    return region
        return None


def _of(regions: dict[str | None, Region[T]], instance: str | None) -> Region[T]:
    region = regions.get(instance)
    if region is None:
        region = regions[instance] = Region()
    return region


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
