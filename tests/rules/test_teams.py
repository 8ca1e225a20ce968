"""D13-D16: Activities in a delegate's place, what delegates are told and inherit, and calls of them outside a run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Call, Config, Context, Ctx, Limits, Output, Tools, errors, models
from actum import tools as registered
from actum.events import CallStarted
from actum.protocol.tool import Tool

from .scripts import Json, agent, answer, call, call_schemas, plan_fails, sent, text_of

TEXT: Json = {"type": "string"}
ASK: list[Json] = [{"type": "plan", "plan": [{"_tool": "ask"}], "output": "†calls.0"}]


def tool(**tools: Json) -> Json:
    return {"type": "tool", "tool": {name: {"type": "object", **schema} for name, schema in tools.items()}}


def idea(*messages: Json, schema: Json | None = None, **parts: Any) -> Json:
    return {"context": list(messages), "schema": schema or {}, **parts}


def saying(word: str) -> Json:
    return idea({"type": "plan", "plan": [], "output": word})


@pytest.mark.rule("D13", "C1")
async def test_an_activity_runs_with_the_delegates_context_and_the_scopes_and_no_model_is_asked() -> None:
    tools = Tools()
    received: list[Any] = []

    async def code(call: Any, context: Any) -> str:
        received.append((call.parameters, list(context)))
        return "by code"

    tools.activity("code", code)
    delegate = idea({"type": "input", "input": {"tone": "kind"}}, {"type": "text", "text": "Be brief."})
    asking = tool(ask={"_delegate": "one", "_scopes": ["state.a"], "properties": {"q": TEXT}, "_activity": "code"})
    context = [{"type": "state", "a": 1, "b": 2}, asking]
    plan = {"type": "plan", "plan": [call("ask", q="why", _outputPath="†state.c")], "output": "†state.c"}
    result = await Agent(None, tools=tools, delegates={"one": delegate}).run([*context, plan])
    assert result.output == "by code"
    crossed = [
        {"type": "text", "text": "Be brief."},
        {"type": "state", "a": 1},
        {"type": "input", "input": {"tone": "kind", "q": "why"}},
    ]
    assert received == [({"q": "why"}, crossed)]


@pytest.mark.rule("A2", "D13")
async def test_an_activity_in_a_delegates_place_knows_where_its_call_stands() -> None:
    tools = Tools()
    received: list[tuple[str, Any]] = []

    def code(ctx: Ctx[str], n: int) -> int:
        received.append((ctx.place, ctx.deps))
        return n

    tools.activity("code", code)
    for name, delegate in (("ask", "anonymous"), ("named", "one")):
        tools.register(name, {"_delegate": delegate, "_activity": "code", "properties": {"n": {}}})
    calls = [call("ask", n=1), call("named", n=2), call("ask", n="†each", _each=[3, 4])]
    plan = {"type": "plan", "plan": calls, "output": ["†calls.0", "†calls.1", "†calls.2"]}
    result = await Agent(None, tools=tools, delegates={"one": idea()}).run([plan], deps="d")
    assert result.output == [1, 2, [3, 4]]
    assert sorted(received) == [("0.0", "d"), ("0.1", "d"), ("0.2.0", "d"), ("0.2.1", "d")]


@pytest.mark.rule("D13", "O5")
async def test_an_activity_in_a_delegates_place_may_name_the_path_that_it_writes() -> None:
    tools = Tools()
    tools.activity("code", lambda: Output(7, "†state.b"))
    asking = tool(ask={"_delegate": "one", "_activity": "code", "_outputPath": "†state.a <|> †state.b"})
    result = await Agent(None, tools=tools, delegates={"one": idea()}).run(
        [asking, {"type": "plan", "plan": [call("ask")], "output": "†state.b"}]
    )
    assert result.output == 7


@pytest.mark.rule("D13", "D3")
async def test_where_the_model_chooses_among_delegates_no_activity_takes_their_place() -> None:
    tools = Tools()
    tools.activity("ask", lambda: "by code")
    asking = tool(ask={"properties": {"_delegate": {"enum": ["a", "b"]}}})
    plan = {"type": "plan", "plan": [call("ask", _delegate="b")], "output": "†calls.0"}
    runner = Agent(None, tools=tools, delegates={"a": saying("a"), "b": saying("b")})
    assert (await runner.run([asking, plan])).output == "b"


def translating() -> Tools:
    """A typed function, whose Activity merely has the tool's name."""
    tools = Tools()

    @tools.tool
    async def translate(text: str) -> str:
        """Translate."""
        return f"{text} by code"

    assert callable(translate)
    return tools


