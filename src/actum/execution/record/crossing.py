"""What calls listed later have left, or the call itself when it was made before: it doesn't cross to it (S8, L8).

So timing has no say in what does, nor has a cut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ...dataflow.reference import CALLS, Reference, call_index, overlaps
from ...protocol.applying import Rank
from ...protocol.message import is_left, kind_of, place_of, write_of
from ...protocol.place import Place
from ...schema.json import JsonObject

_Order: TypeAlias = tuple[int, int]
_NONE: _Order = (-1, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """A call that is handed scopes: its place, and what it refers to, which crosses whoever wrote it."""

    place: Place
    references: Sequence[Reference] = ()


@dataclass(slots=True)
class Left:
    """The messages that calls have left, by type or kind, in the order in which the calls are listed."""

    data_kinds: Collection[str]
    _seen: int = 0
    _messages: defaultdict[str, list[tuple[_Order, int, JsonObject]]] = field(
        default_factory=lambda: defaultdict[str, list[tuple[_Order, int, JsonObject]]](list)
    )
    _latest: dict[str, _Order] = field(default_factory=dict[str, _Order])

    def forget(self) -> None:
        """Look at all messages anew: one was inserted among them."""
        self._seen = 0
        self._messages.clear()
        self._latest.clear()

    def after(
        self,
        recipient: Recipient,
        kinds: Collection[str],
        messages: Sequence[JsonObject],
        last_read: Callable[[Reference], Rank],
    ) -> set[int]:
        """The ids of the messages of these kinds that calls from the recipient on have left unasked.

        `last_read` says of a path that it refers to up to which call it reads what was written there (O8).
        """
        self._take(messages)
        own = _order(recipient.place)
        if all(self._latest.get(kind, _NONE) < own for kind in kinds):
            return set()
        asked = {call_index(one) for one in recipient.references if one.kind == CALLS}
        read = [(one, last_read(one)) for one in recipient.references if one.kind in kinds]
        found: set[int] = set()
        for order, index, message in self._later(own, kinds):
            write = write_of(message, index, self.data_kinds)
            is_asked = (order[0] == own[0] and order[1] in asked) or (
                write is not None and any(overlaps(one, write.reference) and order <= last[:2] for one, last in read)
            )
            if not is_asked:
                found.add(id(message))
        return found

    def _later(self, own: _Order, kinds: Collection[str]) -> Iterator[tuple[_Order, int, JsonObject]]:
        return (left for kind in kinds for left in self._messages.get(kind, ()) if left[0] >= own)

    def _take(self, messages: Sequence[JsonObject]) -> None:
        for index in range(self._seen, len(messages)):
            message = messages[index]
            place = place_of(message) if is_left(message) else None
            if place is not None:
                kind = kind_of(message, self.data_kinds) or str(message.get("type"))
                order = _order(place)
                self._messages[kind].append((order, index, message))
                self._latest[kind] = max(order, self._latest.get(kind, order))
        self._seen = len(messages)


def _order(place: Place) -> _Order:
    return place.answer, place.index or 0
