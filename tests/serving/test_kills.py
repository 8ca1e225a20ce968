"""Every party of a question is killed before it is answered: the host, the server, and the server behind it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from .. import warm
from ..connections.starting import hosted
from ..effort import thorough
from .hosts import elicited, text_of

pytestmark = pytest.mark.rule("L8", "L6")
KILLED = Path(__file__).with_name("killed.py")
APPROVED = types.ElicitResult(action="accept", content={"decision": "approve"})
SENDING = {
    "config": {"servers": "mcp.json"},
    "context": [
        {"type": "input", "schema": {"type": "object", "properties": {"text": {"type": "string"}}}},
        {"type": "plan", "plan": [{"_tool": "s/send", "text": "†input.text"}], "output": "†calls.0"},
    ],
    "schema": {"type": "string"},
}


def asked_of_a_host_that_is_killed(server: list[str]) -> Any:
    """The state and the questions that a host was given before it was killed."""
    with subprocess.Popen(warm.command(KILLED, "host", *server), stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        pending = json.loads(host.stdout.readline())
        host.kill()
    return pending


@asynccontextmanager
async def host_of(server: list[str]) -> AsyncGenerator[Client]:
    there = StdioServerParameters(command=server[0], args=server[1:])
    async with Client(there, mode="2026-07-28", elicitation_callback=elicited("cancel")) as client:
        yield client


async def called(client: Client, state: str, responses: Any = None) -> Any:
    return await client.session.call_tool(
        "sending", {"text": "hello"}, allow_input_required=True, request_state=state, input_responses=responses or {}
    )


@thorough
async def test_nothing_is_repeated_and_the_answer_is_good_once_whoever_is_killed_before_it(tmp_path: Path) -> None:
    log, pid = tmp_path / "log", tmp_path / "pid"
    (tmp_path / "sending.json").write_text(json.dumps(SENDING))
    server = warm.command(KILLED, "server", str(pid), str(tmp_path / "sending.json"), str(tmp_path / "runs.db"))
    with hosted("--log", str(log)) as behind:
        entry = {"url": f"http://127.0.0.1:{behind.port}/mcp"}
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"s": entry}}))

        pending = await asyncio.to_thread(asked_of_a_host_that_is_killed, server)
        state, approved = pending["state"], dict.fromkeys(pending["questions"], APPROVED)

        async with host_of(server) as client:
            again = await called(client, state)
            assert (again.request_state, list(again.input_requests)) == (state, pending["questions"])
            os.kill(int(pid.read_text()), signal.SIGKILL)
            with pytest.raises(MCPError, match="closed"):
                await called(client, state, approved)
        behind.kill()
        assert not log.exists()
        behind.again()

        async with host_of(server) as client:
            assert text_of(await called(client, state, approved)) == '{"result":"sent"}'
            with pytest.raises(MCPError, match="spent"):
                await called(client, state, approved)
        assert log.read_text().splitlines() == ["called send", "sent hello"]
