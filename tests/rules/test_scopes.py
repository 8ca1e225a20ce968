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

from actum import Agent, Config, Tools, events, models
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
    runner = agent(answer(call("summarize", _output="short"), output="†calls.0"), tools=tools)
    result = await runner.run([{"type": "state", "article": "A", "other": "O"}, {"type": "input", "q": 1}])
    assert result.output == "short"
    prompt = text_of(sent(runner)[0].messages)
    assert "summarize: ¶state.article ¶input" in prompt
    assert "byCode:" not in prompt, "what crosses to a delegate is not the model's to attend to"
    assert '"other":"O"' in prompt


@pytest.mark.rule("S4", "D16")
async def test_outside_a_run_a_model_is_told_the_scopes_of_a_latent_call_and_sees_the_rest() -> None:
    tools, model = Tools(), models.Scripted([answer(output="ok")] * 3)
    tools.register("fixed", {"_scopes": ["state.article", "input"], "_output": TEXT})
    tools.register("open", {"_output": TEXT})
    context: list[Json] = [{"type": "state", "article": "A", "other": "O"}, {"type": "input", "q": 1}]
    for element in (call("fixed"), call("open", _scopes=["input"]), call("open")):
        assert await tools(element, context=context, model=model) == "ok"
    prompts = [text_of(request.messages) for request in model.requests]
    hint = "¶scopes, what these calls are made from\n"
    assert f"{hint}fixed: ¶state.article ¶input\n" in prompts[0]
    assert f"{hint}open: ¶input\n" in prompts[1]
    assert "¶scopes" not in prompts[2]
    assert all('"other":"O"' in prompt for prompt in prompts)


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
    others = [candidate for candidate in (None, ONE, TWO) if candidate not in {None, instance}]
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
    """The same value with more in it, which no scope names."""
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
        quiet = [element for element in beside if "state" not in scopes]
        answers.append(answer(call("go", x=1, **({"_instance": instance} if instance else {})), *quiet, output="ok"))
    return Case(scopes, instance, (both[0], both[1]), (answers[0], answers[1]))


def tools_for(scopes: list[str], contexts: list[str] | None) -> Tools:
    tools = Tools()
    tools.register("note", {"properties": {"_output": {"type": "integer"}}})
    where: Json = {"_delegate": "d"} if contexts is None else {}
    tools.register("go", {"properties": {"x": {}, "_output": {}}, "_scopes": scopes, **where})
    if contexts is not None:

        @tools.activity("go")
        async def go(context: Any) -> str:
            contexts.append(json.dumps(list(context), ensure_ascii=False))
            return "done"

        assert callable(go)
    return tools


DELEGATE: Json = {"context": [{"type": "system", "message": "own"}], "schema": {}}


async def delegate_requests(scopes: list[str], parent: list[Json], first: Json) -> list[str]:
    model = models.Scripted([first, answer(output="inner")])
    runner = Agent(model, tools=tools_for(scopes, None), delegates={"d": DELEGATE})
    async with runner.stream(parent) as run:
        return [
            json.dumps([event.context, event.messages, event.schema], ensure_ascii=False)
            async for event in run
            if isinstance(event, events.RequestStarted) and event.depth == 1
        ]


@pytest.mark.rule("S7", "S1", "S5", "S6", "D4")
@settings(max_examples=trials(800))
@given(cases())
def test_a_delegates_requests_are_the_same_bytes_whatever_stands_outside_its_scopes(case: Case) -> None:
    left, right = (
        asyncio.run(delegate_requests(case.scopes, parent, first))
        for parent, first in zip(case.parents, case.answers, strict=True)
    )
    assert len(left) == 1
    assert left == right


async def activity_contexts(scopes: list[str], parent: list[Json], first: Json) -> list[str]:
    contexts: list[str] = []
    await Agent(models.Scripted([first]), tools=tools_for(scopes, contexts)).run(parent)
    return contexts


@pytest.mark.rule("S7", "A3")
@settings(max_examples=trials(800))
@given(cases())
def test_an_activitys_context_is_the_same_bytes_whatever_stands_outside_its_scopes(case: Case) -> None:
    left, right = (
        asyncio.run(activity_contexts(case.scopes, parent, first))
        for parent, first in zip(case.parents, case.answers, strict=True)
    )
    assert len(left) == 1
    assert left == right


@pytest.mark.rule("S7")
@settings(max_examples=trials(2000))
@given(cases())
def test_the_scoped_context_is_a_function_of_what_is_scoped(case: Case) -> None:
    left, right = (
        json.dumps(Journal(Context(parent)).crossing.scoped(case.scopes, case.instance).messages)
        for parent in case.parents
    )
    assert left == right


