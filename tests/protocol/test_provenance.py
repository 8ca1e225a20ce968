"""X0: every value of a result says whether code or a model made it, back to the inputs that it came from."""

from __future__ import annotations

import asyncio
import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import Agent, Context, Limits, Result, Tools, errors, models
from actum.dataflow.computing.evaluator import Filter
from actum.dataflow.reference import Reference
from actum.protocol.provenance import Origin, Provenance
from actum.protocol.readings import Reading
from actum.schema.json import JsonObject as Json

from ..effort import trials

pytestmark = pytest.mark.rule("X0")
TEXT: Json = {"type": "string"}


def tools() -> Tools:
    tools = Tools()

    @tools.tool
    async def join(a: Any, b: Any = None) -> str:
        """Join two values."""
        return f"{a}+{b}"

    assert join.name == "join"
    tools.register("guess", {"properties": {"of": {}, "_output": TEXT}, "required": ["of"]})
    tools.register(
        "ask", {"properties": {"of": {}, "_output": TEXT}, "_delegate": "asker", "_scopes": {"const": ["user"]}}
    )
    return tools


def ran(context: list[Json], *answers: Json, **more: Any) -> Result[Any]:
    asker: Json = {"context": [], "schema": TEXT}
    empty: Json = {"calls": [], "output": None}
    model = models.Scripted([empty | answer for answer in answers])
    agent = Agent(model, tools=tools(), delegates={"asker": asker}, limits=Limits(calls=100_000), **more)
    return asyncio.run(agent.run(context, {}))


def shape(origin: Origin) -> Any:
    return [origin.reference, origin.by, *[shape(source) for source in origin.of]]


def join(path: str | None = None, **parameters: Any) -> Json:
    return {"_tool": "join", **parameters} | ({"_outputPath": path} if path else {})


def test_the_scopes_that_a_call_has_chosen_are_told() -> None:
    tools = Tools()
    tools.register("look", {"_scopes": {"type": "array", "items": {"enum": ["user", "state"]}}, "_output": TEXT})
    tools.activity("look")(lambda: "seen")
    calls = [{"_tool": "look", "_scopes": ["user"]}, {"_tool": "look"}]
    model = models.Scripted([{"calls": calls, "output": "†calls.0"}])
    result = asyncio.run(Agent(model, tools=tools).run("go"))
    scopes = [origin.scopes for path in ("†calls.0", "†calls.1") for origin in result.provenance(path)]
    assert scopes == [("user",), ()]


def test_why_a_call_failed_is_told_where_its_alternative_stands_for_it_and_nowhere_else() -> None:
    made: list[Json] = [join(a=1), {"_tool": "ask", "_else": "none"}]
    result = ran([], {"calls": made, "output": "{†calls.0 + †calls.1}"}, {"output": None}, {"output": None})
    (origin,) = result.provenance()
    why = "tool 'ask': the delegate 'asker' failed: no_progress"
    assert [(source.by, source.failed) for source in origin.of] == [("code", ""), ("model", why)]


@pytest.mark.parametrize(("marks", "by", "plan"), [({}, "given", ""), ({"_refined": "p1"}, "plan p1", "p1")])
def test_the_plan_that_was_given_has_made_the_output(marks: Json, by: str, plan: str) -> None:
    message: Json = {"type": "plan", "plan": [join(a=1)], "output": ["†calls.0"], **marks}
    (origin,) = asyncio.run(Agent(None, tools=tools()).run([message])).provenance()
    assert (origin.by, origin.plan, [(source.by, source.plan) for source in origin.of]) == (by, plan, [("code", plan)])


def test_code_model_and_delegate_are_told_apart_back_to_what_was_given() -> None:
    calls = [
        join("†state.a", a="†input.x"),
        {"_tool": "guess", "of": "†calls.0", "_output": "g"},
        {"_tool": "ask", "of": "†calls.1"},
        join("†state.d", a="†calls.2", b="†state.a"),
    ]
    context: list[Json] = [{"type": "input", "input": {"x": 1}}]
    whole = {"calls": calls, "output": {"all": "†state.d", "own": "said"}}
    result = ran(context, whole, {"output": "asked", "calls": []})
    (origin,) = result.provenance()
    given_ = ["†input", "given"]
    a = ["†state.a", "code", given_]
    guess = ["†result", "model", a]
    ask = ["†result", "delegate asker", guess]
    assert shape(origin) == ["output", "model", ["†state.d", "code", ask, a]]
    assert next(iter(result.provenance("†calls.2"))).scopes == ()
    assert [source.answer for _, source, _ in origin.walk()][:2] == [0, 0]
    assert json.loads(json.dumps(origin.to_list()))[0]["value"] == {"all": "asked+1+None", "own": "said"}


