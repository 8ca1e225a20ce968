"""In which order the writes of a context apply, whenever each call has finished (M6, O8). Pure.

What the calls of a run have left applies in the order of their places, up to what a caller has added and, within
that, request by request. A call of which a corrected answer has changed the rank says so in a mark (`_rank`), and one
that was made again says how often (`_again`): it applies behind what had been left before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import TypeAlias

from ..schema.json import JsonObject
from .message import AGAIN, PLACES, RANK, SHOWN, place_of
from .place import Place

Rank: TypeAlias = tuple[int, float, int]
"""Where a call is listed: its answer, its index, its item."""
Key: TypeAlias = tuple[float, float, Rank]
"""When, within what a caller has left alone, a message applies: its request, how often its call was made, its rank."""


def rank_of(place: Place) -> Rank:
    """Where the call of a place is listed, if no corrected answer has moved it."""
    return place.answer, inf if place.index is None else place.index, -1 if place.item is None else place.item


def moved(messages: Sequence[JsonObject]) -> dict[Place, Rank]:
    """The ranks of the calls that a corrected answer lists elsewhere than their places say (L3)."""
    found: dict[Place, Rank] = {}
    for message in messages:
        if message.get("type") == "plan" and PLACES in message and (own := place_of(message)) is not None:
            for index, text in message[PLACES].items():
                found[Place.parse(text)] = own.answer, int(index), -1
    return found


def listed(message: JsonObject, ranks: Mapping[Place, Rank]) -> Rank | None:
    """The rank of the call that has left a message, or that an error is about; None for what no call has left."""
    if "_call" not in message and message.get("type") != "error":
        return None
    if (place := place_of(message)) is None:
        return None
    if RANK in message:
        return rank_of(Place.parse(message[RANK]))
    return ranks.get(place) or rank_of(place) if ranks else rank_of(place)


def key_of(message: JsonObject, rank: Rank) -> Key:
    """When a message applies that a call of this rank has left."""
    return message.get(SHOWN, inf), message.get(AGAIN, 0), rank


def applied(messages: Sequence[JsonObject]) -> Iterable[tuple[int, JsonObject]]:
    """The messages with their indices, in the order in which they apply."""
    for message in messages:
        if "_call" in message:
            return _applied(messages)
    return enumerate(messages)  # most often no call has left anything


def _applied(messages: Sequence[JsonObject]) -> Iterator[tuple[int, JsonObject]]:
    ranks = moved(messages)
    left: list[tuple[Key, int]] = []
    for index, message in enumerate(messages):
        rank = listed(message, ranks)
        if rank is not None:
            left.append((key_of(message, rank), index))
            continue
        if is_between(message):
            yield from _in_order(messages, left)
            left = []
        yield index, message
    yield from _in_order(messages, left)


def _in_order(messages: Sequence[JsonObject], left: list[tuple[Key, int]]) -> Iterator[tuple[int, JsonObject]]:
    left.sort()
    for _, index in left:
        yield index, messages[index]


def is_between(message: JsonObject) -> bool:
    """Whether a message stands between what calls have left before it and after it, as what a caller adds does."""
    kind = message.get("type")
    if kind == "approval":  # a call that is decided on writes then
        return message.get("decision") != "held"
    return kind != "suspended" and ("_call" in message or kind != "error")
