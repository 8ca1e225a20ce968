"""What the harnesses share: JSON that was changed at random, the same for the same seed, and a run of it that ends."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncGenerator, Awaitable, Iterator, Sequence
from random import Random
from typing import Any, TypeVar

from actum import errors
from actum.generation.model import ModelRequest
from actum.schema.json import is_list, is_object

T = TypeVar("T")

ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**63, 10**400, 1e308, -0.5, 9_999, "", " ", "x", "†", "††", "†x", "{", "}", "{}"),
    *("†calls.0", "†calls.1", "†calls.-1", "†calls.²", "†calls.٣", "†calls." + "9" * 5_000, "†calls", "†calls.0.a[0]"),
    *("†results.0", "†results.²", "†each", "†each.a", "†state.x", "†state.x[0].y", '†state["\\ud800"]', "†state.²"),
    *("†state.a <|> †calls.0", "†state.a *> †calls.0", "(†calls.0", "†calls.0 <|>", "†state.approvals.x", "†input.x"),
    *("{†calls.0}", "{†calls.0 + 1}", "{†calls.²}", "{one(x for x in †calls.0)}", "{†calls.0[", "a {†calls.0:>9} b"),
    *("{†each.a == 1}", "{[x for x in †calls.0 if x.a]}", "{†state.x / 0}", "{'a' * 10**9 if †calls.0 else 1}"),
    *("\x1b[31m", "\x07", "\u202e", "\u2028", "a\nb", "a\0b", "\ud800", "é" * 100, "🜁", "_tool", "__class__"),
    *([], [[]], [None], ["†calls.0", "†calls.0"], {}, {"a": 1}, {"": {}}, {"_tool": "same"}, {"$ref": "#"}),
    *([1] * 50, {"type": "string"}, {"const": 1}, {"enum": []}, {"properties": "x"}, {"$ref": "idea:x"}, [[[[[[1]]]]]]),
]
"""Values that code may expect never to meet."""
KEYS = (
    *("calls", "output", "meta", "_tool", "_each", "_when", "_then", "_value", "_output", "_outputPath", "_with"),
    *(
        "_outputMethod",
        "_instance",
        "_scopes",
        "_delegate",
        "_activity",
        "_reasoningForCall",
        "_resolution",
        "_effects",
    ),
    *("_timeout", "_imports", "_module", "_why", "value", "values", "text", "type", "properties", "required", "items"),
    *(
        "$ref",
        "$defs",
        "anyOf",
        "allOf",
        "context",
        "config",
        "schema",
        "solution",
        "",
        "a",
        "²",
        "\x1b[0m",
        "__proto__",
    ),
)


def changed(random: Random, value: Any, times: int) -> Any:
    """A JSON value with parts replaced, removed, repeated, renamed and moved."""
    root: list[Any] = [copy.deepcopy(value)]
    for _ in range(times):
        holder: Any
        holder, key = random.choice(list(_places(root)))
        match random.randrange(6):
            case 0 | 1:
                holder[key] = copy.deepcopy(random.choice(ODD))
            case 2 if holder is not root:
                del holder[key]
            case 3:
                other, there = random.choice(list(_places(root)))
                holder[key] = copy.deepcopy(other[there])
            case 4 if isinstance(holder[key], dict):
                holder[key][random.choice(KEYS)] = copy.deepcopy(random.choice(ODD))
            case 5 if is_list(holder) and holder is not root:
                holder.insert(random.randrange(len(holder) + 1), copy.deepcopy(holder[key]))
            case _:
                if is_object(holder):
                    holder[random.choice(KEYS)] = holder.pop(key)
    return root[0]


def _places(root: list[Any]) -> Iterator[tuple[Any, Any]]:
    ahead: list[Any] = [root]
    while ahead:
        holder = ahead.pop()
        keys: list[Any] = list(holder) if is_object(holder) else [*range(len(holder))]
        for key in keys:
            yield holder, key
            if isinstance(holder[key], dict | list):
                ahead.append(holder[key])


def written(random: Random, value: Any) -> str:
    """The text of a value, now and then with a few characters that are wrong."""
    text = json.dumps(value, ensure_ascii=random.random() < 0.2)
    for _ in range(random.choice((0, 0, 0, 1, 3))):
        at = random.randrange(len(text) + 1)
        piece = random.choice(('"', "{", "}", "[", "]", ",", ":", "\\", "†", "\x00", "\ufeff", "NaN", "\\ud800", "1e9"))
        text = random.choice((text[:at] + piece + text[at:], text[:at] + text[at + 1 :], text[:at]))
    return text


class Chunked:
    """A model that gives one answer after the other, each in pieces of random sizes; the last is given for ever."""

    name = "chunked"

    def __init__(self, random: Random, answers: Sequence[str]) -> None:
        self._random = random
        self._left = list(answers)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str]:
        """The next answer."""
        # Scripted keeps every request, and these are many; what is sent must be text that can be sent.
        for message in request.messages:
            message["content"].encode()
        text = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        most = self._random.choice((1, 2, 7, 40, 100_000))
        while text:
            size = self._random.randint(1, most)
            yield text[:size]
            text = text[size:]
            if self._random.random() < 0.3:
                await asyncio.sleep(0)


async def ended(run: Awaitable[T]) -> T | errors.ActumError:
    """The result of a run, or an error of Actum that can be shown; anything else is raised."""
    try:
        async with asyncio.timeout(60):  # a hang, not a slow machine
            return await run
    except errors.ActumError as error:
        check_told(error)
        return error


def check_told(error: errors.ActumError) -> None:
    """Whether an error can be told: in one line, as text, and as JSON."""
    error.message.encode()
    assert "\n" not in error.message
    json.dumps(error.to_dict(), ensure_ascii=False).encode()
