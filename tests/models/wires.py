"""The event streams of the providers, as far as the adapters need them: text in, bytes of a reply's parts out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from actum.models.hosted import Hosted
from actum.models.hosts import HOSTS
from actum.models.port import Endpoint
from actum.models.providers import wire_of
from actum.models.retry_policy import Retrying

from .server import Part, Reply, Server


def event(data: Any, name: str | None = None) -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"


def chat(
    pieces: Sequence[Part], finish: str | None = "stop", thoughts: Sequence[str] = (), key: str = "reasoning_content"
) -> list[Part]:
    def chunk(choices: list[Any], **more: Any) -> str:
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": choices}
        return event(base | more)

    def choice(delta: dict[str, str], reason: str | None = None) -> list[Any]:
        return [{"index": 0, "delta": delta, "finish_reason": reason}]

    usage = {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "total_tokens": 18,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    return [
        chunk(choice({"role": "assistant", "content": ""})),
        *(chunk(choice({key: thought})) for thought in thoughts),
        *(chunk(choice({"content": part})) if isinstance(part, str) else part for part in pieces),
        *([chunk(choice({}, finish))] if finish else []),
        chunk([], usage=usage),
        "data: [DONE]\n\n",
    ]


def responses(pieces: Sequence[Part], finish: str | None = "stop", thoughts: Sequence[str] = ()) -> list[Part]:
    status = "incomplete" if finish in {"length", "content_filter"} else "completed"
    reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(finish or "")
    whole = "".join(part for part in pieces if isinstance(part, str))
    item: dict[str, Any] = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": whole, "annotations": []}],
    }
    base: dict[str, Any] = {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-4o",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    usage = {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 18,
    }
    number = count()

    def named(kind: str, **data: Any) -> str:
        return event({"type": kind, "sequence_number": next(number)} | data, kind)

    at = 1 if thoughts else 0
    place = {"item_id": "m1", "output_index": at, "content_index": 0}
    end: dict[str, Any] = base | {"status": status, "output": [item], "usage": usage}
    if reason:
        end |= {"incomplete_details": {"reason": reason}}
    part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": []}
    return [
        named("response.created", response=base | {"status": "in_progress"}),
        *(_summary(thoughts, named) if thoughts else []),
        named("response.output_item.added", output_index=at, item=item | {"content": [], "status": "in_progress"}),
        named("response.content_part.added", **place, part=part),
        *(
            named("response.output_text.delta", **place, delta=delta, logprobs=[]) if isinstance(delta, str) else delta
            for delta in pieces
        ),
        named("response.output_text.done", **place, text=whole, logprobs=[]),
        named("response.output_item.done", output_index=at, item=item),
        named(f"response.{status}", response=end),
    ]


def _summary(thoughts: Sequence[str], named: Callable[..., str]) -> list[Part]:
    """What a model of OpenAI's has thought, as a summary."""
    place = {"item_id": "rs1", "output_index": 0, "summary_index": 0}
    whole = {"type": "summary_text", "text": "".join(thoughts)}
    item: dict[str, Any] = {"id": "rs1", "type": "reasoning"}
    return [
        named("response.output_item.added", output_index=0, item=item | {"summary": []}),
        named("response.reasoning_summary_part.added", **place, part={"type": "summary_text", "text": ""}),
        *(named("response.reasoning_summary_text.delta", **place, delta=thought) for thought in thoughts),
        named("response.reasoning_summary_text.done", **place, text=whole["text"]),
        named("response.reasoning_summary_part.done", **place, part=whole),
        named("response.output_item.done", output_index=0, item=item | {"summary": [whole]}),
    ]


def anthropic(pieces: Sequence[Part], finish: str | None = "stop", thoughts: Sequence[str] = ()) -> list[Part]:
    reason = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}.get(finish or "")
    message: dict[str, Any] = {
        "id": "a1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "cache_read_input_tokens": 4, "output_tokens": 1},
    }

    def named(kind: str, **data: Any) -> str:
        return event({"type": kind} | data, kind)

    at = 1 if thoughts else 0
    ending = [named("message_delta", delta={"stop_reason": reason, "stop_sequence": None}, usage={"output_tokens": 7})]
    return [
        named("message_start", message=message),
        *(_thinking(thoughts, named) if thoughts else []),
        named("content_block_start", index=at, content_block={"type": "text", "text": ""}),
        *(
            named("content_block_delta", index=at, delta={"type": "text_delta", "text": part})
            if isinstance(part, str)
            else part
            for part in pieces
        ),
        named("content_block_stop", index=at),
        *(ending if reason else []),
        named("message_stop"),
    ]


