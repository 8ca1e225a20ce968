"""D1-D11: what carries out a call in isolation, what it is given, and what comes back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Call, Config, Context, Idea, Limits, Tools, errors, events, models
from actum.ideas.file import read_idea
from actum.ideas.library import Library
from actum.ideas.store import parse_address
from actum.models.scripted import ScriptedAnswer
from actum.storage.sqlite import SqliteStore

from .scripts import Json, agent, answer, call, call_schemas, plan_fails, sent, text_of

TEXT: Json = {"type": "string"}


def tool_message(**tools: Json) -> Json:
    return {"type": "tool", "tool": {name: {"type": "object", **schema} for name, schema in tools.items()}}


def idea(*messages: Json, schema: Json | None = None, **parts: Any) -> Json:
    return {"context": list(messages), "schema": schema or {}, **parts}


def system(text: str) -> Json:
    return {"type": "system", "message": text}


def planned(*calls: Json, output: Any) -> Json:
    return {"type": "plan", "plan": list(calls), "output": output}


def echo(reference: str = "†input") -> Json:
    """A delegate that needs no model: its output is what the reference names."""
    return idea(planned(output=reference))


async def below(runner: Agent, context: Any, depth: int = 1) -> list[events.RequestStarted]:
    """The requests that were made at a depth; the run's own failure doesn't matter."""
    async with runner.stream(context) as run:
        return [event async for event in run if isinstance(event, events.RequestStarted) and event.depth == depth]


@pytest.mark.rule("D13", "D6")
@pytest.mark.parametrize(
    ("parameters", "complaint"), [({"day": "x"}, 'not of type "integer"'), ({}, '"day" is a required property')]
)
async def test_a_tool_that_stands_for_another_is_given_what_that_one_takes(parameters: Json, complaint: str) -> None:
    tools, booked = Tools(), list[int]()

    @tools.tool
    async def book(day: int) -> str:
        """Book a day."""
        booked.append(day)
        return f"booked {day}"

    tools.register("desk", {"properties": {"day": {}, "_output": TEXT}, "_delegate": book.name})
    answers = answer(call("desk", **parameters), output="†calls.0"), answer(call("desk", day=1), output="†calls.0")
    result = await agent(*answers, tools=tools).run("go")
    assert (result.output, booked) == ("booked 1", [1])
    assert "its delegate 'book' takes other parameters: " in str(result.errors[0])
    assert complaint in str(result.errors[0])


@pytest.mark.rule("D1", "A1")
async def test_a_delegated_call_is_one_like_any_other_to_what_stands_around_it() -> None:
    """The result is written, referred to and recorded as that of an Activity of the same interface."""
    tools = Tools()

    @tools.activity("byCode")
    async def by_code(text: str) -> str:
        return text.upper()

    assert callable(by_code)
    interface = {"properties": {"text": TEXT, "_output": TEXT, "_outputPath": {"const": "†state.x"}}}
    delegate = idea(planned(output="LOUD"), schema=TEXT)
    contexts: list[list[Json]] = []
    for more in ({"_activity": "byCode"}, {"_delegate": "shouter"}):
        context = [tool_message(shout={**interface, **more})]
        done = await agent(
            answer(call("shout", text="loud"), output="†state.x"), tools=tools, delegates={"shouter": delegate}
        ).run(context)
        assert done.output == "LOUD"
        contexts.append([{**message, "_date": ""} for message in done.context if "_call" in message])
    assert contexts[0] == contexts[1]


@pytest.mark.rule("D2")
async def test_a_path_starts_from_the_file_that_defines_the_tool(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    outer = idea(tool_message(go={"_delegate": "inner/a.json"}), planned(call("go"), output="†calls.0"))
    first = idea(tool_message(on={"_delegate": "b.json"}), planned(call("on"), output="†calls.0"))
    for name, content in {"outer.json": outer, "inner/a.json": first, "inner/b.json": echo("there")}.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "b.json").write_text(json.dumps(echo("not this one")))
    loaded = Idea.load(tmp_path / "outer.json")
    result = await Agent(None, tools=Tools(), roots=[tmp_path]).run(loaded.context)
    assert result.output == "there"
    assert (await loaded.run(Agent(None, tools=Tools(), roots=[tmp_path]))).output == "there"


@pytest.mark.rule("D2")
@pytest.mark.parametrize(
    "reference", ["idea:people/ana", "idea://people/ana", "idea:people/ana?1", "idea:people/ana?1.2"]
)
async def test_an_idea_reference_is_a_file_below_the_roots(tmp_path: Path, reference: str) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / "people/ana.json").write_text(json.dumps(echo("ana") | {"meta": {"version": "1.2.0"}}))
    context = [tool_message(go={"_delegate": reference}), planned(call("go"), output="†calls.0")]
    assert (await Agent(None, tools=Tools(), roots=[tmp_path]).run(context)).output == "ana"


@pytest.mark.rule("D2")
async def test_another_version_than_the_one_that_was_asked_for_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "ana.json").write_text(json.dumps(echo("ana") | {"meta": {"version": "1.20"}}))
    context = [tool_message(go={"_delegate": "idea:ana?1.2"}), planned(call("go"), output="†calls.0")]
    with plan_fails(errors.DelegateNotFound, match=r"'idea:ana\?1\.2': that version isn't available; found 1\.20"):
        await Agent(None, tools=Tools(), roots=[tmp_path]).run(context)


@pytest.mark.rule("X4", "D2")
async def test_an_idea_reference_is_looked_up_in_the_store_before_the_roots(tmp_path: Path) -> None:
    (tmp_path / "ana.json").write_text(json.dumps(echo("file")))
    store = SqliteStore(tmp_path / "ideas.db")
    for version in ("first", "second"):
        text = read_idea(json.dumps(echo(version)), "idea")
        await Library(store=store).save(text, parse_address("idea:ana"))
    outputs: dict[str, Any] = {}
    for reference in ("idea:ana", "idea:ana?1.0.0", "idea:~main/ana?1.0.1"):
        context = [tool_message(go={"_delegate": reference}), planned(call("go"), output="†calls.0")]
        outputs[reference] = (await Agent(None, tools=Tools(), roots=[tmp_path], store=store).run(context)).output
    assert outputs == {"idea:ana": "second", "idea:ana?1.0.0": "first", "idea:~main/ana?1.0.1": "second"}
    await store.aclose()


@pytest.mark.rule("D2")
async def test_a_name_is_an_idea_a_dict_or_a_path(tmp_path: Path) -> None:
    (tmp_path / "file.json").write_text(json.dumps(echo("file")))
    named = {
        "dict": echo("dict"),
        "path": tmp_path / "file.json",
        "text": str(tmp_path / "file.json"),
        "idea": Idea.load(tmp_path / "file.json"),
    }
    for name, output in {"dict": "dict", "path": "file", "text": "file", "idea": "file"}.items():
        context = [tool_message(go={"_delegate": name}), planned(call("go"), output="†calls.0")]
        assert (await Agent(None, tools=Tools(), delegates=named).run(context)).output == output


@pytest.mark.rule("D2")
async def test_the_resolver_can_be_replaced() -> None:
    from actum.execution.delegation.caller import SavedRequest

    references: list[tuple[str, str]] = []

    async def resolve(reference: str, tool: Any) -> SavedRequest:
        from actum import Context

        references.append((reference, tool.name))
        return SavedRequest(context=Context([planned(output="mine")]))

    context = [tool_message(go={"_delegate": "mine:x"}), planned(call("go"), output="†calls.0")]
    assert (await Agent(None, tools=Tools(), resolver=resolve).run(context)).output == "mine"
    assert references == [("mine:x", "go")]


@pytest.mark.rule("D2", "D11")
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (errors.DelegateNotFound("none of this name", tool="go"), "tool 'go': none of this name"),
        (errors.IdeaError("it is no Idea"), "tool 'go': 'mine:x' can't be used: it is no Idea"),
        (LookupError("secret"), "tool 'go': 'mine:x' could not be resolved: LookupError"),
    ],
)
async def test_why_a_resolver_finds_no_delegate_is_told_with_the_tool(error: Exception, message: str) -> None:
    async def resolve(reference: str, tool: Any) -> Any:
        raise error

    context = [tool_message(go={"_delegate": "mine:x"}), planned(call("go"), output="†calls.0")]
    with plan_fails(errors.DelegateError) as failed:
        await Agent(None, tools=Tools(), resolver=resolve).run(context)
    assert str(failed.value) == message


@pytest.mark.rule("D3")
@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "string", "pattern": "^a"}, {}])
def test_an_open_delegate_is_refused_at_registration(schema: Json) -> None:
    with pytest.raises(errors.SchemaError, match=r"'it', at properties\._delegate: '_delegate' must be fixed, or"):
        Tools().register("it", {"properties": {"_delegate": schema}})


@pytest.mark.rule("D3")
@pytest.mark.parametrize("written", ["evil", "https://example.com/x", None])
async def test_a_delegate_that_the_model_writes_is_refused_and_nothing_runs(written: str | None) -> None:
    delegates = {"good": echo("good"), "evil": echo("evil")}
    fixed = tool_message(it={"_delegate": "good"})
    result = await agent(answer(call("it", _delegate=written)), answer(output=1), delegates=delegates).run([fixed])
    assert [error.code for error in result.errors] == ["invalid_parameters"]
    plain = tool_message(it={"properties": {"_output": TEXT}})
    result = await agent(answer(call("it", _delegate=written)), answer(output=1), delegates=delegates).run([plain])
    assert [error.code for error in result.errors] == ["scope_denied"]


@pytest.mark.rule("D3")
async def test_a_model_chooses_among_the_delegates_that_the_tool_offers() -> None:
    delegates = {name: echo(name) for name in ("a", "b", "c")}
    context = [tool_message(it={"properties": {"_delegate": {"enum": ["a", "b"]}}})]
    runner = agent(answer(call("it", _delegate="b"), output="†calls.0"), delegates=delegates)
    assert (await runner.run(context)).output == "b"
    schema = call_schemas(runner.compose(context))["it"]
    assert schema["properties"]["_delegate"] == {"enum": ["a", "b"]}
    assert schema["required"] == ["_tool", "_delegate"]
    for choice in ({"_delegate": "c"}, {}):
        refused = await agent(answer(call("it", **choice)), answer(output=1), delegates=delegates).run(context)
        assert [error.code for error in refused.errors] == ["invalid_parameters"]


@pytest.mark.rule("D4", "S3")
async def test_a_delegate_sees_its_own_messages_what_is_scoped_and_the_call_in_this_order() -> None:
    delegate = idea(
        {"type": "input", "schema": {"type": "object"}}, system("You translate."), {"type": "text", "text": "Briefly."}
    )
    tool = tool_message(translate={"_delegate": "translator", "_scopes": ["state.article"], "properties": {"to": TEXT}})
    context = [
        system("The parent's secret."),
        {"type": "state", "article": "Bonjour", "token": "s3cret"},
        {"type": "input", "input": {"question": "private"}},
        tool,
    ]
    runner = agent(
        answer(call("translate", to="en"), output="ok"), answer(output="Hello"), delegates={"translator": delegate}
    )
    (request,) = await below(runner, context)
    assert request.context == [
        system("You translate."),
        {"type": "text", "text": "Briefly."},
        {"type": "state", "article": "Bonjour"},
        {"type": "input", "input": {"to": "en"}, "schema": {"type": "object"}},
    ]
    assert "secret" not in text_of(request.messages) + json.dumps(request.schema)


@pytest.mark.rule("D4", "T4")
async def test_a_delegate_is_offered_its_own_tools_and_no_registered_one_unless_its_config_names_it() -> None:
    tools = Tools()

    @tools.tool
    async def refund(amount: int) -> str:
        """Refund money."""
        return f"refunded {amount}"

    @tools.tool
    async def search(q: str) -> str:
        """Search."""
        return q

    assert callable(refund)
    assert callable(search)
    delegates = {
        "bare": idea(),
        "own": idea(tool_message(look={"properties": {"_output": TEXT}})),
        "named": idea(config={"tools": ["search"], "readers": False}),
    }
    offers: dict[str, list[str]] = {}
    for name in delegates:
        context = [tool_message(ask={"_delegate": name})]
        runner = agent(answer(call("ask"), output="ok"), answer(output="done"), tools=tools, delegates=delegates)
        (request,) = await below(runner, context)
        offers[name] = sorted(call_schemas(request.schema) if "items" in request.schema["properties"]["calls"] else [])
    assert offers == {"bare": [], "own": ["look"], "named": ["search"]}
    hijacked = agent(
        answer(call("ask"), output="ok"),
        answer(call("refund", amount=5)),
        answer(output="gave up"),
        tools=tools,
        delegates=delegates,
    )
    async with hijacked.stream([tool_message(ask={"_delegate": "bare"})]) as run:
        started = [event.call.tool async for event in run if isinstance(event, events.CallStarted)]
    assert started == ["ask"]


@pytest.mark.rule("D5")
@pytest.mark.parametrize(
    ("messages", "parameters", "expected"),
    [
        ([], {}, []),
        ([], {"a": 1}, [{"type": "input", "input": {"a": 1}}]),
        (
            [{"type": "input", "schema": {"type": "object"}}],
            {},
            [{"type": "input", "input": {}, "schema": {"type": "object"}}],
        ),
        ([{"type": "input", "input": {"a": 1, "b": 2}}], {"b": 3}, [{"type": "input", "input": {"a": 1, "b": 3}}]),
        (
            [{"type": "input", "a": {"x": 1, "y": 1}}],
            {"a": {"y": 2}},
            [{"type": "input", "input": {"a": {"x": 1, "y": 2}}}],
        ),
        (
            [{"type": "input", "a": 1}, {"type": "data", "kind": "input", "data": {"b": 1}, "description": "d"}],
            {"c": 1},
            [{"type": "input", "input": {"a": 1, "b": 1, "c": 1}, "description": "d"}],
        ),
    ],
)
async def test_the_input_message_holds_the_parameters_over_the_defaults(
    messages: list[Json], parameters: Json, expected: list[Json]
) -> None:
    context = [tool_message(ask={"_delegate": "one", "properties": {"a": {}, "b": {}, "c": {}}})]
    runner = agent(
        answer(call("ask", **parameters), output="ok"), answer(output="x"), delegates={"one": idea(*messages)}
    )
    (request,) = await below(runner, context)
    assert request.context == expected


@pytest.mark.rule("D5", "S1")
@pytest.mark.parametrize(
    ("defaults", "caller", "scope", "parameters", "value"),
    [
        ({"tone": "warm", "n": 1}, {"tone": "cold"}, "", {"a": 1}, {"tone": "cold", "n": 1, "a": 1}),
        ({"tone": "warm"}, {"tone": ""}, ".tone", {}, {"tone": ""}),
        ({"a": {"x": 1, "y": 1}}, {"a": {"y": 2}}, "", {}, {"a": {"x": 1, "y": 2}}),
        ({"a": {"x": 1}}, {"a": 0}, "", {}, {"a": 0}),
        ({"a": 1}, {"a": 2}, "", {"a": 3}, {"a": 3}),
        ({"a": 1}, ["b"], "", {}, ["b"]),
    ],
)
@pytest.mark.parametrize("kind", ["input", "state"])
async def test_what_a_scope_brings_beats_a_delegates_own_default(
    kind: str, defaults: Json, caller: Any, scope: str, parameters: Json, value: Any
) -> None:
    default = {"type": kind, kind: defaults, "description": "own"}
    context = [{"type": kind, kind: caller}, tool_message(ask={"_delegate": "one", "_scopes": [f"{kind}{scope}"]})]
    runner = agent(answer(call("ask", **parameters), output="ok"), answer(output="x"), delegates={"one": idea(default)})
    (request,) = await below(runner, context)
    data = Context(request.context).data
    if kind == "state":
        value = value if "a" not in parameters else {"a": 2} if value == {"a": 3} else {"tone": "cold", "n": 1}
    assert data[kind] == value
    assert sum("cold" in json.dumps(message) for message in request.context) <= 1


@pytest.mark.rule("D6")
async def test_parameters_that_do_not_fit_the_delegate_are_for_its_model_to_bridge() -> None:
    strict = {"type": "object", "properties": {"recipientId": TEXT}, "required": ["recipientId"]}
    context = [tool_message(send={"_delegate": "speaker", "properties": {"userId": TEXT}})]
    runner = agent(
        answer(call("send", userId="u1"), output="†calls.0"),
        answer(output="sent"),
        delegates={"speaker": idea({"type": "input", "schema": strict})},
    )
    result = await runner.run(context)
    assert result.output == "sent"
    assert not result.errors


@pytest.mark.rule("D7", "A4")
async def test_a_delegates_answer_is_the_result_and_is_judged_by_the_tool() -> None:
    looked = tool_message(look={"properties": {"_output": TEXT, "_outputPath": {"const": "†state.seen"}}})
    context = [tool_message(ask={"_delegate": "d", "properties": {"_output": {"type": "integer"}}})]
    loop: list[ScriptedAnswer] = [answer(call("look", _output="7")), answer(output=7)]
    runner = agent(answer(call("ask"), output="†calls.0"), *loop, delegates={"d": idea(looked)})
    assert (await runner.run(context)).output == 7
    runner = agent(answer(call("ask")), answer(output="seven"), answer(output="sorry"), delegates={"d": idea()})
    result = await runner.run(context)
    assert result.output == "sorry"
    assert [error.code for error in result.errors] == ["invalid_result"]


CONTRACT: Json = {
    "type": "object",
    "properties": {"to": {"enum": ["en", "de"]}, "tone": TEXT, "limit": {"type": "integer"}},
    "required": ["to", "tone", "limit"],
}


def contracted(schema: Json, **parts: Any) -> tuple[list[Json], dict[str, Json]]:
    context = [tool_message(translate={"_delegate": "t", "_resolution": "upfront", **schema})]
    return context, {"t": idea({"type": "input", "input": {"limit": 9}, "schema": CONTRACT}, schema=TEXT) | parts}


@pytest.mark.rule("D8", "T1")
@pytest.mark.parametrize("upfront", ["upfront", {"const": "upfront"}])
def test_upfront_is_said_under_properties_too(upfront: Any) -> None:
    context, delegates = contracted({})
    context[0]["tool"]["translate"] = {"_delegate": "t", "properties": {"_resolution": upfront, "_effects": "none"}}
    schema = call_schemas(agent(delegates=delegates).compose(context))["translate"]
    assert schema["properties"]["tone"] == TEXT


@pytest.mark.rule("D8", "T6")
async def test_upfront_the_delegates_schemas_are_the_contract() -> None:
    context, delegates = contracted({"properties": {"to": TEXT, "text": TEXT}, "required": ["text"]})
    runner = agent(delegates=delegates)
    schema = call_schemas(runner.compose(context))["translate"]
    assert "_output" not in schema["properties"], "it would be ignored"
    assert schema["description"].endswith("Returns text.")
    assert set(schema["properties"]) >= {"to", "text", "tone", "limit"}
    assert set(schema["required"]) == {"_tool", "text", "to", "tone"}, "a parameter with a default isn't asked for"
    runner = agent(
        answer(call("translate", text="x", to="fr", tone="dry")),
        answer(call("translate", text="x", to="en")),
        answer(call("translate", text="x", to="en", tone="dry")),
        answer(output=5),
        answer(output="Hello"),
        answer(output={"_": "done"}),
        delegates=delegates,
    )
    async with runner.stream(context) as run:
        depths = [event.depth async for event in run if isinstance(event, events.RequestStarted)]
    assert run.result.output == {"_": "done"}
    assert depths == [0, 0, 0, 1, 1, 0], "two calls never reached the delegate"


@pytest.mark.rule("D8")
@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"properties": {"to": {"type": "integer"}}}, "properties.to"),
        ({"properties": {"to": {"const": "fr"}}}, "properties.to"),
        ({"properties": {"_output": {"type": "integer"}}}, "properties._output"),
    ],
)
@pytest.mark.parametrize("how", ["tool", "request"])
async def test_a_contradiction_is_an_error_at_composition(schema: Json, place: str, how: str) -> None:
    context, delegates = contracted(schema)
    config = Config(upfront=how == "request")
    if how == "request":
        del context[0]["tool"]["translate"]["_resolution"]
    runner = agent(answer(output=1), delegates=delegates, config=config)
    with pytest.raises(errors.SchemaError, match=rf"tool 'translate', at {place}: it and its delegate 't' contradict"):
        await runner.run(context)
    assert not sent(runner)
    with pytest.raises(errors.SchemaError):
        runner.compose(context)


@pytest.mark.rule("D8")
def test_a_closed_delegate_refuses_what_it_does_not_take() -> None:
    closed = {**CONTRACT, "additionalProperties": False}
    context, delegates = contracted({"properties": {"other": TEXT}, "required": ["other"]})
    delegates["t"]["context"][0]["schema"] = closed
    with pytest.raises(errors.SchemaError, match=r"at properties\.other: .*takes no such parameter"):
        agent(delegates=delegates).compose(context)
    context, delegates = contracted({"properties": {"other": TEXT}})
    delegates["t"]["context"][0]["schema"] = closed
    assert "other" not in call_schemas(agent(delegates=delegates).compose(context))["translate"]["properties"]


@pytest.mark.rule("D8")
def test_a_tool_may_ask_for_the_other_resolution_than_its_request() -> None:
    context, delegates = contracted({"properties": {}})
    context[0]["tool"]["translate"]["_resolution"] = "execution"
    runner = agent(delegates=delegates, config=Config(upfront=True))
    assert "to" not in call_schemas(runner.compose(context))["translate"]["properties"]


@pytest.mark.rule("D8")
@pytest.mark.parametrize("schema", [{"_delegate": "anonymous"}, {"properties": {"_delegate": {"enum": ["a"]}}}, {}])
def test_only_one_fixed_delegate_can_be_resolved_upfront(schema: Json) -> None:
    with pytest.raises(errors.SchemaError, match="upfront"):
        Tools().register("it", {"_resolution": "upfront", **schema})


@pytest.mark.rule("D8")
async def test_definitions_of_both_sides_stay_apart() -> None:
    takes = {"type": "object", "properties": {"b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}}
    context = [
        tool_message(
            it={
                "_delegate": "d",
                "_resolution": "upfront",
                "properties": {"a": {"$ref": "#/$defs/x"}},
                "$defs": {"x": {"type": "string"}},
            }
        )
    ]
    delegates = {"d": idea({"type": "input", "schema": takes}, planned(output="†input"))}
    runner = agent(answer(call("it", a="x", b=1), output="†calls.0"), delegates=delegates)
    assert (await runner.run(context)).output == {"a": "x", "b": 1}
    wrong = agent(answer(call("it", a=1, b=1)), answer(output="no"), delegates=delegates)
    assert [error.code for error in (await wrong.run(context)).errors] == ["invalid_parameters"]


@pytest.mark.rule("D9")
async def test_an_anonymous_activity_gets_the_call_and_its_scopes() -> None:
    tools = Tools()
    received: list[Any] = []

    @tools.activity("measure")
    async def measure(call: Any, context: Any) -> int:
        received.append((call.parameters, list(context)))
        return 3

    assert callable(measure)
    tool = tool_message(measure={"_delegate": "anonymous", "_scopes": ["state"], "properties": {"x": {}}})
    context = [{"type": "state", "a": 1}, {"type": "input", "b": 2}, tool]
    result = await agent(answer(call("measure", x="†state.a"), output="†calls.0"), tools=tools).run(context)
    assert result.output == 3
    assert received == [({"x": 1}, [{"type": "state", "a": 1}])]


@pytest.mark.rule("D9")
async def test_an_anonymous_latent_call_is_one_request_whose_schema_is_the_tools_output() -> None:
    tool = tool_message(
        sum={"_delegate": "anonymous", "properties": {"text": TEXT, "_output": {"type": "integer", "minimum": 3}}}
    )
    runner = agent(answer(call("sum", text="abc"), output="†calls.0"), answer(output=3))
    (request,) = await below(runner, [{"type": "text", "text": "parent"}, tool])
    assert request.context == [
        system("Carry out one call of the tool 'sum'."),
        {"type": "input", "input": {"text": "abc"}},
    ]
    assert request.schema["properties"]["output"] == {"type": ["integer", "null"], "minimum": 3}
    assert "items" not in request.schema["properties"]["calls"]


def nest(depth: int) -> dict[str, Json]:
    """Delegates d0 → d1 → …, each calling the next."""
    delegates: dict[str, Json] = {f"d{depth}": echo("bottom")}
    for level in range(depth):
        tool = tool_message(down={"_delegate": f"d{level + 1}"})
        delegates[f"d{level}"] = idea(tool, planned(call("down"), output="†calls.0"))
    return delegates


@pytest.mark.rule("D10")
async def test_delegates_nest_as_deep_as_the_run_allows() -> None:
    context = [tool_message(down={"_delegate": "d0"}), planned(call("down"), output="†calls.0")]
    assert (await Agent(None, tools=Tools(), delegates=nest(7)).run(context)).output == "bottom"
    with plan_fails(errors.DelegateDepthExceeded) as caught:
        await Agent(None, tools=Tools(), delegates=nest(8)).run(context)
    assert "d0 → d1 → d2 → d3 → d4 → d5 → d6 → d7 → d8" in caught.value.message
    assert caught.value.chain == tuple(f"d{level}" for level in range(8))
    with plan_fails(errors.DelegateDepthExceeded, match="deeper than 2"):
        await Agent(None, tools=Tools(), delegates=nest(3), limits=Limits(depth=2)).run(context)


@pytest.mark.rule("D10")
async def test_where_models_go_too_deep_the_error_that_the_last_is_told_names_the_whole_chain() -> None:
    again = answer(call("again"), output="†calls.0")
    delegates = {"loop": idea(tool_message(again={"_delegate": "loop"}))}
    runner = agent(*[again] * 9, answer(output="enough"), delegates=delegates)
    async with runner.stream([tool_message(again={"_delegate": "loop"})]) as run:
        failed = [event async for event in run if isinstance(event, events.CallFailed)]
    assert [(event.depth, event.error.code) for event in failed] == [(8, "delegate_depth_exceeded")]
    assert " → ".join(["loop"] * 9) in failed[0].error.message
    assert run.result.output == "enough"


@pytest.mark.rule("D10", "D11")
@pytest.mark.parametrize(
    "plan", [planned(call("again"), output=None), planned(call("again", _each=[1, 2]), output="†calls.0")]
)
async def test_the_chain_is_whole_also_through_items_and_delegates_that_end_without_an_output(plan: Json) -> None:
    loop = [tool_message(again={"_delegate": "loop"}), plan]
    context = [tool_message(begin={"_delegate": "loop"}), planned(call("begin"), output="†calls.0")]
    with plan_fails(errors.DelegateDepthExceeded) as caught:
        await Agent(None, tools=Tools(), delegates={"loop": idea(*loop)}, config=Config(max_depth=3)).run(context)
    assert "loop → loop → loop → loop" in caught.value.message
    assert caught.value.chain == ("loop",) * 3


@pytest.mark.rule("X2", "D2")
async def test_an_idea_in_code_is_a_tool_wherever_its_file_lies(tmp_path: Path) -> None:
    declared = {
        "type": "input",
        "schema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}},
    }
    content = idea(
        declared, planned(output="†input.x"), schema={"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}
    )
    (tmp_path / "x.json").write_text(json.dumps(content))
    tools = Tools()
    tools.register(Idea.load(tmp_path / "x.json").as_tool("read"))
    tools.register(Idea(context=Context([planned(output=7)]), schema={"type": "integer"}).as_tool("made"))
    context = [planned(call("read", x=5), call("made"), output=["†calls.0", "†calls.1"])]
    assert (await Agent(None, tools=tools).run(context)).output == [5, 7]
    with plan_fails(errors.InvalidParameters):
        await Agent(None, tools=tools).run([planned(call("read", x="five"), output="†calls.0")])


@pytest.mark.rule("D10")
async def test_delegates_run_in_parallel() -> None:
    tools = Tools()
    everybody = asyncio.Barrier(3)

    @tools.activity("meet")
    async def meet() -> str:
        await everybody.wait()
        return "met"

    assert callable(meet)
    meeting = tool_message(meet={"_activity": "meet"})
    delegates = {"d": idea(meeting, planned(call("meet", _outputPath="†state.x"), output="†state.x"))}
    context = [
        tool_message(go={"_delegate": "d"}),
        planned(*[call("go")] * 3, output=["†calls.0", "†calls.1", "†calls.2"]),
    ]
    result = await Agent(None, tools=tools, delegates=delegates).run(context)
    assert result.output == ["met"] * 3


@pytest.mark.rule("D10", "L5")
async def test_a_delegate_spends_from_its_parents_budget() -> None:
    context = [tool_message(go={"_delegate": "d"})]
    runner = agent(
        answer(call("go")),
        answer(output="one"),
        answer(output="late"),
        delegates={"d": idea()},
        limits=Limits(requests=2),
    )
    with pytest.raises(errors.LimitExceeded) as caught:
        await runner.run(context)
    assert [message.get("data") for message in caught.value.result.context if message.get("kind") == "result"] == [
        "one"
    ]
    exhausted = agent(answer(call("go")), delegates={"d": idea(system("PRIVATE"))}, limits=Limits(requests=1))
    with pytest.raises(errors.LimitExceeded) as caught:
        await exhausted.run(context)
    messages = [message for message in caught.value.result.context if message["type"] != "suspended"]
    assert "PRIVATE" not in json.dumps(messages), "what it had come to is kept for resuming, and shown to nobody"
    assert "PRIVATE" not in text_of(exhausted.render(caught.value.result.context))


@pytest.mark.rule("L5", "L8")
@pytest.mark.parametrize(("limits", "answered"), [(Limits(requests=2), 1), (Limits(calls=2), 2)])
async def test_a_delegate_that_meets_a_limit_of_the_run_goes_on_when_that_is_resumed(
    limits: Limits, answered: int
) -> None:
    """The run was cut, so the call has neither failed nor begun anew: what its delegate has done isn't done again."""
    done: list[int] = []
    tools = Tools()

    @tools.tool
    async def step(n: int) -> int:
        done.append(n)
        return n

    inner = [answer(call("step", n=1)), answer(call("step", n=2)), answer(output="both")]
    delegates = {"d": idea(config={"tools": ["step"]})}
    context = [tool_message(go={"_delegate": "d"})]
    answers = [answer(call("go"), output="†calls.0"), *inner]
    with pytest.raises(errors.LimitExceeded) as caught:
        await agent(*answers, tools=tools, delegates=delegates, limits=limits).run(context)
    kept = json.loads(json.dumps(list(caught.value.result.context)))
    assert [message["type"] for message in kept if message["type"] in ("error", "suspended")] == ["suspended"]
    assert done == [1]
    result = await agent(*inner[answered:], tools=tools, delegates=delegates).run(kept)
    assert (result.output, done) == ("both", [1, 2])


