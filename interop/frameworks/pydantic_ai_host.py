"""pydantic-ai as a host: its toolset, with a user who fills in forms."""

import asyncio
import json
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset

ASKED = []


async def approve(message, _type, _params, _context):
    ASKED.append(message)
    return {"decision": "approve"}


async def main(command: str, *args: str) -> None:
    toolset = MCPToolset(StdioTransport(command, list(args)), elicitation_handler=approve, init_timeout=60)
    async with toolset:
        tools = [tool.name for tool in await toolset.list_tools()]
        first = await toolset.direct_call_tool("greet", {"who": "Ann"})
        answer = {"calls": [{"_tool": "send", "to": "†input.who"}], "output": "†calls.0"}
        last = await toolset.direct_call_tool("answer", {"run": first["run"], "answer": answer})
    print(json.dumps({"tools": tools, "results": [first, last], "asked": ASKED}))


asyncio.run(main(*sys.argv[1:]))
