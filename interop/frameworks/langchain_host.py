"""LangChain's adapter as a host: by default it starts a new process for every call."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main(command: str, *args: str) -> None:
    connection = {"transport": "stdio", "command": command, "args": list(args)}
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"a": connection}).get_tools()}
    first = data(await called(tools["greet"], {"who": "Ann"}))
    answer = {"calls": [{"_tool": "send", "to": "†input.who"}], "output": "†calls.0"}
    last = data(await called(tools["answer"], {"run": first["run"], "answer": answer}))
    print(json.dumps({"tools": list(tools), "results": [first, last]}))


async def called(tool, arguments):
    return await tool.ainvoke({"type": "tool_call", "name": tool.name, "args": arguments, "id": "1"})


def data(message):
    return message.artifact["structured_content"]


asyncio.run(main(*sys.argv[1:]))
