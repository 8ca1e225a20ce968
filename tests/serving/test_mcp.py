"""Ideas as tools of an MCP server, as hosts of both eras see them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import Client as ClientOfMcp
from mcp.shared.exceptions import MCPError

from actum import Agent, Ctx, errors
from actum.schema.json import JsonObject as Json
from actum.schema.json import encode
from actum.serving import Served

from ..tracing.spans import Spans, id_of, linked, parents
from .hosts import ERAS, IDEAS, SENDING, Era, NotedTools, client_of, data, elicited, host_of, text_of


async def listed(era: Era, **options: Any) -> dict[str, Any]:
    async with client_of(host_of(NotedTools(), **options), era) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


@pytest.mark.parametrize("era", ERAS)
async def test_each_idea_is_a_tool_with_its_schemas_and_an_output_that_is_no_object_is_wrapped(era: Era) -> None:
    tools = await listed(era)
    assert list(tools) == [*IDEAS, "answer"]
    sending = tools["sending"]
    assert sending.description == "Looks somebody up and sends a number."
    assert sending.input_schema["properties"] == {"who": {"type": "string"}}
    assert sending.input_schema["required"] == ["who"]
    assert sending.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "string"}},
        "required": ["result"],
    }
    assert tools["looking"].output_schema["properties"] == {"n": {"type": "integer"}}
    assert all(tool.output_schema["type"] == "object" for name, tool in tools.items() if name != "answer")


async def test_only_what_can_only_read_is_said_to() -> None:
    tools = await listed("legacy")
    assert {name for name, tool in tools.items() if tool.annotations.read_only_hint} == {"looking"}
    assert tools["sending"].annotations.open_world_hint


async def test_the_definitions_of_a_wrapped_output_are_found_from_its_root() -> None:
    schema = {"type": "array", "items": {"$ref": "#/$defs/One"}, "$defs": {"One": {"type": "integer"}}}
    ideas = {"many": {"context": [{"type": "plan", "plan": [], "output": [1, 2]}], "schema": schema}}
    async with client_of(host_of(NotedTools(), ideas=ideas), "legacy") as client:
        [tool, _] = (await client.list_tools()).tools
        assert tool.output_schema is not None
        assert tool.output_schema["$defs"] == {"One": {"type": "integer"}}
        assert await data(client, "many", {}) == {"result": [1, 2]}


async def test_a_name_that_no_host_takes_is_refused() -> None:
    with pytest.raises(errors.IdeaError, match="can't be the name of an Idea here"):
        await host_of(NotedTools(), ideas={"two words": SENDING}).prepare()


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_runs_the_idea_and_tells_how_far_it_is(era: Era) -> None:
    reports: list[tuple[float, str | None]] = []

    async def note_progress(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        reports.append((progress, message))

    async with client_of(host_of(NotedTools()), era) as client:
        result = await client.call_tool("looking", {"who": "Ann"}, progress_callback=note_progress)
    assert (result.is_error, result.structured_content) == (False, {"n": 3})
    assert json.loads(text_of(result)) == {"n": 3}
    assert [done for done, _ in reports] == sorted({done for done, _ in reports})
    assert "look done" in [message for _, message in reports]


@pytest.mark.parametrize("era", ERAS)
async def test_what_fails_is_an_error_of_the_call_that_quotes_no_data_and_never_a_null(era: Era) -> None:
    async with client_of(host_of(NotedTools()), era) as client:
        wrong = await client.call_tool("looking", {"who": 3})
        failed = await client.call_tool("failing", {})
        with pytest.raises(MCPError, match="no tool has that name"):
            await client.call_tool("nothing", {})
    assert wrong.is_error
    assert "the arguments don't fit" in text_of(wrong)
    assert failed.is_error
    assert failed.structured_content is None
    assert "fail" in text_of(failed)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("action", "content", "sent", "tells"),
    [
        ("accept", {"decision": "approve"}, [("Ann", 3)], "sent 3 to Ann"),
        ("accept", {"decision": "deny", "reason": "not Ann"}, [], "not Ann"),
        ("decline", {}, [], "declined"),
        ("cancel", {}, [], "Held for a decision"),
        ("accept", {}, [], "Held for a decision"),
    ],
)
async def test_the_user_decides_by_a_form_and_an_empty_one_approves_nothing(
    era: Era, action: Any, content: dict[str, Any], sent: list[Any], tells: str
) -> None:
    desk, questions = NotedTools(), list[str]()
    callback = elicited(action, questions, **content)
    async with client_of(host_of(desk), era, elicitation_callback=callback) as client:
        result = await client.call_tool("sending", {"who": "Ann"})
    assert tells in text_of(result)
    assert desk.sent == sent
    assert result.is_error is (not sent)
    assert set(questions) == {'Shall this call be made? send {"to":"Ann","n":3}'}


@pytest.mark.parametrize("era", ERAS)
async def test_a_form_that_can_not_show_a_call_whole_can_not_approve_it(era: Era) -> None:
    """What is short stands first, and nothing turns letters round; approving what wasn't shown puts it off."""
    desk, questions = NotedTools(), list[str]()
    recipient = "A\u202emallory" + "x" * 20_000
    async with client_of(
        host_of(desk), era, elicitation_callback=elicited("accept", questions, decision="approve")
    ) as client:
        result = await client.call_tool("sending", {"who": recipient})
    assert ("Held for a decision" in text_of(result), desk.sent) == (True, [])
    assert questions[0].index("n: ") < questions[0].index('to: "A\\u202emallory')
    assert ("(20011 characters, SHA-256 " in questions[0], "can't be approved here" in questions[0]) == (True, True)
    assert len(questions[0]) < 4_000


