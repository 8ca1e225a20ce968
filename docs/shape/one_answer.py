"""The run that is traced: one answer of two calls, the second reading the first, and an output that reads both."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable

from actum import Agent, Tools, models

ANSWER = {
    "calls": [{"_tool": "double", "n": 2}, {"_tool": "double", "n": "†calls.0"}],
    "output": ["†calls.0", "†calls.1"],
}


def run(begin: Callable[[], None], end: Callable[[], None]) -> None:
    """Trace from the first text of the answer to its output."""
    tools = Tools()

    @tools.tool
    async def double(n: int) -> int:
        """Double a number."""
        return 2 * n

    async def answer(_: models.ModelRequest) -> AsyncIterator[str]:
        begin()
        yield json.dumps(ANSWER, ensure_ascii=False)

    done = Agent(models.Scripted([answer]), tools=tools).run_sync("Double 2 twice.", list[int])
    end()
    assert done.output == [4, 8]
