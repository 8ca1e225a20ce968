"""Instructions that functions say: worked out as a run begins, and part of its context from then on."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import SchemaError
from ..protocol.activity import Ctx, is_async
from ..protocol.context import Context
from ..protocol.raised import raised_words
from ..schema.json import JsonObject, legible

_BY = "_instructions"
"""The mark of a system message that such a function has said: its name. The next run puts what it says then there."""


def check_instructions(function: Callable[..., Any]) -> None:
    """Whether a function can say instructions: it takes a `Ctx`, or nothing.

    Raises:
        SchemaError: saying what it isn't.
    """
    if not callable(function) or not hasattr(function, "__name__"):
        raise SchemaError(f"instructions are said by a function, @agent.instructions, not {function!r}")
    wanted = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    if len(wanted) > 1:
        raise SchemaError(f"the instructions {function.__name__!r} take a Ctx or nothing, not {len(wanted)} parameters")


async def instructed(context: Context, functions: Sequence[Callable[..., Any]], deps: Any) -> Context:
    """A context with what functions say now; what they said in earlier runs gives way to it.

    Raises:
        SchemaError: one has failed, or has said what is no text.
    """
    said = [(one.__name__, await _said(one, deps)) for one in functions]
    new = {name: {"type": "system", "message": text, _BY: name} for name, text in said if text}
    messages: list[JsonObject] = []
    for message in context:
        name = message.get(_BY)
        is_earlier = message.get("type") == "system" and any(name == one.__name__ for one in functions)
        if not is_earlier:
            messages.append(message)
        elif name in new:
            messages.append(new.pop(name))
    at = next((n for n, one in enumerate(messages) if one.get("type") != "system"), len(messages))
    messages[at:at] = new.values()
    return Context.checked(messages, context.data_kinds, context.origin)


async def _said(function: Callable[..., Any], deps: Any) -> str:
    given = [Ctx(deps)] if inspect.signature(function).parameters else []
    try:
        text = await (function(*given) if is_async(function) else asyncio.to_thread(function, *given))
    except Exception as error:
        raise SchemaError(f"the instructions {function.__name__!r} failed: {raised_words(error)}") from error
    if text is not None and not isinstance(text, str):
        raise SchemaError(f"the instructions {function.__name__!r} are a text or None, not {text!r}")
    return legible(text or "")
