"""What each wire sends, judged by the request types that its provider publishes with its SDK, closed (W39).

An unknown key or a wrong type fails. `extra` and `headers` are the user's own, and left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter

from actum.generation.model import ModelMessage, ModelRequest
from actum.schema.json import JsonObject as Json
from actum.schema.validator import Validator
from actum.schema.walk import mapped

from .asking import REQUEST, SCHEMA, collect
from .server import Server
from .wires import WIRES

PICTURE: ModelMessage = {
    "role": "user",
    "content": "What is this?",
    "media": {"kind": "image", "name": "a.png", "media_type": "image/png", "data": "iVBORw0KGgo=", "size": 8},
}
SYSTEM: ModelMessage = {"role": "system", "content": "Be brief."}
ANSWERED: ModelMessage = {"role": "assistant", "content": "{}"}
GO: ModelMessage = {"role": "user", "content": "Go."}
EVERY: dict[str, Any] = {
    "thinking": "high",
    "tier": "flex",
    "max_tokens": 2_000,
    "stop": ["END"],
    "seed": 7,
    "top_p": 0.5,
    "timeout": 5,
}
LONG: tuple[ModelMessage, ...] = ({"role": "system", "content": "Be brief. " * 3_000}, GO, ANSWERED, GO)


def request_with(**more: Any) -> ModelRequest:
    given: dict[str, Any] = {"messages": REQUEST.messages, "schema": SCHEMA, **more}
    return ModelRequest(**given)


REQUESTS: dict[str, ModelRequest] = {
    "plain": request_with(),
    "turns": request_with(messages=(SYSTEM, GO, ANSWERED, SYSTEM, GO)),
    "media": request_with(messages=(SYSTEM, PICTURE)),
    "loose": request_with(mode="loose"),
    "prompted": request_with(mode="prompted"),
    "every setting": request_with(settings=EVERY),
    "a temperature": request_with(settings={"temperature": 0.5, "max_tokens": 99}),
    "no thinking": request_with(settings={"thinking": False}),
    "cached": request_with(messages=LONG, shared=1, stable=3, settings={"cache": "1h"}),
    "cached, alone": request_with(messages=LONG, shared=1, settings={"cache": "5m"}),
}


def _anthropic() -> Any:
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return TypeAdapter(MessageCreateParamsStreaming).json_schema()


def _chat() -> Any:
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return TypeAdapter(CompletionCreateParamsStreaming).json_schema()


def _responses() -> Any:
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return TypeAdapter(ResponseCreateParamsStreaming).json_schema()


def _google() -> Any:
    from google.genai import types

    fields = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "generationConfig": types.GenerationConfig,
        "serviceTier": types.ServiceTier,
    }
    parts = {name: TypeAdapter(kind).json_schema(ref_template="#/$defs/{model}") for name, kind in fields.items()}
    definitions: Json = {}
    for part in parts.values():
        definitions |= part.pop("$defs", {})
    return {"type": "object", "properties": parts, "required": ["contents"], "$defs": definitions}


PUBLISHED: dict[str, Callable[[], Any]] = {
    "openai": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
}


def _closed(schema: Json) -> Json:
    is_open = schema.get("additionalProperties", True) is not True or "properties" not in schema
    return schema if is_open else {**schema, "additionalProperties": False}


@cache
def judge(wire: str) -> Validator:
    return Validator(mapped(PUBLISHED[wire](), _closed))


def spelled(body: Any) -> Any:
    """A body with the keys that Google describes: it takes those of its protocol buffers, too (`mime_type`)."""
    if isinstance(body, list):
        return [spelled(part) for part in body]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(body, dict):
        return body
    whole: Json = body  # pyright: ignore[reportUnknownVariableType]
    return {
        re.sub(r"_([a-z])", lambda m: m[1].upper(), key): value if key == "responseJsonSchema" else spelled(value)
        for key, value in whole.items()
    }


@pytest.mark.rule("W39")
@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("name", PUBLISHED)
async def test_a_body_is_one_that_its_provider_describes(server: Server, name: str, kind: str) -> None:
    server.reply(WIRES[name].answer("{}"))
    request = REQUESTS[kind]
    if name == "anthropic":  # its newer models take none, and the library warns
        kept = {key: value for key, value in request.settings.items() if key not in {"temperature", "top_p"}}
        request = replace(request, settings=kept)
    await collect(WIRES[name].hosted(server), request)
    body = spelled(server.last.body) if name == "google" else server.last.body
    problems = [(path, words) for path, words, _ in judge(name).problems(body)]
    assert problems == []


@pytest.mark.rule("W39")
@pytest.mark.parametrize("name", PUBLISHED)
async def test_the_judge_knows_what_no_provider_describes(server: Server, name: str) -> None:
    server.reply(WIRES[name].answer("{}"))
    await collect(WIRES[name].hosted(server), REQUESTS["plain"])
    body = server.last.body
    assert not judge(name).accepts({**body, "temprature": 1})
    content = "contents" if name == "google" else "input" if name == "openai-responses" else "messages"
    assert not judge(name).accepts({**body, content: 5})
