"""What is killed: a server of an Idea (`server PID_FILE IDEA STORE`), or a host that was asked (`host COMMAND…`)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, cast


def server(pid: str, idea: str, store: str) -> None:
    from actum.cli.dispatch import run_command

    Path(pid).write_text(str(os.getpid()))
    sys.exit(run_command(["serve", idea, "--stdio", "--store", store]))


async def host(*command: str) -> None:
    from mcp import Client, StdioServerParameters

    async def put_off(_ctx: Any, _params: Any) -> Any:  # which the newer era never asks: it says that there are forms
        raise AssertionError

    there = StdioServerParameters(command=command[0], args=list(command[1:]))
    async with Client(there, mode="2026-07-28", elicitation_callback=cast("Any", put_off)) as client:
        answer: Any = await client.session.call_tool("sending", {"text": "hello"}, allow_input_required=True)
        print(json.dumps({"state": answer.request_state, "questions": list(answer.input_requests)}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    server(*given) if what == "server" else asyncio.run(host(*given))
