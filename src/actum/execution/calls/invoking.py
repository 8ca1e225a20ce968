"""Running the Activity behind a call, and judging what it returns (A2-A5)."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeGuard

from ...dataflow.reference import Reference, ReferenceSyntax, scan_reference
from ...errors import ActivityError, ActumError, InvalidParameters
from ...messages import MessageObject, is_message
from ...protocol.activity import Activity
from ...protocol.call import Call
from ...protocol.context import Context
from ...protocol.tool import Tool
from ...schema.infer import jsonable
from ...schema.json import Json, NotJson, is_list, plain
from .job import Yield

_SCALARS = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True, slots=True)
class Output:
    """What an Activity returns to name which of its call's alternative output paths it fills (O5)."""

    value: Any
    path: str


async def invoke(call: Call, tool: Tool, context: Context, activity: Activity) -> Yield:
    """Run an Activity for a call and judge what it returns.

    Raises:
        InvalidParameters: an argument or the result doesn't fit its type or schema (A4).
        ActivityError: the function raised, or returned what is not JSON.
    """
    arguments = activity.arguments(call, tool, context)
    try:
        function = functools.partial(activity.function, **arguments)
        returned = await (function() if activity.is_async else settled_in_thread(function))
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


async def settled_in_thread(function: Callable[[], Any]) -> Any:
    """Run what isn't `async` in a worker thread; what it returns to be awaited is awaited here."""
    returned = await in_thread(function)
    return await returned if _is_awaitable(returned) else returned


def _is_awaitable(returned: object) -> TypeGuard[Awaitable[Any]]:
    return isinstance(returned, Awaitable)


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
    if tool.output_validator is not None and (complaint := tool.output_validator.complaint(value, quotes=False)):
        raise InvalidParameters(f"the result doesn't fit '_output': {complaint}", tool=tool.name, path="_output")


def _messages(returned: object) -> tuple[MessageObject, ...]:
    items: list[Any] = [*returned] if isinstance(returned, tuple) else returned if is_list(returned) else [returned]
    return tuple(items) if all(is_message(item) for item in items) else ()


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
