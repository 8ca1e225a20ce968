"""Servers whose lines are odd: errors are answers, what can't be read fails its call at once, nothing floods a log."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Result, Tools, connections, errors
from actum.approvals import decided, pending

RAW = Path(__file__).with_name("raw.py")
PATIENCE = 30.0


def raw(kind: str, folder: Path) -> connections.Server:
    return connections.Server("s", command=[sys.executable, str(RAW), kind, str(folder / "starts")], timeout=PATIENCE)


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text().splitlines())


@pytest.mark.parametrize("code", [-32_000, -32_001, -32_603, -5])
async def test_an_error_of_a_server_is_an_answer_whatever_its_code(code: int, tmp_path: Path) -> None:
    async with connections.open([raw(str(code), tmp_path)]) as servers:
        for _ in range(2):
            with pytest.raises(errors.ServerError) as failure:
                await servers.call("s/go", {})
            assert f"refuses the call (code {code})" in failure.value.message
            assert failure.value.data["said"] == "rate limited"
    assert starts(tmp_path) == 1


@pytest.mark.parametrize("kind", ["surrogate", "utf8", "digits", "deep"])
async def test_an_answer_that_cant_be_read_fails_its_call_at_once(kind: str, tmp_path: Path) -> None:
    async with connections.open([raw(kind, tmp_path)]) as servers:
        for _ in range(2):
            with pytest.raises(errors.ServerError) as failure:
                await asyncio.wait_for(servers.call("s/go", {}), PATIENCE / 2)
            assert "may have taken effect" in failure.value.message
            assert failure.value.outcome == "unknown"
    assert starts(tmp_path) == 1


async def test_a_tool_that_nests_too_deep_is_left_out_alone(tmp_path: Path) -> None:
    async with connections.open([raw("nested", tmp_path)]) as servers:
        assert list(servers.tools) == ["s/go"]
        assert [(tool.tool, tool.why) for tool in servers.left_out] == [("deep", "it nests deeper than 128")]
        assert (await servers.call("s/go", {})).value == "ok"


async def test_malformed_notifications_are_counted_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with connections.open([raw("noisy", tmp_path)]) as servers:
        assert (await servers.call("s/go", {})).value == "ok"
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if "malformed" in line] == [
        f"the server 's' has sent malformed notifications: notifications/message, {count} in all"
        for count in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048)
    ]
    assert not any(record.exc_info for record in caplog.records)
    assert len(lines) < 30


@pytest.mark.rule("L6")
async def test_a_tool_that_changed_after_its_approval_is_asked_about_again(tmp_path: Path) -> None:
    plan = [{"type": "text", "text": "go"}, {"type": "plan", "plan": [{"_tool": "s/go"}], "output": "†calls.0"}]

    async def reached(context: Any) -> Result[str]:
        async with connections.open([raw("rug", tmp_path)]) as servers:
            tools = Tools()
            servers.register(tools)
            return await Agent(tools=tools).run(context, str)

    held = await reached(plan)
    (question,) = pending(held.context)
    approved = decided(held.context, question.of, "approve")
    again = await reached(approved)  # the server has another description by now
    assert again.output is None
    assert [waiting.of for waiting in pending(again.context)] == [question.of]
    done = await reached(decided(again.context, question.of, "approve"))
    assert done.output == "ok"


@pytest.mark.parametrize("is_streamed", [False, True], ids=["json", "events"])
async def test_a_tool_that_nests_too_deep_is_left_out_alone_over_http_too(is_streamed: bool) -> None:
    deep = '{"a":' * 220 + "1" + "}" * 220
    go = '{"name":"go","inputSchema":{"type":"object"}}'
    nested = '{"name":"deep","inputSchema":{"type":"object","properties":{"x":' + deep + "}}}"
    listed = f'{{"tools":[{go},{nested}]}}'

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
            size = int(head.partition("content-length: ")[2].partition("\r")[0] or 0)
            body: dict[str, Any] = json.loads(await reader.readexactly(size) or b"{}")
            kind, text = "application/json", ""
            match body.get("method"):
                case "initialize":
                    info: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
                    result = json.dumps({**info, "serverInfo": {"name": "raw", "version": "1"}})
                case "tools/list":
                    result = listed
                case "tools/call":
                    result = '{"content":[{"type":"text","text":"ok"}]}'
                case _:
                    result = ""
            if "id" in body and result:
                text = f'{{"jsonrpc":"2.0","id":{json.dumps(body["id"])},"result":{result}}}'
            if text and is_streamed:
                kind, text = "text/event-stream", f"event: message\r\ndata: {text}\r\n\r\n"
            status = "200 OK" if text else "202 Accepted" if head.startswith("post") else "405 No"
            more = f"content-type: {kind}\r\ncontent-length: {len(text)}"
            writer.write(f"HTTP/1.1 {status}\r\n{more}\r\n\r\n{text}".encode())
            await writer.drain()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await respond(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(served, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        mcp_server = connections.Server("s", url=f"http://127.0.0.1:{port}/mcp", protocol="legacy", timeout=PATIENCE)
        async with connections.open([mcp_server]) as servers:
            assert list(servers.tools) == ["s/go"]
            assert [(tool.tool, tool.why) for tool in servers.left_out] == [("deep", "it nests deeper than 128")]
            assert (await servers.call("s/go", {})).value == "ok"
