"""Small slips of programs that check no types: each is an error of ours, which says what to write instead."""

from __future__ import annotations

import asyncio
import importlib
import json
import math
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actum import HOLD, Agent, Config, Context, Idea, Limits, Result, Tools, approvals, errors, kept
from actum.events import RunFinished
from actum.models import Scripted
from actum.serving import Served

ANSWER = '{"output": 1, "calls": []}'


class Model:
    """Answers with whatever it is given."""

    name = "mine"

    def __init__(self, *deltas: Any) -> None:
        self._deltas = deltas

    async def stream(self, request: Any) -> Any:
        for delta in self._deltas:
            yield delta


class Nameless:
    async def stream(self, request: Any) -> Any:
        yield ANSWER


def agent(model: Any = None) -> Any:
    return Agent(model or Scripted([{"output": 1, "calls": []}]), tools=Tools())


@pytest.mark.parametrize(
    "given",
    [{"usd": math.nan}, {"seconds": math.nan}, {"tokens": math.nan}, {"requests": 1.5}, {"calls": math.inf}],
)
def test_a_limit_is_a_number_and_what_is_counted_a_whole_one(given: Any) -> None:
    with pytest.raises(errors.SchemaError, match="must be a"):
        Limits(**given)
    assert Limits(tokens=1e6, seconds=0.5) == Limits(tokens=1_000_000, seconds=0.5)  # type: ignore[arg-type] -- as JSON may have it


def len_of(text: str) -> int:
    return len(text)


