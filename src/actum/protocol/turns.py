"""The turns of a conversation in its context, and cuts of the oldest: a turn ends with the output it delivered (M4).

One that was held elsewhere, and given as messages, ends with what the assistant said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from ..schema.json import JsonObject, encode
from .applying import is_numbered
from .approvals import PRIVATE, is_decision
from .call import Place
from .context import Context
from .marks import Marks
from .message import BY, NUMBER, OF, is_item, is_record, is_skip, place_of

_SAID = frozenset({"user", "assistant", "text", None, "image", "audio", "file", "output", "error"})
"""The types of what is said in a turn; a raw message has none."""


_WORDS = _SAID - {"output", "error"}


def next_turn(context: Context) -> tuple[Context, list[JsonObject]]:
    """The turn of a conversation whose plan still stands, and the messages that open the next one (M4).

    These stand behind all that a run has left, and somebody says something in them. What decides on the plan, or
    opens a gate of it, belongs to the turn that it stands in.
    """
    messages, kinds = context.messages, context.data_kinds
    left = [at for at, message in enumerate(messages) if _is_left(message)]
    if not left:
        return context, []
    behind = messages[left[-1] + 1 :]
    said = [message for message in behind if not is_decision(message, kinds)]
    if not any(map(is_said, said)):
        return context, []
    own = [*messages[: left[-1] + 1], *(message for message in behind if is_decision(message, kinds))]
    return Context.checked(own, kinds, context.origin), said


def turn_starts(messages: Sequence[JsonObject]) -> list[int]:
    """Where turns of a conversation begin but the first: with words behind what a run has left."""
    starts: list[int] = []
    has_left = False
    for at, message in enumerate(messages):
        if _is_left(message):
            has_left = True
        elif has_left and is_said(message):
            starts.append(at)
            has_left = False
    return starts


def is_said(message: JsonObject) -> bool:
    """Whether somebody says something in a message that no run has left."""
    return message.get("type") in _WORDS and "_call" not in message and OF not in message


def _is_left(message: JsonObject) -> bool:
    """Whether a run has left a message; of plans, those that it has written down of a model's answer."""
    if message.get("type") in PRIVATE:
        return not is_decision(message)
    return "_call" in message or (BY if message.get("type") == "plan" else OF) in message


def cut_to(context: Context, most: int) -> Context:
    """The context without the oldest turns that don't fit into so many characters; the newest always stays.

    What was said, and the results of the calls that were made for it, go together, each with its call, and with them
    the plan, once it is settled: what a plan that stands has left, stays with it, or its calls would be made again.
    Instructions, tools and data stay, and so does the newest result, so that its number is not given again (M9).
    """
    return without(context, going(context, most))


def going(context: Context, most: int) -> frozenset[int]:
    """Which messages `cut_to` leaves out."""
    messages = context.messages
    ends = list(_ends(messages))
    sizes = [len(encode(message)) for message in messages]
    left = sum(sizes)
    newest = max((message.get(NUMBER, -1) for message in messages), default=-1)
    standing = {plan.number for plan in Marks.of(messages).standing}
    gone: set[int] = set()
    start = _opening(messages, ends[0]) if ends else 0
    for end in ends[:-1]:
        if left <= most:
            break
        turn = [at for at in range(start, end) if _goes(messages[at], newest, standing)]
        gone.update(turn)
        left -= sum(sizes[at] for at in turn)
        start = end
    return frozenset(gone)


def without(context: Context, gone: Collection[int], instead: JsonObject | None = None) -> Context:
    """The context without these messages, perhaps with another where the first of them stood."""
    if not gone:
        return context
    first = min(gone)
    kept = [message for at, message in enumerate(context.messages) if at not in gone]
    if instead is not None:
        kept.insert(first, instead)  # nothing before the first of them is gone
    return Context.checked(kept, context.data_kinds, context.origin)


def without_plans(context: Context) -> Context:
    """The context without its plans, and without what waits of them: no call of them is made any more."""
    standing = {plan.number for plan in Marks.of(context.messages).standing}
    kept = [
        message
        for message in context
        if message.get("type") != "plan"
        and not (message.get("type") in PRIVATE and Place.parse(message["of"]).answer in standing)
    ]
    return Context.checked(kept, context.data_kinds, context.origin)


def is_users(message: JsonObject) -> bool:
    """Whether the user says something."""
    kind = message.get("type")
    return kind == "user" or (kind in ("text", None) and message.get("role", "user") == "user")


def _ends(messages: Sequence[JsonObject]) -> Iterator[int]:
    """Where a turn has ended; one under way, whose plan stands, has not, whatever the assistant has said in it."""
    has_plan = False
    for end, (message, following) in enumerate(pairwise([*messages, {}]), 1):
        has_plan = has_plan or message.get("type") == "plan"
        is_last = not has_plan and not _is_answer(following)
        if message.get("type") == "output" or (is_last and _is_answer(message)):
            yield end


def _is_answer(message: JsonObject) -> bool:
    """Whether the assistant says something that no call has left."""
    said = {message.get("type"), message.get("role")} & {"assistant", "output"}
    return bool(said) and "_call" not in message


def _opening(messages: Sequence[JsonObject], end: int) -> int:
    """Where the first turn begins: behind what the author wrote before the user's last words in it."""
    said = [at for at in range(end) if is_users(messages[at]) and "_call" not in messages[at]]
    return said[-1] if said else end - 1


def _goes(message: JsonObject, newest: int, standing: Collection[int]) -> bool:
    is_plan, is_private = message.get("type") == "plan", message.get("type") in PRIVATE
    place = Place.parse(message["of"]) if is_private else place_of(message)
    if is_plan or is_private or (place is not None and place.answer in standing):
        return place is not None and place.answer not in standing
    if is_numbered(message):
        return message.get(NUMBER) != newest
    if is_record(message) or is_item(message) or is_skip(message):
        return True
    return message.get("type") in _SAID and message.get("role") != "system"
