"""What is told of calls that can't be made, and of what they come to: whole texts, with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from actum import Output, Tools
from actum.schema.json import JsonObject as Json

from .scripts import answer, call, run

pytestmark = pytest.mark.rule("C7", "L2", "O11")


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

    def deep() -> Any:
        value: Any = 1
        for _ in range(500):
            value = [value]
        return value

    def either(v: int) -> Any:
        return Output(v, path="†state.c")

    assert [one.name for one in (double, look, bad)] == ["double", "look", "bad"]
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
    tools.activity("deep", deep)
    tools.activity("nojson", lambda: desk)
    for name in ("put", "wide", "marked"):
        tools.activity(name, lambda v: v)  # pyright: ignore
    return tools


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
        [call("look"), call("double", n="†calls.0[0]")],
        None,
        ["tool 'double': nothing fills †calls.0[0]; †calls.0 is an object of 4 keys, of which this is none"],
    ),
    ([call("double", n="†calls.0.5")], None, ["it waits for itself: †calls.0 is its own result"]),
]


@pytest.mark.parametrize(("calls", "output", "told"), ROWS)
async def test_what_is_wrong_is_told_in_whole(calls: list[Json], output: str | None, told: list[str]) -> None:
    found = await run(answer(*calls, output=output), answer(output=1), answer(output=1), tools=desk())
    assert [str(error) for error in found.errors] == told