def test_the_output_is_of_the_last_answer_that_has_one() -> None:
    join_twice = {"calls": [join(a=1), {"_tool": "nobody"}], "output": "†calls.0"}
    result = ran([], join_twice, {"output": "†results.0"})
    (origin,) = result.provenance()
    assert (result.output, origin.answer) == ("1+None", 1)


def test_an_origin_is_told_in_full_under_the_names_of_its_fields() -> None:
    read = Origin(reference="†input", by="given", message=0)
    origin = Origin(
        reference="†state.a",
        by="code",
        value=1,
        message=2,
        call={"_tool": "join"},
        place="0.1",
        answer=0,
        of=(read,),
        scopes=("user",),
        expressions=(Reading(at="a", text="†input.x", references=(Reference("input", ("x",)),), is_computed=False),),
        derived=("b",),
        filters=(Filter("x > 1", 1, 2),),
        failed="activity",
        plan="abc",
    )
    written = origin.to_dict()
    assert written.keys() == {field.name for field in fields(Origin)}
    plain = ("reference", "by", "value", "message", "call", "place", "answer", "failed", "plan")
    assert {key: written[key] for key in plain} == {key: getattr(origin, key) for key in plain}
    assert (written["scopes"], written["derived"]) == (["user"], ["b"])
    assert (written["of"], written["filters"]) == ([0], [{"filter": "x > 1", "kept": 1, "of": 2}])
    assert read.to_dict() == {"reference": "†input", "by": "given", "value": None, "message": 0}


def test_a_value_that_several_have_written_has_several_origins_and_one_that_was_overwritten_has_not() -> None:
    context: list[Json] = [{"type": "state", "s": {"x": 1, "y": {"z": 1}}}, {"type": "state", "s": {"y": {"w": 2}}}]
    first = {"calls": [join("†state.s.x", a=1), join("†state.s.q", a="†state.s.y")]}
    result = ran(context, first, {"output": "†state.s"})
    assert [origin.reference for origin in result.provenance("†state.s")] == [
        "†state.s.q",
        "†state.s.x",
        "†state",
        "†state",
    ]
    assert [shape(origin) for origin in result.provenance("†state.s.x")] == [["†state.s.x", "code"]]
    assert [origin.message for origin in result.provenance("†state.s.y.z")] == [0]
    assert [origin.message for origin in result.provenance("†state.s.y")] == [1, 0]


def test_an_earlier_answers_calls_are_told_from_those_of_the_last() -> None:
    answers = [{"calls": [join(a=n)], "output": None} for n in ("one", "two")]
    result = ran([], *answers, {"calls": [join("†state.e", a="†calls.1"), join(a="three")], "output": "†state.e"})
    (origin,) = result.provenance()
    assert origin.answer == 2
    assert origin.of[0].of[0].value == "three+None"


def test_each_instance_has_its_own_origins() -> None:
    context: list[Json] = [
        {"type": "state", "s": 0},
        {"type": "input", "input": {"v": 1}, "_instance": "①"},
        {"type": "input", "input": {"v": 2}, "_instance": "②"},
    ]
    calls = [join("†state.s", a="†input.v") | {"_instance": instance} for instance in "①②"]
    result = ran(context, {"calls": calls, "output": 1})
    for index, instance in enumerate("①②", 1):
        (origin,) = result.provenance("†state.s", instance)
        assert shape(origin) == ["†state.s", "code", ["†input", "given"]]
        assert origin.of[0].message == index
    assert [origin.by for origin in result.provenance("†state.s")] == ["given"]


