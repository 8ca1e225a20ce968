"""What the suite of conformance asks of a server, as Ideas, over HTTP on a free port, which is printed.

The suite has no token: this program adds one, so that the guard stands where it stands for everybody.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from actum import HOLD, Agent, Call, Context, Idea, Tool, Tools
from actum.execution.approver import Reply
from actum.protocol.context import Progress
from actum.schema.json import encode
from actum.serving import Served
from actum.serving.http_server import HttpServer, bound

TOKEN = "a-token-of-the-suite"
tools = Tools()


@tools.tool(effects="none")
async def fail() -> str:
    """Fails."""
    raise RuntimeError("This tool intentionally returns an error for testing")


@tools.activity("steps")
async def steps(_call: Call, _progress: Progress) -> str:
    for done in (0, 50, 100):
        _progress(done, 100)
    return "done"


tools.register("steps", {"properties": {"_output": {"type": "string"}, "_effects": {"const": "none"}}})


@tools.tool
async def send(message: str) -> str:
    """Sends a message."""
    return f"sent {message}"


def plan(*calls: dict[str, Any], output: Any, **parameters: Any) -> dict[str, Any]:
    takes = {"type": "input", "schema": {"type": "object", "properties": parameters}}
    return {"context": [takes, {"type": "plan", "plan": list(calls), "output": output}], "schema": {}}


TEXT = {"type": "string"}
SENDING = plan({"_tool": "send", "message": "hello"}, output="†calls.0")
TWICE = plan({"_tool": "send", "message": "a"}, {"_then": True}, {"_tool": "send", "message": "b"}, output="†calls.2")
BOTH = plan({"_tool": "send", "message": "a"}, {"_tool": "send", "message": "b"}, output="†calls.1")
MESSAGE = plan({"_tool": "send", "message": "†input.message"}, output="†calls.0", message=TEXT)
ASKING: dict[str, Any] = {
    "context": [{"type": "input", "schema": {"type": "object", "properties": {"prompt": TEXT}}}],
    "schema": TEXT,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": TEXT, "city": TEXT}}},
    "properties": {"name": TEXT, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
IDEAS: dict[str, dict[str, Any]] = {
    "test_simple_text": plan(output="This is a simple text response for testing."),
    "test_error_handling": plan({"_tool": "fail"}, output="†calls.0"),
    "test_tool_with_progress": plan({"_tool": "steps"}, output="†calls.0"),
    "json_schema_2020_12_tool": {
        "context": [{"type": "input", "schema": SCHEMA}, {"type": "plan", "plan": [], "output": "ok"}],
        "schema": TEXT,
    },
    "test_sampling": ASKING,
    "test_elicitation": MESSAGE,
    "test_input_required_result_elicitation": SENDING,
    "test_input_required_result_sampling": ASKING,
    "test_input_required_result_request_state": SENDING,
    "test_input_required_result_multiple_inputs": BOTH,
    "test_input_required_result_multi_round": TWICE,
    "test_input_required_result_tampered_state": SENDING,
    "test_input_required_result_capabilities": ASKING,
    "test_streaming_elicitation": SENDING,
}


async def hold(_call: Call, tool: Tool, _context: Context) -> Reply:
    return HOLD if tool.name == "send" else True


async def main() -> None:
    ideas = {name: Idea.read(encode(idea), name) for name, idea in IDEAS.items()}
    app = Served(ideas, agent=Agent(None, tools=tools, approve=hold)).app(token=TOKEN)

    async def with_token(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]
        await app(scope, receive, send)

    own = bound("127.0.0.1", 0)
    server = HttpServer(with_token)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] -- as the guard is called
    print(own.getsockname()[1], flush=True)
    serving = asyncio.create_task(server.serve(sockets=[own]))
    await asyncio.to_thread(sys.stdin.read)  # until who has started it goes
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main())
