"""OpenAI's chat completions wire: an answer as one body, or as server-sent events, one for each token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .answering import Said
from .latency import pieces

DONE = b"data: [DONE]\n\n"


def usage(said: Said, prompt: int) -> dict[str, int]:
    """What the host says that it cost."""
    return {"prompt_tokens": prompt, "completion_tokens": said.tokens, "total_tokens": prompt + said.tokens}


def whole(said: Said, prompt: int, number: int) -> bytes:
    """Write an answer that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if said.calls:
        message["tool_calls"] = [
            {"id": _call_id(number, index), "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(said.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _reason(said), "logprobs": None}
    base = _base(number, "chat.completion")
    return json.dumps({**base, "choices": [choice], "usage": usage(said, prompt)}).encode()


def opening(number: int) -> bytes:
    """Write the event before the first token."""
    return _choice(number, {"role": "assistant", "content": ""})


def deltas(said: Said, number: int) -> Iterator[bytes]:
    """Write one event for each token of an answer."""
    for piece in pieces(said.text):
        yield _choice(number, {"content": piece})
    for index, (name, arguments) in enumerate(said.calls):
        function = {"name": name, "arguments": ""}
        call = {"index": index, "id": _call_id(number, index), "type": "function", "function": function}
        named = pieces(name)
        yield _choice(number, {"tool_calls": [call]})
        yield from (b"" for _ in named[1:])  # a name's tokens take their time, but come as one event
        for piece in pieces(arguments):
            yield _choice(number, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def closing(said: Said, prompt: int, number: int) -> bytes:
    """Write the events behind the last token."""
    last: dict[str, Any] = {**_base(number, "chat.completion.chunk"), "choices": [], "usage": usage(said, prompt)}
    return _choice(number, {}, _reason(said)) + _event(last) + DONE


def _choice(number: int, delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return _event({**_base(number, "chat.completion.chunk"), "choices": [choice]})


def _base(number: int, kind: str) -> dict[str, Any]:
    return {"id": f"c{number}", "object": kind, "created": 1, "model": "gpt-4o"}


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


def _call_id(number: int, index: int) -> str:
    return f"call_{number}_{index}"


def _reason(said: Said) -> str:
    return "tool_calls" if said.calls else "stop"