@pytest.mark.rule("D11")
@pytest.mark.parametrize("deep", [False, True])
async def test_a_failure_names_the_chain_and_nothing_of_what_the_delegate_held(deep: bool) -> None:
    secret = idea(system("SECRET"), {"type": "state", "SECRET": 1}, schema={"type": "object", "required": ["SECRET"]})
    outer = idea(
        tool_message(SECRET_TOOL={"_delegate": "inner"}),
        planned(call("SECRET_TOOL"), output="†calls.0"),
        schema={"required": ["SECRET"]},
    )
    delegates = {"inner": secret, "outer": outer}
    first = "outer" if deep else "inner"
    bad = answer(output={"SECRET_ANSWER": 1})
    answers: list[ScriptedAnswer] = [answer(call("go")), *[bad] * (6 if deep else 3), answer(output="sorry")]
    runner = agent(*answers, delegates=delegates, config=Config(retries=2))
    result = await runner.run([tool_message(go={"_delegate": first})])
    (error,) = result.errors
    assert isinstance(error, errors.DelegateError)
    assert "SECRET" not in error.message
    assert repr(first) in error.message
    assert error.chain[0] == first
    assert "SECRET" not in text_of(sent(runner)[-1].messages)
    assert "failed: solution" in text_of(sent(runner)[-1].messages)


