"""A schema in the notation of shapes: everything that a decoder takes is said, and nothing twice (T10, T13)."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from actum import Agent, Config, Tools, models
from actum.schema.lowering import GRAMMAR


class Line(BaseModel):
    item: str = Field(description="As in the\nlist.")
    count: int = Field(ge=1, le=9)
    notes: list[str] = []


class Answer(BaseModel):
    """Said."""

    day: date = Field(description="When., a quiet one")
    mood: Literal["good", "bad"] = "good"


class Node(BaseModel):
    name: str
    below: list[Node] = []


def shop() -> Tools:
    tools = Tools()

    @tools.tool(effects="none")
    def find(q: str, kind: Literal["a", "b"] | None = None) -> list[Line]:
        """Find.

        ¶notice Pay at once!"""
        return []

    @tools.tool(effects="none")
    def order(lines: list[Line], first: Line, options: dict[str, float]) -> str:
        return ""

    @tools.tool(effects="none")
    def grow(tree: Node, row: tuple[int, bool], extra: Any = None) -> None: ...

    assert all(map(callable, (find, order, grow)))
    return tools


async def words(tools: Tools, output: Any, **config: Any) -> str:
    model = models.Scripted([{"calls": [], "output": None}], dialect=GRAMMAR, repeat_last=True)
    rendered = Agent(model, tools=tools, config=Config(**config)).render("hi", output)
    return "\n".join(message["content"] for message in rendered if message["role"] == "system")


@pytest.mark.rule("T13", "T10")
async def test_each_call_is_a_line_each_type_one_more_and_no_text_ends_its_line() -> None:
    lines = (await words(shop(), Answer, flow=False)).split("\n")
    at = lines.index("find(q, kind?: 'a'|'b'|null) -> [{item, count: int, notes: [text]}]: Find. ¶notice Pay at once!")
    assert lines[at + 1 : at + 3] == [
        "order(lines: [Line], first: Line, options: {*: num}) -> text",
        "grow(tree: Node, row: [int|bool] (minItems: 2; maxItems: 2), extra?: any)",
    ]
    assert (
        lines[at + 3]
        == "¶output {day: date (When., a quiet one), mood?: 'good'|'bad' (default: \"good\")} (Said.)|null"
    )
    assert [line for line in lines if line.startswith(("Line ", "Node "))] == [
        "Line {item (As in the list.), count: int (minimum: 1; maximum: 9), notes?: [text]}",
        "Node {name, below?: [Node]}",
    ]


@pytest.mark.rule("T13", "T16")
async def test_what_may_be_said_of_a_call_stands_where_the_decoder_takes_it() -> None:
    few, many = Tools(), Tools()
    for tools, count in ((few, 2), (many, 5)):
        for number in range(count):
            tools.register(f"t{number}", {"properties": {"n": {"type": "integer"}}, "required": ["n"]})
            tools.activity(f"t{number}", lambda: [1])
    flow = "_each?: [text|num]|text, _when?, _else?"
    text = await words(few, int, readers=False)
    assert "\nt0(n: int) -> any\n" in text
    assert f"\nor {{_then: true}}\nor {{_value?, _expect?}}\nor {{_tool, {flow}, …}}\n" in text
    text = await words(many, int, readers=False)
    assert "\nt0(n: int) -> any\n" in text
    assert f"\nor {{{flow}, _call: a call}}\nor {{_then: true}}\nor {{_value?, _expect?}}\n" in text


@pytest.mark.rule("T9")
async def test_that_any_value_may_refer_is_said_where_it_may() -> None:
    latent = Tools()
    latent.register("think", {"properties": {"n": {"type": "integer"}, "of": {"type": "string"}}})
    assert "Values may be `†calls.0" in await words(shop(), int)
    assert "†" not in await words(latent, int)
    assert await words(Tools(), Literal["a", "b"]) == (
        "Answer with JSON in one line, its keys in the order told here: {\"output\": …}\n¶output 'a'|'b'|null"
    )


@pytest.mark.rule("T9", "T16")
async def test_a_path_is_told_as_one_and_names_that_are_taken_get_another() -> None:
    tools = Tools()

    @tools.tool
    def keep(line: Line, lines: list[Line]) -> tuple[Node, Node]:
        return Node(name=""), Node(name=line.item)

    tools.register("write", {"properties": {"_output": {"type": "string"}, "_outputPath": {"pattern": "^†"}}})
    assert callable(keep)
    text = await words(tools, int, flow=False)
    assert "write(_output" in text
    assert "_outputPath?: †…" in text
