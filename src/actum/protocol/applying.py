"""In which order the writes of a context apply and are shown, whenever each call has finished (M6, M9, O8). Pure.

What the calls of a run have left applies in the order of their places, up to what a caller has added and, within
that, request by request. A call of which a corrected answer has changed the rank says so in a mark (`_rank`), and one
that was made again says how often (`_again`): it applies behind what had been left before.

What is shown for the first time in one request is marked then, and never anew: `_shown` is the number of that request,
`_number` that of the result (`¶result N`), by which later answers refer to it (`†results.N`, O10).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

from ..schema.json import JsonObject, is_object
from .call import EXPECT, Place
from .message import AGAIN, NUMBER, OF, PLACES, RANK, SHOWN, is_item, is_record, is_result, is_skip, listed_at, place_of

Rank: TypeAlias = tuple[int, float, int]
"""Where a call is listed: its answer, its index, its item."""
Key: TypeAlias = tuple[float, float, Rank]
"""When, within what a caller has left alone, a message applies: its request, how often its call was made, its rank."""


def rank_of(place: Place) -> Rank:
    """The rank of the call at a place, unless a corrected answer has moved it."""
    return place.answer, inf if place.index is None else place.index, -1 if place.item is None else place.item


def moved_ranks(messages: Sequence[JsonObject]) -> dict[Place, Rank]:
    """The ranks of the calls that a corrected answer lists elsewhere than their places say (L3)."""
    ranks: dict[Place, Rank] = {}
    for message in messages:
        if message.get("type") == "plan" and PLACES in message and (place := place_of(message)) is not None:
            for index, text in message[PLACES].items():
                ranks[Place.parse(text)] = place.answer, int(index), -1
    return ranks


def listed_rank(message: JsonObject, ranks: Mapping[Place, Rank]) -> Rank | None:
    """The rank of the call that has left a message, or that an error is about; None for what no call has left."""
    if "_call" not in message and message.get("type") != "error":
        return None
    if (place := place_of(message)) is None:
        return None
    if RANK in message:
        return rank_of(Place.parse(message[RANK]))
    return rank_in(ranks, place) or rank_of(place)


def rank_in(ranks: Mapping[Place, Rank], place: Place) -> Rank | None:
    """Where a corrected answer lists a call, or the call for an item; None where it lists it nowhere."""
    rank = ranks.get(place.parent or place) if ranks else None
    return None if rank is None else (*rank[:2], -1 if place.item is None else place.item)


def key_of(message: JsonObject, rank: Rank) -> Key:
    """When a message applies that a call of this rank has left."""
    return message.get(SHOWN, inf), message.get(AGAIN, 0), rank


def applied(messages: Sequence[JsonObject]) -> Iterable[tuple[int, JsonObject]]:
    """The messages with their indices, in the order in which they apply."""
    for message in messages:
        if "_call" in message:
            return _applied(messages)
    return enumerate(messages)  # the common case: no call has left anything


def _applied(messages: Sequence[JsonObject]) -> Iterator[tuple[int, JsonObject]]:
    ranks = moved_ranks(messages)
    left: list[tuple[Key, int]] = []
    held: set[Any] = set()
    for index, message in enumerate(messages):
        rank = listed_rank(message, ranks)
        if rank is not None:
            left.append((key_of(message, rank), index))
            continue
        if separates(message, held):
            yield from _in_order(messages, left)
            left = []
        yield index, message
    yield from _in_order(messages, left)


def _in_order(messages: Sequence[JsonObject], left: list[tuple[Key, int]]) -> Iterator[tuple[int, JsonObject]]:
    left.sort()
    for _, index in left:
        yield index, messages[index]


def separates(message: JsonObject, held: set[Any]) -> bool:
    """Whether a message that no call has left separates what calls left before and after it, as a caller's does.

    A decision does where its call was `held`, which is noted here: it writes then. One that an approver made at once
    orders nothing.
    """
    kind = message.get("type")
    if kind != "approval":
        return kind not in {"suspended", "error"}
    if message.get("decision") == "held":
        held.add(message.get("of"))
        return False
    return message.get("of") in held


@dataclass(slots=True)
class Numbering:
    """The next numbers of a context: that of the request, and that of a result."""

    request: int = 0
    result: int = 0

    @classmethod
    def of(cls, messages: Iterable[JsonObject]) -> Numbering:
        """The numbers that follow those in the marks of these messages."""
        numbering = cls()
        for message in messages:
            numbering.request = max(numbering.request, message.get(SHOWN, -1) + 1)
            numbering.result = max(numbering.result, message.get(NUMBER, -1) + 1)
        return numbering

    def marked(self, messages: Sequence[JsonObject], start: int = 0) -> Iterator[tuple[int, JsonObject]]:
        """The messages from an index on that are shown for the first time, each with its index and its marks."""
        new = [(_order(messages[at]), at) for at in range(start, len(messages)) if _is_new(messages[at])]
        for _, at in sorted(new):
            marks: JsonObject = {SHOWN: self.request}
            if is_numbered(messages[at]):
                marks[NUMBER] = self.result
                self.result += 1
            yield at, {**messages[at], **marks}
        if new:
            self.request += 1


def shown_order(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """The messages of a context as they are shown: what calls have left by the request that first showed it, then by
    the place of the call; all others stay where they are. Failures of calls that were made again are left out."""
    if not any("_call" in message or OF in message for message in messages):
        return list(messages)  # the common case, a first request: no call has left anything
    last = {message[OF]: at for at, message in enumerate(messages) if OF in message and message.get("type") != "plan"}
    shown = [it for at, it in enumerate(messages) if it.get("type") != "error" or last.get(it.get(OF), at) == at]
    for at, marked in Numbering.of(messages).marked(shown):
        shown[at] = marked
    left = [at for at, message in enumerate(shown) if SHOWN in message]
    ordered = sorted((shown[at] for at in left), key=lambda message: (message[SHOWN], _order(message)))
    for at, message in zip(left, ordered, strict=True):
        shown[at] = message
    return shown


def is_numbered(message: JsonObject) -> bool:
    """Whether a message is the result of a call that has no output path, so that it has a number."""
    if is_result(message):
        return True
    is_call = is_record(message) and not is_item(message) and not is_skip(message)
    return is_call and EXPECT not in message["_call"]  # which has no value


def numbered_value(message: JsonObject) -> Any:
    """The value of a numbered message; that of a call which has none is null."""
    if not is_record(message):
        return message["data"]
    return message["data"].get("result") if is_object(message["data"]) else None


def _is_new(message: JsonObject) -> bool:
    return SHOWN not in message and ("_call" in message or (message.get("type") == "error" and OF in message))


def _order(message: JsonObject) -> Rank:
    place = listed_at(message)
    return (-1, 0, 0) if place is None else rank_of(place)
