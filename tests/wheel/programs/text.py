"""Ten thousand characters in chunks of four: all of them, in order, as they come, at a cost that grows with them."""

import asyncio
import sys
from types import FrameType

from actum import Agent, models


async def read(length: int) -> list[str]:
    text = "".join(chr(97 + at % 26) for at in range(length))
    agent = Agent(models.Scripted([{"calls": [], "output": text}], chunk=4))
    pieces = [piece async for piece in agent.stream_text("Write.")]
    assert "".join(pieces) == text
    return pieces


def cost(length: int) -> int:
    """How many calls of functions it takes."""
    calls = 0

    def counted(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(counted)
    try:
        asyncio.run(read(length))
    finally:
        sys.setprofile(None)
    return calls


print(len(asyncio.run(read(10_000))), "pieces")
print(f"{cost(20_000) / cost(5_000):.1f} times the calls for four times the text")
