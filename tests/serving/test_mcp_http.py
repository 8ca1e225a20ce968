"""MCP over HTTP, at `/mcp` of the one server, behind its guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from actum import Agent, Idea
from actum.schema.json import encode
from actum.serving import Served
from actum.serving.callers import Quota

from .hosts import ERAS, IDEAS, Era, NotedTools, elicited, hold_sending, text_of
from .house import TOKEN, house

BOB = "another-token-of-the-tests"


def served(desk: NotedTools) -> Served:
    ideas = {name: Idea.read(encode(idea), name) for name, idea in IDEAS.items()}
    return Served(ideas, agent=Agent(None, tools=desk.tools, approve=hold_sending))


@asynccontextmanager
async def caller(base: str, era: Era, token: str = TOKEN, **more: object) -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http:
        transport = streamable_http_client(f"{base}/mcp", http_client=http)
        async with Client(transport, mode=era, **more) as client:  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            yield client


@pytest.mark.parametrize("era", ERAS)
async def test_the_same_ideas_are_served_over_http_with_forms_for_what_is_held(era: Era) -> None:
    desk = NotedTools()
    async with house(served(desk)) as client:
        approves = elicited("accept", decision="approve")
        async with caller(str(client.base_url).rstrip("/"), era, elicitation_callback=approves) as host:
            assert "sending" in [tool.name for tool in (await host.list_tools()).tools]
            assert text_of(await host.call_tool("sending", {"who": "Ann"})) == '{"result":"sent 3 to Ann"}'
    assert desk.sent == [("Ann", 3)]


@pytest.mark.parametrize("era", ERAS)
async def test_a_handle_is_for_the_caller_it_was_given_to(era: Era) -> None:
    desk = NotedTools()
    async with house(served(desk), token={"ann": TOKEN, "bob": BOB}) as client:
        base = str(client.base_url).rstrip("/")
        async with caller(base, era) as ann, caller(base, era, BOB) as bob:
            held = text_of(await ann.call_tool("sending", {"who": "Ann"}))
            handle = held.rpartition("run '")[2].removesuffix("'.")
            assert "spent" in text_of(await bob.call_tool("answer", {"run": handle}))
            assert "Held" in text_of(await ann.call_tool("answer", {"run": handle}))


async def test_a_caller_has_no_more_runs_under_way_than_it_may() -> None:
    async with house(served(NotedTools()), token={"ann": TOKEN, "bob": BOB}, quota=Quota(runs=1)) as client:
        base = str(client.base_url).rstrip("/")
        async with caller(base, "legacy") as ann, caller(base, "legacy", BOB) as bob:
            answers = await asyncio.gather(*(ann.call_tool("asking", {"who": "Ann"}) for _ in range(3)))
            assert sorted(answer.is_error for answer in answers) == [False, True, True]
            assert "1 runs are under way" in text_of(next(answer for answer in answers if answer.is_error))
            assert not (await bob.call_tool("asking", {"who": "Ann"})).is_error


HOST: dict[str, str] = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


async def test_a_session_is_for_the_caller_who_opened_it() -> None:
    async with house(served(NotedTools()), token={"ann": TOKEN, "bob": BOB}) as client:
        session = (await client.post("/mcp", json=INITIALIZE, headers=HOST)).headers["mcp-session-id"]
        bob = {**HOST, "authorization": f"Bearer {BOB}", "mcp-session-id": session}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        form = {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"decision": "approve"}}}
        for method, body in (("POST", listing), ("POST", form), ("GET", None), ("DELETE", None)):
            answer = await client.request(method, "/mcp", json=body, headers=bob)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "session_not_found")
        ann = {**HOST, "mcp-session-id": session}
        assert (await client.post("/mcp", json=listing, headers=ann)).status_code == 200
        assert (await client.delete("/mcp", headers=ann)).status_code == 200
        assert (await client.post("/mcp", json=listing, headers=ann)).status_code == 404


async def test_a_caller_opens_no_more_sessions_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actum.serving.mcp_http._MOST_OF_CALLER", 2)
    bob = {**HOST, "authorization": f"Bearer {BOB}"}
    async with house(served(NotedTools()), token={"ann": TOKEN, "bob": BOB}) as client:
        opened = [await client.post("/mcp", json=INITIALIZE, headers=bob) for _ in range(3)]
        assert [answer.status_code for answer in opened] == [200, 200, 429]
        assert opened[2].json()["error"]["code"] == "too_many_sessions"
        assert (await client.post("/mcp", json=INITIALIZE, headers=HOST)).status_code == 200
        await client.delete("/mcp", headers={**bob, "mcp-session-id": opened[0].headers["mcp-session-id"]})
        assert (await client.post("/mcp", json=INITIALIZE, headers=bob)).status_code == 200


async def test_the_guard_stands_before_it() -> None:
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with house(served(NotedTools())) as client:
        bearer = {"authorization": f"Bearer {TOKEN}", "accept": "application/json, text/event-stream"}
        for headers, status in (
            ({**bearer, "authorization": "Bearer wrong"}, 401),
            ({**bearer, "origin": "http://evil.example"}, 403),
            ({**bearer, "host": "evil.example"}, 421),
        ):
            assert (await client.post("/mcp", json=body, headers=headers)).status_code == status