TOOLS: Any = Tools()
CONTEXT: Any = Context("go")
SLIPS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "idea's field": (lambda: Idea(contxt="go"), TypeError, "Idea has no 'contxt'; did you mean 'context'"),  # type: ignore[call-arg]
    "script": (lambda: Scripted({"output": 1, "calls": []}), TypeError, "a list of answers"),  # type: ignore[arg-type]
    "activity": (lambda: TOOLS.activity("x")(5), errors.SchemaError, "an Activity is a function"),
    "context": (lambda: CONTEXT.__class__(5), errors.MessageError, "a text or a list of messages"),
    "reference": (lambda: CONTEXT.get(5), errors.MessageError, "a reference is a text"),
    "config": (lambda: Agent(None, config=TOOLS), errors.SchemaError, "is given a Config"),
    "limits": (lambda: Agent(None, limits=TOOLS), errors.SchemaError, "is given a Limits"),
    "model": (lambda: agent(5), errors.ModelError, "a int can't be a model"),
    "nameless": (lambda: agent(Nameless()), errors.ModelError, "a Nameless can't be a model: a model has a `name`"),
    "served": (lambda: Served(TOOLS), errors.IdeaError, "served by name"),
    "names": (lambda: Served({5: {"context": []}}), errors.IdeaError, "can.t be the name of an Idea here"),  # type: ignore[dict-item]
    "idea": (lambda: agent().run_sync(Idea(context="go")), errors.MessageError, r"idea\.run\(agent\)"),
    "class": (lambda: agent(Scripted), errors.ModelError, r"Scripted is a class: .*Scripted\(…\)"),
    "delegates": (lambda: Agent(None, delegates=["d"]), errors.SchemaError, "by their names"),  # type: ignore[arg-type]
    "undo": (lambda: TOOLS.activity("undone", len_of).undo(5), errors.SchemaError, "an undo is a function"),
    "tools in a list": (lambda: Agent(None, tools=[TOOLS]), errors.SchemaError, "a list of tools holds functions"),
    "a class in a list": (lambda: Agent(None, tools=[Model]), errors.SchemaError, "made of a function"),
    "a value for its type": (
        lambda: agent().run_sync("x", Limits()),
        errors.SchemaError,
        "the type, Limits, not one of",
    ),
    "no provider": (lambda: agent("gpt-5.2"), errors.ModelError, "'gpt-5.2', use openai:gpt-5.2$"),
    "sync": (lambda: agent().run_sync(5), errors.MessageError, "a text or a list of messages"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_says_what_was_meant(name: str) -> None:
    slip, kind, message = SLIPS[name]
    with pytest.raises(kind, match=message):
        slip()


@pytest.mark.parametrize("given", [5, None, {"type": "text"}, [5]])
async def test_what_is_no_context_asks_nobody(given: Any) -> None:
    with pytest.raises(errors.MessageError):
        await agent().run(given)


async def test_a_text_among_messages_is_the_users() -> None:
    text = {"type": "text", "text": "go"}
    system = {"type": "system", "message": "Be brief."}
    model = Scripted([{"output": 1, "calls": []}], repeat_last=True)
    agent = Agent(model, tools=Tools())
    await agent.run([system, "go"])
    await Idea(context=[system, "go"], schema={}).run(agent)
    await Idea(context="go", schema={}).run(agent)
    await agent.run(Context([system]).extended(["go"]))
    talk = agent.conversation([system, "go"], schema=int)
    async with talk.stream(["go"]) as turn:
        assert [event async for event in turn]
    assert {request.messages[-1]["content"] for request in model.requests} == {"go"}
    assert [*Context([system, "go"])] == [*Idea(context=[system, "go"]).context] == [system, text]
    with pytest.raises(errors.IdeaError, match="a message must be an object") as caught:
        Idea.read('{"context": ["go"]}', "idea.json")
    assert caught.value.index == 0


def test_an_idea_is_made_of_what_a_run_is_given() -> None:
    make_idea: Any = Idea
    for wrong in (5, [5], [{"type": "sytem"}]):
        with pytest.raises(errors.MessageError):
            make_idea(context=wrong)
    with pytest.raises(errors.IdeaError, match="'config' is an object"):
        make_idea(context="go", config=Limits())


@pytest.mark.parametrize("given", [5, [1], "x", []])
async def test_what_is_no_input_is_said(given: Any) -> None:
    with pytest.raises(errors.MessageError, match="the input is an object"):
        await agent().run("go", input=given)
    with pytest.raises(errors.MessageError, match="the input is an object"):
        await Idea(context=Context("go"), schema={}).run(agent(), input=given)


async def test_what_is_no_call_is_said() -> None:
    given: Any
    for given in (5, "x", [5]):
        with pytest.raises(errors.CallError, match="a call is an object"):
            await TOOLS(given)
    for given in (5, {"_tool": "x"}):
        for pattern in (TOOLS.all, TOOLS.any, TOOLS.race):
            with pytest.raises(errors.CallError, match="calls are a list"):
                await pattern(given)


@pytest.mark.parametrize("delta", [5, b"x", None, ["x"], {"x": 1}])
async def test_a_model_that_yields_no_text_has_failed(delta: Any) -> None:
    for model in (Model(delta), Model('{"out', delta)):
        with pytest.raises(errors.ModelError, match="the model 'mine' has yielded a"):
            await agent(model).run("go")
    assert (await agent(Model(ANSWER)).run("go")).output == 1


@pytest.mark.parametrize("token", ["short", "", 5, None, {}, {"a": 5}, b"x" * 40, "x" * 40 + "\n"])
def test_a_token_that_keeps_no_secret_says_how_one_is_made(token: Any) -> None:
    with pytest.raises(errors.ActumError, match=r"secrets\.token_urlsafe"):
        Served({"a": {"context": []}}).app(token=token)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Config(retires=3), "Config has no 'retires'; did you mean 'retries'"),  # type: ignore[call-arg]
        (lambda: Config(toolBudget=3), "did you mean 'tool_budget'"),  # type: ignore[call-arg]
        (lambda: Config(zzz=3), "Config has no 'zzz'; it has meta, reasoning"),  # type: ignore[call-arg]
        (lambda: Limits(request=3), "Limits has no 'request'; did you mean 'requests'"),  # type: ignore[call-arg]
        (lambda: replace(Limits(), dollars=1), "Limits has no 'dollars'"),
        (lambda: cast("Any", Idea)([{"type": "text", "text": "go"}]), "Idea takes its fields by name: context=…"),
        (lambda: cast("Any", Config)(True), "Config takes its fields by name: meta=…"),
        (lambda: Agent(None, deps=cast("Any", 3)), "names the type of what runs are given"),
    ],
)
def test_a_field_that_there_is_not_names_the_near_one(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()
    with pytest.raises(errors.IdeaError, match="'config' has no 'retires'; did you mean 'retries'"):
        asyncio.run(Idea(context="go", config={"retires": 1}).run(agent()))


def pay(x: int) -> int:
    """Pays."""
    return x


def price(x: int) -> int:
    """Only reads."""
    return -x


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("efects", "did you mean 'effects'"),
        ("timout", "did you mean 'timeout'"),
        ("outputPath", "did you mean '_outputPath'"),
        ("output_path", "did you mean '_outputPath'"),
        ("scopes", "did you mean '_scopes'"),
        ("zzz", "it has _tool, _activity, .*effects, timeout"),
    ],
)
def test_an_option_that_there_is_not_is_a_type_error_with_the_near_one(option: str, message: str) -> None:
    tools: Any = Tools()
    with pytest.raises(TypeError, match=f"no option '{option}'; {message}"):
        tools.tool(**{option: "none"})
    with pytest.raises(errors.SchemaError, match="'_efects' is not a meta-property; did you mean '_effects'"):
        tools.tool(_efects="none")(pay)
    assert len(tools) == 0