OVERRIDE: Json = {"properties": {"text": TEXT}, "_output": TEXT}
CALL: Json = {"_tool": "translate", "text": "x"}


@pytest.mark.rule("D13")
@pytest.mark.parametrize("delegate", ["D", {"enum": ["D"]}, {"enum": ["D", "E"]}], ids=str)
@pytest.mark.parametrize("none", [{}, {"_activity": ""}], ids=str)
async def test_a_delegate_wins_over_an_activity_that_merely_has_the_tools_name(delegate: Any, none: Json) -> None:
    tools, element = translating(), CALL if isinstance(delegate, str) else {**CALL, "_delegate": "D"}
    override = tool(translate={**OVERRIDE, "_delegate": delegate, **none})
    runner = Agent(models.Scripted([answer(element, output="†calls.0")]), tools=tools, delegates={"D": echoing()})
    async with runner.stream([override], TEXT) as run:
        started = [event async for event in run if isinstance(event, CallStarted) and not event.depth]
    assert run.result.output == "the delegate had x"
    assert [(event.delegate, event.passed_over) for event in started] == [("D", "" if none else "translate")]


def echoing() -> Json:
    return idea({"type": "plan", "plan": [], "output": "the delegate had {†input.text}"}, {"type": "input"})


@pytest.mark.rule("D13", "S9")
@pytest.mark.parametrize("none", [{}, {"_activity": ""}], ids=str)
async def test_so_does_one_that_a_developers_call_names(none: Json) -> None:
    tools, delegates = translating(), {"D": echoing()}
    element = call("translate", text="x", _delegate="D", **none)
    plan = {"type": "plan", "plan": [element], "output": "†calls.0"}
    assert await tools(element, delegates=delegates) == "the delegate had x"
    assert await tools.all([element, CALL], delegates=delegates) == ["the delegate had x", "x by code"]
    assert (await Agent(None, tools=tools, delegates=delegates).run([plan])).output == "the delegate had x"
    assert await tools(Call(element, _activity="translate"), delegates=delegates) == "x by code"


@pytest.mark.rule("D13", "C1")
async def test_an_empty_activity_is_none_also_inline_and_in_an_empty_context() -> None:
    model = models.Scripted([answer(output="by a model")] * 3)
    for members in ({"_activity": ""}, {"_activity": "", "_delegate": "anonymous"}):
        assert await translating()({**CALL, **members}, model=model) == "by a model"
    assert await translating()({**CALL, "_delegate": "anonymous"}, model=model) == "x by code"
    override = tool(translate={**OVERRIDE, "_activity": ""})
    runner = agent(answer({**CALL, "_output": "by itself"}, output="†calls.0"), tools=translating())
    assert (await runner.run([override])).output == "by itself"


@pytest.mark.rule("D13")
async def test_a_typed_function_with_a_delegate_says_both() -> None:
    tools, contexts = Tools(), list[Any]()

    @tools.tool(delegate="D")
    async def ask(q: str, context: Context) -> str:
        """Ask."""
        contexts.append(list(context))
        return f"{q} by code"

    assert ask.tool is not None
    assert (ask.tool.fixed("_delegate"), ask.tool.fixed("_activity")) == ("D", "ask")
    delegates = {"D": idea({"type": "text", "text": "Be brief."}, {"type": "input", "tone": "kind"})}
    runner = agent(answer(call("ask", q="x"), output="†calls.0"), tools=tools, delegates=delegates)
    assert (await runner.run("go")).output == "x by code"
    assert contexts == [[{"type": "text", "text": "Be brief."}, {"type": "input", "input": {"tone": "kind", "q": "x"}}]]
    assert "_activity" not in json.dumps(sent(runner)[0].schema)


@pytest.mark.rule("D13", "D3")
async def test_an_activity_that_is_said_runs_with_the_context_of_the_delegate_that_was_chosen() -> None:
    tools, contexts = Tools(), list[Any]()

    def code(context: Context) -> str:
        contexts.append(list(context))
        return "by code"

    tools.activity("code", code)
    asking = tool(ask={"_delegate": {"enum": ["a", "b"]}, "_activity": "code", "_output": TEXT})
    delegates = {name: idea({"type": "text", "text": name}) for name in "ab"}
    plan = {"type": "plan", "plan": [call("ask", _delegate="b")], "output": "†calls.0"}
    assert (await Agent(None, tools=tools, delegates=delegates).run([asking, plan])).output == "by code"
    assert contexts == [[{"type": "text", "text": "b"}]]


