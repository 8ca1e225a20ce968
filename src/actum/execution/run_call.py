"""Carrying out one call whose references have resolved: by the model, by an Activity, or in a delegate (C1, A1-A5)."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

from ..dataflow.reference import Reference, ReferenceSyntax, scan_reference
from ..errors import ActivityError, ActumError, InvalidParameters
from ..messages import MessageObject, is_message
from ..protocol.activity import Activity
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.tool import Tool
from ..schema.infer import jsonable
from ..schema.json import Json, JsonObject, NotJson, plain

_SCALARS = frozenset({str, int, float, bool, type(None)})


class Suspended(Exception):
    """A delegate has ended without an output, because it waits for a decision (L6)."""


@dataclass(frozen=True, slots=True)
class Output:
    """What an Activity returns to name which of its call's alternative output paths it fills (O5)."""

    value: Any
    path: str


class Yield(NamedTuple):
    """What a call has come to: a value, the path that the Activity named, the messages that it returned instead."""

    value: Json = None
    path: Reference | None = None
    messages: tuple[MessageObject, ...] = ()


@dataclass(slots=True)
class Suspension:
    """What a delegate had come to when it was cut, and then what it has come to when it is cut again (L8).

    `waiting` is what it waits for, where that is why it ended.
    """

    context: list[JsonObject] | None = None
    waiting: tuple[str, ...] = ()
    place: str = ""
    """Where the call stands in its run."""


class Delegate(Protocol):
    """What carries out calls of tools with a `_delegate`: the catch-all Activity with the ordinary arguments (D1)."""

    def __call__(
        self, call: Call, tool: Tool, context: Context, suspension: Suspension | None = None
    ) -> Awaitable[Any]:
        """The result of the original call.

        Raises:
            Suspended: it waits for a decision; what it has come to is in the suspension.
        """
        ...

    def contract(self, tool: Tool) -> Awaitable[Tool]:
        """The tool as its delegate is, for one that is resolved beforehand (D8)."""
        ...


async def carry_out(call: Call, tool: Tool, context: Context, activity: Activity) -> Yield:
    """Run the Activity behind a call and judge what it returns.

    Raises:
        InvalidParameters: an argument or the result doesn't fit its type or schema (A4).
        ActivityError: the function raised, or returned what is not JSON.
    """
    arguments = activity.arguments(call, tool, context)
    try:
        returned = await (activity.function(**arguments) if activity.is_async else _in_thread(activity, arguments))
    except ActumError:
        raise
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        raise ActivityError("it was cancelled from within", tool=tool.name) from None
    except Exception as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ActivityError(text, tool=tool.name) from error
    return judged(returned, tool)


async def _in_thread(activity: Activity, arguments: dict[str, Any]) -> Any:
    returned = await in_thread(functools.partial(activity.function, **arguments))
    return await cast("Awaitable[Any]", returned) if isinstance(returned, Awaitable) else returned


async def in_thread(function: Callable[[], Any]) -> Any:
    """Run a sync function in a worker thread and wait for its end, also when cancelled.

    Python can't stop a thread. A cancelled run therefore waits until the function returns, so that nothing outlives it
    (L7); a function that never returns keeps its run from ending.
    """
    context = contextvars.copy_context()
    future = asyncio.get_running_loop().run_in_executor(None, functools.partial(context.run, function))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue
        if not future.cancelled():
            future.exception()
        raise


def judged(returned: Any, tool: Tool) -> Yield:
    """What an Activity returned, as JSON that fits the tool's `_output` (A4)."""
    path = None
    if isinstance(returned, Output):
        path, returned = _named_path(returned.path, tool), returned.value
    if type(returned) not in _SCALARS and (messages := _messages(returned)):
        return Yield(messages=messages, path=path)
    value = _json(returned, tool)
    check_result(value, tool)
    return Yield(value=value, path=path)


def check_result(value: Json, tool: Tool) -> None:
    """Judge a result by the tool's `_output`.

    Raises:
        InvalidParameters: naming the place that doesn't fit.
    """
    if tool.output_validator is not None and (complaint := tool.output_validator.complaint(value)):
        raise InvalidParameters(f"the result doesn't fit '_output': {complaint}", tool=tool.name, path="_output")


def _messages(returned: Any) -> tuple[MessageObject, ...]:
    if is_message(returned):
        return (cast("MessageObject", returned),)
    if isinstance(returned, list | tuple) and returned:
        items = cast("list[Any]", returned)
        if all(is_message(item) for item in items):
            return tuple(items)
    return ()


def _json(returned: Any, tool: Tool) -> Json:
    try:
        return plain(returned)
    except NotJson as reason:
        if isinstance(returned, float):
            raise ActivityError(f"it returned what is not JSON: {reason}", tool=tool.name) from None
    try:
        return plain(jsonable(returned))
    except (ValueError, RecursionError) as reason:
        raise ActivityError(f"it returned what is not JSON: {reason}", tool=tool.name) from None


def _named_path(path: str, tool: Tool) -> Reference:
    try:
        reference, end = scan_reference(path, 0)
    except ReferenceSyntax as error:
        raise ActivityError(str(error), tool=tool.name) from None
    if end != len(path):
        raise ActivityError(f"{path!r} is not one path", tool=tool.name)
    return reference
