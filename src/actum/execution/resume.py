"""Plans that stand in a context: which of their calls are done is read from the messages, nothing else (L8, P2, P3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from ..dataflow.expression import MISSING
from ..dataflow.reference import Reference, ReferenceSyntax
from ..dataflow.template import template
from ..errors import ActumError, MessageError
from ..protocol.approvals import Decisions
from ..protocol.call import Call
from ..protocol.context import Memory, absorb
from ..protocol.message import is_item, is_record, write_of
from ..schema.json import JsonObject, encode


@dataclass(slots=True)
class Standing:
    """One plan message: its calls, and what those that are done have come to, by their index."""

    index: int
    calls: list[Call]
    done: dict[int, Any]
    items: dict[str, list[Any]]
    """What calls for single items of a list have come to, by the text of the call."""
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
) -> tuple[dict[int, Any], dict[str, list[Any]]]:
    since = Memory()
    items: defaultdict[str, list[Any]] = defaultdict(list)
    left: defaultdict[str, list[tuple[Any, Reference | None, str | None]]] = defaultdict(list)
    for index in range(start + 1, len(messages)):
        message = messages[index]
        _absorb(since, message, index, data_kinds)
        if is_item(message):
            items[encode(message["_call"], sort_keys=True)].append(message["data"]["result"])
        elif "_call" in message:
            left[encode(message["_call"], sort_keys=True)].append(_outcome(message, index, data_kinds))
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
