"""I: one request, many instances."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from actum import Config, Context, Tools, errors

from .scripts import Json, agent, answer, call, call_schemas, left, run, sent, text_of

TWO: list[Json] = [
    {"type": "state", "greeting": "hi", "list": [0], "x": {"shared": True}},
    {"type": "state", "name": "Ann", "_instance": "①"},
    {"type": "state", "name": "Bob", "_instance": "②"},
]


def tools_() -> Tools:
    tools = Tools()

    @tools.tool
    async def echo(value: Any) -> Any:
        return value

    @tools.tool(_outputPath="†state.list", _outputMethod="push")
    async def push(value: Any) -> Any:
        return value

    @tools.tool(_outputPath="†state.x", _outputMethod="erase")
    async def erase() -> bool:
        return True

    assert (echo.name, push.name, erase.name) == ("echo", "push", "erase")
    return tools


# I1


@pytest.mark.rule("I1")
def test_call_schemas_gain_the_instances_in_order_where_there_are_any() -> None:
    runner = agent(tools=tools_())
    assert all("_instance" not in schema["properties"] for schema in call_schemas(runner.compose(TWO[:1])).values())
    for schema in call_schemas(runner.compose(TWO)).values():
        assert schema["properties"]["_instance"] == {"enum": ["①", "②"]}
        assert "_instance" not in schema["required"]


@pytest.mark.rule("I1")
def test_instances_are_those_of_any_message() -> None:
    context = Context([{"type": "text", "text": "x", "_instance": "b"}, {"type": "state", "y": 1, "_instance": "a"}])
    assert list(context.instances) == ["b", "a"]


@pytest.mark.rule("I1")
async def test_an_instance_that_is_not_there_is_a_structural_error() -> None:
    for context in (TWO, TWO[:1]):
        result = await run(
            answer(call("echo", value=1, _instance="③")), answer(output=1), context=context, tools=tools_()
        )
        assert isinstance(result.errors[0], errors.CallError)
        assert "③" in result.errors[0].message


@pytest.mark.rule("I1", "M7")
def test_every_instance_is_shown_beside_what_is_shared() -> None:
    prompt = text_of(agent(tools=tools_()).render(TWO))
    assert prompt.index('"greeting":"hi"') < prompt.index("①") < prompt.index("②")
    assert prompt.count('"greeting"') == 1


# I2


@pytest.mark.rule("I2")
async def test_references_go_to_the_instance_over_the_shared_value() -> None:
    calls = [call("echo", value=["†state.name", "†state.greeting"], _instance=instance) for instance in ("①", "②")]
    result = await run(answer(*calls, output=["†calls.0", "†calls.1"]), context=TWO, tools=tools_())
    assert result.output == [["Ann", "hi"], ["Bob", "hi"]]


@pytest.mark.rule("I2")
async def test_a_call_without_instance_reads_only_the_shared_layer() -> None:
    runner = agent(answer(call("echo", value="†state.name")), answer(output="†state"), tools=tools_())
    result = await runner.run(TWO)
    assert isinstance(result.errors[0], errors.UnresolvedReference)
    assert result.output == {"greeting": "hi", "list": [0], "x": {"shared": True}}


@pytest.mark.rule("I2")
@pytest.mark.parametrize("late", [True, False])
def test_the_instance_stands_over_the_shared_value_whatever_their_ages(late: bool) -> None:
    shared: Json = {"type": "state", "a": {"x": 0, "y": 0}}
    override: Json = {"type": "state", "a": {"x": 1}, "_instance": "①"}
    context = Context([shared, override] if late else [override, shared])
    assert context.of("①").state == {"a": {"x": 1, "y": 0}}
    assert context.state == {"a": {"x": 0, "y": 0}}


@pytest.mark.rule("I2", "O4")
async def test_an_instance_builds_on_shared_values_and_changes_none() -> None:
    calls = [
        call("push", value="a", _instance="①"),
        call("push", value="b", _instance="②"),
        call("erase", _instance="①"),
        call("echo", value="new", _instance="②", _outputPath="†state.greeting"),
    ]
    result = await run(answer(*calls), answer(output=1), context=TWO, tools=tools_())
    context = result.context
    assert context.state == {"greeting": "hi", "list": [0], "x": {"shared": True}}
    assert context.of("①").state == {"greeting": "hi", "list": [0, "a"], "name": "Ann"}
    assert context.of("②").state == {"greeting": "new", "list": [0, "b"], "x": {"shared": True}, "name": "Bob"}


@pytest.mark.rule("I2", "O4")
async def test_a_shared_write_reaches_instances_that_have_none_of_their_own_there() -> None:
    calls = [
        call("push", value="a", _instance="①"),
        call("echo", value=[9], _outputPath="†state.list"),
        call("echo", value="bye", _outputPath="†state.greeting"),
    ]
    result = await run(answer(*calls), answer(output=1), context=TWO, tools=tools_())
    assert result.context.of("①").state["list"] == [9, "a"]
    assert result.context.of("②").state["list"] == [9]
    assert result.context.of("①").state["greeting"] == "bye"


@pytest.mark.rule("I2", "C6")
async def test_a_call_waits_for_its_own_instance_and_not_for_another() -> None:
    calls = [
        call("echo", value="†state.made", _instance="①"),
        call("echo", value="†state.made", _instance="②"),
        call("echo", value=1, _instance="①", _outputPath="†state.made"),
    ]
    result = await run(answer(*calls), answer(output=1), context=TWO, tools=tools_())
    assert [error.to_dict()["code"] for error in result.errors] == ["unresolved_reference"]
    written = [
        (message.get("_instance"), message["data"]) for message in result.context if message.get("kind") == "result"
    ]
    assert written == [("①", 1)]


@pytest.mark.rule("I2", "O9")
@pytest.mark.parametrize("instance", ["①", None])
async def test_what_reads_a_path_ends_as_its_writer_in_the_same_instance_does(instance: str | None) -> None:
    members: Json = {} if instance is None else {"_instance": instance}
    writing = call("echo", value=1, _outputPath="†state.made", **members)
    for writer, count in (({**writing, "_when": False}, 0), ({**writing, "wrong": 1}, 2)):
        result = await run(
            answer(writer, call("echo", value="†state.made", **members)), answer(output=1), context=TWO, tools=tools_()
        )
        assert [error.message for error in result.errors if "nothing fills" in error.message] == []
        assert len(result.errors) == count


@pytest.mark.rule("I2", "O9")
async def test_a_call_of_an_instance_is_told_of_what_it_lacks_and_of_nothing_else() -> None:
    reads = call("echo", value=["†state.name", "†calls.0"], _instance="①")
    result = await run(answer(call("nobody"), reads), answer(output=1), context=TWO, tools=tools_())
    assert "†calls.0 was to come from" in result.errors[1].message
    assert "†state.name" not in result.errors[1].message


@pytest.mark.rule("I2", "M6")
async def test_what_a_call_of_an_instance_writes_is_marked_with_it() -> None:
    result = await run(
        answer(call("echo", value=1, _instance="①", _outputPath="†state.y"), output=1), context=TWO, tools=tools_()
    )
    last = left(result)
    assert (last["_instance"], last["state"]) == ("①", {"y": 1})


# I3


@pytest.mark.rule("I3")
async def test_a_batch_is_one_request_and_missing_and_repeated_instances_are_visible() -> None:
    ids = [f"#{number}" for number in range(6)]
    context: list[Json] = [{"type": "state", "n": number, "_instance": instance} for number, instance in enumerate(ids)]
    calls = [
        call("echo", value="†state.n", _instance=instance, _outputPath="†state.m") for instance in [*ids[:-1], ids[0]]
    ]
    runner = agent(answer(*calls, output="ok"), tools=tools_())
    result = await runner.run(context)
    assert len(sent(runner)) == 1
    assert [result.context.of(instance).get("†state.m") for instance in ids] == [0, 1, 2, 3, 4, None]
    (solution,) = result.solutions
    assert list(solution.instances) == ids
    assert [len(solution.by_instance[instance]) for instance in ids] == [2, 1, 1, 1, 1, 0]


# I4


class Greeting(BaseModel):
    text: str


PER: Json = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@pytest.mark.rule("I4")
def test_the_output_is_per_batch_unless_the_config_asks_otherwise() -> None:
    assert agent().compose(TWO, PER)["properties"]["output"]["required"] == ["text"]
    each = agent(config=Config(instanced_output=True)).compose(TWO, PER)["properties"]["output"]
    assert list(each["properties"]) == each["required"] == ["①", "②"]
    assert agent(config=Config(instanced_output=True)).compose(TWO[:1], PER)["properties"]["output"]["required"] == [
        "text"
    ]


@pytest.mark.rule("I4", "O7")
async def test_an_output_per_instance_reads_in_its_instance() -> None:
    output = {"①": {"text": "†state.name"}, "②": {"text": "†state.name"}}
    result = await run(answer(output=output), context=TWO, schema=PER, config=Config(instanced_output=True))
    assert result.output == {"①": {"text": "Ann"}, "②": {"text": "Bob"}}


@pytest.mark.rule("I4")
async def test_a_missing_instance_of_the_output_is_asked_for_again() -> None:
    whole = {"①": {"text": "a"}, "②": {"text": "b"}}
    runner = agent(answer(output={"①": {"text": "a"}}), answer(output=whole), config=Config(instanced_output=True))
    result = await runner.run(TWO, Greeting)
    assert result.output == {"①": Greeting(text="a"), "②": Greeting(text="b")}
    assert "②" in text_of(sent(runner)[1].messages[-1:])


# I5


NAMES: list[Json] = [{"_instance": "②"}, {"properties": {"_instance": {"enum": ["②", "③"]}}}]


def telling(schema: Json, **more: Any) -> Tools:
    """A tool with its own instance or instances, carried out by code that says whose name it is handed."""
    tools = Tools()
    properties: Json = {**schema.get("properties", {}), "given": {}, "_output": {}}
    tools.register("tell", {**schema, "_scopes": ["state"], **more, "properties": properties})

    def tell(context: Context, given: Any = None) -> Any:
        return [context.get("†state.name"), given]

    tools.activity("tell", tell)
    return tools


@pytest.mark.rule("I5", "T8")
def test_a_tools_own_instances_are_offered_instead_of_the_contexts() -> None:
    fixed, several = (call_schemas(agent(tools=telling(schema)).compose(TWO))["tell"] for schema in NAMES)
    assert "_instance" not in fixed["properties"]
    assert several["properties"]["_instance"] == {"enum": ["②", "③"]}
    assert call_schemas(agent(tools=telling(NAMES[1])).compose(TWO[:1]))["tell"]["properties"]["_instance"]


@pytest.mark.rule("I5", "S5")
@pytest.mark.parametrize("written", [{}, {"_instance": "②"}])
async def test_a_fixed_instance_directs_scopes_references_and_paths(written: Json) -> None:
    tools = telling(NAMES[0], _outputPath="†state.told")
    element = call("tell", given="†state.name", **written)
    result = await run(answer(element, output=1), context=TWO, tools=tools)
    assert result.context.of("②").get("†state.told") == ["Bob", "Bob"]
    assert [result.context.get("†state.told"), result.context.of("①").get("†state.told")] == [None, None]


@pytest.mark.rule("I5")
async def test_a_fixed_instance_directs_what_leaves_no_path_and_each_item() -> None:
    result = await run(
        answer(call("tell"), call("tell", _each=["†state.greeting"], given="†each"), output=["†calls.0", "†calls.1"]),
        context=TWO,
        tools=telling(NAMES[0]),
    )
    assert result.output == [["Bob", None], [["Bob", "hi"]]]
    assert {message.get("_instance") for message in result.context if message.get("kind") == "result"} == {"②"}


@pytest.mark.rule("I5", "T17")
@pytest.mark.parametrize("named", ["③", {"const": "③"}])
async def test_a_fixed_instance_that_does_not_exist_is_an_error_and_nothing_is_made(named: Any) -> None:
    tools, payments = Tools(), list[str]()
    tools.register("pay", {"properties": {"_output": {}}, "_instance": named})
    tools.activity("pay", lambda: payments.append("paid"))
    result = await run(answer(call("pay")), answer(output="end"), context=TWO, tools=tools)
    assert (result.output, payments) == ("end", [])
    assert "there is no instance '③', which its tool names; there are: ①, ②" in str(result.errors[0])


@pytest.mark.rule("I5", "S4")
async def test_a_delegate_is_handed_the_state_of_a_fixed_instance() -> None:
    tools = Tools()
    tools.register("ask", {"_delegate": "d", "_instance": "②", "_scopes": ["state"], "properties": {"_output": {}}})
    runner = agent(
        answer(call("ask"), output="†calls.0"),
        answer(output="†state.name"),
        tools=tools,
        delegates={"d": {"context": [{"type": "text", "text": "who?"}]}},
    )
    assert (await runner.run(TWO)).output == "Bob"


@pytest.mark.rule("I5")
@pytest.mark.parametrize(("schema", "named"), [(NAMES[0], "①"), (NAMES[1], "①")])
async def test_a_call_for_another_instance_than_its_tools_is_a_structural_error(schema: Json, named: str) -> None:
    result = await run(answer(call("tell", _instance=named)), answer(output=1), context=TWO, tools=telling(schema))
    assert [error.code for error in result.errors] == ["invalid_parameters"]
    assert "②" in str(result.errors[0])


@pytest.mark.rule("I1")
@pytest.mark.parametrize("named", [1, True, ["①"]])
async def test_an_instance_that_is_no_text_is_said_to_be_none(named: Any) -> None:
    context: list[Json] = [{"type": "state", "x": 1, "_instance": "1"}]
    result = await run(
        answer(call("echo", value=1, _instance=named)), answer(output=1), context=context, tools=tools_()
    )
    assert f"an instance is named by a text, not {named!r}" in str(result.errors[0])


# S11


def pay_of(*instances: str, **more: Any) -> list[Json]:
    """The messages of two instances, and a message of a tool for each of those that are named."""
    tool: Json = {"pay": {"properties": {"n": {}, "_output": {}}, **more}}
    return [*TWO, *({"type": "tool", "tool": tool, "_instance": instance} for instance in instances)]


def paying() -> Tools:
    def pay(n: Any) -> Any:
        return n

    tools = tools_()
    tools.activity("pay", pay)
    return tools


@pytest.mark.rule("S11", "I5")
def test_a_tool_in_an_instances_message_is_offered_to_that_instance_only() -> None:
    for owners in (["②"], ["②", "①"]):
        offered = call_schemas(agent(tools=paying()).compose(pay_of(*owners)))["pay"]
        assert offered["properties"]["_instance"] == {"enum": owners}
        assert "_instance" in offered["required"]


@pytest.mark.rule("S11", "I5")
@pytest.mark.parametrize(("named", "paid"), [({"_instance": "②"}, "Bob"), ({}, "Bob"), ({"_instance": "①"}, None)])
async def test_only_its_instance_can_call_it(named: Json, paid: str | None) -> None:
    result = await run(
        answer(call("pay", n="†state.name", **named), output="†calls.0"),
        *([] if paid else [answer(output="refused")]),
        context=pay_of("②"),
        tools=paying(),
    )
    assert result.output == (paid or "refused")
    assert [error.code for error in result.errors] == ([] if paid else ["invalid_parameters"])


@pytest.mark.rule("S11", "I5")
async def test_a_call_of_a_tool_of_several_instances_says_which() -> None:
    result = await run(
        answer(call("pay", n="†state.name"), output="†calls.0"),
        answer(output="refused"),
        context=pay_of("②", "①"),
        tools=paying(),
    )
    assert (result.output, [error.code for error in result.errors]) == ("refused", ["invalid_parameters"])


@pytest.mark.rule("S11", "T17")
def test_what_one_name_can_not_mean_for_two_instances_is_refused() -> None:
    other: Json = {"type": "tool", "tool": {"pay": {"properties": {"other": {}}}}, "_instance": "①"}
    with pytest.raises(errors.MessageError, match="give what differs between instances names of its own"):
        agent(tools=paying()).compose([*pay_of("②"), other])
    with pytest.raises(errors.MessageError, match="it says that its calls are for ①"):
        agent(tools=paying()).compose(pay_of("②", _instance="①"))


@pytest.mark.rule("S11", "I5")
async def test_a_tool_without_parameters_can_be_of_an_instance() -> None:
    tools = Tools()
    tools.activity("ring", lambda call: call["_instance"])  # pyright: ignore
    ring: Json = {"type": "tool", "tool": {"ring": {"_output": {}}}, "_instance": "①"}
    context = [{"type": "state", "x": 1, "_instance": "①"}, ring]
    result = await run(answer(call("ring", _instance="①"), output="†calls.0"), context=context, tools=tools)
    assert result.output == "①"


@pytest.mark.rule("I5", "S11")
def test_a_tool_of_one_instance_is_called_for_that_one_by_name() -> None:
    message: Json = {"type": "tool", "tool": {"look": {"properties": {"n": {}}}}, "_instance": "①"}
    schema = call_schemas(agent(tools=tools_()).compose([*TWO, message]))["look"]
    assert schema["properties"]["_instance"] == {"enum": ["①"]}
    assert "_instance" in schema["required"]


@pytest.mark.rule("I2", "O5", "O8")
@pytest.mark.parametrize(("instance", "name"), [("①", "Ann"), ("②", "Bob")])
async def test_what_is_listed_first_reads_what_its_instance_had_before_a_later_write(instance: str, name: str) -> None:
    tools = tools_()

    @tools.tool
    async def slow() -> str:
        for _ in range(50):
            await asyncio.sleep(0)
        return "slow"

    assert slow.name == "slow"
    calls = [
        call("slow"),
        call("echo", value=["†state.name", "†calls.0"], _instance=instance),
        call("echo", value="new", _outputPath="†state.name", _instance=instance),
    ]
    result = await run(answer(*calls, output="†calls.1"), context=TWO, tools=tools)
    assert result.output == [name, "slow"]
    assert result.context.of(instance).state["name"] == "new"
