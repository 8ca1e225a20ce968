"""S4 and S7: the hint to a latent call, and that nothing outside the scopes changes a byte of what crosses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import Agent, Tools, events, models
from actum.execution.record.journal import Journal
from actum.protocol.context import Context

from ..effort import trials
from .scripts import Json, agent, answer, call, sent, text_of

TEXT: Json = {"type": "string"}


@pytest.mark.rule("S4")
async def test_for_a_latent_call_a_scope_is_a_hint_and_no_filter() -> None:
    tools = Tools()
    tools.register("summarize", {"_scopes": ["state.article", "input"], "properties": {"_output": TEXT}})
    tools.register("byCode", {"_scopes": ["state"], "_delegate": "anonymous"})
    of = agent(answer(call("summarize", _output="short"), output="†calls.0"), tools=tools)
    result = await of.run([{"type": "state", "article": "A", "other": "O"}, {"type": "input", "q": 1}])
    assert result.output == "short"
    shown = text_of(sent(of)[0].messages)
    assert "summarize: ¶state.article ¶input" in shown
    assert "byCode:" not in shown, "what crosses to a delegate is not the model's to attend to"
    assert '"other":"O"' in shown


@pytest.mark.rule("S4", "D16")
async def test_outside_a_run_a_model_is_told_the_scopes_of_a_latent_call_and_sees_the_rest() -> None:
    tools, model = Tools(), models.Scripted([answer(output="ok")] * 3)
    tools.register("fixed", {"_scopes": ["state.article", "input"], "_output": TEXT})
    tools.register("open", {"_output": TEXT})
    context: list[Json] = [{"type": "state", "article": "A", "other": "O"}, {"type": "input", "q": 1}]
    for made in (call("fixed"), call("open", _scopes=["input"]), call("open")):
        assert await tools(made, context=context, model=model) == "ok"
    shown = [text_of(request.messages) for request in model.requests]
    hint = "¶scopes, what these calls are made from\n"
    assert f"{hint}fixed: ¶state.article ¶input\n" in shown[0]
    assert f"{hint}open: ¶input\n" in shown[1]
    assert "¶scopes" not in shown[2]
    assert all('"other":"O"' in one for one in shown)


@dataclass(frozen=True)
class Case:
    """Two parents that agree on what is scoped and on nothing else."""

    scopes: list[str]
    instance: str | None
    parents: tuple[list[Json], list[Json]]
    answers: tuple[Json, Json]


ONE, TWO = "①", "②"
VALUES = st.one_of(st.integers(-9, 9), st.text("ab†\n", max_size=4), st.none(), st.lists(st.integers(0, 3), max_size=2))
PATHS = {"state.a": ("a",), "state.b.c": ("b", "c"), "profile.x": ("x",)}
WHOLE = ["state", "input", "profile", "text", "system", "absent"]


def nested(path: Sequence[str], value: Any) -> Json:
    for key in reversed(path):
        value = {key: value}
    return value


def data(kind: str, payload: Json, instance: str | None) -> Json:
    mark = {} if instance is None else {"_instance": instance}
    if kind == "profile":
        return {"type": "data", "kind": kind, "data": payload, **mark}
    return {"type": kind, kind: payload, **mark}


@st.composite
def scoped_messages(draw: st.DrawFn, scopes: list[str], instance: str | None) -> list[Json]:
    """What the scopes let through."""
    messages: list[Json] = []
    for scope in draw(st.lists(st.sampled_from(scopes), max_size=5)) if scopes else []:
        layer = draw(st.sampled_from([None, instance]))
        mark: Json = {} if layer is None else {"_instance": layer}
        if scope in PATHS:
            messages.append(data(scope.split(".")[0], nested(PATHS[scope], draw(VALUES)), layer))
        elif scope == "text":
            messages.append({"type": "text", "text": draw(st.text("xy", max_size=3)), **mark})
        elif scope == "system":
            messages.append({"type": "system", "message": draw(st.text("xy", max_size=3)), **mark})
        elif scope in {"state", "input", "profile"}:
            payload = draw(st.dictionaries(st.sampled_from("abk"), st.integers(0, 5), min_size=1, max_size=2))
            notes = draw(st.sampled_from([{}, {"description": "d"}, {"schema": {"type": "object"}}]))
            messages.append(data(scope, payload, layer) | notes)
    return messages


def whole(scopes: list[str], kind: str) -> bool:
    return kind in scopes


@st.composite
def unscoped(draw: st.DrawFn, scopes: list[str], instance: str | None) -> Json:
    """A message that no scope lets through."""
    others = [one for one in (None, ONE, TWO) if one not in {None, instance}]
    choices: list[Json] = [
        {"type": "data", "kind": "journal", "data": {"k": draw(VALUES)}},
        {"type": "error", "call": None, "error": draw(st.text("e", max_size=3))},
        {"type": "tool", "tool": {draw(st.sampled_from("pqr")): {"properties": {"_output": TEXT}}}},
        {"type": "meta", "meta": {"version": "1"}},
        *[data("state", {"a": draw(VALUES)}, other) | {"description": "theirs"} for other in others],
    ]
    if not whole(scopes, "text"):
        choices.append({"type": "text", "text": draw(st.text("xy", max_size=3))})
    if not whole(scopes, "system"):
        choices.append({"type": "system", "message": draw(st.text("xy", max_size=3))})
    if not whole(scopes, "input"):
        choices.append({"type": "input", "input": {"secret": draw(VALUES)}})
    if not whole(scopes, "state"):
        choices.append({"type": "state", "state": {"z": draw(VALUES), "b": {"d": draw(VALUES)}}, "description": "S"})
        choices.append({"type": "state", "schema": {"type": "object", "properties": {"z": {"type": "integer"}}}})
    if not whole(scopes, "profile"):
        choices.append({"type": "data", "kind": "profile", "data": {"y": draw(VALUES)}})
    return draw(st.sampled_from(choices))


@st.composite
def beside(draw: st.DrawFn, payload: Json) -> Json:
    """The same value with more in it that no scope names."""
    return {**payload, **({"b": {**payload["b"], "d": draw(VALUES)}} if "b" in payload else {"z": draw(VALUES)})}


@st.composite
def parents(draw: st.DrawFn, scopes: list[str], instance: str | None, inside: list[Json]) -> list[Json]:
    """The scoped messages among others, in their order; beside a scoped path other parts of the same value."""
    context: list[Json] = []
    for message in inside:
        context += draw(st.lists(unscoped(scopes, instance), max_size=2))
        kind = str(message.get("kind", message["type"]))
        payload: Json | None = message["data"] if "data" in message else message.get(kind)
        if payload is None or kind not in {"state", "input", "profile"} or whole(scopes, kind) or draw(st.booleans()):
            context.append(message)
        else:
            context.append({**message, ("data" if "data" in message else kind): draw(beside(payload))})
    return [*context, *draw(st.lists(unscoped(scopes, instance), max_size=2))]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    scopes = draw(st.lists(st.sampled_from([*WHOLE, *PATHS]), unique=True, max_size=4))
    instance = draw(st.sampled_from([None, ONE]))
    inside = draw(scoped_messages(scopes, instance))
    marks = [] if instance is None else [{"type": "data", "kind": "mark", "data": 1, "_instance": instance}]
    both = [[*marks, *draw(parents(scopes, instance, inside))] for _ in range(2)]
    answers: list[Json] = []
    for _ in range(2):
        noise = draw(st.lists(st.sampled_from(["†state.z", "†journal.k", None]), max_size=2))
        beside = [
            call("note", _output=index, **({"_outputPath": path} if path else {})) for index, path in enumerate(noise)
        ]
        quiet = [one for one in beside if "state" not in scopes]
        answers.append(answer(call("go", x=1, **({"_instance": instance} if instance else {})), *quiet, output="ok"))
    return Case(scopes, instance, (both[0], both[1]), (answers[0], answers[1]))


def tools_for(scopes: list[str], seen: list[str] | None) -> Tools:
    tools = Tools()
    tools.register("note", {"properties": {"_output": {"type": "integer"}}})
    where: Json = {"_delegate": "d"} if seen is None else {}
    tools.register("go", {"properties": {"x": {}, "_output": {}}, "_scopes": scopes, **where})
    if seen is not None:

        @tools.activity("go")
        async def go(context: Any) -> str:
            seen.append(json.dumps(list(context), ensure_ascii=False))
            return "done"

        assert callable(go)
    return tools


DELEGATE: Json = {"context": [{"type": "system", "message": "own"}], "schema": {}}


async def delegate_requests(scopes: list[str], parent: list[Json], first: Json) -> list[str]:
    model = models.Scripted([first, answer(output="inner")])
    of = Agent(model, tools=tools_for(scopes, None), delegates={"d": DELEGATE})
    async with of.stream(parent) as run:
        return [
            json.dumps([event.context, event.messages, event.schema], ensure_ascii=False)
            async for event in run
            if isinstance(event, events.RequestStarted) and event.depth == 1
        ]


@pytest.mark.rule("S7", "S1", "S5", "S6", "D4")
@settings(max_examples=trials(800))
@given(cases())
def test_a_delegates_requests_are_the_same_bytes_whatever_stands_outside_its_scopes(case: Case) -> None:
    one, other = (
        asyncio.run(delegate_requests(case.scopes, parent, first))
        for parent, first in zip(case.parents, case.answers, strict=True)
    )
    assert len(one) == 1
    assert one == other


async def activity_contexts(scopes: list[str], parent: list[Json], first: Json) -> list[str]:
    seen: list[str] = []
    await Agent(models.Scripted([first]), tools=tools_for(scopes, seen)).run(parent)
    return seen


@pytest.mark.rule("S7", "A3")
@settings(max_examples=trials(800))
@given(cases())
def test_an_activitys_context_is_the_same_bytes_whatever_stands_outside_its_scopes(case: Case) -> None:
    one, other = (
        asyncio.run(activity_contexts(case.scopes, parent, first))
        for parent, first in zip(case.parents, case.answers, strict=True)
    )
    assert len(one) == 1
    assert one == other


@pytest.mark.rule("S7")
@settings(max_examples=trials(2000))
@given(cases())
def test_the_scoped_context_is_a_function_of_what_is_scoped(case: Case) -> None:
    one, other = (
        json.dumps(Journal(Context(parent)).scoped(case.scopes, case.instance).messages) for parent in case.parents
    )
    assert one == other


@pytest.mark.rule("S7")
def test_the_property_can_fail() -> None:
    """What does stand inside the scopes crosses: the tests above don't compare nothing with nothing."""
    contexts = [Context([{"type": "state", "a": value, "z": 1}]) for value in (1, 2)]
    for scopes, differ in ((["state"], True), (["state.a"], True), (["state.z"], False), ([], False)):
        one, other = (Journal(context).scoped(scopes, None).messages for context in contexts)
        assert (one != other) is differ
        assert bool(one) is bool(scopes)