class Captured:
    """A delegate whose own tool has the name of an Activity of the process; it says what carried out a call of that."""

    def __init__(self, folder: Path) -> None:
        self.tools, self.folder = Tools(), folder
        self.tools.activity("pay", lambda: "by the process")
        (folder / "team_pay.py").write_text(
            "from actum import tools\n\n@tools.activity('pay')\nasync def pay() -> str:\n    return 'by its module'\n"
        )

    async def __call__(
        self,
        schema: Json | None,
        config: Config | None = None,
        inner_config: Json | None = None,
        outer: Json | None = None,
    ) -> str:
        inner = [] if schema is None else [tool(pay={"_output": {}, **schema})]
        (self.folder / "one.json").write_text(json.dumps(idea(*inner, config=inner_config or {})))
        asking = tool(ask={"_delegate": "one.json", "_scopes": ["tool"] if outer else []}, **(outer or {}))
        replies = [answer(call("ask"), output="†calls.0"), answer(call("pay"), output="†calls.0")]
        runner = agent(*replies, answer(output="by nobody"), tools=self.tools, config=config, roots=[self.folder])
        return (await runner.run([asking])).output


@pytest.mark.rule("D13", "D12")
async def test_a_delegates_own_tool_is_not_captured_by_an_activity_of_its_name(tmp_path: Path) -> None:
    captured = Captured(tmp_path)
    assert await captured({}) == "by nobody"
    assert await captured({"_activity": "pay"}) == "by the process"
    assert await captured({}, Config(grants=["pay"])) == "by the process"
    assert await captured({}, inner_config={"activities": ["team_pay.py"]}) == "by its module"
    assert await captured(None, outer={"pay": {"_output": {}}}) == "by the process"
    assert await captured({}, outer={"pay": {"_output": {}}}) == "by the process"
    captured.tools.register("pay", {"_output": {}})
    assert await captured(None, inner_config={"tools": ["pay"]}) == "by the process"
    assert await captured({}, inner_config={"tools": ["pay"]}) == "by nobody"


@pytest.mark.rule("D13")
async def test_what_is_not_captured_in_a_delegate_is_not_where_it_crosses_to_either() -> None:
    ran, tools = list[str](), Tools()
    tools.activity("pay", lambda: ran.append("paid"))
    inner = tool(pay={}, down={"_delegate": "two", "_scopes": ["tool"]})
    replies = [answer(call("ask")), answer(call("down")), answer(call("pay"), output="two")]
    runner = agent(*replies, *[answer(output="done")] * 2, tools=tools, delegates={"one": idea(inner), "two": idea()})
    assert (await runner.run([tool(ask={"_delegate": "one"})])).output == "done"
    assert ran == []


@pytest.mark.rule("D13", "D2")
async def test_a_delegate_that_names_an_activity_hands_the_call_to_it_and_a_delegate_of_the_name_comes_first() -> None:
    tools = Tools()

    async def worker(call: Call, context: Context) -> Any:
        return [call.parameters, list(context)]

    async def unfit(other: str) -> str:
        return other

    tools.activity("worker", worker)
    asking = tool(ask={"_module": "worker", "_scopes": ["text"], "properties": {"q": TEXT}})
    context: list[Json] = [{"type": "text", "text": "crosses"}, {"type": "state", "a": 1}, asking]
    plan: Json = {"type": "plan", "plan": [call("ask", q="x")], "output": "†calls.0"}
    handed = await Agent(None, tools=tools).run([*context, plan])
    assert handed.output == [{"q": "x"}, [{"type": "text", "text": "crosses"}]]
    runner = Agent(None, tools=tools, delegates={"worker": saying("the delegate")})
    assert (await runner.run([*context, plan])).output == "the delegate"
    tools.activity("worker", unfit, replace=True)
    with plan_fails(errors.SchemaError, match=r"tool 'ask': the Activity 'worker' takes 'other'"):
        await Agent(None, tools=tools).run([*context, plan])


@pytest.mark.rule("D14", "D9")
async def test_an_anonymous_delegate_is_told_the_tools_name_and_what_is_said_of_it_and_its_parameters() -> None:
    described = {
        "_delegate": "anonymous",
        "description": "Weighs a parcel.",
        "properties": {"parcel": {**TEXT, "description": "Its number."}, "unit": TEXT, "_output": {"type": "number"}},
    }
    runner = agent(answer(call("weigh", parcel="p1"), output="†calls.0"), answer(output=2.5))
    assert (await runner.run([tool(weigh=described)])).output == 2.5
    prompt = text_of(sent(runner)[1].messages)
    assert "Carry out one call of the tool 'weigh': Weighs a parcel.\n- parcel: Its number." in prompt
    assert "unit" not in prompt


