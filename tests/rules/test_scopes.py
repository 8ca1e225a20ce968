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
        json.dumps(Journal(Context(parent)).crossing.scoped(case.scopes, case.instance).messages)
        for parent in case.parents
    )
    assert one == other


@pytest.mark.rule("S7")
def test_the_property_can_fail() -> None:
    """What does stand inside the scopes crosses: the tests above don't compare nothing with nothing."""
    contexts = [Context([{"type": "state", "a": value, "z": 1}]) for value in (1, 2)]
    for scopes, differ in ((["state"], True), (["state.a"], True), (["state.z"], False), ([], False)):
        one, other = (Journal(context).crossing.scoped(scopes, None).messages for context in contexts)
        assert (one != other) is differ
        assert bool(one) is bool(scopes)


# S11: what isn't folded


def with_reader(*scopes: str, **more: Any) -> Tools:
    """Tools whose calls leave results, and one with a delegate that is handed these scopes."""
    tools = Tools()
    tools.register("tell", {"properties": {"v": TEXT, "behind": {}}, "_output": TEXT, **more.pop("tell", {})})
    tools.register("d", {"_delegate": "D", "_scopes": list(scopes), "_output": TEXT})
    return tools


def told_by_delegate(of: Agent, own: Sequence[Json] = (), config: Config | None = None) -> Agent:
    return Agent(of.model, tools=of.tools, config=config, delegates={"D": {"context": list(own), "schema": TEXT}})


async def crossing(of: Agent, context: Any) -> tuple[list[Json], str]:
    """What the first delegate is handed, and how its model is shown that."""
    async with of.stream(context, TEXT) as run:
        seen = [event async for event in run if isinstance(event, events.RequestStarted) and event.depth == 1]
    requests = [request for request in sent(of) if "SUB" in text_of(request.messages)]
    return seen[0].context, text_of(requests[0].messages)


SUB: list[Json] = [{"type": "system", "message": "SUB"}]


@pytest.mark.rule("S8", "M7")
async def test_an_item_of_a_list_crosses_with_what_its_schema_says() -> None:
    listed: Json = {"type": "array", "items": {"type": "integer", "description": "a number"}}
    shared: Json = {"type": "state", "state": {"l": [1, 2]}, "schema": {"type": "object", "properties": {"l": listed}}}
    of = told_by_delegate(
        agent(answer(call("d"), output=""), answer(output="sub"), tools=with_reader("state.l[0]")), SUB
    )
    crossed, _ = await crossing(of, [shared])
    assert (crossed[1]["l"], crossed[1]["schema"]) == ([1], shared["schema"])


@pytest.mark.rule("S10", "I2")
async def test_what_a_call_of_an_instance_has_brought_is_brought_where_it_crosses() -> None:
    tools = with_reader("state.a")

    @tools.activity("tell")
    async def tell(v: str) -> str:
        return v

    assert tell.name == "tell"
    own: Json = {"_instance": "①"}
    calls = [call("tell", v="data", _outputPath="†state.a", **own), call("d", **own)]
    planning: list[Json] = [*SUB, {"type": "tool", "tool": {"any": {"_output": TEXT}}}]
    for is_sealed in (False, True):
        config = Config(sealed=is_sealed)
        own_answers = (answer(*calls, output="†calls.1"), answer(output="sub"))
        of = told_by_delegate(agent(*own_answers, tools=tools, config=config), planning, config)
        crossed, shown = await crossing(of, [{"type": "state", "n": 1, **own}])
        assert {"type": "state", "a": "data"} in crossed, "as the documents print it: the event has no mark"
        assert ('"a":"data"' in shown) is not is_sealed


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
    of = told_by_delegate(agent(*answers, answer(output="sub"), tools=tools), SUB)
    context, shown = await crossing(of, "q")
    assert context[1:] == [{"type": "data", "kind": "result", "data": ["A", "B"]}]
    assert '["A","B"]' in shown


