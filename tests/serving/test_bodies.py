"""What a caller sends is measured before it is parsed, and holds the loop for no longer than others can bear."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from asyncio.events import Handle
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum import Agent, models
from actum.schema.json import MAX_DEPTH, is_list, is_object
from actum.schema.json import JsonObject as Json
from actum.serving import Served
from actum.serving.callers import MOST_BYTES
from actum.serving.guard import CONTAINER, MOST_VALUES, JsonMeter

from .house import Client, house

LONGEST = 0.1
"""Seconds of CPU that a step of the loop may take: twice what is promised, for machines that are slow or busy."""
TRIES = 4
"""A busy machine makes a step longer now and then, a step that holds the loop is long each time."""
TEXT = MOST_BYTES - 2_000
FEW = MOST_VALUES - 100
ANY: Json = {
    "context": [{"type": "input", "schema": {"type": "object"}}, {"type": "plan", "plan": [], "output": 1}],
    "schema": {"type": "integer"},
}
SAY: Json = {"context": [{"type": "text", "text": "hello"}], "schema": {"type": "string"}}
MESSAGES = 3_000
PAGE: Json = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
BODIES: dict[str, tuple[str, str]] = {
    "one text": ("/ideas/any/runs?wait=20", json.dumps({"a": "t" * TEXT})),
    "a text that isn't ASCII": ("/ideas/any/runs?wait=20", json.dumps({"a": "é" * (TEXT // 6)})),
    "many keys": ("/ideas/any/runs?wait=20", json.dumps({f"k{n}": 1 for n in range(FEW)})),
    "many lists": ("/ideas/any/runs?wait=20", json.dumps({"a": [[]] * (FEW // (CONTAINER + 1))})),
    "many messages": (
        "/runs?wait=20",
        json.dumps({"idea": "say", "messages": [{"type": "text", "text": "m" * 1_100}] * MESSAGES}),
    ),
    "a long chat": (
        "/v1/chat/completions",
        json.dumps({"model": "say", "messages": [{"role": "user", "content": "x"}] * MESSAGES}),
    ),
    "a long thread": (
        "/agui/say",
        json.dumps({**PAGE, "messages": [{"id": "1", "role": "user", "content": "x"}] * (FEW // (CONTAINER + 3))}),
    ),
    "a large handshake": (
        "/mcp",
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"experimental": {f"k{n}": {} for n in range(FEW // (CONTAINER + 1) - 10)}},
                    "clientInfo": {"name": "x" * 1_000_000, "version": "1"},
                },
            }
        ),
    ),
}


@contextmanager
def longest_step() -> Generator[list[float]]:
    """The CPU seconds of the longest step of any loop within the block."""
    gc.disable()  # what it takes grows with what other tests have left
    run: Callable[[Any], Any] = Handle._run  # pyright: ignore[reportPrivateUsage] -- what a loop calls for each step
    longest = [0.0]

    def measured(self: Any) -> None:
        began = time.thread_time()
        run(self)
        longest[0] = max(longest[0], time.thread_time() - began)

    Handle._run = measured  # type: ignore[method-assign]  # pyright: ignore[reportPrivateUsage]
    try:
        yield longest
    finally:
        gc.enable()
        Handle._run = run  # type: ignore[method-assign]  # pyright: ignore[reportPrivateUsage]


def served() -> Served:
    answer = json.dumps({"calls": [], "output": "ok"})
    return Served({"any": ANY, "say": SAY}, agent=Agent(models.Scripted([answer] * 10)))


async def posted(client: Client, path: str, body: str) -> int:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    return (await client.post(path, content=body.encode(), headers=headers)).status_code


async def shortest(path: str, body: str, *, at_once: int) -> float:
    """The longest step while a body is sent several times at once, in the best of a few tries."""
    steps: list[float] = []
    while len(steps) < TRIES and min(steps, default=LONGEST) >= LONGEST:
        async with house(served()) as client:
            with longest_step() as longest:
                statuses = await asyncio.gather(*(posted(client, path, body) for _ in range(at_once)))
        assert all(status < 300 for status in statuses)
        steps += longest
    return min(steps)


@pytest.mark.parametrize("name", BODIES)
async def test_no_body_that_is_taken_holds_the_loop(name: str) -> None:
    assert await shortest(*BODIES[name], at_once=1) < LONGEST


async def test_nor_do_four_at_once() -> None:
    assert await shortest(*BODIES["many keys"], at_once=4) < LONGEST


@pytest.mark.parametrize("path", ["/runs", "/ideas/any/runs", "/v1/chat/completions", "/agui/say", "/mcp"])
async def test_what_holds_too_much_is_refused_everywhere_before_it_is_parsed(path: str) -> None:
    async with house(served()) as client:
        for body in (
            '{"a":[' + "1," * MOST_VALUES + "1]}",
            '{"a":[' + ",".join(["{}"] * (MOST_VALUES // 4)) + "]}",
            "[" * MOST_VALUES,
        ):
            answer = await client.post(path, content=body.encode(), headers={"content-type": "application/json"})
            assert answer.status_code in (400, 413), answer.text
            assert answer.json()["error"]["code"] in ("too_many_values", "json")
            assert answer.headers["connection"] == "close"
        deep = '{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1)
        answer = await client.post(path, content=deep.encode(), headers={"content-type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(JSON, st.lists(st.integers(min_value=0, max_value=400)), st.booleans())
def test_a_text_is_measured_the_same_however_it_arrives(value: Any, cuts: list[int], ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode(errors="surrogatepass")
    meter, ends = JsonMeter(), [0, *sorted(cuts), len(text)]
    for begin, end in pairwise(ends):
        meter.take(text[begin:end])
    containers, others, depth = measured(value)
    assert meter.depth == depth
    assert containers * CONTAINER + others <= meter.values + containers
    assert meter.values <= containers * CONTAINER + containers + others + 1


def measured(value: Any) -> tuple[int, int, int]:
    """How many lists and objects a value has, how many others, and how deep it is."""
    if not is_object(value) and not is_list(value):
        return 0, 1, 0
    inside = [measured(item) for item in (value.values() if is_object(value) else value)]
    return (
        1 + sum(part[0] for part in inside),
        sum(part[1] for part in inside),
        1 + max([0, *(part[2] for part in inside)]),
    )


@given(st.binary())
def test_what_is_no_json_is_measured_as_well(content: bytes) -> None:
    meter = JsonMeter()
    meter.take(content)
    assert meter.values <= 1 + CONTAINER * len(content)