async def test_a_second_tool_of_one_name_is_refused_and_replaces_it_where_that_is_said() -> None:
    tools = Tools()
    tools.tool(effects="ordered")(pay)
    registering: list[Callable[[bool], Any]] = [
        lambda replace: tools.tool(name="pay", effects="none", replace=replace)(price),
        lambda replace: tools.activity("pay", price, replace=replace),
        lambda replace: tools.register(
            "pay", {"properties": {"x": {"type": "integer"}, "_output": {}}}, replace=replace
        ),
    ]
    for register in registering:
        with pytest.raises(errors.SchemaError, match=r"tool 'pay': .* is registered already.*replace=True"):
            register(False)
        assert (tool := tools.find("pay")) is not None
        assert tool.effects == "ordered"
        assert await tools({"_tool": "pay", "x": 2}) == 2
    for register, effects in zip(registering, ("none", "none", "some"), strict=True):
        register(True)
        assert (tool := tools.find("pay")) is not None
        assert tool.effects == effects
        assert await tools({"_tool": "pay", "x": 2}) == -2


def test_the_same_is_registered_as_often_as_one_likes() -> None:
    tools, schema = Tools(), {"properties": {"x": {"type": "integer"}}}
    for _ in range(2):
        tool = tools.tool(pay)
        tools.tool(name="other")(pay)
        tools.tool(tool)
        tools.register("latent", schema)
        tools.activity("latent", pay)
    assert [tool.name for tool in tools] == ["pay", "other", "latent"]
    with pytest.raises(errors.SchemaError, match=r"a tool of this name, .*pay, is registered already"):
        tools.tool(effects="none")(pay)


MODULE = """
from actum import Tools
TOOLS = globals().get("TOOLS") or Tools()
{between}
@TOOLS.tool
def look(x: int) -> int:
    return {value}
"""


def test_a_module_that_is_loaded_again_replaces_its_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "desk_that_is_edited.py"
    file.write_text(MODULE.format(between="", value="1"))
    desk: Any = importlib.import_module(file.stem)
    file.write_text(MODULE.format(between="", value="2 * x"))
    importlib.invalidate_caches()
    assert importlib.reload(desk).look(4) == 8
    assert [tool.name for tool in desk.TOOLS] == ["look"]


def test_two_definitions_in_one_file_are_no_reload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    file = tmp_path / "desk_with_a_copy.py"
    twice = "@TOOLS.tool\ndef look(x: int) -> int:\n    return 0\n"
    file.write_text(MODULE.format(between=twice, value="1"))
    with pytest.raises(errors.SchemaError, match=r"desk_with_a_copy\.look, is registered already"):
        importlib.import_module(file.stem)


def test_a_cell_that_is_run_again_replaces_its_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = Tools()
    cell: dict[str, Any] = {"tools": tools, "__name__": "__main__"}
    for value in (1, 2):
        source = f"@tools.tool\ndef look(x: int) -> int:\n    return {value}\n"
        exec(compile(source, f"<cell {value}>", "exec"), cell)
    assert cell["look"](0) == 2
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)  # an interactive session, where functions are defined again
    exec(compile("\n\n@tools.tool\ndef look(x: int) -> int:\n    return 3\n", "<cell 2>", "exec"), cell)
    with pytest.raises(errors.SchemaError, match="is registered already"):
        tools.tool(name="look")(price)
    assert [tool.name for tool in tools] == ["look"]