@pytest.mark.rule("S7")
def test_the_property_can_fail() -> None:
    """What stands inside the scopes does cross: the tests above don't compare nothing with nothing."""
    contexts = [Context([{"type": "state", "a": value, "z": 1}]) for value in (1, 2)]
    for scopes, differ in ((["state"], True), (["state.a"], True), (["state.z"], False), ([], False)):
        left, right = (Journal(context).crossing.scoped(scopes, None).messages for context in contexts)
        assert (left != right) is differ
        assert bool(left) is bool(scopes)


# S11: what isn't folded


def with_reader(*scopes: str, **more: Any) -> Tools:
    """Tools whose calls leave results, and one with a delegate that is handed these scopes."""
    tools = Tools()
    tools.register("tell", {"properties": {"v": TEXT, "behind": {}}, "_output": TEXT, **more.pop("tell", {})})
    tools.register("d", {"_delegate": "D", "_scopes": list(scopes), "_output": TEXT})
    return tools


def with_delegate(runner: Agent, messages: Sequence[Json] = (), config: Config | None = None) -> Agent:
    return Agent(
        runner.model, tools=runner.tools, config=config, delegates={"D": {"context": list(messages), "schema": TEXT}}
    )


async def crossing(runner: Agent, context: Any) -> tuple[list[Json], str]:
    """The context that the first delegate is handed, and what its model is shown of it."""
    async with runner.stream(context, TEXT) as run:
        started = [event async for event in run if isinstance(event, events.RequestStarted) and event.depth == 1]
    requests = [request for request in sent(runner) if "SUB" in text_of(request.messages)]
    return started[0].context, text_of(requests[0].messages)


SUB: list[Json] = [{"type": "system", "message": "SUB"}]


@pytest.mark.rule("S8", "M7")
async def test_an_item_of_a_list_crosses_with_what_its_schema_says() -> None:
    listed: Json = {"type": "array", "items": {"type": "integer", "description": "a number"}}
    shared: Json = {"type": "state", "state": {"l": [1, 2]}, "schema": {"type": "object", "properties": {"l": listed}}}
    runner = with_delegate(
        agent(answer(call("d"), output=""), answer(output="sub"), tools=with_reader("state.l[0]")), SUB
    )
    crossed, _ = await crossing(runner, [shared])
    assert (crossed[1]["l"], crossed[1]["schema"]) == ([1], shared["schema"])


@pytest.mark.rule("S10", "I2")
async def test_what_a_call_of_an_instance_has_brought_is_brought_where_it_crosses() -> None:
    tools = with_reader("state.a")

    @tools.activity("tell")
    async def tell(v: str) -> str:
        return v

    assert tell.name == "tell"
    members: Json = {"_instance": "①"}
    calls = [call("tell", v="data", _outputPath="†state.a", **members), call("d", **members)]
    planning: list[Json] = [*SUB, {"type": "tool", "tool": {"any": {"_output": TEXT}}}]
    for is_sealed in (False, True):
        config = Config(sealed=is_sealed)
        both_answers = (answer(*calls, output="†calls.1"), answer(output="sub"))
        runner = with_delegate(agent(*both_answers, tools=tools, config=config), planning, config)
        crossed, prompt = await crossing(runner, [{"type": "state", "n": 1, **members}])
        assert {"type": "state", "a": "data"} in crossed, "as the documents print it: the event has no mark"
        assert ('"a":"data"' in prompt) is not is_sealed


@pytest.mark.rule("S11", "S8")
@pytest.mark.parametrize("in_one_answer", [True, False])
@pytest.mark.parametrize("slow", ["A", "B"])
async def test_all_results_cross_in_the_order_of_their_calls(slow: str, in_one_answer: bool) -> None:
    tools, other = with_reader("result"), asyncio.Event()

    async def tell(v: str, behind: Any = None) -> str:
        if v == slow:
            await other.wait()
        elif v in {"A", "B"}:
            other.set()
        return v

    tools.activity("tell", tell)
    two = [call("tell", v="A"), call("tell", v="B")]
    answers = (
        [answer(*two, call("d"), call("tell", v="later"), output="†calls.2")]
        if in_one_answer
        else [answer(*two), answer(call("d"), output="†calls.0")]
    )
    runner = with_delegate(agent(*answers, answer(output="sub"), tools=tools), SUB)
    context, prompt = await crossing(runner, "q")
    assert context[1:] == [{"type": "data", "kind": "result", "data": ["A", "B"]}]
    assert '["A","B"]' in prompt


