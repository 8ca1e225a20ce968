"""A host of MCP in this process, in both eras, and Ideas that it calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
from mcp import Client

from actum import HOLD, Agent, Call, Context, Idea, Runs, Tool, Tools, Trace
from actum.execution.approver import Reply
from actum.schema.json import JsonObject as Json
from actum.schema.json import encode
from actum.serving.desk import Desk as Served
from actum.serving.mcp_options import Keyless, McpOptions
from actum.serving.mcp_server import Host

Era = Literal["2026-07-28", "legacy"]
ERAS: tuple[Era, ...] = ("2026-07-28", "legacy")
WHO: Json = {
    "type": "input",
    "schema": {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]},
}
SENDING: Json = {
    "context": [
        {"type": "system", "message": "Looks somebody up and sends a number."},
        WHO,
        {
            "type": "plan",
            "plan": [{"_tool": "look", "name": "†input.who"}, {"_tool": "send", "to": "†input.who", "n": "†calls.0.n"}],
            "output": "†calls.1",
        },
    ],
    "schema": {"type": "string"},
}
LOOKING: Json = {
    "config": {"tools": ["look"]},
    "context": [WHO, {"type": "plan", "plan": [{"_tool": "look", "name": "†input.who"}], "output": "†calls.0"}],
    "schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
}
FAILING: Json = {
    "context": [{"type": "plan", "plan": [{"_tool": "fail"}], "output": "†calls.0"}],
    "schema": {"type": "string"},
}
ASKING: Json = {"context": [{"type": "system", "message": "Guess."}, WHO], "schema": {"type": "integer"}}
IDEAS = {"sending": SENDING, "looking": LOOKING, "failing": FAILING, "asking": ASKING}


class NotedTools:
    """Tools that note what they have done."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []
        self.ended: list[str] = []
        self.begun = asyncio.Event()
        self.tools = Tools()

        @self.tools.tool(effects="none")
        async def look(name: str) -> dict[str, int]:
            """Looks somebody up."""
            return {"n": len(name)}

        @self.tools.tool
        async def send(to: str, n: int) -> str:
            """Sends a number."""
            self.sent.append((to, n))
            return f"sent {n} to {to}"

        @self.tools.tool(effects="none")
        async def fail() -> str:
            """Fails."""
            raise RuntimeError("SECRET")

        @self.tools.tool(effects="none")
        async def wait() -> str:
            """Never ends."""
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.append("wait")
            return ""


async def hold_sending(_call: Call, tool: Tool, _context: Context) -> Reply:
    return HOLD if tool.name == "send" else True


def host_of(
    desk: NotedTools,
    *,
    place: Path | str = ":memory:",
    model: Keyless | None = None,
    graph: bool = False,
    ideas: Mapping[str, Json] = IDEAS,
    trace: Trace | None = None,
    **options: Any,
) -> Host:
    """What serves these Ideas; calls of `send` are held."""
    by_name = {name: Idea.read(encode(idea), name) for name, idea in ideas.items()}
    path = None if place == ":memory:" else str(place)
    chosen = McpOptions(model=model, graph=desk.tools if graph else None, place=path, **options)
    agent = Agent(None, tools=desk.tools, approve=hold_sending, trace=trace)
    return Host.of(Served(ideas=by_name, runs=Runs(place), agent=agent, mcp=chosen))


@asynccontextmanager
async def client_of(host: Host, era: Era, **more: Any) -> AsyncGenerator[Client]:
    """A client of a server in this process, whose runs are closed with the client."""
    try:
        async with Client(host.server(), mode=era, **more) as client:
            yield client
    finally:
        await host.hosting.runs.aclose()


def elicited(
    action: Literal["accept", "decline", "cancel"], questions: list[str] | None = None, **content: Any
) -> Callable[..., Any]:
    """A user who answers every form in this way."""

    async def fill(_ctx: Any, params: Any) -> types.ElicitResult:
        if questions is not None:
            questions.append(params.message)
        return types.ElicitResult(action=action, content=content if action == "accept" else None)

    return fill


def text_of(result: Any) -> str:
    """The text of a result."""
    return "".join(block.text for block in result.content)


async def data(client: Client, tool: str, arguments: Json) -> Json:
    """The result of a call, as data."""
    result = await client.call_tool(tool, arguments)
    assert result.structured_content is not None, text_of(result)
    return result.structured_content


async def first_round(client: Client, tool: str, arguments: Json, **more: Any) -> Any:
    """One request of the newer era, answered or not."""
    return await client.session.call_tool(tool, arguments, allow_input_required=True, **more)