def test_one_piece_of_code_that_makes_two_tools_of_one_name_is_refused() -> None:
    tools = Tools()
    for _ in range(2):

        @tools.tool
        def same(x: int) -> int:
            return x

        assert same(1) == 1
    for factor in (2, 3):

        def times(x: int, factor: int = factor) -> int:
            return x * factor

        if factor == 3:
            with pytest.raises(errors.SchemaError, match=r"'times'.*is registered already"):
                tools.tool(times)
        else:
            tools.tool(times)


class Desk:
    def look(self, x: int) -> int:
        return x

    @classmethod
    def open(cls, x: int) -> int:
        return x


def everything(*xs: int) -> int:
    return sum(xs)


def by_position(x: int, /) -> int:
    return x


def unwrapped(*args: Any, **kwargs: Any) -> Any:
    return pay(*args, **kwargs)


async def by_and_by(x: int) -> Any:
    yield x


MISTAKEN: dict[str, tuple[Any, str]] = {
    "method": (Desk.look, "at self: it is a method.*tools.tool"),
    "class method": (vars(Desk)["open"], "not of <classmethod"),
    "args": (everything, r"at xs: calls give parameters by name: take a list instead of '\*xs'"),
    "unwrapped": (unwrapped, r"at args: .*functools\.wraps"),
    "position": (by_position, "at x: calls give parameters by name"),
    "async generator": (by_and_by, "an async generator, of which no call gets a value: return a list"),
    "text": ("pay", "not of 'pay'; its name is said with name="),
    "lambda": (lambda x: x, "no name of its own"),  # pyright: ignore[reportUnknownLambdaType]
    "builtin": (max, "its parameters can't be read"),
}


@pytest.mark.parametrize("name", MISTAKEN)
def test_a_function_whose_parameters_no_call_could_fill_is_no_tool(name: str) -> None:
    function, message = MISTAKEN[name]
    with pytest.raises(errors.SchemaError, match=message):
        Tools().tool(function)
    if name in {"method", "args", "position", "builtin"}:
        with pytest.raises(errors.SchemaError, match=message):
            Tools().activity("one", function)


async def test_what_stands_in_for_a_method_is_the_one_of_an_object() -> None:
    tools = Tools()
    tools.tool(Desk().look)
    tools.tool(Desk.open)
    tools.activity("all", unwrapped)
    tools.register("all", {"properties": {"x": {}, "_output": {}}})
    assert await tools.all([{"_tool": name, "x": 2} for name in ("look", "open", "all")]) == [2, 2, 2]
    with pytest.raises(errors.SchemaError, match="is registered already"):
        tools.tool(Desk().look)  # of another object
    desk = Desk()
    tools.tool(replace=True)(desk.look)
    tools.tool(desk.look)


async def test_tools_are_a_list_of_functions_too() -> None:
    sent = Tools().tool(effects="ordered", name="sent")(pay)
    idea = Idea(context=Context("go"), schema={"type": "integer"})
    agent: Any = Agent(None, tools=[price, sent, pay, idea.as_tool("asked")])
    assert {tool.name: tool.effects for tool in agent.tools} == {
        "price": "some", "sent": "ordered", "pay": "some", "asked": "some"
    }  # fmt: skip
    plan = [{"type": "plan", "plan": [{"_tool": "sent", "x": 2}], "output": "†calls.0"}]
    assert (await agent.run(plan, int)).output == 2
    given: Any
    for given in (pay, "pay", {"pay": pay}, ["pay"], [5], 5):
        with pytest.raises(errors.SchemaError, match="tools"):
            Agent(None, tools=given)
    with pytest.raises(errors.SchemaError, match="is registered already"):
        Agent(None, tools=[pay, Tools().tool(name="pay")(price)])


def test_an_interface_is_no_function() -> None:
    tools: Any = Tools()
    with pytest.raises(errors.SchemaError, match=r"tools\.tool"):
        tools.register(pay)


