"""All that the events of calls hold, for each way in which a call is made and each way in which it ends."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from actum import HOLD, Agent, Call, Progress, Tools, approvals, events, models
from actum.protocol.registry import Backoff

from .scripts import Json, agent, answer, call

pytestmark = pytest.mark.rule("X0", "A7", "C10", "C12", "C14", "C15", "T14")
_VARY = {"at", "key", "maker", "depth", "path", "within", "place", "seconds"}
"""What differs from run to run, or is compared by itself."""


def desk() -> Tools:
    tools, attempts = Tools(), list[int]()

    @tools.tool(effects="none")
    def look(n: int = 0) -> int:
        """Look."""
        return n

    @tools.tool
    def bad(n: int = 0) -> int:
        """Fail."""
        raise ValueError("no")

    @tools.tool(retries=1, effects="none")
    def again(n: int, _progress: Progress) -> int:
        """Fail once."""
        _progress(len(attempts), 2, "so far")
        attempts.append(n)
        if len(attempts) == 1:
            raise ValueError("first")
        return n

    assert [tool.name for tool in (look, bad, again)] == ["look", "bad", "again"]
    tools.backoff = Backoff(first=0.001)
    tools.register("latent", {"properties": {"of": {}, "_output": {"type": "integer"}}})
    tools.register("ask", {"_delegate": "one", "properties": {"n": {}}, "_output": {}})
    return tools


def described(event: events.CallEvent) -> Json:
    """An event as its type and what it holds beyond its defaults."""
    description: Json = {"is": type(event).__name__}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name in _VARY or value in (None, (), "") or value is False:
            continue
        if field.name == "made" and value == event.call:
            continue
        description[field.name] = (
            dict(value) if isinstance(value, Call) else str(value) if field.name == "error" else value
        )
    return description


async def events_by_place(*calls: Json) -> dict[str, list[Json]]:
    """The events of calls by the places of the calls."""
    script = models.Scripted([answer(*calls), answer(output="end")])
    runner = Agent(
        script, tools=desk(), delegates={"one": {"context": [{"type": "plan", "plan": [], "output": "†input.n"}]}}
    )
    by_place: dict[str, list[Json]] = {}
    async with runner.stream([{"type": "state", "z": 0}], str) as run:
        async for event in run:
            if isinstance(event, events.CallEvent):
                by_place.setdefault(str(event.place), []).append(described(event))
                if isinstance(event, events.CallStarted):
                    assert event.key.endswith(f"/{event.place}")
                if isinstance(event, events.CallFinished):
                    assert bool(event.maker) == (event.call.tool == "ask")
    return by_place


def ready(element: Json, value: Any = None, **more: Any) -> list[Json]:
    """The events of a call that is made at once and succeeds."""
    finished = {"is": "CallFinished", "call": element} | ({} if value is None else {"value": value}) | more
    return [{"is": "CallReady", "call": element}, {"is": "CallStarted", "call": element}, finished]


LOOK = call("look", n=1, _outputPath="†state.x")
ASK, LATENT, AGAIN = call("ask", n=3), call("latent", of=1, _output=5), call("again", n=4)
EACH = call("look", n="†each", _each=[1, 2])
SKIPPED = call("look", _when="{†state.z == 1}")
INSTEAD = call("bad", _else=7)
READS = call("look", n="†calls.0")
HEARD: list[tuple[list[Json], dict[str, list[Json]]]] = [
    ([LOOK], {"0.0": ready(LOOK, 1)}),
    ([LOOK, LOOK], {"0.0": ready(LOOK, 1), "0.1": ready(LOOK, 1, overwrote=True)}),
    ([LATENT], {"0.0": ready(LATENT, 5, latent=True)}),
    (
        [ASK],
        {
            "0.0": [
                {"is": "CallReady", "call": ASK},
                {"is": "CallStarted", "call": ASK, "made": {**ASK, "_delegate": "one"}, "delegate": "one"},
                {"is": "CallFinished", "call": ASK, "value": 3},
            ]
        },
    ),
    (
        [EACH],
        {
            "0.0": ready(EACH, [1, 2]),
            "0.0.0": ready(call("look", n=1), 1),
            "0.0.1": ready(call("look", n=2), 2),
        },
    ),
    ([SKIPPED], {"0.0": [{"is": "CallSkipped", "call": SKIPPED, "why": "its condition is false"}]}),
    (
        [SKIPPED, READS],
        {
            "0.0": [{"is": "CallSkipped", "call": SKIPPED, "why": "its condition is false"}],
            "0.1": [
                {"is": "CallWaiting", "call": READS, "on": ("†calls.0",)},
                {"is": "CallSkipped", "call": READS, "why": "what it refers to was skipped"},
            ],
        },
    ),
    (
        [call("bad")],
        {
            "0.0": [
                *ready(call("bad"))[:2],
                {"is": "CallFailed", "call": call("bad"), "error": "tool 'bad': ValueError: no", "outcome": "failed"},
            ]
        },
    ),
    (
        [call("look", n="x")],
        {
            "0.0": [
                {
                    "is": "CallFailed",
                    "call": call("look", n="x"),
                    "error": 'tool \'look\': n: "x" is not of type "integer"',
                    "outcome": "not made",
                },
            ]
        },
    ),
    (
        [INSTEAD],
        {
            "0.0": [
                {"is": "CallReady", "call": INSTEAD},
                {"is": "CallStarted", "call": INSTEAD, "made": call("bad")},
                {
                    "is": "CallFailed",
                    "call": INSTEAD,
                    "error": "tool 'bad': ValueError: no",
                    "outcome": "failed",
                    "is_replaced": True,
                },
                {"is": "CallFinished", "call": INSTEAD, "value": 7},
            ]
        },
    ),
    (
        [AGAIN],
        {
            "0.0": [
                *ready(AGAIN)[:2],
                {"is": "CallProgress", "call": AGAIN, "done": 0, "total": 2, "message": "so far"},
                {"is": "CallRetried", "call": AGAIN, "error": "tool 'again': ValueError: first", "attempt": 1},
                {"is": "CallProgress", "call": AGAIN, "done": 1, "total": 2, "message": "so far"},
                {"is": "CallFinished", "call": AGAIN, "value": 4},
            ]
        },
    ),
]


@pytest.mark.parametrize(("calls", "expected"), HEARD, ids=[str(calls) for calls, _ in HEARD])
async def test_what_is_told_of_a_call_is_told_whole(calls: list[Json], expected: dict[str, list[Json]]) -> None:
    assert await events_by_place(*calls) == expected


@pytest.mark.rule("L6", "S9")
async def test_what_waits_for_a_decision_is_told_whole() -> None:
    tools = desk()
    tools.register("seeing", {"properties": {"n": {"type": "integer"}}, "_scopes": ["state"]})
    tools.activity("seeing", lambda n: n)  # pyright: ignore
    inner = {"context": [{"type": "plan", "plan": [call("look", n="†input.n")], "output": "†calls.0"}],
             "config": {"tools": ["look"]}}  # fmt: skip
    calls = [call("look", n=2), call("seeing", n="{†calls.0 + 1}"), ASK]

    def approve(call: Call, *_: Any) -> Any:
        return HOLD if call.get("n") == 3 else True

    runner = agent(
        answer(*calls, output=["†calls.1", "†calls.2"]), tools=tools, delegates={"one": inner}, approve=approve
    )
    result = await runner.run([{"type": "state", "a": 1}])
    waiting = [
        {field.name: getattr(pending, field.name) for field in fields(pending)}
        for pending in sorted(approvals.pending(result.context), key=lambda pending: pending.of)
    ]
    assert [(entry["of"], dict(entry["call"]), entry["delegates"], entry["wants_result"]) for entry in waiting] == [
        ("0.1", call("seeing", n=3, _scopes=["state"]), (), False),
        ("0.2", {**ASK, "_delegate": "one"}, (), False),
    ]
    assert [(list(entry["crossing"]), entry["sources"], entry["derived"]) for entry in waiting] == [
        ([{"type": "state", "a": 1}], {"n": "{†calls.0 + 1}"}, ("n",)),
        ([], {}, ()),
    ]
    assert waiting[0]["takes"]["properties"] == {"n": {"type": "integer"}}
