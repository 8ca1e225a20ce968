"""The whole texts of errors, of calls that can't be made and of what calls come to, with what to do about each."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from actum import HOLD, Agent, Config, Context, Limits, Output, Tools, errors
from actum.messages import State
from actum.protocol.approvals import approval, decided, is_decision, opened
from actum.schema.json import JsonObject as Json

from .scripts import agent, answer, call, plan_fails, run

pytestmark = pytest.mark.rule("C7", "L2", "O11")


def wrapped(value: Any, depth: int) -> Any:
    """A value in so many lists."""
    for _ in range(depth):
        value = [value]
    return value


def desk() -> Tools:
    tools = Tools()

    @tools.tool
    def double(n: float) -> float:
        """Double."""
        return 2 * n

    @tools.tool(effects="none")
    def look(n: int = 0) -> dict[str, Any]:
        """Look."""
        return {"a": {"b": n}, "l": [1], "t": "x", "e": {}}

    @tools.tool
    def bad(n: int = 0) -> int:
        """Fail."""
        raise ValueError("no")

    def either(v: int) -> Any:
        return Output(v, path="†state.c")

    assert [tool.name for tool in (double, look, bad)] == ["double", "look", "bad"]
    value: Json = {"v": {}, "_output": {}}
    schemas: dict[str, Json] = {
        "put": {"properties": {**value, "_outputPath": {"type": "string"}}},
        "alt": {"properties": {"v": {"type": "integer"}, "_output": {}}, "_outputPath": "†state.a <|> †state.b"},
        "wide": {"properties": value, "_outputPath": "†state"},
        "one": {"properties": {"n": {"type": "integer"}, "_activity": {"enum": ["double", "look"]}}},
        "fixd": {"_delegate": "https://x.example/a?secret"},
        "nojson": {},
        "deep": {},
        "marked": {"properties": {"v": {"_derived": False}}},
    }
    for name, schema in schemas.items():
        tools.register(name, schema)
    tools.activity("alt", either)
    tools.activity("deep", lambda: wrapped(1, 500))
    tools.activity("nojson", lambda: desk)
    for name in ("put", "wide", "marked"):
        tools.activity(name, lambda v: v)  # pyright: ignore
    return tools


def always(reply: Any) -> Any:
    """An approver who always replies the same."""

    def approve(*_: Any) -> Any:
        return reply

    return approve


ROWS: list[tuple[list[Json], str | None, list[str]]] = [
    (
        [call("double", n="†calls.1")],
        None,
        ["tool 'double': nothing fills †calls.1; the answer has †calls.0 to †calls.0"],
    ),
    (
        [call("double", n="†state.x")],
        None,
        ["tool 'double': nothing fills †state.x; the data kinds that exist: none; results are †calls.N and †results.N"],
    ),
    (
        [call("double", n="†results.3")],
        None,
        [
            "tool 'double', at n: "
            "†results.3: no result has been shown yet; †calls.N is the result of a call of the same answer"
        ],
    ),
    (
        [call("look")],
        "†calls.0.a.c",
        ["at output: 'output' refers to †calls.0.a.c; †calls.0.a is an object of 1 key, of which this is none"],
    ),
    (
        [call("look")],
        "†calls.0.l.0",
        ["at output: 'output' refers to †calls.0.l.0; †calls.0.l is a list of 1: write †calls.0.l[0]"],
    ),
    ([call("look")], "†calls.0.e.x", ["at output: 'output' refers to †calls.0.e.x; †calls.0.e is an empty object"]),
    ([call("look")], "†calls.0.t.x", ["at output: 'output' refers to †calls.0.t.x; †calls.0.t is a text"]),
    ([call("look")], "†calls.5", ["at output: 'output' refers to †calls.5; the answer has †calls.0 to †calls.0"]),
    ([], "†calls.0", ["at output: 'output' refers to †calls.0; the answer has no calls"]),
    (
        [],
        "†state.x",
        [
            "at output: "
            "'output' refers to †state.x; the data kinds that exist: none; results are †calls.N and †results.N"
        ],
    ),
    ([call("look"), {"_then": True}], "†calls.1", ["at output: †calls.1: element 1 is a _then, which has no value"]),
    ([call("bad")], "†calls.0", ["tool 'bad': ValueError: no"]),
    (
        [call("double", n=1), call("double", n="†calls.0.x <|> †calls.0.y")],
        None,
        ["tool 'double', at n: †calls.0.x: a number has no 'x'"],
    ),
    (
        [call("double", n="†look"), call("look")],
        None,
        ["tool 'double': nothing fills †look; the result of look is †calls.1"],
    ),
    ([call("double", n="†item", _each=[1])], None, ["tool 'double': nothing fills †item; the item is †each"]),
    (
        [call("double", n=1, _when="{3}")],
        None,
        [
            "tool 'double', at _when: "
            'a condition is an expression such as "{†calls.0.total > 10}", or a reference to true or false'
        ],
    ),
    (
        [call("double", n=1, _when="{†calls.1}"), call("look")],
        None,
        [
            "tool 'double', at _when: "
            "a condition comes to true or false, and this one is an object of 4 keys: compare it with something"
        ],
    ),
    (
        [call("look"), {"_expect": "{†calls.0.a.b}"}],
        None,
        ["at _expect: a condition comes to true or false, and this one is a number: compare it with something"],
    ),
    (
        [call("look"), {"_expect": "{†calls.0.a.b > 1}"}],
        None,
        ["{†calls.0.a.b > 1} doesn't hold: †calls.0 is an object of 4 keys"],
    ),
    (
        [call("look", _when="{1 > 2}"), {"_expect": "{†calls.0.a.b > 1}"}],
        None,
        [
            "tool 'look', at _when: "
            'a condition is an expression such as "{†calls.0.total > 10}", or a reference to true or false',
            "{†calls.0.a.b > 1} doesn't hold: †calls.0 was to come from call 0 (look), which was refused",
        ],
    ),
    (
        [call("look"), {"_expect": {"of": "†calls.0.t", "as": "num"}}],
        None,
        ['{"of":"†calls.0.t","as":"num"} doesn\'t hold: it is not of type "number"'],
    ),
    (
        [call("double", n="†each", _each="†calls.1"), call("double", n=1)],
        None,
        ["tool 'double', at _each: it comes to a number, not a list"],
    ),
    (
        [call("double", n="†each", _each=5)],
        None,
        [
            "tool 'double', at _each: "
            'it is a list, a reference to one, or an expression such as "{[x for x in †calls.0 if …]}"'
        ],
    ),
    (
        [call("double", n="†each", _each="x")],
        None,
        [
            "tool 'double', at _each: "
            'it is a list, a reference to one, or an expression such as "{[x for x in †calls.0 if …]}"'
        ],
    ),
    (
        [call("double", n=1, _each="†each")],
        None,
        ["tool 'double', at _each: †each is an item, it can't name the items"],
    ),
    (
        [call("double", n="a †each", _each=[1])],
        None,
        [
            "tool 'double', at n: "
            "†each at character 2 stands in a text without braces: write {†each}, or ††each for the sign itself"
        ],
    ),
    (
        [call("double", n="†each <|> †state.a", _each=[1])],
        None,
        ["tool 'double': †each must be a reference by itself, or computed with; not part of †each <|> †state.a"],
    ),
    (
        [call("put", v=1, _outputPath="†state.approvals.x")],
        None,
        ["tool 'put', at _outputPath: †state.approvals.x is a gate: a call can't open it"],
    ),
    ([call("wide", v={"approvals": 1})], None, ["tool 'wide': it would write gates, which a call can't open"]),
    ([call("alt", v=1)], None, ["tool 'alt': †state.c is not one of its alternatives: †state.a, †state.b"]),
    (
        [call("nojson")],
        None,
        ["tool 'nojson': it returned what is not JSON: Unable to serialize unknown type: <class 'function'>"],
    ),
    ([call("deep")], None, ["tool 'deep': it returned what is not JSON: Maximum serialization depth exceeded"]),
    ([call("one")], None, ["tool 'one', at _activity: it has several Activities: choose one in '_activity'"]),
    ([call("one", _activity="zz")], None, ['tool \'one\', at _activity: "zz" is not one of "double" or "look"']),
    ([call("fixd", _delegate="other")], None, ["tool 'fixd', at _delegate: it is fixed by the tool: leave it out"]),
    (
        [call("look"), call("marked", v="{†calls.0.t + 'x'}")],
        None,
        [
            "tool 'marked', at v: "
            "it takes no value that a reader or an expression has made of data: refer to the value itself, "
            "or write it out"
        ],
    ),
    ([call("double", n="x")], None, ['tool \'double\': n: "x" is not of type "number"']),
    ([call("double", n="†calls.0")], None, ["it waits for itself: †calls.0 is its own result"]),
    (
        [call("double", n="{†calls.0 + 1}", _else="{†calls.5}")],
        None,
        ["it waits for itself: †calls.0 is its own result"],
    ),
    (
        [call("bad", _else="†calls.1"), call("bad")],
        "†calls.0",
        [
            "tool 'bad': ValueError: no",
            "tool 'bad': ValueError: no; its '_else' failed, too: at _else: what it refers to will never be there",
        ],
    ),
    (
        [call("bad", _else="{†error + 1}")],
        "†calls.0",
        [
            "tool 'bad', at _else: "
            "+ takes two texts, not a text and a whole number: write a template, or str(x) or float(x), in "
            "{†error + 1}"
        ],
    ),
    (
        [call("bad", _else="†error.x")],
        "†calls.0",
        [
            "tool 'bad', at _else: "
            "†error.x: †error is the kind of the failure in '_else', a text without parts, and nothing else"
        ],
    ),
    (
        [call("bad", n="†each", _each=[1, 2])],
        "†calls.0",
        ["tool 'bad': 2 of 2 items failed: item 0: ValueError: no; item 1: ValueError: no"],
    ),
    (
        [call("bad", n="†each", _each=[1] * 7)],
        None,
        [f"tool 'bad': 7 of 7 items failed: {'; '.join(f'item {n}: ValueError: no' for n in range(5))}; and 2 more"],
    ),
    (
        [call("look"), call("double", n="†calls.0[0]")],
        None,
        ["tool 'double': nothing fills †calls.0[0]; †calls.0 is an object of 4 keys, of which this is none"],
    ),
    ([call("double", n="†calls.0.5")], None, ["it waits for itself: †calls.0 is its own result"]),
]


@pytest.mark.parametrize(("calls", "output", "messages"), ROWS)
async def test_what_is_wrong_is_told_in_whole(calls: list[Json], output: str | None, messages: list[str]) -> None:
    result = await run(answer(*calls, output=output), answer(output=1), answer(output=1), tools=desk())
    assert [str(error) for error in result.errors] == messages


def nested(depth: int) -> Json:
    return call("put", v=wrapped(1, depth))


def wider_desk() -> Tools:
    """The desk, with tools of instances, a latent one, and one that names a path itself."""
    tools = desk()
    schemas: dict[str, Json] = {
        "pair": {"properties": {"n": {}, "_instance": {"enum": ["①", "②"]}}},
        "latent": {"properties": {"_output": {"type": "integer"}}},
        "odd": {"properties": {"v": {}, "_output": {}}, "_outputPath": "†state.a <|> †state.b"},
        "ones": {"properties": {"_scopes": {"type": "array", "items": {"enum": ["state"]}}}},
        "fixed": {"_scopes": ["state"]},
    }
    for name, schema in schemas.items():
        tools.register(name, schema)
    tools.activity("odd", lambda v: Output(1, path="†" + v if isinstance(v, str) else v))  # pyright: ignore
    for name in ("pair", "ones", "fixed"):
        tools.activity(name, lambda n=0: n)  # pyright: ignore
    return tools


PAIR: list[Json] = [{"type": "state", "o": {"a": 1}, "_instance": "①"}, {"type": "state", "b": 1, "_instance": "②"}]
REFUSED: list[tuple[Json, str]] = [
    (call("pair", n=1), "tool 'pair', at _instance: it is for one of ①, ②: choose in '_instance'"),
    (
        call("pair", _instance="③"),
        "tool 'pair', at _instance: there is no instance '③', which its tool names; there are: ①, ②",
    ),
    (
        call("put", v=1, _outputPath="†state" + ".a" * 96),
        "tool 'put', at _outputPath: a path leads at most 95 deep, not 96",
    ),
    (
        {**nested(40), "_outputPath": "†state" + ".a" * 60},
        "tool 'put': it nests deeper than 96 at its path",
    ),
    (call("double", n="x", _when=True), 'tool \'double\': n: "x" is not of type "number"'),
    (
        call("put", v=1, _outputPath="†state.a, †state.b"),
        "tool 'put', at _outputPath: an operator is expected at character 10 of '†state.a, †state.b'",
    ),
    (call("put", v=1, _outputPath=5), "tool 'put', at _outputPath: an output path begins with †, not 5"),
    (
        call("put", v=1, _outputPath="†state.x", _outputMethod="add"),
        "tool 'put', at _outputMethod: 'add' is not one of set, merge, assign, push, concat, erase",
    ),
    (call("put", v=1, _with=5), "tool 'put', at _with: it maps parameter paths to references"),
    (call("put", v=1, _with={"v": 5}), "tool 'put', at _with.v: 5 is not a reference"),
    (call("put", v=1, _with={"v": "x"}), "tool 'put', at _with.v: 'x' is not a reference"),
    (
        call("put", v=1, _with={"v a": "†calls.3"}),
        "tool 'put', at _with: 'v a' is not the path of a parameter",
    ),
    (
        call("put", v=1, _with={"[": "†calls.3"}),
        "tool 'put', at _with: no path segment can be read at character 11 of '†parameters.['",
    ),
    (
        call("latent", _each=[1]),
        "tool 'latent', at _each: the model carries out its calls itself, so it writes one for each item",
    ),
    (
        call("latent", _output="x"),
        "tool 'latent', at _output: the result doesn't fit '_output': it is not of type \"integer\"",
    ),
    (
        call("bad", _else="†each"),
        "tool 'bad', at _else: †each: †each is the item of a call with '_each', and this call has no '_each'",
    ),
    (call("odd", v="state.c"), "tool 'odd': †state.c is not one of its alternatives: †state.a, †state.b"),
    (call("odd", v="state.a x"), "tool 'odd': '†state.a x' is not one path"),
    (call("odd", v="state["), "tool 'odd': no path segment can be read at character 6 of '†state['"),
    (call("odd", v=5), "tool 'odd': a path begins with †, not 5"),
    ({"_value": 1, "_tool": "x"}, "tool 'x', at _value: it is a call of a tool or a '_value', not both"),
    ({"_value": 1, "n": "x"}, "at n: what only computes takes no 'n'"),
    (
        {"_expect": True, "n": 1},
        'at _expect: what is expected is {"_expect": …} and nothing else: a call is an element of its own',
    ),
    ({"_expect": {"of": 1}}, 'at _expect: with a shape it is {"of": reference, "as": shape}'),
    ({"_expect": {"of": 5, "as": "num"}}, "at _expect.of: it is a reference, such as †calls.0"),
    ({"_expect": {"of": "x", "as": "num"}}, "at _expect.of: it is a reference, such as †calls.0"),
    (
        {"_expect": {"of": "†calls.0", "as": 5}},
        "at _expect.as: it is a shape such as `{name, price: num}`, or a schema",
    ),
    (
        {"_expect": {"of": "†calls.0", "as": "nnum("}},
        "at _expect.as: nothing can be read at character 4 of the shape; a shape is such as `{name, price: num}`",
    ),
    (call("double", n=1, _when="†calls.0 x"), "tool 'double', at _when: an expression stands in braces: {†calls.0 x}"),
    (
        call("double", n=1, _when="calls.0"),
        "tool 'double', at _when: "
        'a condition is an expression such as "{†calls.0.total > 10}", or a reference to true or false',
    ),
    (
        call("double", n="{†x +}"),
        "tool 'double', at n: this can't be read as an expression near '†x +', at character 0 of {†x +}",
    ),
    (
        call("double", n=1, _delegate="x"),
        "tool 'double', at _delegate: '_delegate' is the tool's to say, and it says none",
    ),
    (call("double", n=1, _scopes=["x"]), "tool 'double', at _scopes: it has no scopes to pick from"),
    (call("ones", _scopes="state"), "tool 'ones', at _scopes: scopes must be a list of strings"),
    (call("ones", _scopes=["text"]), "tool 'ones', at _scopes: the scope 'text' is not among ['state']"),
    (call("fixed", _scopes=["text"]), "tool 'fixed', at _scopes: its scopes are fixed to ['state']"),
    (call("double", n=1, _qq=1), "tool 'double', at _qq: '_qq' is not a meta-property"),
    (call("double", n=1, _wen=1), "tool 'double', at _wen: '_wen' is not a meta-property; did you mean '_when'?"),
    (call("dubble", n=1), "tool 'dubble': no tool 'dubble' is offered; near it: double"),
    (
        call("zzz"),
        "tool 'zzz': no tool 'zzz' is offered; there are double, look, bad, put, alt, wide, one, fixd, nojson, deep, …",
    ),
    (
        {"_tool": "double", "_module": "a", "_delegate": "b"},
        "at _delegate: '_module' and '_delegate' are spellings of one meta-property, and their values differ",
    ),
]


@pytest.mark.rule("C2", "T2", "T8", "O3", "I5")
@pytest.mark.parametrize(("element", "message"), REFUSED, ids=[message for _, message in REFUSED])
async def test_a_call_that_is_refused_is_told_where_and_what_to_write(element: Json, message: str) -> None:
    result = await run(answer(element), answer(output=1), tools=wider_desk(), context=PAIR)
    assert [str(error) for error in result.errors] == [message]
    assert type(result.errors[0]).outcome != "unknown"


BEHIND: list[tuple[list[Json], Any, list[str]]] = [
    (
        [call("latent", _output=None)],
        "†calls.0",
        ["at output: 'output' refers to †calls.0; call 0 is owed by the model"],
    ),
    ([nested(60)], wrapped("†calls.0", 40), ["at output: it nests deeper than 96"]),
    (
        [call("bad"), {"_then": True}, call("double", n=1)],
        None,
        [
            "tool 'bad': ValueError: no",
            "tool 'double': it was to start after call 0 (bad), which failed: it was not made",
        ],
    ),
    (
        [call("dubble"), {"_then": True}, call("double", n=1)],
        None,
        [
            "tool 'dubble': no tool 'dubble' is offered; near it: double",
            "tool 'double': it was to start after call 0 (dubble), which was refused: it was not made; "
            "mend that call and list both again",
        ],
    ),
    (
        [call("pair", n="†calls.1", _instance="①"), call("bad")],
        None,
        ["tool 'bad': ValueError: no", "tool 'pair': †calls.1 was to come from call 1 (bad), which failed"],
    ),
    (
        [call("double", n="†calls.1"), call("double", n="†calls.0")],
        None,
        ["tool 'double': these calls wait for each other: call 0 (double) → call 1 (double) → call 0 (double)"] * 2,
    ),
    (
        [call("look", _when=False), {"_expect": "{†calls.0.a.b > 1}"}],
        None,
        ["tool '_expect', at _expect: null has no key a, at †calls.0.a, in {†calls.0.a.b > 1}"],
    ),
    (
        [call("look", _when=False), {"_expect": {"of": "†calls.0", "as": "num"}}],
        None,
        ['{"of":"†calls.0","as":"num"} doesn\'t hold: what it refers to was skipped'],
    ),
]


@pytest.mark.rule("L2", "C11", "C16", "O7")
@pytest.mark.parametrize(("calls", "output", "messages"), BEHIND, ids=[messages[-1] for *_, messages in BEHIND])
async def test_what_follows_from_how_another_call_ended_is_told(
    calls: list[Json], output: Any, messages: list[str]
) -> None:
    result = await run(
        answer(*calls, output=output), answer(output=1), answer(output=1), tools=wider_desk(), context=PAIR
    )
    assert [str(error) for error in result.errors] == messages


_BAD = "{int(†calls.0.t)}"


@pytest.mark.rule("L2", "E3", "O7")
@pytest.mark.parametrize(
    ("element", "output", "where"),
    [
        (call("double", n=_BAD), None, "tool 'double', at n: "),
        (call("put", v={"a": ["x", _BAD]}), None, "tool 'put', at v.a[1]: "),
        ({"_value": {"a": [_BAD]}}, None, "tool '_value', at _value.a[0]: "),
        (call("double", n=1, _when="{int(†calls.0.t) > 1}"), None, "tool 'double', at _when: "),
        (call("double", n="†each", _each="{†calls.0.t if True else []}"), None, "tool 'double', at _each: "),
        (call("latent", _output="x"), None, "tool 'latent', at _output: "),
        (call("put", v=1, _outputPath="†state.o", _outputMethod="push"), None, "tool 'put', at _outputPath: "),
        (call("put", v="†calls.0.l", _instance=5), None, "tool 'put', at _instance: "),
        (call("double", n=1), {"a": _BAD}, "at output: "),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_an_error_names_the_tool_and_the_part_of_the_call_that_is_wrong(
    element: Json, output: Any, where: str
) -> None:
    tools = desk()
    tools.register("latent", {"properties": {"_output": {"type": "integer"}}})
    solution = answer(call("look"), element, output=output)
    result = await run(solution, answer(output=1), tools=tools, context=[{"type": "state", "o": {"a": 1}}])
    assert [str(error)[: len(where)] for error in result.errors] == [where]


@pytest.mark.rule("L1")
@pytest.mark.parametrize(
    ("context", "message"),
    [
        ("go", "there is no model to ask and no plan to run: name a model, or give a plan or a saved solution"),
        (
            [{"type": "tool", "tool": {"m": {"_output": True}}}, {"type": "plan", "plan": [call("m")]}],
            "the call 'm' is latent: it needs a model, and none is set",
        ),
    ],
)
async def test_what_a_run_lacks_a_model_for_is_told(context: Any, message: str) -> None:
    with pytest.raises(errors.ModelError) as caught:
        await Agent(None, tools=Tools()).run(context)
    assert (str(caught.value), caught.value.code) == (message, "model_missing")


@pytest.mark.rule("L4")
@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (
            [call("bad")],
            "the model answered the same calls again and nothing was written in between: tool 'bad': ValueError: no",
        ),
        ([], "the model answered no calls and no output again and nothing was written in between"),
    ],
)
async def test_a_run_that_goes_round_in_circles_is_told_of_which(calls: list[Json], message: str) -> None:
    with pytest.raises(errors.NoProgress) as caught:
        await run(answer(*calls), answer(*calls), answer(*calls), tools=desk())
    assert str(caught.value) == message
    assert [error.message for error in caught.value.errors] == ["tool 'bad': ValueError: no"] * len(calls)


async def test_why_none_of_a_group_succeeded_is_told() -> None:
    tools, hangs = desk(), asyncio.Event()
    tools.register("hang", {})
    tools.activity("hang", hangs.wait)
    with pytest.raises(errors.AllCallsFailed) as caught:
        await tools.any([call("bad"), call("double", n="x")])
    message = (
        "none of 2 calls succeeded: 1. tool 'bad': ValueError: no; 2. tool 'double': n: \"x\" is not of type \"number\""
    )
    assert (str(caught.value), len(caught.value.errors)) == (message, 2)
    with pytest.raises(errors.LimitExceeded) as late:
        await tools.all([call("hang")], limits=Limits(seconds=0.05))
    assert (str(late.value), late.value.limit) == ("the run has taken its 0.05 seconds", "seconds")
    with pytest.raises(errors.UnresolvedReference) as held:
        await tools.all([call("look")], approve=always(HOLD))
    assert str(held.value) == "tool 'look': it waits for an approval, which only a run can hold"


REPLIES = "it returns True, False, a reason to deny, a Call, or HOLD"


@pytest.mark.rule("L6")
@pytest.mark.parametrize(
    ("approve", "message"),
    [
        (5, f"an approver is a function (call, tool, context), not 5: {REPLIES}"),
        (lambda a: True, "an approver takes three arguments, (call, tool, context), not (a)"),  # pyright: ignore
        (lambda a, b, c, d: True, "an approver takes three arguments, (call, tool, context), not (a, b, c, d)"),  # pyright: ignore
    ],
)
def test_what_is_no_approver_is_told(approve: Any, message: str) -> None:
    with pytest.raises(errors.SchemaError) as caught:
        Agent(None, tools=Tools(), approve=approve)
    assert (str(caught.value), caught.value.path) == (f"at approve: {message}", "approve")


@pytest.mark.rule("L6")
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (False, "tool 'put': denied"),
        ("", "tool 'put': denied"),
        ("no", "tool 'put': no"),
        ("too dear", "tool 'put': too dear"),
        ("ok", f"tool 'put': the approver failed: it returned 'ok'; {REPLIES}"),
        (None, f"tool 'put': the approver failed: it returned None; {REPLIES}"),
        (5, f"tool 'put': the approver failed: it returned a int; {REPLIES}"),
        (call("put", v=1, _each=[1]), "tool 'put': a call for every item can't take the place of one"),
        (call("put", v="†state.x"), "tool 'put': what was approved in its place refers to what doesn't exist"),
        (call("put", v=1, _when=False), "at _when: its condition has been judged: leave it as it is, or out"),
        (nested(100), "it nests deeper than 96"),
    ],
    ids=lambda reply: str(reply)[:40],
)
async def test_what_comes_of_an_approvers_reply_is_told(reply: Any, message: str) -> None:
    result = await run(answer(call("put", v=2)), answer(output=1), tools=desk(), approve=always(reply))
    assert [str(error) for error in result.errors] == [message]


async def waiting() -> Context:
    """The context of a run in which one call waits for a decision."""
    result = await run(answer(call("double", n=1), output="†calls.0"), tools=desk(), approve=always(HOLD))
    return result.context


@pytest.mark.rule("L6")
@pytest.mark.parametrize(
    ("place", "ruling", "more", "message"),
    [
        ("0.0", "maybe", {}, "a call is decided on by 'approve' or 'deny', not by 'maybe'"),
        ("9.9", "approve", {}, "no call waits for a decision at '9.9'; waiting: 0.0"),
        ("5.0/0.0", "approve", {}, "no delegate waits at '5.0'"),
        ("0.0", "approve", {"given": {"value": 1}}, "0.0 waits for a decision, and not for a result"),
        (
            "0.0",
            "approve",
            {"replacement": call("double", n="x")},
            '0.0: the tool doesn\'t take that: n: "x" is not of type "number"',
        ),
        (
            "0.0",
            "approve",
            {"replacement": call("double", n=1, _when=True)},
            "0.0: at _when: its condition has been judged: leave it as it is, or out",
        ),
    ],
)
async def test_a_decision_that_can_not_be_is_told(place: str, ruling: Any, more: Json, message: str) -> None:
    context = await waiting()
    with pytest.raises(errors.IdeaError) as caught:
        decided(context, place, ruling, **more)
    assert str(caught.value) == message


@pytest.mark.rule("L6")
async def test_a_decision_keeps_its_reason_and_what_runs_instead() -> None:
    context = await waiting()
    denied = decided(context, "0.0", "deny", reason="too dear").messages[-1]
    assert (denied["decision"], denied["reason"], "as" in denied) == ("deny", "too dear", False)
    instead = decided(context, "0.0", "approve", replacement=call("double", n=5)).messages[-1]
    assert (instead["decision"], instead["as"], "reason" in instead) == ("approve", call("double", n=5), False)


@pytest.mark.rule("L6")
@pytest.mark.parametrize(("reason", "message"), [("", "denied"), ("too dear", "too dear")])
async def test_why_a_waiting_call_was_denied_is_told(reason: str, message: str) -> None:
    context = decided(await waiting(), "0.0", "deny", reason=reason)
    result = await run(answer(output=1), context=context, tools=desk())
    assert [str(error) for error in result.errors] == [f"tool 'double': {message}"]


@pytest.mark.rule("C7")
@pytest.mark.parametrize("gate", ["state.x", "†state.approvals", "†input.approvals.x"])
async def test_what_is_no_gate_can_not_be_opened(gate: str) -> None:
    with pytest.raises(errors.IdeaError) as caught:
        opened(await waiting(), gate)
    assert str(caught.value) == f"{gate!r} is not a gate: gates are paths below †state.approvals"
    assert opened(await waiting(), "†state.approvals.a.b", 5).get("†state.approvals") == {"a": {"b": 5}}


@pytest.mark.rule("I1")
async def test_where_no_instance_is_the_error_says_so() -> None:
    result = await run(answer(call("double", n=1, _instance="①")), answer(output=1), tools=desk())
    message = "tool 'double', at _instance: there is no instance '①'; there are: none"
    assert [str(error) for error in result.errors] == [message]


@pytest.mark.rule("D11")
async def test_a_delegate_that_lacks_a_model_is_named_with_its_tool() -> None:
    tools = Tools()
    tools.register("ask", {"_delegate": "one", "_output": {}})
    inner: Json = {"context": [{"type": "text", "text": "x"}], "schema": {}}
    runner = Agent(None, tools=tools, delegates={"one": inner})
    with pytest.raises(errors.DelegateError) as caught:
        await tools(call("ask"), delegates=runner.delegates)
    assert str(caught.value) == "tool 'ask': the delegate 'one' failed: it needs a model, and none is set"


@pytest.mark.rule("P3")
async def test_a_delegate_that_holds_an_answer_needs_no_model() -> None:
    tools = Tools()
    tools.register("ask", {"_delegate": "one", "_output": {}})
    inner: Json = {"context": [], "solution": {"calls": [], "output": 5}}
    assert await tools(call("ask"), delegates=Agent(None, tools=tools, delegates={"one": inner}).delegates) == 5


@pytest.mark.rule("L5")
async def test_a_plan_all_of_whose_calls_were_made_is_delivered_where_no_further_call_may_start() -> None:
    plan: Json = {"type": "plan", "plan": [call("double", n=1)], "output": "†calls.0"}
    first = await Agent(None, tools=desk()).run([plan])
    standing = [message for message in first.context if message["type"] != "output"]
    result = await Agent(None, tools=desk(), limits=Limits(calls=0)).run(standing)
    assert result.output == 2
    with pytest.raises(errors.LimitExceeded, match="its 0 calls"):
        await Agent(None, tools=desk(), limits=Limits(calls=0)).run([plan])


@pytest.mark.rule("O9")
@pytest.mark.parametrize(
    "output", ["†calls.0 <|> †calls.1", "(†calls.0 <|> †calls.1) *> †calls.2", "†calls.2 *> (†calls.0 <|> †calls.1)"]
)
async def test_what_an_alternative_stands_for_withholds_no_output(output: str) -> None:
    calls = [call("bad"), call("double", n=1), call("double", n=2)]
    result = await run(answer(*calls, output=output), tools=desk())
    assert result.output == (4 if output.endswith("†calls.2") else 2)


@pytest.mark.rule("T1")
async def test_a_parameter_may_be_anything() -> None:
    tools = Tools()
    tools.register("keep", {"properties": {"v": True, "_output": {}}})
    tools.activity("keep", lambda v: v)  # pyright: ignore
    assert (await run(answer(call("keep", v=[1]), output="†calls.0"), tools=tools)).output == [1]


@pytest.mark.rule("S10", "C14")
@pytest.mark.parametrize(("instead", "is_taken"), [("x", True), ("{†calls.0.t + 'x'}", False)])
async def test_what_stands_for_an_item_is_derived_where_an_expression_made_it_of_data(
    instead: str, *, is_taken: bool
) -> None:
    batch = call("bad", n="†each", _each=[1], _else=instead)
    result = await run(
        answer(call("look"), batch, call("marked", v="†calls.1"), output="†calls.2"), answer(output=0), tools=desk()
    )
    assert result.output == (["x"] if is_taken else 0)


@pytest.mark.rule("L8")
async def test_the_record_of_a_delegate_says_of_which_call_it_is() -> None:
    entries: list[Json] = []
    tools = Tools()
    tools.register("ask", {"_delegate": "one", "properties": {"of": {}}, "_output": {}})
    inner: Json = {"context": [{"type": "plan", "plan": [{"_value": 1}], "output": "†calls.0"}], "schema": {}}
    runner = Agent(None, tools=tools, delegates={"one": inner})
    asking = call("ask", of="x")
    async with runner.stream(
        [{"type": "plan", "plan": [asking], "output": "†calls.0"}], record=entries.append
    ) as running:
        async for _ in running:
            pass
    outer, below = (entry for entry in entries if "began" in entry)
    assert "call" not in outer
    assert (below["at"], below["call"]) == (["0.0"], asking)


@pytest.mark.rule("S10")
@pytest.mark.parametrize(("part", "is_taken"), [("a", True), ("b", False)])
async def test_of_a_value_each_part_is_derived_by_itself(part: str, *, is_taken: bool) -> None:
    value: Json = {"_value": {"a": "written", "b": "{†calls.0.t + 'x'}"}}
    result = await run(
        answer(call("look"), value, call("marked", v=f"†calls.1.{part}"), output="†calls.2"),
        answer(output=0),
        tools=desk(),
    )
    assert result.output == ("written" if is_taken else 0)


@pytest.mark.rule("O4")
async def test_what_can_not_be_written_names_the_path_of_the_call() -> None:
    push = call("put", v=1, _outputPath="†state.x", _outputMethod="push")
    result = await run(answer(push), answer(output=1), context=[{"type": "state", "x": 1}], tools=desk())
    (error,) = result.errors
    message = "tool 'put', at _outputPath: can't push †state.x: .x is not a list: nothing can be added to it"
    assert (error.message, error.path) == (message, "_outputPath")


@pytest.mark.rule("T3")
async def test_a_tool_that_takes_nothing_says_so() -> None:
    tools = Tools()
    tools.register("ring", {"additionalProperties": False, "_output": {}})
    tools.activity("ring", lambda: 1)
    result = await run(answer(call("ring", n=1)), answer(output=1), tools=tools)
    assert result.errors[0].message.endswith("; it takes no parameters")


@pytest.mark.rule("L2", "S10")
@pytest.mark.parametrize("sealed", [True, False])
async def test_what_a_sealed_planner_is_told_stands_in_the_error_of_a_sealed_run_alone(*, sealed: bool) -> None:
    result = await run(answer(call("bad")), answer(output=1), tools=desk(), config=Config(sealed=sealed))
    (failed,) = (message for message in result.context if message["type"] == "error")
    assert (failed["error"] == "tool 'bad': ValueError: no") is True
    assert any("told" in key for key in failed) is sealed


@pytest.mark.rule("A4")
@pytest.mark.parametrize(("count", "value"), [(1, {"type": "state", "state": {"n": 0}}), (2, None)])
async def test_what_an_activity_returns_as_messages_is_its_result(count: int, value: Any) -> None:
    tools = Tools()
    tools.register("note", {"_output": {}})
    tools.activity("note", lambda: [State({"n": number}) for number in range(count)])
    result = await run(answer(call("note"), output="†calls.0"), tools=tools)
    each = [{"type": "state", "state": {"n": number}} for number in range(count)]
    assert result.output == (each if value is None else value)
    assert result.context.state == {"n": count - 1}


@pytest.mark.rule("L6")
def test_what_was_decided_between_two_runs_is_told_from_what_a_run_has_left() -> None:
    held = {"type": "approval", "of": "0.0", "call": call("put"), "decision": "held"}
    approved = {**held, "decision": "approve"}
    gate: Json = {"type": "state", "state": {"approvals": {"x": True}}}

    def suspended(*messages: Json) -> Json:
        return {"type": "suspended", "of": "0.0", "call": call("put"), "context": [*messages]}

    for message in (approved, gate, suspended(held, approved), suspended(suspended(gate))):
        assert is_decision(message)
    for message in (held, suspended(), suspended(held), suspended(approved, held), {"type": "state", "x": 1}):
        assert not is_decision(message)
    assert not is_decision({**gate, "_call": call("put")})


@pytest.mark.rule("X2")
async def test_what_happens_in_a_delegate_says_by_which_call_it_was_led_to() -> None:
    tools = desk()
    tools.register("ask", {"_delegate": "one", "_output": {}})
    plan: Json = {"type": "plan", "plan": [call("double", n=1)], "output": "†calls.0"}
    inner: Json = {"context": [plan], "schema": {}, "config": {"tools": ["double"]}}
    runner = Agent(None, tools=tools, delegates={"one": inner})
    async with runner.stream([{"type": "plan", "plan": [call("ask")], "output": "†calls.0"}]) as running:
        received = [event async for event in running]
    below = [event for event in received if event.depth]
    assert {type(event).__name__ for event in below} >= {"CallStarted", "CallFinished"}
    assert [len(event.path) for event in below] == [1] * len(below)
    assert {event.path[0].tool for event in below} == {"ask"}
    assert not any(event.path for event in received if not event.depth)


@pytest.mark.rule("L6", "P4")
@pytest.mark.parametrize("approver", [None, "not asked", True])
@pytest.mark.parametrize(("ruling", "output"), [("approve", [2, 4]), ("deny", None)])
async def test_what_was_decided_of_a_call_for_every_item_holds_for_each(
    ruling: Any, output: Any, approver: Any
) -> None:
    batch = call("double", n="†each", _each=[1, 2])
    plan: Json = {"type": "plan", "plan": [batch], "output": "†calls.0", "_of": "0"}
    runner = Agent(None, tools=desk(), approve=None if approver is None else always(approver))
    if output is None:
        with pytest.raises(errors.PlanFailed, match="item 0: denied; item 1: denied"):
            await runner.run([plan, approval("0.0", batch, ruling)])
    else:
        assert (await runner.run([plan, approval("0.0", batch, ruling)])).output == output


@pytest.mark.rule("O1", "E2")
async def test_a_position_is_written_in_brackets_and_a_group_reads_digits_as_one_too() -> None:
    tools = Tools()

    @tools.tool(effects="none")
    async def orders() -> list[dict[str, str]]:  # pyright: ignore[reportUnusedFunction]
        """All."""
        return [{"id": "a"}, {"id": "b"}]

    for output, expected in (("†calls.0[1].id", "b"), ("{†calls.0.1.id}", "b"), ("{†calls.0[1].id}", "b")):
        assert (await agent(answer(call("orders"), output=output), tools=tools).run("go", str)).output == expected
    keyed = agent(answer(call("orders"), output="†calls.0.1.id"), tools=tools, limits=Limits(requests=1))
    with pytest.raises(errors.LimitExceeded, match=re.escape("a list has positions: write †calls.0[1].id")):
        await keyed.run("go", str)


@pytest.mark.rule("D18")
async def test_a_reader_that_lacks_a_model_says_so() -> None:
    reads = call("read", of="x", ask="y", **{"as": "text"})
    with pytest.raises(errors.PlanFailed) as caught:
        await Agent(None, tools=Tools()).run([{"type": "plan", "plan": [reads], "output": "†calls.0"}])
    assert str(caught.value.__cause__) == "tool 'read': it needs a model, and none is set"


@pytest.mark.rule("D11")
@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([call("bad")], "tool 'ask': the delegate 'one' failed: activity"),
        ([call("inner")], "tool 'ask': the delegate 'one' → 'two' failed: activity"),
        ([call("nobody")], "tool 'ask': the delegate 'one' failed: unknown_tool"),
    ],
)
async def test_why_a_delegate_failed_is_told_by_kind_behind_the_tool_that_was_called(
    calls: list[Json], message: str
) -> None:
    tools = desk()
    tools.register("ask", {"_delegate": "one", "_output": {}})
    tools.register("inner", {"_delegate": "two", "_output": {}})
    plans: dict[str, Json] = {
        "one": {
            "context": [{"type": "plan", "plan": calls, "output": "†calls.0"}],
            "config": {"tools": ["bad", "inner"]},
        },
        "two": {
            "context": [{"type": "plan", "plan": [call("bad")], "output": "†calls.0"}],
            "config": {"tools": ["bad"]},
        },
    }
    with plan_fails(errors.DelegateError) as failed:
        await Agent(None, tools=tools, delegates=plans).run(
            [{"type": "plan", "plan": [call("ask")], "output": "†calls.0"}]
        )
    assert str(failed.value) == message


@pytest.mark.parametrize(
    ("reference", "is_there"),
    [
        ("†state.t.x", "†state.t is a text"),
        ("†state.l.x", "†state.l is a list of 1"),
        ("†state.n.x.y", "†state.n is a number"),
    ],
)
async def test_what_lies_in_no_object_is_told_with_what_is_there(reference: str, is_there: str) -> None:
    context: list[Json] = [{"type": "state", "state": {"t": "text", "l": [1], "n": 3}}]
    result = await run(answer(call("double", n=reference)), answer(output=1), tools=desk(), context=context)
    assert [str(error) for error in result.errors] == [f"tool 'double': nothing fills {reference}; {is_there}"]


async def test_a_long_reference_without_braces_is_cut() -> None:
    text = f"a †state.{'a' * 80}"
    context: list[Json] = [{"type": "state", "state": {"a": 1}}]
    result = await run(answer(call("double", n=text)), answer(output=1), tools=desk(), context=context)
    (error,) = result.errors
    assert str(error) == (
        "tool 'double', at n: †state… at character 2 stands in a text without braces: write {†state…}, "
        "or ††state for the sign itself"
    )


@pytest.mark.rule("T16")
async def test_what_was_not_offered_is_told_with_the_tool_and_the_place() -> None:
    flat = Config(flow=False)
    result = await run(answer(call("double", n=1, _else=2)), answer(output=1), tools=desk(), config=flat)
    (error,) = result.errors
    assert (str(error), getattr(error, "tool", None)) == (
        "tool 'double', at _else: '_else' isn't offered here",
        "double",
    )


@pytest.mark.rule("L6")
@pytest.mark.parametrize(("by", "told"), [("", ""), ("ana", " by ana")])
async def test_who_has_decided_is_told_where_that_is_known(by: str, told: str) -> None:
    once = decided(await waiting(), "0.0", "approve", by=by)
    with pytest.raises(errors.NotWaiting) as caught:
        decided(once, "0.0", "deny")
    assert str(caught.value) == f"no call waits for a decision at '0.0': it was approved{told}"