@pytest.mark.rule("L6")
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("approve", None),
        (" Approve ", None),
        ("deny", "tool 'pay': denied"),
        (False, "tool 'pay': denied"),
        ("", "tool 'pay': denied"),
        ("too dear", "tool 'pay': too dear"),
        ("approve it? no", "tool 'pay': approve it\\? no"),
        ("yes", "the approver failed: it returned 'yes'; it returns True"),
        ("OK", "the approver failed: it returned 'ok'"),
        (None, "the approver failed: it returned None"),
        (1, "the approver failed: it returned a int"),
    ],
)
async def test_what_an_approver_says_is_never_taken_for_the_opposite(reply: Any, message: str | None) -> None:
    tools, paid = Tools(), list[int]()

    @tools.tool(name="pay")
    def noted(x: int) -> int:
        paid.append(x)
        return x

    assert callable(noted)

    async def decide(*_: object) -> Any:
        return reply

    making = tools({"_tool": "pay", "x": 2}, approve=decide)
    if message is None:
        assert await making == 2
    else:
        with pytest.raises(errors.ApprovalDenied, match=message):
            await making
    assert paid == ([2] if message is None else [])


@pytest.mark.rule("L6")
async def test_a_word_to_wait_waits() -> None:
    plan = [{"type": "plan", "plan": [{"_tool": "pay", "x": 2}], "output": "†calls.0"}]

    def wait(*_: object) -> str:
        return "hold"

    held = await Agent(None, tools=[pay], approve=wait).run(plan, int)
    assert held.waiting == ["approval 0.0"]


@pytest.mark.parametrize("given", [True, "all", price, len])
async def test_what_can_not_be_asked_about_a_call_is_no_approver(given: Any) -> None:
    with pytest.raises(errors.SchemaError, match=r"approver .*\(call, tool, context\)") as caught:
        Agent(None, approve=given)
    assert caught.value.path == "approve"
    with pytest.raises(errors.SchemaError, match="approver"):
        await Tools().all([{"_tool": "pay"}], approve=given)


def test_a_folder_is_no_list_of_letters(tmp_path: Path) -> None:
    assert Agent(None, roots=str(tmp_path)).roots == Agent(None, roots=[tmp_path]).roots == (tmp_path,)


@pytest.mark.rule("L6")
async def test_a_context_that_was_kept_as_json_is_decided_on_as_it_is() -> None:
    async def wait(*_: object) -> Any:
        return HOLD

    plan = [{"type": "plan", "plan": [{"_tool": "pay", "x": 2}], "output": "†calls.0"}]
    agent = Agent(None, tools=[pay], approve=wait)
    held = json.loads(json.dumps((await agent.run(plan, int)).context.messages))
    assert (await agent.run(approvals.decided(held, "0.0", "approve"), int)).output == 2


def test_an_idea_is_saved_with_the_schema_of_its_type(tmp_path: Path) -> None:
    Idea(context="go", schema=list[int]).save(tmp_path / "idea.json")
    assert Idea.load(tmp_path / "idea.json").schema == {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("tool", "Agent has no 'tool'; did you mean 'tools'?"),
        ("deps_type", "did you mean 'deps'?"),
        ("system_prompt", "say it by `@agent.instructions`, or in a system message of the context"),
        ("output_type", "give the type to run(context, type)"),
    ],
)
def test_an_option_of_another_library_says_what_stands_for_it_here(named: str, message: str) -> None:
    given: dict[str, Any] = {named: None}
    with pytest.raises(TypeError, match=re.escape(message)):
        Agent(None, **given)
    assert [*signature(Agent).parameters][:3] == ["model", "tools", "config"]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("tool", "Agent has no 'tool'; write `@tools.tool`"),
        ("run_stream", "agent.stream(…) gives events"),
        ("ainvoke", "await agent.run(…)"),
        ("system_prompt", "`@agent.instructions`"),
        ("run_synk", "did you mean 'run_sync'"),
    ],
)
def test_a_method_of_another_library_says_what_stands_for_it_here(named: str, message: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(message)):
        getattr(agent(), named)
    assert not hasattr(agent(), "__setstate__")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("data", "Result has no 'data'; it is `result.output`"),
        ("final_output", "`result.output`"),
        ("all_messages", "`result.context`"),
        ("contxt", "did you mean 'context'"),
    ],
)
def test_an_attribute_of_another_librarys_result_says_what_stands_for_it_here(name: str, hint: str) -> None:
    result = Result(output=1, context=Context())
    with pytest.raises(AttributeError, match=re.escape(hint)):
        getattr(result, name)
    assert not hasattr(result, "__setstate_cython__")


