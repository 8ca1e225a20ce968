"""The content of messages, calls and results as the conventions write it, recorded only on request."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..protocol.call import Call
from ..schema.infer import jsonable
from ..schema.json import JsonObject, encode
from ..spans import Beginning, CallBegun, Ending, RequestBegun, RequestEnded, Returned, RunReturned

_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_YES = frozenset({"true", "span_only", "span_and_event"})


def is_asked_for() -> bool:
    """Whether the environment asks for content on spans."""
    return os.environ.get(_VARIABLE, "").strip().lower() in _YES


def of_beginning(beginning: Beginning) -> dict[str, str]:
    """The messages of a request, the parameters of a call."""
    match beginning:
        case RequestBegun(messages=messages):
            return {"gen_ai.input.messages": _text([_message(message) for message in messages])}
        case CallBegun(call=call):
            return {"gen_ai.tool.call.arguments": _text(_parameters(call))}
        case _:
            return {}


def of_ending(ending: Ending) -> dict[str, str]:
    """The answer of a model, the value of a call, the output of a run."""
    match ending:
        case RequestEnded(calls=calls, output=output):
            return {"gen_ai.output.messages": _text([_answer(calls, output)])}
        case Returned(value=value):
            return {"gen_ai.tool.call.result": _text(value)}
        case RunReturned(output=output) if output is not None:
            return {"gen_ai.output.messages": _text([_answer((), output)])}
        case _:
            return {}


def _text(value: Any) -> str:
    """A value as JSON; of an output that can't be written so, its type."""
    try:
        return encode(jsonable(value))
    except (ValueError, RecursionError):
        return type(value).__name__


def _message(message: Mapping[str, Any]) -> JsonObject:
    parts: list[JsonObject] = [{"type": "text", "content": message["content"]}]
    if media := message.get("media"):  # a picture itself isn't text for a trace
        parts.append({"type": media["kind"], "name": media["name"], "media_type": media.get("media_type")})
    return {"role": message["role"], "parts": parts}


def _answer(calls: Sequence[Call], output: Any) -> JsonObject:
    parts: list[JsonObject] = [
        {"type": "tool_call", "id": None, "name": call.tool, "arguments": _parameters(call)} for call in calls
    ]
    if output is not None:
        parts.append({"type": "text", "content": output if isinstance(output, str) else _text(output)})
    return {"role": "assistant", "parts": parts}


def _parameters(call: Call) -> JsonObject:
    return {key: value for key, value in call.items() if key != "_tool"}
