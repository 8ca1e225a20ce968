"""What can't be registered, as tables: each error says which tool it is about, at which place, and what to write."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from actum import Agent, Tools, errors
from actum.protocol.activity import function_text
from actum.protocol.declaration import tool_names
from actum.schema.json import JsonObject as Json


def pay(x: int) -> int:
    """Pay."""
    return x


class Desk:
    def look(self, x: int) -> int:
        """Look."""
        return x


def by_position(x: int, /) -> int:
    """Take it by its position."""
    return x


def of_any(*args: int) -> int:
    """Take any."""
    return len(args)


def of_unknown(x: Unknown) -> int:  # type: ignore[name-defined]  # noqa: F821 -- as a slip
    """Take what nobody knows."""
    return 1


@pytest.mark.rule("T1", "T3")
def test_a_parameter_without_a_type_takes_any_value() -> None:
    tools = Tools()

    @tools.tool  # pyright: ignore
    def keep(value, other=1):  # type: ignore[no-untyped-def] # pyright: ignore
        return value  # pyright: ignore

    tool = tools.find("keep")
    assert tool is not None
    assert tool.parameters["properties"] == {"value": {}, "other": {}}


@pytest.mark.parametrize(
    ("schema", "path", "complaint"),
    [
        (5, None, "a tool must be a JSON Schema object, not int"),
        ({"type": "array"}, "type", "a tool's schema must have the type object, not 'array'"),
        ({"properties": []}, "properties", "'properties' must be an object"),
        ({"_tool": "u"}, "_tool", "it is registered as 't', but its '_tool' says 'u'"),
        ({"_output": 5}, "_output", "'_output' must be the schema of the result, not 5"),
        ({"_activity": {"enum": ["a", ""]}}, "_activity", "'_activity' can't be empty among others to choose from"),
        ({"_delegate": {"enum": []}}, "_delegate", "'_delegate' must be fixed, or an enum to choose from"),
        ({"_module": {"enum": []}}, "_module", "'_delegate' must be fixed, or an enum to choose from"),
        (
            {"properties": {"_activity": {"type": "string"}}},
            "properties._activity",
            "'_activity' must be fixed, or an enum to choose from",
        ),
        ({"_effects": {"enum": ["none"]}}, "_effects", "'_effects' must be fixed by the author: give it one value"),
        ({"_retries": {}}, "_retries", "'_retries' must be fixed by the author: give it one value"),
        (
            {"properties": {"x": {"_what": 1}}},
            "properties.x._what",
            "'_what' is not a meta-property of a parameter",
        ),
        (
            {"properties": {"x": {"_derived": 1}}},
            "properties.x._derived",
            "'_derived' must be true or false, not 1",
        ),
        ({"_tool": "t", "properties": {"_tool": "t"}}, "properties._tool", "'_tool' is declared twice"),
        ({"_resolution": "upfront"}, "_resolution", "only a tool with one fixed delegate is resolved upfront"),
        (
            {"_resolution": "upfront", "_delegate": "anonymous"},
            "_resolution",
            "only a tool with one fixed delegate is resolved upfront",
        ),
        ({"_delegate": "d", "_retries": 1}, "_retries", "only an Activity without a '_delegate' is tried again"),
        ({"_timeout": 0}, "_timeout", "'_timeout' must be a number of seconds greater than 0, not 0"),
        ({"_timeout": True}, "_timeout", "'_timeout' must be a number of seconds greater than 0, not True"),
        ({"_retries": -1}, "_retries", "'_retries' must be a whole number that is not negative, not -1"),
        ({"_retries": True}, "_retries", "'_retries' must be a whole number that is not negative, not True"),
        ({"_scopes": "state"}, "_scopes", "'_scopes' must be a list of strings, not 'state'"),
        ({"_scopes": [1]}, "_scopes", "'_scopes' must be a list of strings, not [1]"),
        ({"_scopes": {"enum": [[1]]}}, "_scopes", "'_scopes' must be a list of strings, not [1]"),
        (
            {"_outputMethod": "add"},
            "_outputMethod",
            "'_outputMethod' must be one of set, merge, assign, push, concat, erase, not 'add'",
        ),
        ({"_resolution": "later"}, "_resolution", "'_resolution' must be one of execution, upfront, not 'later'"),
        ({"_effects": "many"}, "_effects", "'_effects' must be one of none, some, ordered, not 'many'"),
        ({"_outputPath": "†state["}, "_outputPath", "no path segment can be read at character 6 of '†state['"),
        ({"_outputPath": "†calls.0"}, "_outputPath", "†calls can't be written: it is not a kind of data"),
        ({"_instance": 1}, "_instance", "'_instance' must be a string, not 1"),
        ({"_activity": 5}, "_activity", "'_activity' must be a string, not 5"),
        ({"_delgate": "x"}, "_delgate", "'_delgate' is not a meta-property; did you mean '_delegate'?"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_tool_is_told_with_its_place(schema: Any, path: str | None, complaint: str) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Tools().register("t", schema)
    place = "" if path is None else f", at {path}"
    assert str(caught.value) == f"tool 't'{place}: {complaint}"
    assert (caught.value.tool, caught.value.path) == ("t", path)


@pytest.mark.rule("T17", "I5")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"_instance": {"type": "string"}}},
        {"properties": {"_scopes": {"type": "array"}}},
        {"properties": {"_scopes": {"type": "array", "items": {"type": "string"}}}},
        {"properties": {"_scopes": {"type": "array", "items": {"const": "state"}}}},
        {"properties": {"_delegate": {"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}]}}},
        {"properties": {"_outputPath": {"type": "string"}, "_outputMethod": {}}},
    ],
    ids=str,
)
def test_a_meta_property_may_be_left_to_the_call(schema: Json) -> None:
    tools = Tools()
    tools.register("t", schema)
    tool = tools.find("t")
    assert tool is not None
    (key, *_) = schema["properties"]
    assert key in tool.meta
    assert not tool.is_fixed(key)


SLIPS: dict[str, tuple[Callable[[Tools], object], str]] = {
    "a method": (
        lambda tools: tools.tool(Desk.look),
        "tool 'look', at self: it is a method, of which no call could fill this: register it of an object, "
        "tools.tool(desk.look)",
    ),
    "by position": (
        lambda tools: tools.tool(by_position),
        "tool 'by_position', at x: calls give parameters by name, and the function takes it by its position alone "
        "(before '/')",
    ),
    "any number": (
        lambda tools: tools.tool(of_any),
        "tool 'of_any', at args: calls give parameters by name: take a list instead of '*args'; a decorator keeps the "
        "parameters of its function by functools.wraps",
    ),
    "no name": (lambda tools: tools.tool(lambda x: x), "it has no name of its own: give it one with name="),  # pyright: ignore
    "no function": (
        lambda tools: tools.tool(5),  # type: ignore[call-overload] -- as a slip
        "a tool is made of a function, not of 5; its name is said with name='…'",
    ),
    "no parameters": (
        lambda tools: tools.tool(max),
        "tool 'max': its parameters can't be read of <built-in function max>: write a function with typed parameters "
        "around it",
    ),
    "an unknown type": (
        lambda tools: tools.tool(of_unknown),  # pyright: ignore
        "an annotation of 'of_unknown' is unknown: name 'Unknown' is not defined; import it where the program runs, "
        "not under TYPE_CHECKING",
    ),
    "an Activity without a name": (
        lambda tools: tools.activity(pay),  # type: ignore[call-overload] -- as a slip
        "an Activity needs a name: @tools.activity('name')",
    ),
    "an Activity elsewhere": (
        lambda tools: tools.activity("elsewhere", pay),
        "at elsewhere: no Activity can be called 'elsewhere': calls of it are made by whoever has begun the run "
        "(`Run.give`); give it another name",
    ),
    "negative retries": (
        lambda tools: tools.activity("a", pay, retries=-1),
        "at a: retries must be a whole number that is not negative, not -1",
    ),
    "an Activity of a number": (
        lambda tools: tools.activity("a", 5),  # type: ignore[call-overload] -- as a slip
        "at a: an Activity is a function, not 5",
    ),
    "retries that may do it twice": (
        lambda tools: tools.tool(retries=2)(pay),
        "tool 'pay', at _retries: the Activity 'pay' can't be tried again, since it may have done something before it "
        "failed: say effects='none' if it only reads, or let it take the key of its call ('key', in a function under "
        "@tools.tool '_key')",
    ),
    "retries in a delegate's place": (
        lambda tools: (tools.activity("a", pay, retries=2), tools.register("a", {"_delegate": "d"})),
        "tool 'a', at _retries: the Activity 'a' can't be tried again where it runs in a delegate's place",
    ),
    "two interfaces of one name": (
        lambda tools: (tools.register("a", {}), tools.register("a", {"description": "x"})),
        "tool 'a': a tool of this name is registered already: give it another name, or say replace=True",
    ),
    "two Activities of one name": (
        lambda tools: (tools.activity("a", pay), tools.activity("a", by_name)),
        f"tool 'a': an Activity of this name, {__name__}.pay, is registered already: give it another name, or say "
        "replace=True",
    ),
    "two tools of one name": (
        lambda tools: (tools.tool(pay), tools.tool(effects="none")(pay)),
        f"tool 'pay': a tool of this name, {__name__}.pay, is registered already: give it another name, or say "
        "replace=True",
    ),
    "no tools": (
        lambda tools: Agent(None, tools=5),  # type: ignore[arg-type] -- as a slip
        "at tools: tools are a registry or a list of functions, [f, g], not 5",
    ),
    "one function": (
        lambda tools: Agent(None, tools=pay),  # type: ignore[arg-type] -- as a slip
        "at tools: tools are a registry or a list of functions, [f, g], not one alone",
    ),
    "names of tools": (
        lambda tools: Agent(None, tools=["pay"]),  # type: ignore[list-item] -- as a slip
        "at tools: a list of tools holds functions and what `Idea.as_tool` returns, not 'pay'; which registered ones "
        "are offered is said by their names in Config(tools=[…])",
    ),
}


def by_name(x: int) -> int:
    """Another one."""
    return x


@pytest.mark.rule("T3")
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_registering_is_told_with_what_to_write(slip: str) -> None:
    register, complaint = SLIPS[slip]
    with pytest.raises(errors.SchemaError) as caught:
        register(Tools())
    assert str(caught.value) == complaint


def test_an_option_that_there_is_not_is_told_with_the_nearest() -> None:
    with pytest.raises(TypeError) as caught:
        Tools().tool(efects="none")  # type: ignore[call-overload] -- as a slip
    assert str(caught.value) == "a tool has no option 'efects'; did you mean 'effects'?"


@pytest.mark.rule("A1")
@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ({"_activity": "nobody"}, "tool 't', at _activity: no Activity 'nobody' is registered; there are: made"),
        (
            {"_activity": "made"},
            "tool 't': the Activity 'made' takes 'x', which is neither a parameter of the tool nor one of call, tool, "
            "context, key, progress",
        ),
    ],
)
async def test_an_activity_that_does_not_fit_its_tool_is_told(schema: Json, complaint: str) -> None:
    tools = Tools()
    tools.activity("made", pay)
    tools.register("t", schema)
    with pytest.raises(errors.SchemaError) as caught:
        await tools({"_tool": "t"})
    assert str(caught.value) == complaint


@pytest.mark.rule("A1")
async def test_where_no_activity_is_registered_that_is_said() -> None:
    tools = Tools()
    tools.register("t", {"_activity": "nobody"})
    with pytest.raises(errors.SchemaError, match=r"no Activity 'nobody' is registered; there are: none$"):
        await tools({"_tool": "t"})


@pytest.mark.rule("T1")
def test_a_decorator_takes_a_meta_property_by_its_value_as_a_file_does() -> None:
    tools = Tools()

    def look(x: int) -> int:
        """Look."""
        return x

    anything = tools.tool(_output=True, _effects="none", name="any")(look).tool
    reading = tools.tool(_effects={"const": "none"}, name="none")(look).tool
    assert anything is not None
    assert anything.output == {}
    assert reading is not None
    assert reading.effects == "none"
    with pytest.raises(errors.SchemaError, match="'_output' must be the schema of the result, not 'text'"):
        tools.tool(_output="text", name="text")(look)


class Handle:
    """Of which no schema can be made."""


@pytest.mark.rule("A6")
def test_what_no_schema_can_be_made_of_is_told_with_the_tool_and_the_parameter() -> None:
    def give(handle: Handle) -> int:
        """Give."""
        return id(handle)

    def take() -> Handle:
        """Take."""
        return Handle()

    functions: list[tuple[Callable[..., Any], str]] = [(give, "handle"), (take, "return")]
    for function, path in functions:
        with pytest.raises(errors.SchemaError) as caught:
            Tools().tool(function)
        assert (caught.value.tool, caught.value.path) == (function.__name__, path)


@pytest.mark.rule("M1")
@pytest.mark.parametrize(
    ("message", "names"),
    [
        ({"_tool": "pay"}, ["pay"]),
        ({"type": "object", "_tool": "pay"}, ["pay"]),
        ({"type": "object", "properties": {"_tool": {"const": "pay"}}}, ["pay"]),
        ({"pay": {}, "look": {"_effects": "none"}}, ["pay", "look"]),
        ({"type": {"_effects": "none"}}, ["type"]),
    ],
)
def test_a_tool_message_is_one_schema_with_its_name_or_a_map_of_tools(
    message: dict[str, Any], names: list[str]
) -> None:
    assert list(tool_names({"type": "tool", "tool": message})) == names


@pytest.mark.rule("L6")
def test_the_text_of_a_function_is_read_as_far_as_there_is_one() -> None:
    namespace: dict[str, Any] = {}
    exec("def unread(): return 1", namespace)
    assert [function_text(function) for function in (namespace["unread"], max, Tools)] == ["", "", ""]
    assert function_text(pay).startswith("def pay(x: int)")
    assert function_text(partial(pay, 1)) == ""