@pytest.mark.rule("D11")
async def test_siblings_of_a_failed_delegate_go_on() -> None:
    context = [
        tool_message(bad={"_delegate": "missing"}, good={"_delegate": "d"}),
        planned(call("bad"), call("good"), output=None),
    ]
    result = await Agent(None, tools=Tools(), delegates={"d": echo("fine")}).run(context)
    assert [message["data"] for message in result.context if message.get("kind") == "result"] == ["fine"]
    assert isinstance(result.errors[0], errors.DelegateNotFound)
    assert "there is no delegate 'missing'" in result.errors[0].message
    assert "registered by name: d" in result.errors[0].message


@pytest.mark.rule("D7", "D9")
async def test_calls_outside_a_run_reach_anonymous_delegates() -> None:
    tools = Tools()
    tools.register("sum", {"_delegate": "anonymous", "properties": {"_output": {"type": "integer"}}})
    assert await tools(Call(_tool="sum"), model=models.Scripted([answer(output=4)])) == 4


@pytest.mark.rule("T2", "D2")
async def test_the_older_spellings_are_the_same_wherever_they_occur() -> None:
    """On the tool, in a schema's properties, in a call, in a plan message, in a delegate's own tools."""
    inner = idea(
        tool_message(deep={"_module": "leaf", "_imports": ["input"]}),
        planned(call("deep", _module="leaf", _imports=["input"]), output="†calls.0"),
    )
    delegates = {"d": inner, "leaf": idea(planned(output="†input.x"))}
    spelled: list[Json] = [
        {"_module": "d", "_imports": ["state"], "properties": {"x": {}}},
        {"properties": {"_module": {"const": "d"}, "_imports": {"const": ["state"]}, "x": {}}},
    ]
    for tool in spelled:
        context = [{"type": "state", "a": 1}, tool_message(go=tool)]
        written = call("go", x="deep", _module="d", _imports=["state"])
        assert (await agent(answer(written, output="†calls.0"), delegates=delegates).run(context)).output == "deep"
        plan = [*context, planned(written, output="†calls.0")]
        result = await Agent(None, tools=Tools(), delegates=delegates).run(plan)
        assert result.output == "deep"
        assert "_module" not in json.dumps([message.get("_call") for message in result.context])


