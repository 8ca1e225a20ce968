"""Which writes are still to come at, above and below a path, and who waits for those listed before it (P1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Generic, TypeVar

from .reference import Reference, Segment

T = TypeVar("T")


class Pending(Generic[T]):
    """The numbers of the writers still to come in one region, with those that wait for the lower ones to be gone."""

    # Every path that is written has two of these, so what is seldom needed is made on first use.
    __slots__ = ("_gone", "_numbers", "_waiters")

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._gone: set[int] | None = None
        self._waiters: list[tuple[float, int, T]] | None = None

    def announce(self, number: int) -> None:
        """A writer of this number is to come."""
        heappush(self._numbers, number)

    def settle(self, number: int) -> Iterator[T]:
        """The writer is done, or never will be: yield those that waited for no more than it."""
        if self._numbers and self._numbers[0] == number:
            heappop(self._numbers)
        else:
            self._gone = self._gone or set()
            self._gone.add(number)
        if self._waiters is not None:
            lowest = self.lowest()
            while self._waiters and self._waiters[0][0] <= lowest:
                yield heappop(self._waiters)[2]

    def lowest(self) -> float:
        """The lowest number still to come; infinity where there is none."""
        while self._gone and self._numbers and self._numbers[0] in self._gone:
            self._gone.discard(heappop(self._numbers))
        return self._numbers[0] if self._numbers else inf

    def wait(self, number: float, waiter: T) -> None:
        """Be yielded by `settle` when no number below this one is to come."""
        self._waiters = self._waiters or []
        heappush(self._waiters, (number, next(_ties), waiter))


_ties = count()
"""Tells waiters of one number apart, so that a heap never compares them."""


@dataclass(slots=True)
class _Place(Generic[T]):
    """One path of the trie: the writers exactly here, and those here or below, by the instance that they write."""

    here: dict[str | None, Pending[T]] | None = None
    below: dict[str | None, Pending[T]] = field(default_factory=dict[str | None, Pending[T]])
    inner: dict[Segment, _Place[T]] | None = None

    def step(self, segment: Segment) -> _Place[T]:
        """The place one segment further, made where there is none."""
        if self.inner is None:
            self.inner = {}
        place = self.inner.get(segment)
        if place is None:
            place = self.inner[segment] = _Place()
        return place

    def find(self, segment: Segment) -> _Place[T] | None:
        """The place one segment further, None where nothing is written."""
        return None if self.inner is None else self.inner.get(segment)


class PendingWrites(Generic[T]):
    """The writes to come of all paths. Announcing, settling and asking cost the depth of the path."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Place[T]] = {}

    def announce(self, reference: Reference, instance: str | None, number: int) -> None:
        """A call of this number is to write this path."""
        place = self._kinds.setdefault(reference.kind, _Place())
        _of(place.below, instance).announce(number)
        for segment in reference.path:
            place = place.step(segment)
            _of(place.below, instance).announce(number)
        if place.here is None:
            place.here = {}
        _of(place.here, instance).announce(number)

    def settle(self, reference: Reference, instance: str | None, number: int) -> Iterator[T]:
        """That call has written, or never will; yield those that waited for it alone."""
        place = self._kinds[reference.kind]
        yield from place.below[instance].settle(number)
        for segment in reference.path:
            place = place.step(segment)
            yield from place.below[instance].settle(number)
        if place.here is not None:
            yield from place.here[instance].settle(number)

    def before(self, reference: Reference, instance: str | None, number: float) -> Pending[T] | None:
        """A region in which a write is to come that a reader of this path and number must wait for."""
        for regions in self._around(reference):
            for reader in (None,) if instance is None else (None, instance):
                region = regions.get(reader)
                if region is not None and region.lowest() < number:
                    return region
        return None

    def _around(self, reference: Reference) -> Iterator[dict[str | None, Pending[T]]]:
        """The writers of the places above a path, and all those at the path or below."""
        place = self._kinds.get(reference.kind)
        for segment in reference.path:
            if place is None:
                return
            if place.here is not None:
                yield place.here
            place = place.find(segment)
        if place is not None:
            yield place.below


def _of(regions: dict[str | None, Pending[T]], instance: str | None) -> Pending[T]:
    region = regions.get(instance)
    if region is None:
        region = regions[instance] = Pending()
    return region
