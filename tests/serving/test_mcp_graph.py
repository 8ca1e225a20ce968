"""`carry_out`: a whole plan in one call, over any set of tools, by a model that knows nothing of Actum."""

from __future__ import annotations

from typing import Any

import pytest

from actum import Tools
from actum.execution.approver import Reply
from actum.schema.json import encode

from .hosts import ERAS, Era, NotedTools, client_of, data, elicited, host_of, text_of


async def agree(*_: object) -> Reply:
    return True


async def carried(desk: NotedTools, era: Era = "2026-07-28", /, *, client: Any = None, **plan: Any) -> Any:
    async with client_of(host_of(desk, graph=True, ideas={}), era, **(client or {})) as connected:
        return await connected.call_tool("carry_out", plan)


@pytest.mark.parametrize("era", ERAS)
async def test_one_plan_is_carried_out_and_comes_to_one_result(era: Era) -> None:
    calls = [
        {"_tool": "look", "name": "{†each}", "_each": ["Ann", "Jo"]},
        {"_value": "{sum(x.n for x in †calls.0)}"},
        {"_then": True},
        {"_tool": "look", "name": "Bob", "_when": "{†calls.1 > 100}"},
    ]
    result = await carried(NotedTools(), era, calls=calls, output={"sum": "†calls.1", "bob": "{†calls.3}"})
    assert result.structured_content == {"result": {"sum": 5, "bob": None}}


async def test_without_an_output_the_results_of_all_calls_come_back() -> None:
    result = await carried(NotedTools(), calls=[{"_tool": "look", "name": "Ann"}, {"_tool": "look", "name": "Jo"}])
    assert result.structured_content == {"result": [{"n": 3}, {"n": 2}]}


async def test_all_that_is_wrong_with_a_plan_is_said_at_once_and_nothing_of_it_runs() -> None:
    desk = NotedTools()
    calls = [
        {"_tool": "send", "to": "Ann", "n": 1},
        {"_tool": "lok"},
        {"_tool": "look"},
        {"_tool": "look", "name": "{†calls.9}"},
    ]
    approves = {"elicitation_callback": elicited("accept", decision="approve")}
    result = await carried(desk, client=approves, calls=calls, output="{†calls.0 + }")
    words = text_of(result)
    assert result.is_error
    assert words.startswith("Nothing was carried out.")
    assert all(f"call {index}: " in words for index in (1, 2, 3))
    assert "the output: " in words
    assert "near it: look" in words
    assert desk.sent == []


async def test_what_fails_on_the_way_is_said_with_what_was_done() -> None:
    calls = [{"_tool": "look", "name": "{†each}", "_each": ["Ann"]}, {"_tool": "fail"}, {"_value": 1}]
    result = await carried(NotedTools(), calls=calls, output="†calls.1")
    words = text_of(result)
    assert result.is_error
    assert "call 1 (fail): " in words
    assert "Done, and not undone: calls 0 (look)." in words


@pytest.mark.parametrize("calls", [None, 3, [3], {"_tool": "look"}, [[]]])
async def test_what_is_no_plan_is_refused_in_words(calls: Any) -> None:
    result = await carried(NotedTools(), calls=calls)
    assert result.is_error


@pytest.mark.rule("S9", "L6")
@pytest.mark.parametrize("added", [{"_activity": "send"}, {"_scopes": ["state"]}, {"_delegate": "anonymous"}])
async def test_a_plan_adds_nothing_to_what_its_tools_declare(added: dict[str, Any]) -> None:
    desk = NotedTools()
    result = await carried(desk, calls=[{"_tool": "look", "name": "Ann", **added}])
    assert result.is_error
    assert desk.sent == []


@pytest.mark.rule("L6")
async def test_what_does_not_only_read_waits_and_what_calls_cannot_decide() -> None:
    desk = NotedTools()
    send = {"_tool": "send", "to": "Ann", "n": 1}
    async with client_of(host_of(desk, graph=True, ideas={}), "legacy") as client:
        held = await client.call_tool("carry_out", {"calls": [send]})
        handle = text_of(held).rpartition("run '")[2].removesuffix("'.")
        assert "call `carry_out` with run" in text_of(held)
        assert "Held" in text_of(await client.call_tool("carry_out", {"run": handle}))
        assert "Held" in text_of(await client.call_tool("carry_out", {"run": handle, "calls": [{**send, "n": 2}]}))
    assert desk.sent == []
    approves = {"elicitation_callback": elicited("accept", decision="approve")}
    done = await carried(desk, client=approves, calls=[send], output="†calls.0")
    assert done.structured_content == {"result": "sent 1 to Ann"}
    assert desk.sent == [("Ann", 1)]


async def test_its_owner_may_let_all_calls_run() -> None:
    desk = NotedTools()
    async with client_of(host_of(desk, graph=True, ideas={}, approve=agree), "legacy") as client:
        await client.call_tool("carry_out", {"calls": [{"_tool": "send", "to": "Ann", "n": 1}]})
    assert desk.sent == [("Ann", 1)]


def many(count: int) -> Tools:
    """Tools of four servers."""
    tools = Tools()
    words = "reads a file of text and returns its lines; never more than it is told to, for the sake of who reads them"
    for index in range(count):
        name = f"s{index % 4}/tool_{index}"

        async def run(path: str) -> dict[str, int]:
            return {"length": len(path)}

        tools.tool(name=name, description=f"Number {index}: {words}.", effects="none")(run)
    return tools


async def test_two_hundred_tools_cost_a_host_two_and_are_found_by_words_names_and_groups() -> None:
    desk = NotedTools()
    desk.tools = many(200)
    async with client_of(host_of(desk, graph=True, ideas={}), "legacy") as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["carry_out", "find_tools"]
        listing = encode([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
        assert len(listing.encode()) < 4_500
        assert "s0 (50)" in listing
        matches = await data(client, "find_tools", {"query": "number 117"})
        first: str = matches["tools"][0]
        assert first.startswith("s1/tool_117(path) → {*: int}: Number 117: reads")
        named = await data(client, "find_tools", {"names": ["s0/tool_0"], "full": True})
        assert named["tools"][0]["name"] == "s0/tool_0"
        assert named["tools"][0]["parameters"]["required"] == ["path"]
        group = await data(client, "find_tools", {"query": "s3"})
        assert all(line.startswith("s3/") for line in group["tools"])
        assert (await data(client, "find_tools", {"query": "zebra"})) == {"tools": []}
        result = await client.call_tool("carry_out", {"calls": [{"_tool": "s1/tool_117", "path": "abc"}]})
        assert result.structured_content == {"result": [{"length": 3}]}


async def test_few_tools_are_spelled_out_in_the_one_tool() -> None:
    async with client_of(host_of(NotedTools(), graph=True, ideas={}), "legacy") as client:
        [tool] = (await client.list_tools()).tools
    assert "Looks somebody up. Returns {*: int}." in encode(tool.input_schema)
    assert "†calls.0" in (tool.description or "")
