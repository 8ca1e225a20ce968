"""The order and the numbers in which a model is shown what calls have left: `¶result N`, in the order of calls (M9).

What is shown for the first time in one request is marked then, and never anew: `_shown` is the number of that request,
`_number` that of the result, by which later answers refer to it (`†results.N`, O10).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from ..schema.json import JsonObject, is_object
from .call import EXPECT
from .message import NUMBER, OF, SHOWN, is_item, is_record, is_result, is_skip, place_of


@dataclass(slots=True)
class Numbering:
    """The next numbers of a context: that of the request, and that of a result."""

    request: int = 0
    result: int = 0

    @classmethod
    def of(cls, messages: Iterable[JsonObject]) -> Numbering:
        """What follows the marks of these messages."""
        own = cls()
        for message in messages:
            own.request = max(own.request, message.get(SHOWN, -1) + 1)
            own.result = max(own.result, message.get(NUMBER, -1) + 1)
        return own

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
    the place of the call; all others stay where they are. What failed before it was made again is history."""
    if not any("_call" in message or OF in message for message in messages):
        return list(messages)  # most often the first request: no call has left anything
    last = {message[OF]: at for at, message in enumerate(messages) if OF in message and message.get("type") != "plan"}
    own = [one for at, one in enumerate(messages) if one.get("type") != "error" or last.get(one.get(OF), at) == at]
    for at, marked in Numbering.of(messages).marked(own):
        own[at] = marked
    left = [at for at, message in enumerate(own) if SHOWN in message]
    ordered = sorted((own[at] for at in left), key=lambda message: (message[SHOWN], _order(message)))
    for at, message in zip(left, ordered, strict=True):
        own[at] = message
    return own


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


def _order(message: JsonObject) -> tuple[float, float, float]:
    place = place_of(message)
    if place is None:
        return -1, 0, 0
    return place.answer, inf if place.index is None else place.index, -1 if place.item is None else place.item
