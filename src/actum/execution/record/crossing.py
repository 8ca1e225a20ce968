"""What calls listed later have left, or the call itself when it was made before: it doesn't cross to it (S8, L8).

So timing has no say in what does, nor has a cut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from ...dataflow.reference import CALLS, Reference, call_index, overlaps
from ...errors import MessageError
from ...protocol.applying import Rank, applied, rank_of
from ...protocol.call import Place
from ...protocol.context import Context, Memory, absorb
from ...protocol.message import instance_of, is_left, kind_of, place_of, write_of
from ...protocol.scopes import Catalogue, InstanceOf, scope_path, scoped
from ...schema.json import JsonObject
from .folded import Folding

_Order: TypeAlias = tuple[int, float]
_NONE: _Order = (-1, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """A call that is handed scopes: its place, and what it refers to, which crosses whoever wrote it."""

    place: Place
    references: Sequence[Reference] = ()


@dataclass(slots=True)
class _Left:
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


class Crossing:
    """Lets what scopes name cross from the messages of one journal."""

    def __init__(self, messages: Sequence[JsonObject], folding: Folding, origin: str | None) -> None:
        self._messages = messages
        self._folding = folding
        self._data_kinds = folding.data_kinds
        self._origin = origin
        self._catalogue: Catalogue | None = None
        self._left = _Left(folding.data_kinds)

    def add(self, message: JsonObject) -> None:
        """Take in a message that was appended."""
        if self._catalogue is not None:
            self._catalogue.add(message)

    def forget(self) -> None:
        """Look at all messages anew: some of them have changed."""
        self._catalogue = None
        self._left.forget()

    def scoped(
        self,
        scopes: Sequence[str],
        instance: str | None,
        recipient: Recipient | None = None,
        errors: Sequence[JsonObject] = (),
        instance_of: InstanceOf = instance_of,
    ) -> Context:
        """What of the context crosses to a call (S1-S6): nothing that calls listed after it have left (S8).

        `errors` are those of calls listed before it that are to stand in the context at the end of the tick (L2).
        """
        kinds = {scope_path(scope).kind for scope in scopes}
        later = set[int]()
        if recipient is not None:
            last = partial(self._folding.last_read, instance=instance, rank=self._folding.rank(recipient.place))
            later = self._left.after(recipient, kinds, self._messages, last)
        if later:
            return self._without(later, scopes, instance, errors, instance_of)
        if self._catalogue is None:
            self._catalogue = Catalogue(self._messages, self._data_kinds)
        memory = self._folding.in_order(map(scope_path, scopes))
        return scoped(self._catalogue, memory, scopes, instance, self._origin, errors, instance_of)

    def _without(self, left_out: set[int], scopes: Sequence[str], instance: str | None, *more: Any) -> Context:
        """What crosses of the context without some messages, by their ids."""
        catalogue, memory = Catalogue((), self._data_kinds), Memory()
        for index, message in applied(self._messages):
            if id(message) in left_out:
                continue
            catalogue.add(message)
            # What was built on a write that is left out has nothing to stand on, and is left out with it.
            with suppress(MessageError):
                absorb(memory, message, index, self._data_kinds)
        return scoped(catalogue, memory, scopes, instance, self._origin, *more)


def _order(place: Place) -> _Order:
    return rank_of(place)[:2]
