"""Two Ideas, each with a model of its own: one plans and calls the other as a tool."""

import asyncio

from actum import Idea


async def main() -> None:
    result = await Idea.load("writer.json").run(input={"topic": "tides"})
    print(result.output)
    print(result.usage.requests, "requests")


asyncio.run(main())