def frames_of(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)][1:]


async def test_the_traceback_of_a_mistake_ends_where_actum_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: Any = ["Hi", 5]
    with pytest.raises(errors.MessageError) as malformed:
        await agent().run(wrong)
    assert {*frames_of(malformed.value)} <= {"run"}
    async with Agent(Scripted([])).stream("Hi") as run:
        with pytest.raises(errors.ModelError) as exhausted:
            await anext(event async for event in run if isinstance(event, RunFinished))
    assert {*frames_of(exhausted.value)} <= {"<genexpr>", "__aiter__"}
    with pytest.raises(errors.MessageError) as blocked:
        await asyncio.to_thread(agent().run_sync, wrong)
    assert frames_of(blocked.value)[-1] in {"run_sync", "blocking"}
    assert blocked.value.__context__ is None, "no error was being handled"
    monkeypatch.setattr("actum.app.coercion.sys", SimpleNamespace(flags=SimpleNamespace(dev_mode=True)))
    with pytest.raises(errors.MessageError) as whole:
        await agent().run(wrong)
    assert frames_of(whole.value)[-1] == "check_message"


async def test_the_traceback_of_an_error_keeps_the_frames_of_code_of_others() -> None:
    class Broken:
        name = "broken"

        async def stream(self, request: Any) -> Any:
            raise errors.ModelError("out of order")
            yield ""

    broken: Any = Broken()
    with pytest.raises(errors.ModelError) as error:
        await Agent(broken).run("Hi")
    assert frames_of(error.value)[-1] == "stream"


@pytest.mark.parametrize("schema", ["string", 5, [str], (str, int)])
def test_what_is_no_type_is_no_schema(schema: Any) -> None:
    with pytest.raises(errors.SchemaError, match="the schema of an output is a type or a JSON Schema, as str"):
        agent().run_sync("Hi", schema)


def test_an_unknown_type_of_a_schema_is_told_with_those_that_there_are() -> None:
    with pytest.raises(
        errors.SchemaError, match=r'schema\.type: .*"strng" is not one of array, boolean, .* and string$'
    ):
        agent().run_sync("Hi", {"type": "strng"})


@pytest.mark.parametrize("name", ["openai/gpt-5.2", "opnai:gpt-5.2", "gpt-5.2"])
def test_a_model_is_told_with_the_provider_that_is_meant(name: str) -> None:
    with pytest.raises(errors.ModelError, match=f"no provider is known for the model '{name}', use openai:gpt-5.2$"):
        Agent(name)


INPUT = {
    "type": "input",
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


@pytest.mark.rule("M1")
def test_a_run_that_lacks_what_its_input_requires_is_refused_however_it_begins(tmp_path: Path) -> None:
    model = Scripted([ANSWER], repeat_last=True)
    agent = Agent(model, tools=[])
    begin: list[Callable[[], Any]] = [
        lambda: agent.run_sync([INPUT], int),
        lambda: agent.run_sync([INPUT], int, input={}),
        lambda: asyncio.run(Idea(context=[INPUT]).run(agent)),
        lambda: asyncio.run(agent.request([INPUT], int)),
        lambda: asyncio.run(kept.start(tmp_path / "run.json", Idea(context=[INPUT]), agent)),
        lambda: asyncio.run(_entered(kept.conversation(tmp_path / "talk.json", agent, [INPUT], int))),
        lambda: asyncio.run(_entered(agent.stream([INPUT], int))),
        lambda: asyncio.run(_entered(agent.conversation([INPUT], int).stream("hi"))),
    ]
    for run in begin:
        with pytest.raises(
            errors.MessageError, match='the input doesn\'t fit its schema: "city" is a required property'
        ):
            run()
    assert not model.requests
    assert not list(tmp_path.iterdir())
    given = {"type": "input", "input": {"city": "Bonn"}}
    done = agent.run_sync([INPUT, given], int)
    assert done.output == agent.run_sync([INPUT], int, input={"city": "Bonn"}).output == 1
    assert agent.run_sync(done.context, int).output == 1
    instances = [{**given, "_instance": "a"}, {**given, "_instance": "b"}]
    assert agent.run_sync([INPUT, *instances], int).output == 1


async def _entered(run: Any) -> None:
    async with run:
        pass
