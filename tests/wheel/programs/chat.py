"""A chat with memory and streaming."""

import asyncio

from actum import Agent
from model import librarian


async def main() -> None:
    agent = Agent(librarian)  # your own: Agent("openai:gpt-5.2")
    talk = agent.conversation([{"type": "system", "message": "You are a kind librarian."}])
    while words := input():
        async for piece in talk.say(words):
            print(piece, end="|", flush=True)
        print()


asyncio.run(main())