@pytest.mark.rule("S11")
async def test_a_call_that_failed_or_was_skipped_leaves_no_result_and_fails_no_reader() -> None:
    tools = with_reader("result")

    def tell(v: str, behind: Any = None) -> str:
        if v == "bad":
            raise ValueError(v)
        return v

    tools.activity("tell", tell)
    calls = [call("tell", v="bad"), call("tell", v="no", _when="{1 > 2}"), call("tell", v="A"), call("d")]
    runner = with_delegate(agent(answer(*calls), answer(output="sub"), answer(output="end"), tools=tools), SUB)
    context, _ = await crossing(runner, "q")
    assert context[1:] == [{"type": "data", "kind": "result", "data": ["A"]}]


@pytest.mark.rule("S11", "S5")
@pytest.mark.parametrize("is_fixed", [True, False])
async def test_errors_cross_to_their_own_instance_only(is_fixed: bool) -> None:
    tools = with_reader("error", tell={"_instance": "①"} if is_fixed else {})

    def tell(v: str, behind: Any = None) -> str:
        raise RuntimeError(f"{v} was refused")

    tools.activity("tell", tell)
    context = [{"type": "state", "_instance": instance, "card": f"card {instance}"} for instance in (ONE, TWO)]
    named = {} if is_fixed else {"_instance": ONE}
    for reader, is_seen in ((ONE, True), (TWO, False), (None, False)):
        members = {} if reader is None else {"_instance": reader}
        failing = answer(call("tell", v="†state.card", **named), output=None)
        runner = with_delegate(
            agent(failing, answer(call("d", **members), output="†calls.0"), answer(output="sub"), tools=tools), SUB
        )
        crossed, _ = await crossing(runner, context)
        assert ("card ① was refused" in str(crossed)) is is_seen, reader


@pytest.mark.rule("S11")
async def test_a_plan_crosses_as_data_and_is_carried_out_once() -> None:
    tools, paid = with_reader("plan", "tool"), list[str]()

    def pay(to: str) -> str:
        paid.append(to)
        return "paid"

    tools.activity("pay", pay)
    definition: Json = {"pay": {"properties": {"to": TEXT}, "_output": TEXT}}
    definition |= {
        f"pay{instance}": {**definition["pay"], "_instance": instance, "_activity": "pay"} for instance in (ONE, TWO)
    }
    plan = [call("pay", to="Ann"), *(call("pay", to=f"of {instance}", _instance=instance) for instance in (ONE, TWO))]
    # The instance of these is fixed by their tools (I5).
    plan += [call(f"pay{instance}", to=f"by its tool of {instance}") for instance in (ONE, TWO)]
    context: list[Json] = [
        {"type": "tool", "tool": definition},
        *({"type": "state", "_instance": instance, "x": 1} for instance in (ONE, TWO)),
        {"type": "plan", "plan": plan},
    ]
    runner = with_delegate(
        agent(answer(call("d", _instance=TWO), output="†calls.0"), *[answer(output="sub")] * 3, tools=tools), SUB
    )
    crossed, prompt = await crossing(runner, context)
    assert paid == ["Ann", "of ①", "of ②", "by its tool of ①", "by its tool of ②"]
    assert {"type": "data", "kind": "plan", "data": [plan[0], plan[2], plan[4]]} in crossed
    assert "of ②" in prompt
    assert "of ①" not in prompt


@pytest.mark.rule("S1", "S11")
@pytest.mark.parametrize("order", [["state", "plan"], ["plan", "state"]])
async def test_a_plan_crosses_beside_what_other_scopes_name(order: list[str]) -> None:
    plan = [{"_value": 1}]
    runner = with_delegate(
        agent(answer(call("d"), output="†calls.0"), *[answer(output="sub")] * 3, tools=with_reader(*order)), SUB
    )
    crossed, _ = await crossing(runner, [{"type": "state", "x": 1}, {"type": "plan", "plan": plan}])
    assert {"type": "data", "kind": "plan", "data": plan} in crossed
    assert {"type": "state", "x": 1} in crossed


@pytest.mark.rule("S11")
async def test_a_meta_that_crosses_takes_the_place_of_the_delegates_own() -> None:
    runner = with_delegate(
        agent(answer(call("d"), output="†calls.0"), answer(output="sub"), tools=with_reader("meta")),
        [*SUB, {"type": "meta", "meta": {"version": "1"}}],
    )
    crossed, _ = await crossing(runner, [{"type": "meta", "meta": {"version": "2"}}, {"type": "text", "text": "q"}])
    assert [message["meta"] for message in crossed if message["type"] == "meta"] == [{"version": "2"}]