def test_a_plan_without_a_model_is_given_and_its_values_are_codes() -> None:
    plan = {"type": "plan", "plan": [join("†state.a", a=1)], "output": "†state.a"}
    result = asyncio.run(Agent(None, tools=tools()).run([plan], {}))
    (origin,) = result.provenance()
    assert (shape(origin), origin.of[0].answer) == (["output", "given", ["†state.a", "code"]], None)


@pytest.mark.parametrize(
    ("reference", "complaint"), [("†state.no", "the run holds nothing at"), ("state", "a reference")]
)
def test_what_is_no_reference_or_nothing_is_said(reference: str, complaint: str) -> None:
    with pytest.raises(errors.MessageError, match=complaint):
        ran([], {"output": 1}).provenance(reference)


def test_a_long_chain_and_a_ladder_of_shared_values_cost_what_they_are_long() -> None:
    calls = [join(a=1), *(join(a=f"†calls.{n}", b=f"†calls.{n}") for n in range(12))]
    calls += [
        join("†state.s0", a="x"),
        *(join(f"†state.s{n + 1}", a=f"†state.s{n}.missing <|> †state.s{n}") for n in range(2_000)),
    ]
    context = [{"type": "plan", "plan": calls[13:], "output": "†state.s2000"}]
    offered = tools()

    @offered.activity("join", replace=True)
    async def short(a: Any, b: Any = None) -> str:
        return "j"

    assert callable(short)
    result = asyncio.run(Agent(None, tools=offered, limits=Limits(calls=10_000)).run(context, {}))
    (origin,) = result.provenance()
    assert sum(1 for _ in origin.walk()) == 2_002
    ladder = ran([], {"calls": calls[:13], "output": "†calls.12"})
    assert len(ladder.provenance()[0].to_list()) == 14
    assert len(list(ladder.provenance()[0].walk())) == 14


@settings(max_examples=trials(60))
@given(data=st.data(), count=st.integers(1, 8))
def test_whatever_the_wiring_each_origin_is_made_of_exactly_what_its_call_refers_to(
    data: st.DataObject, count: int
) -> None:
    calls: list[Json] = []
    reads: list[list[int]] = []
    for number in range(count):
        read = data.draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else []
        by_call = data.draw(st.booleans())
        values = [f"†calls.{place}" if by_call else f"†state.p{place}" for place in read]
        calls.append(
            join(f"†state.p{number}", a=values[0] if values else number, b=values[1] if len(values) > 1 else 0)
        )
        reads.append(read)
    result = ran([], {"calls": calls, "output": f"†state.p{count - 1}"})
    (origin,) = result.provenance()
    for _, step, _ in origin.of[0].walk():
        number = int(step.reference.removeprefix("†state.p"))
        assert step.call == calls[number]
        assert sorted(inner.reference for inner in step.of) == sorted(f"†state.p{read}" for read in reads[number])
        assert all(inner.message is not None and step.message is not None for inner in step.of)


def test_errors_carry_a_result_that_can_be_asked_too() -> None:
    model = models.Scripted([{"calls": [join("†state.a", a=1)], "output": None}] * 2)
    with pytest.raises(errors.LimitExceeded) as raised:
        asyncio.run(Agent(model, tools=tools(), limits=Limits(requests=1)).run([], {}))
    assert raised.value.result is not None
    assert shape(raised.value.result.provenance("†state.a")[0]) == ["†state.a", "code"]


def test_a_result_is_no_source_of_what_stands_before_it() -> None:
    call = {"_tool": "join", "a": "†results.3"}
    result = {"type": "data", "kind": "result", "_number": 3}
    context = Context(
        [
            {"type": "plan", "plan": [call], "_of": "0"},
            {**result, "data": "x", "_call": call, "_of": "0.0", "_number": 2},
            {"type": "plan", "plan": [{"_tool": "join", "a": 1}], "_of": "1"},
            {**result, "data": "y", "_call": {"_tool": "join", "a": 1}, "_of": "1.0"},
            {"type": "plan", "plan": [call], "_of": "2"},
            {**result, "data": "z", "_call": call, "_of": "2.0", "_number": 4},
        ]
    )
    early, late = (Provenance(context, [], {}).of(reference)[0] for reference in ("†results.2", "†results.4"))
    assert (early.of, [source.value for source in late.of]) == ((), ["y"])