@pytest.mark.parametrize("era", ERAS)
async def test_where_the_host_shows_no_forms_a_call_is_held_and_it_is_said_who_decides_how(
    era: Era, tmp_path: Any
) -> None:
    from actum.cli.dispatch import run_command

    desk, place = NotedTools(), tmp_path / "runs.db"
    async with client_of(host_of(desk, place=place), era) as client:
        held = await client.call_tool("sending", {"who": "Ann"})
        words = text_of(held)
        assert held.is_error
        assert held.structured_content is None
        assert "Ann" not in words
        handle = words.rpartition("run '")[2].removesuffix("'.")
        run = handle.rsplit(".", 2)[0]
        assert f"actum approve {run} --store {place}" in words
        assert "Held" in text_of(await client.call_tool("answer", {"run": handle}))
        refused = await client.call_tool("answer", {"run": handle, "answer": {"decision": "approve"}})
        assert "spent" in text_of(refused)  # no model decides
        assert desk.sent == []
        assert await asyncio.to_thread(run_command, ["approve", run, "--store", str(place)]) == 0
        done = await client.call_tool("answer", {"run": handle})
    assert (done.is_error, text_of(done)) == (False, encode({"result": "sent 3 to Ann"}))
    assert desk.sent == [("Ann", 3)]


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_is_cancelled_cancels_its_run(era: Era) -> None:
    desk = NotedTools()
    ideas: dict[str, Any] = {
        "waiting": {"context": [{"type": "plan", "plan": [{"_tool": "wait"}], "output": "†calls.0"}], "schema": {}}
    }
    host = host_of(desk, ideas=ideas)
    async with client_of(host, era) as client:
        calling = asyncio.create_task(client.call_tool("waiting", {}))
        await desk.begun.wait()
        calling.cancel()
        await asyncio.wait([calling])
        [run] = await host.hosting.runs.list()
        async with asyncio.timeout(30):
            async for _ in run.follow():
                pass
        assert (await run.refresh()).state == "cancelled"
    assert desk.ended == ["wait"]


@pytest.mark.parametrize("era", ERAS)
async def test_the_span_of_a_run_is_below_that_which_the_host_names_also_when_it_has_waited(era: Era) -> None:
    spans, there = Spans(), ("a" * 32, "b" * 16)
    form = elicited("accept", decision="approve")
    meta: Any = {"traceparent": f"00-{there[0]}-{there[1]}-01"}
    async with client_of(host_of(NotedTools(), trace=spans.trace), era, elicitation_callback=form) as client:
        await client.call_tool("sending", {"who": "Ann"}, meta=meta)
        assert parents(spans, "invoke_agent") == [there, there]
        first, second = spans.named("invoke_agent")
        assert linked(second) == [id_of(first)]
        await client.call_tool("looking", {"who": "Ann"}, meta={"traceparent": "odd"})
        assert [span.parent for span in spans.named("invoke_agent")[2:]] == [None]


async def test_tools_are_given_what_is_made_for_a_run() -> None:
    def held(ctx: Ctx[str]) -> str:
        """What there is."""
        return ctx.deps

    plan: Json = {"type": "plan", "plan": [{"_tool": "held"}], "output": "†calls.0"}
    idea: Json = {"context": [plan], "schema": {}}
    serving = Served({"held": idea}, agent=Agent(None, tools=[held], deps=str), deps=lambda: "a shop")
    async with serving.desk.runs, ClientOfMcp(serving.mcp(), mode="legacy") as client:
        assert await data(client, "held", {}) == {"result": "a shop"}
