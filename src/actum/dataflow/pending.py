"""Which writes are still to come at, above and below a path, and who waits for those listed before it (P1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from .reference import Reference, Segment

T = TypeVar("T")


class Pending(Generic[T]):
    """The numbers of the writers still to come in one region, with those that wait for the lower ones to be gone."""

    __slots__ = ("_gone", "_numbers", "_tie", "_waiters")

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._gone: set[int] = set()
        self._waiters: list[tuple[float, int, T]] = []
        self._tie = 0

    def announce(self, number: int) -> None:
        """A writer of this number is to come."""
        heappush(self._numbers, number)

    def settle(self, number: int) -> Iterator[T]:
        """The writer is done, or never will be: yield those that waited for no more than it."""
        self._gone.add(number)
        lowest = self.lowest()
        while self._waiters and self._waiters[0][0] <= lowest:
            yield heappop(self._waiters)[2]

    def lowest(self) -> float:
        """The lowest number still to come; infinity where there is none."""
        while self._numbers and self._numbers[0] in self._gone:
            self._gone.discard(heappop(self._numbers))
        return self._numbers[0] if self._numbers else float("inf")

    def wait(self, number: float, waiter: T) -> None:
        """Be yielded by `settle` when no number below this one is to come."""
        self._tie += 1
        heappush(self._waiters, (number, self._tie, waiter))


@dataclass(slots=True)
class _Place(Generic[T]):
    """One path of the trie: the writers exactly here, and those here or below, by the instance that they write."""

    here: dict[str | None, Pending[T]] = field(default_factory=dict[str | None, Pending[T]])
    below: dict[str | None, Pending[T]] = field(default_factory=dict[str | None, Pending[T]])
    inner: dict[Segment, _Place[T]] = field(default_factory=dict[Segment, Any])


class PendingWrites(Generic[T]):
    """The writes to come of all paths. Announcing, settling and asking cost the depth of the path."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Place[T]] = {}

    def announce(self, reference: Reference, instance: str | None, number: int) -> None:
        """A call of this number is to write this path."""
        place = self._kinds.setdefault(reference.kind, _Place())
        place.below.setdefault(instance, Pending()).announce(number)
        for segment in reference.path:
            place = place.inner.setdefault(segment, _Place())
            place.below.setdefault(instance, Pending()).announce(number)
        place.here.setdefault(instance, Pending()).announce(number)

    def settle(self, reference: Reference, instance: str | None, number: int) -> Iterator[T]:
        """That call has written, or never will; yield those that waited for it alone."""
        place = self._kinds[reference.kind]
        yield from place.below[instance].settle(number)
        for segment in reference.path:
            place = place.inner[segment]
            yield from place.below[instance].settle(number)
        yield from place.here[instance].settle(number)

    def before(self, reference: Reference, instance: str | None, number: float) -> Pending[T] | None:
        """A region in which a write is to come that a reader of this path and number must wait for."""
        for place, exact in self._around(reference):
            regions = place.here if exact else place.below
            for reader in {None, instance}:
                region = regions.get(reader)
                if region is not None and region.lowest() < number:
                    return region
        return None

    def _around(self, reference: Reference) -> Iterator[tuple[_Place[T], bool]]:
        place = self._kinds.get(reference.kind)
        for segment in reference.path:
            if place is None:
                return
            yield place, True
            place = place.inner.get(segment)
        if place is not None:
            yield place, False
