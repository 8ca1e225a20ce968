"""A worker as a process, whose model is a provider on loopback: batch_worker.py PLACE URL LEASE."""

import asyncio
import sys

from actum import Agent, Runs, Worker, models


async def main(place: str, url: str, lease: str) -> None:
    model = models.load("openai-responses:gpt-5.2", base_url=url, api_key="key")
    async with Runs(place) as runs:
        await Worker(runs, Agent(model, tools=[]), lease=float(lease)).serve()


asyncio.run(main(*sys.argv[1:]))