def recorded(path: Path, *answers: Json) -> models.Recording:
    return models.Recording(models.Scripted(list(answers)), path)


async def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: Json) -> tuple[Any, list[models.ModelRequest]]:
    """Ask a delegate whose config names the model of a file: its output, and the requests to the caller's model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "critic.json").write_text(json.dumps(idea({"type": "text", "text": "Judge."}, config=config)))
    asking = tool(ask={"_delegate": "critic.json"})
    caller_config = Config(settings={"temperature": 0.5}, reasoning=True)
    alone = Agent(recorded(tmp_path / "other.jsonl", answer(output="other")), tools=Tools(), roots=[tmp_path])
    await alone.run([*Context([{"type": "text", "text": "Judge."}])], {})
    runner = agent(
        answer(call("ask"), output="†calls.0"), answer(output="mine"), config=caller_config, roots=[tmp_path]
    )
    return (await runner.run([asking])).output, sent(runner)


@pytest.mark.rule("D15")
async def test_a_local_delegate_is_asked_of_the_model_that_its_config_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, requests = await team(tmp_path, monkeypatch, {"model": "replay:other.jsonl"})
    assert (output, len(requests)) == ("other", 1)


@pytest.mark.rule("D15")
async def test_a_delegate_inherits_the_model_with_its_settings_and_nothing_else_of_how_its_caller_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, (outer, inner) = await team(tmp_path, monkeypatch, {})
    assert output == "mine"
    assert dict(inner.settings) == {"temperature": 0.5}
    assert "_reasoningForCall" in json.dumps(outer.schema)
    inner_tool = {**tool(look={"properties": {"_output": TEXT}})}
    runner = agent(
        answer(call("ask"), output="†calls.0"),
        answer(output="mine"),
        config=Config(reasoning=True, settings={"seed": 1}),
        delegates={"one": idea(inner_tool, config={"settings": {"seed": 2}})},
    )
    assert (await runner.run([tool(ask={"_delegate": "one"})])).output == "mine"
    assert dict(sent(runner)[1].settings) == {"seed": 2}
    assert "_reasoningForCall" not in call_schemas(sent(runner)[1].schema)["look"]["properties"]


@pytest.mark.rule("D15", "L5", "L6")
async def test_a_delegate_with_a_model_of_its_own_stays_within_its_callers_budget_and_approver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    inner = tool(pay={"_activity": "pay"})
    recording = recorded(tmp_path / "other.jsonl", answer(call("pay")), answer(output="paid"), answer(output="paid"))
    paid: list[int] = []
    tools = Tools()
    tools.activity("pay", lambda: paid.append(1))

    async def deny(call: Call, _tool: Tool, _context: Context) -> bool | str:
        return "no" if call.tool == "pay" else True

    asking = tool(ask={"_delegate": "one"})
    config = {"model": "replay:other.jsonl", "limits": {"requests": 99}, "max_depth": 99}
    delegates = {"one": idea(inner, config=config)}
    # The requests to the model are recorded once, by the same delegate with the model of its caller.
    plain = Agent(recording, tools=tools, approve=deny, delegates={"one": idea(inner)})
    await plain.run([asking, *ASK])
    runner = Agent(None, tools=tools, approve=deny, delegates=delegates)
    assert (await runner.run([asking, *ASK])).output == "paid"
    assert paid == []
    bounded = Agent(None, tools=tools, approve=deny, delegates=delegates, limits=Limits(requests=0))
    with pytest.raises(errors.LimitExceeded):
        await bounded.run([asking, *ASK])


@pytest.mark.rule("D15", "D11")
@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model": "nobody:x"}, "no provider is known for the model 'nobody:x'"),
        ({"activities": ["missing.py"]}, "no such file"),
        ({"retries": -1}, "at config.retries: retries must be a whole number"),
        ({"modle": "x"}, "at config.modle: 'config' has no 'modle'"),
    ],
)
async def test_a_delegate_whose_config_can_not_be_used_is_named_with_its_tool_and_the_field(
    config: Json, reason: str
) -> None:
    runner = Agent(None, tools=Tools(), delegates={"one": {**saying("x"), "config": config}})
    with plan_fails(errors.DelegateError) as caught:
        await runner.run([tool(ask={"_delegate": "one"}), *ASK])
    assert caught.value.message.startswith("tool 'ask': the delegate 'one' failed: it can't be used: ")
    assert reason in caught.value.message
    assert caught.value.chain == ("one",)


@pytest.mark.rule("D11")
@pytest.mark.parametrize(
    ("delegate", "reason"),
    [
        ({"context": [{"type": "nonsense"}]}, "'nonsense'"),
        ({"context": [tool(x={"_what": 1})]}, "'_what' is not a meta-property"),
        (idea(schema={"type": 5}), "5"),
        ({"context": [], "config": []}, "'config' must be an object"),
        ({"contxt": [], "schema": {}}, "an Idea has no 'contxt'; it has meta, config, context, schema, solution"),
        ({"meta": {}}, "'context' must be a list of messages"),
        ({"context": [], "schema": "text"}, "not a valid JSON Schema"),
        ({"context": [], "solution": 5}, "'solution' must be an answer"),
        ([], "an Idea must be a JSON object"),
    ],
)
async def test_a_malformed_delegate_is_named_with_the_tool_that_led_to_it(delegate: Json, reason: str) -> None:
    runner = agent(answer(call("ask")), answer(output="sorry"), delegates={"one": delegate})
    (error,) = (await runner.run([tool(ask={"_delegate": "one"})])).errors
    assert isinstance(error, errors.DelegateError)
    assert error.tool == "ask"
    assert "'one'" in error.message
    assert reason in error.message


@pytest.mark.rule("D15", "D2")
async def test_a_tool_that_crosses_a_scope_starts_from_the_file_that_defined_it(tmp_path: Path) -> None:
    helper = tool(help={"_delegate": "helper.json"})
    calling = {"type": "plan", "plan": [call("help")], "output": "†calls.0"}
    passing = {"type": "plan", "plan": [call("on")], "output": "†calls.0"}
    files = {
        "helper.json": saying("the caller's"),
        "inner/helper.json": saying("another"),
        "inner/deep/helper.json": saying("a third"),
        "inner/deep/leaf.json": idea(calling),
        "inner/middle.json": idea(tool(on={"_delegate": "deep/leaf.json", "_scopes": ["tool"]}), passing),
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content))
    for leads_to in ("inner/deep/leaf.json", "inner/middle.json"):
        ask = tool(ask={"_delegate": leads_to, "_scopes": ["tool"]})
        context = Context([helper, ask, *ASK], origin=str(tmp_path / "outer.json"))
        assert (await Agent(None, tools=Tools(), roots=[tmp_path]).run(context)).output == "the caller's"


DELEGATED = {"_delegate": "one.json", "properties": {"_output": TEXT}}


@pytest.mark.rule("D16")
async def test_calls_outside_a_run_find_delegates_by_name_and_by_path(tmp_path: Path) -> None:
    tools = Tools()
    for name in ("one", "two"):
        tools.register(name, {"_delegate": f"{name}.json", "properties": {"_output": TEXT}})
        (tmp_path / f"{name}.json").write_text(json.dumps(saying(name)))
    tools.register("named", {"_delegate": "by name", "properties": {"_output": TEXT}})
    calls = [Call(_tool="one"), Call(_tool="two"), Call(_tool="named")]
    named = {"by name": saying("named")}
    assert await tools(calls[0], roots=[tmp_path]) == "one"
    assert await tools.all(calls, roots=[tmp_path], delegates=named) == ["one", "two", "named"]
    assert await tools.any(calls, delegates=named) == "named"
    with pytest.raises(errors.DelegateNotFound):
        await tools(calls[0])
    with pytest.raises(TypeError, match="root"):
        await tools(calls[0], root=[tmp_path])  # pyright: ignore[reportCallIssue] -- a slip that must not pass


@pytest.mark.rule("D16", "C5")
async def test_a_race_between_two_delegates_is_a_race() -> None:
    tools = Tools()
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "slow"

    async def fast() -> str:
        await started.wait()
        return "fast"

    tools.activity("slow", slow)
    tools.activity("fast", fast)
    delegates: dict[str, Json] = {}
    for name in ("slow", "fast"):
        inner = tool(**{name: {"_output": TEXT, "_activity": name}})
        delegates[name] = idea(inner, {"type": "plan", "plan": [call(name)], "output": "†calls.0"})
        tools.register(f"ask {name}", {"_delegate": name, "properties": {"_output": TEXT}})
    assert await tools.race([Call(_tool="ask slow"), Call(_tool="ask fast")], delegates=delegates) == "fast"
    assert cancelled.is_set()


@pytest.mark.rule("D16", "D8")
async def test_a_config_counts_for_calls_outside_a_run() -> None:
    tools = Tools()
    tools.register("ask", {"_delegate": "one", "properties": {}})
    takes = {"type": "object", "properties": {"q": TEXT}, "required": ["q"]}
    delegates = {"one": idea({"type": "input", "schema": takes}, {"type": "plan", "plan": [], "output": "†input.q"})}
    assert await tools(Call(_tool="ask", q="x"), delegates=delegates, config=Config(upfront=True)) == "x"
    with pytest.raises(errors.InvalidParameters, match="required"):
        await tools(Call(_tool="ask"), delegates=delegates, config=Config(upfront=True))
    with pytest.raises(errors.UnknownTool):
        await tools(Call(_tool="ask"), delegates=delegates, config=Config(tools=[]))


@pytest.mark.rule("D16", "D1")
async def test_the_catch_all_activity_can_be_replaced() -> None:
    tools = Tools()
    received: list[tuple[Mapping[str, Any], str, list[Any]]] = []

    async def elsewhere(call: Call, tool: Tool, context: Context) -> str:
        received.append((call.parameters, tool.name, list(context)))
        return "done elsewhere"

    tools.activity("_delegate", elsewhere)
    asking = tool(ask={"_delegate": "nowhere.json", "_scopes": ["state"], "properties": {"q": TEXT}})
    plan = {"type": "plan", "plan": [call("ask", q="x")], "output": "†calls.0"}
    result = await Agent(None, tools=tools).run([{"type": "state", "a": 1}, asking, plan])
    assert result.output == "done elsewhere"
    assert received == [({"q": "x"}, "ask", [{"type": "state", "a": 1}])]


@pytest.mark.rule("D16", "I2")
@pytest.mark.parametrize(
    ("instance", "state"), [("a", {"x": "of a", "y": "for all"}), (None, {"x": "shared", "y": "for all"})]
)
async def test_a_latent_call_outside_a_run_sees_its_own_instance_and_no_other(
    instance: str | None, state: Json
) -> None:
    tools = Tools()
    tools.register("judge", {"properties": {"_output": TEXT}})
    model = models.Scripted([answer(output="fine")])
    context = [
        {"type": "state", "_instance": "a", "x": "of a"},
        {"type": "state", "_instance": "b", "x": "of b"},
        {"type": "state", "x": "shared", "y": "for all"},
    ]
    judging = Call(_tool="judge") if instance is None else Call(_tool="judge", _instance=instance)
    assert await tools(judging, context=context, model=model) == "fine"
    prompt = text_of(model.requests[0].messages)
    assert json.dumps(state, separators=(",", ":")) in prompt
    assert "of b" not in prompt


@pytest.mark.rule("C5")
async def test_any_without_a_success_names_every_cause() -> None:
    tools = Tools()

    @tools.tool
    async def fail(why: str) -> str:
        """Fail."""
        raise RuntimeError(why)

    assert callable(fail)
    with pytest.raises(errors.AllCallsFailed) as caught:
        await tools.any([Call(_tool="fail", why="rain"), Call(_tool="fail", why="snow")])
    assert [error.code for error in caught.value.errors] == ["activity", "activity"]
    assert "RuntimeError: rain" in caught.value.message
    assert "RuntimeError: snow" in caught.value.message


@pytest.mark.rule("D15", "A1")
async def test_a_delegates_modules_serve_it_in_an_agent_with_tools_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "team_acts.py").write_text(
        "from actum import tools\n\n@tools.activity('teamWork')\nasync def work() -> str:\n    return 'worked'\n"
    )
    interface = tool(work={"_activity": "teamWork", "properties": {"_output": TEXT}})
    plan = {"type": "plan", "plan": [call("work")], "output": "†calls.0"}
    (tmp_path / "one.json").write_text(json.dumps(idea(interface, plan, config={"activities": "team_acts.py"})))
    asking = tool(ask={"_delegate": "one.json"})
    for tools in (Tools(), registered):
        assert (await Agent(None, tools=tools, roots=[tmp_path]).run([asking, *ASK])).output == "worked"
    alone = tool(work={"_activity": "teamWork"})
    with pytest.raises(errors.SchemaError, match="no Activity 'teamWork' is registered"):
        await Agent(None, tools=Tools()).run([alone, plan])