@pytest.mark.rule("D4")
async def test_events_say_what_crossed() -> None:
    context = [{"type": "state", "a": 1, "b": 2}, tool_message(go={"_delegate": "d", "_scopes": ["state.a"]})]
    runner = agent(answer(call("go"), output="†calls.0"), delegates={"d": echo("†state.a")})
    async with runner.stream(context) as run:
        (started,) = [event async for event in run if isinstance(event, events.CallStarted)]
    assert (started.delegate, started.crossed) == ("d", ({"type": "state", "a": 1},))


@pytest.mark.rule("I2", "S5", "D10")
async def test_a_hundred_instances_have_a_delegate_each_with_the_right_data_and_no_more_at_once_than_allowed() -> None:
    tools = Tools()
    at_once = [0, 0]

    @tools.activity("measure")
    async def measure(x: int) -> int:
        at_once[0] += 1
        at_once[1] = max(at_once)
        for _ in range(5):
            await asyncio.sleep(0)
        at_once[0] -= 1
        return x * 2

    assert callable(measure)
    number = {"type": "integer"}
    measuring = tool_message(measure={"properties": {"x": number, "_output": number}, "_activity": "measure"})
    delegate = idea(measuring, planned(call("measure", x="†state.x"), output={"id": "†state.id", "twice": "†calls.0"}))
    ids = [f"i{number}" for number in range(100)]
    parts = [
        {"type": "state", "_instance": instance, "x": number, "id": instance} for number, instance in enumerate(ids)
    ]
    asking = tool_message(ask={"_delegate": "d", "_scopes": ["state"], "_outputPath": "†state.answer"})
    calls = [call("ask", _instance=instance) for instance in ids]
    runner = Agent(None, tools=tools, delegates={"d": delegate}, config=Config(parallel=7))
    result = await runner.run([*parts, asking, planned(*calls, output="done")])
    answers = {instance: result.context.of(instance).state["answer"] for instance in ids}
    assert answers == {instance: {"id": instance, "twice": number * 2} for number, instance in enumerate(ids)}
    assert at_once[1] == 7


