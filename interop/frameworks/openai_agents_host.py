"""The Agents SDK of OpenAI as a host: its server object, as its runner calls it."""

import asyncio
import json
import sys

from agents.mcp import MCPServerStdio


async def main(command: str, *args: str) -> None:
    params = {"command": command, "args": list(args)}
    async with MCPServerStdio(params, client_session_timeout_seconds=60, use_structured_content=True) as server:
        tools = [tool.name for tool in await server.list_tools()]
        first = (await server.call_tool("greet", {"who": "Ann"})).structuredContent
        answer = {"calls": [{"_tool": "send", "to": "†input.who"}], "output": "†calls.0"}
        last = (await server.call_tool("answer", {"run": first["run"], "answer": answer})).structuredContent
    print(json.dumps({"tools": tools, "results": [first, last]}))


asyncio.run(main(*sys.argv[1:]))