@pytest.mark.rule("S11")
async def test_a_call_that_failed_or_was_skipped_leaves_no_result_and_fails_no_reader() -> None:
    tools = with_reader("result")

    def tell(v: str, behind: Any = None) -> str:
        if v == "bad":
            raise ValueError(v)
        return v

    tools.activity("tell", tell)
    calls = [call("tell", v="bad"), call("tell", v="no", _when="{1 > 2}"), call("tell", v="A"), call("d")]
    of = told_by_delegate(agent(answer(*calls), answer(output="sub"), answer(output="end"), tools=tools), SUB)
    context, _ = await crossing(of, "q")
    assert context[1:] == [{"type": "data", "kind": "result", "data": ["A"]}]


@pytest.mark.rule("S11", "S5")
@pytest.mark.parametrize("is_fixed", [True, False])
async def test_errors_cross_to_their_own_instance_only(is_fixed: bool) -> None:
    tools = with_reader("error", tell={"_instance": "①"} if is_fixed else {})

    def tell(v: str, behind: Any = None) -> str:
        raise RuntimeError(f"{v} was refused")

    tools.activity("tell", tell)
    context = [{"type": "state", "_instance": one, "card": f"card {one}"} for one in (ONE, TWO)]
    named = {} if is_fixed else {"_instance": ONE}
    for reader, is_seen in ((ONE, True), (TWO, False), (None, False)):
        own = {} if reader is None else {"_instance": reader}
        failing = answer(call("tell", v="†state.card", **named), output=None)
        of = told_by_delegate(
            agent(failing, answer(call("d", **own), output="†calls.0"), answer(output="sub"), tools=tools), SUB
        )
        crossed, _ = await crossing(of, context)
        assert ("card ① was refused" in str(crossed)) is is_seen, reader


@pytest.mark.rule("S11")
async def test_a_plan_crosses_as_data_and_is_carried_out_once() -> None:
    tools, paid = with_reader("plan", "tool"), list[str]()

    def pay(to: str) -> str:
        paid.append(to)
        return "paid"

    tools.activity("pay", pay)
    definition: Json = {"pay": {"properties": {"to": TEXT}, "_output": TEXT}}
    definition |= {f"pay{one}": {**definition["pay"], "_instance": one, "_activity": "pay"} for one in (ONE, TWO)}
    plan = [call("pay", to="Ann"), *(call("pay", to=f"of {one}", _instance=one) for one in (ONE, TWO))]
    plan += [call(f"pay{one}", to=f"by its tool of {one}") for one in (ONE, TWO)]  # as fixed by the tool (I5)
    context: list[Json] = [
        {"type": "tool", "tool": definition},
        *({"type": "state", "_instance": one, "x": 1} for one in (ONE, TWO)),
        {"type": "plan", "plan": plan},
    ]
    of = told_by_delegate(
        agent(answer(call("d", _instance=TWO), output="†calls.0"), *[answer(output="sub")] * 3, tools=tools), SUB
    )
    crossed, shown = await crossing(of, context)
    assert paid == ["Ann", "of ①", "of ②", "by its tool of ①", "by its tool of ②"]
    assert {"type": "data", "kind": "plan", "data": [plan[0], plan[2], plan[4]]} in crossed
    assert "of ②" in shown
    assert "of ①" not in shown


@pytest.mark.rule("S1", "S11")
@pytest.mark.parametrize("order", [["state", "plan"], ["plan", "state"]])
async def test_a_plan_crosses_beside_what_other_scopes_name(order: list[str]) -> None:
    plan = [{"_value": 1}]
    of = told_by_delegate(
        agent(answer(call("d"), output="†calls.0"), *[answer(output="sub")] * 3, tools=with_reader(*order)), SUB
    )
    crossed, _ = await crossing(of, [{"type": "state", "x": 1}, {"type": "plan", "plan": plan}])
    assert {"type": "data", "kind": "plan", "data": plan} in crossed
    assert {"type": "state", "x": 1} in crossed


@pytest.mark.rule("S11")
async def test_a_meta_that_crosses_takes_the_place_of_the_delegates_own() -> None:
    of = told_by_delegate(
        agent(answer(call("d"), output="†calls.0"), answer(output="sub"), tools=with_reader("meta")),
        [*SUB, {"type": "meta", "meta": {"version": "1"}}],
    )
    crossed, _ = await crossing(of, [{"type": "meta", "meta": {"version": "2"}}, {"type": "text", "text": "q"}])
    assert [one["meta"] for one in crossed if one["type"] == "meta"] == [{"version": "2"}]
