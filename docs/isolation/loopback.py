"""A model server on loopback that plays a script and keeps every request: chat completions and responses.

An answer is text, calls, or both. The n-th request gets the n-th answer, whoever asks.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """One native tool call of an answer."""

    tool: str
    arguments: Json = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the scripted model says once."""

    text: str = ""
    calls: Sequence[Called] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it came."""

    path: str
    body: Json


class Script:
    """Hands out its answers in order, and keeps what was asked."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.received: list[Received] = []
        self._answers = list(answers)
        self._lock = Lock()

    def next(self, request: Received) -> tuple[int, Answer] | None:
        """The answer to a request with its number, or None when the script is over."""
        with self._lock:
            self.received.append(request)
            number = len(self.received)
            return (number, self._answers[number - 1]) if number <= len(self._answers) else None


@contextmanager
def serving(script: Script) -> Generator[str]:
    """Serve a script; yields the base URL for an OpenAI client."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            request = Received(path=self.path, body=json.loads(raw))
            turn = script.next(request)
            if turn is None:
                self._send(400, "application/json", json.dumps({"error": {"message": "the script is over"}}))
            elif request.body.get("stream"):
                self._send(200, "text/event-stream", _chunks(*turn))
            else:
                wire = _chat if request.path.endswith("/chat/completions") else _responses
                self._send(200, "application/json", json.dumps(wire(*turn)))

        def _send(self, status: int, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet: what came is kept as a value."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _chat(number: int, answer: Answer) -> Json:
    calls = [
        {
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(answer.calls)
    ]
    message = {"role": "assistant", "content": answer.text or None} | ({"tool_calls": calls} if calls else {})
    return {
        "id": f"chat_{number}",
        "object": "chat.completion",
        "created": number,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _responses(number: int, answer: Answer) -> Json:
    message: Json = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": answer.text, "annotations": []}],
    }
    calls = [
        {
            "id": f"fc_{number}_{index}",
            "type": "function_call",
            "call_id": f"call_{number}_{index}",
            "name": call.tool,
            "arguments": json.dumps(call.arguments),
            "status": "completed",
        }
        for index, call in enumerate(answer.calls)
    ]
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": number,
        "model": "scripted",
        "status": "completed",
        "output": [*([message] if answer.text else []), *calls],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        },
    }


def _chunks(number: int, answer: Answer) -> str:
    base = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": number, "model": "scripted"}
    deltas: list[tuple[Json, str | None]] = [({"role": "assistant", "content": answer.text}, None), ({}, "stop")]
    events = [base | {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
