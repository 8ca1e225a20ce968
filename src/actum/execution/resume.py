"""Plans that stand in a context: which of their calls are done is read from the messages, nothing else (L8, P2, P3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from ..dataflow.expression import MISSING
from ..dataflow.reference import Reference, ReferenceSyntax
from ..dataflow.template import template
from ..errors import ActumError, MessageError
from ..protocol.approvals import Decisions
from ..protocol.call import EACH, Call
from ..protocol.context import Memory, absorb
from ..protocol.message import is_item, is_record, write_of
from ..schema.json import JsonObject, encode

Items: TypeAlias = dict[int, dict[str, list[Any]]]
"""The results of calls for single items of a list, by the place of the call for all of them and their own text."""


@dataclass(slots=True)
class Standing:
    """One plan message: its calls, and what those that are done have come to, by their index."""

    index: int
    calls: list[Call]
    done: dict[int, Any]
    items: Items
    """What calls for single items have come to, where the call for all of them is not done."""
    output: Any
    mode: Literal["eager", "lazy"]


def standing_plans(messages: Sequence[JsonObject], data_kinds: Collection[str]) -> Iterator[Standing]:
    """The plans of a context, in order.

    A call is done when a message behind its plan carries it as `_call`, and its path still holds a value: erased, it is
    owed again (O4).

    Raises:
        MessageError: for a plan whose elements are no calls, or whose output holds what is no reference.
    """
    decisions = Decisions(messages)
    for index, message in enumerate(messages):
        if message.get("type") == "plan":
            planned = [_call(call, index, place) for place, call in enumerate(cast("list[Any]", message["plan"]))]
            calls = [_replaced(call, decisions, f"{index}.{place}") for place, call in enumerate(planned)]
            done, items = _done(calls, messages, index, data_kinds)
            _check_output(message.get("output"), index)
            yield Standing(index, calls, done, items, message.get("output"), message.get("mode", "eager"))


def _replaced(call: Call, decisions: Decisions, of: str) -> Call:
    """The call that was approved in the place of a planned one."""
    decision = decisions.find(of, call)
    return Call(decision.replacement) if decision is not None and decision.replacement is not None else call


def _check_output(output: Any, index: int) -> None:
    try:
        template(output)
    except ReferenceSyntax as error:
        raise MessageError(str(error), index=index, path="output") from None


def _call(call: Any, index: int, place: int) -> Call:
    if not isinstance(call, dict):
        raise MessageError(f"a call is a JSON object, not {type(call).__name__}", index=index, path=f"plan[{place}]")
    try:
        return Call(cast("JsonObject", call))
    except ActumError as error:
        raise MessageError(error.message, index=index, path=f"plan[{place}]") from None


def _done(
    calls: list[Call], messages: Sequence[JsonObject], start: int, data_kinds: Collection[str]
) -> tuple[dict[int, Any], Items]:
    since = Memory()
    items: Items = {}
    places = {encode(call, sort_keys=True): place for place, call in enumerate(calls) if EACH in call}
    left: defaultdict[str, list[tuple[Any, Reference | None, str | None]]] = defaultdict(list)
    for index in range(start + 1, len(messages)):
        message = messages[index]
        _absorb(since, message, index, data_kinds)
        if "_call" not in message:
            continue
        text = encode(message["_call"], sort_keys=True)
        if is_item(message):
            items.setdefault(message["data"]["of"], {}).setdefault(text, []).append(message["data"]["result"])
            continue
        left[text].append(_outcome(message, index, data_kinds))
        if text in places:  # all of them are done; if they are to be made again, then from the beginning
            items.pop(places[text], None)
    done: dict[int, Any] = {}
    for place, call in enumerate(calls):
        outcomes = left.get(encode(call, sort_keys=True))
        if not outcomes:
            continue
        value, reference, instance = outcomes.pop(0)
        if reference is None or since.read(reference, instance) is not MISSING or call.get("_outputMethod") == "erase":
            done[place] = value
    return done, items


def _absorb(memory: Memory, message: JsonObject, index: int, data_kinds: Collection[str]) -> None:
    """Fold a message that follows the plan; what it can't build on stood before and doesn't matter here."""
    try:
        absorb(memory, message, index, data_kinds)
    except MessageError:
        return


def _outcome(message: JsonObject, index: int, data_kinds: Collection[str]) -> tuple[Any, Reference | None, str | None]:
    if is_record(message):
        return None, None, None
    write = write_of(message, index, data_kinds)
    if write is None:
        return message, None, None
    reference = write.reference if "_outputPath" in message else None
    return write.value, reference, write.instance