@pytest.mark.rule("D17")
async def test_the_roots_of_an_idea_are_the_current_folder_where_it_lies_below_it_else_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project/ideas").mkdir(parents=True)
    (tmp_path / "project/beside.json").write_text(json.dumps(echo("beside")))
    (tmp_path / "outside.json").write_text(json.dumps(echo("outside")))

    async def run(leads_to: str) -> Any:
        calling = idea(tool_message(go={"_delegate": leads_to}), planned(call("go"), output="†calls.0"))
        (tmp_path / "project/ideas/one.json").write_text(json.dumps(calling))
        return (await Idea.load(tmp_path / "project/ideas/one.json").run()).output

    monkeypatch.chdir(tmp_path / "project")
    assert await run("../beside.json") == "beside"
    with plan_fails(errors.DelegateForbidden):
        await run("../../outside.json")
    monkeypatch.chdir(tmp_path / "project/ideas")
    with plan_fails(errors.DelegateForbidden):
        await run("../beside.json")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with plan_fails(errors.DelegateForbidden):
        await run("../beside.json")


@pytest.mark.rule("X4", "D12")
async def test_an_address_without_a_domain_is_found_beside_who_names_it_but_never_outside_the_roots(
    tmp_path: Path,
) -> None:
    plan: Json = {"type": "plan", "plan": [], "output": "found"}
    tool: Json = {"type": "tool", "tool": {"ask": {"_delegate": "idea://other"}}}
    ask: Json = {"type": "plan", "plan": [{"_tool": "ask"}], "output": "†calls.0"}
    for folder, context in (("inner/own", [tool, ask]), ("inner/other", [plan]), ("caller", [tool, ask])):
        path = tmp_path / f"{folder}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"context": context}), encoding="utf-8")
    agent = Agent(None, roots=[tmp_path])
    assert (await Idea.load(tmp_path / "inner" / "own.json").run(agent)).output == "found"
    with pytest.raises(errors.PlanFailed, match="there is no delegate 'other'"):  # it is not beside this one
        await Idea.load(tmp_path / "caller.json").run(agent)
    elsewhere = Agent(None, roots=[tmp_path / "nowhere"])
    with pytest.raises(errors.PlanFailed, match="there is no delegate 'other'"):
        await elsewhere.run(Idea.load(tmp_path / "inner" / "own.json").context)