def _thinking(thoughts: Sequence[str], named: Callable[..., str]) -> list[Part]:
    block = {"type": "thinking", "thinking": "", "signature": ""}
    return [
        named("content_block_start", index=0, content_block=block),
        *(
            named("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": thought})
            for thought in thoughts
        ),
        named("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "c2lnbmVk"}),
        named("content_block_stop", index=0),
    ]


def anthropic_call(*pieces: str) -> list[Part]:
    """An answer as the parameters of the one tool, where a schema is not enforced."""

    def named(kind: str, **data: Any) -> str:
        return event({"type": kind} | data, kind)

    return [
        *anthropic([], None)[:1],
        named(
            "content_block_start",
            index=0,
            content_block={"type": "tool_use", "id": "t1", "name": "answer", "input": {}},
        ),
        *(
            named("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": part})
            for part in pieces
        ),
        named("content_block_stop", index=0),
        named("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 7}),
        named("message_stop"),
    ]


def google(pieces: Sequence[Part], finish: str | None = "stop", thoughts: Sequence[str] = ()) -> list[Part]:
    reason = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}.get(finish or "")

    def chunk(text: str, **more: Any) -> str:
        content = {"role": "model", "parts": [{"text": text} | more]}
        return event({"candidates": [{"index": 0, "content": content}], "modelVersion": "gemini-2.5-flash"})

    usage = {
        "promptTokenCount": 11,
        "candidatesTokenCount": 7,
        "totalTokenCount": 18,
        "cachedContentTokenCount": 4,
    }
    end = {
        "candidates": [{"index": 0} | ({"finishReason": reason} if reason else {})],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
    }
    thinking = (chunk(thought, thought=True) for thought in thoughts)
    return [*thinking, *(chunk(part) if isinstance(part, str) else part for part in pieces), event(end)]


class Written(Protocol):
    """Writes a provider's stream: the text, why it ended, and the thoughts before it."""

    def __call__(
        self, pieces: Sequence[Part], finish: str | None = "stop", thoughts: Sequence[str] = ()
    ) -> list[Part]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One provider's wire: how its stream is written, and where its request holds the schema."""

    kind: str
    model: str
    stream: Written
    path: str
    prefix: str = "/v1"

    def hosted(
        self, server: Server, *, timeout: float = 5, retrying: Retrying | None = None, key: str = "key", **more: Any
    ) -> Hosted:
        provider = self.kind.removesuffix("-compatible")
        url = f"{server.url}{self.prefix}"
        host = HOSTS[provider]
        is_own = provider == self.kind
        endpoint = Endpoint(wire=host.wire, provider=provider, base_url=url, api_key=key, is_own=is_own)
        return Hosted(
            self.model, wire=wire_of(host), endpoint=endpoint, timeout=timeout, retrying=retrying or Retrying(retries=0)
        )

    def answer(self, *pieces: Part, finish: str | None = "stop", thoughts: Sequence[str] = (), **more: Any) -> Reply:
        return Reply(parts=self.stream(pieces, finish, thoughts), **more)

    def schema(self, body: Any) -> Any:
        for step in self.path.split("."):
            body = body[step]
        return body


WIRES = {
    "openai": Wire(kind="openai", model="gpt-4o", stream=chat, path="response_format.json_schema.schema"),
    "openai-compatible": Wire(
        kind="openai-compatible", model="qwen2.5", stream=chat, path="response_format.json_schema.schema"
    ),
    "openai-responses": Wire(kind="openai-responses", model="gpt-4o", stream=responses, path="text.format.schema"),
    "anthropic": Wire(
        kind="anthropic",
        model="claude-haiku-5-5",
        stream=anthropic,
        path="output_config.format.schema",
        prefix="",
    ),
    "google": Wire(
        kind="google",
        model="gemini-2.5-flash",
        stream=google,
        path="generationConfig.responseJsonSchema",
        prefix="",
    ),
}
