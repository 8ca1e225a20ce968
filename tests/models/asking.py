"""Asking a hosted model in a test: a request, and waits that are bounded."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from actum.errors import ModelError
from actum.generation.model import ModelRequest, Reasoning, Usage
from actum.models.hosted import Hosted
from actum.models.retry_policy import Retrying

from .server import Reply
from .wires import WIRES

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "calls": {
            "type": "array",
            "items": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {
                            "_tool": {"const": "add"},
                            "a": {"type": ["integer", "null"], "minimum": 1},
                            "b": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": '^†[^"\\\\]+$'}]},
                            "open": {"type": "object"},
                        },
                        "required": ["_tool", "a"],
                        "additionalProperties": False,
                    },
                    {"$ref": "#/$defs/tree"},
                ]
            },
        },
        "output": {"anyOf": [{"type": "string", "minLength": 2, "description": "ünï"}, {"type": "null"}]},
        "a_first": {"type": "string"},
    },
    "required": ["calls", "output"],
    "$defs": {
        "tree": {"type": "object", "properties": {"_tool": {"const": "tree"}, "name": {"type": "string"}}},
    },
}
REQUEST = ModelRequest(messages=({"role": "user", "content": "Go."},), schema=SCHEMA)

every_wire = pytest.mark.parametrize("wire", WIRES.values(), ids=list(WIRES))
BOUND = 10


async def collect(model: Hosted, request: ModelRequest = REQUEST) -> list[str | Reasoning | Usage]:
    async with asyncio.timeout(BOUND):
        return [item async for item in model.stream(request)]


async def failure(model: Hosted, request: ModelRequest = REQUEST) -> tuple[list[str], ModelError]:
    texts: list[str] = []
    with pytest.raises(ModelError) as caught:  # noqa: PT012  what came before the error is judged too
        async with asyncio.timeout(BOUND):
            async for item in model.stream(request):
                if isinstance(item, str):
                    texts.append(item)  # noqa: PERF401  what came before the error is kept
    return texts, caught.value


class Naps:
    """Sleeps that take no time and are noted."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)

    def policy(self, retries: int = 2, **more: Any) -> Retrying:
        return Retrying(retries=retries, sleep=self, chance=lambda: 1.0, **more)


def refusal(status: int, message: str = "no", **headers: str) -> Reply:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    body = json.dumps({"error": {"message": message}})
    return Reply(status=status, content_type="application/json", headers=named, parts=[body])
