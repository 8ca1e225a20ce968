"""`python -m bench.turns`: what a chat of ten turns costs, each of one call; docs/results.md shows it.

Each turn asks for one forecast and is answered in a sentence. The server counts what it is sent and what it answers, as
for the other jobs; a turn of Actum's is one request, one of the peer's loop two. No time is measured.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from httpx2 import AsyncClient
from pydantic_ai import Agent as PeerAgent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from actum import Agent, Tools, models
from actum.models.hosted import Hosted
from actum.models.port import Endpoint
from actum.models.wires.chat import WIRE

from . import wire
from .answering import Said, compact, is_composed, prompt_tokens, text_of, told_as
from .environments import ROOT
from .server import Entry, Server, write_head
from .work import forecast

CITIES = ("Oslo", "Lima", "Porto", "Quito", "Tunis", "Hanoi", "Dakar", "Perth", "Turin", "Accra")
SYSTEM = "You are a weather desk. Answer in one sentence."
PAGE = ROOT / "docs" / "results.md"
PRICE = (2.5, 10.0)
"""US dollars for a million tokens of prompt and of answer, gpt-4o's list price, for all alike."""
_BLOCK = re.compile(r"(<!-- turns -->\n).*?(<!-- /turns -->)", re.DOTALL)
_ASKED = re.compile(r"How warm is it in (\w+)\?")


class Chat(NamedTuple):
    """What a chat has cost, by the server's log."""

    requests: int
    prompt: int
    completion: int

    @property
    def usd(self) -> float:
        """The same in US dollars."""
        return (self.prompt * PRICE[0] + self.completion * PRICE[1]) / 1e6


class Desk(Server):
    """Answers the chat: a plan where the schema takes one, else a native call, and its sentence in the next round."""

    async def _complete(
        self, writer: asyncio.StreamWriter, system: str, scenario: str, raw: bytes, arrived: float
    ) -> None:
        body = json.loads(raw)
        answer, prompt = _turn(body), prompt_tokens(body)
        entry = Entry(
            system=system,
            scenario=scenario,
            arrived=arrived,
            streamed=bool(body.get("stream")),
            prompt=prompt,
            completion=answer.tokens,
        )
        self.log.append(entry)
        if entry.streamed:
            await self._stream(writer, answer, entry, len(self.log))
        else:
            whole = wire.whole(answer, prompt, len(self.log))
            write_head(writer, "application/json", "200 OK", whole)
            writer.write(whole)
        entry.ended = time.monotonic()


def _turn(body: dict[str, Any]) -> Said:
    city = _ASKED.findall("\n".join(map(text_of, body["messages"])))[-1]
    if is_composed(body):
        plan = {
            "calls": [{"_tool": "forecast", "city": city}],
            "output": f"In {city} it is {{†calls.0}} degrees.",
        }
        return Said(text=told_as(plan, body))
    if body["messages"][-1]["role"] == "tool":
        return Said(text=f"In {city} it is {forecast(city):g} degrees.")
    return Said(calls=(("forecast", compact({"city": city})),))


async def _actum(url: str, *, is_known: bool) -> list[str]:
    tools = Tools()
    tools.tool(forecast)
    model: Any = models.load("openai:gpt-4o", base_url=url, api_key="x")
    if is_known:
        endpoint = Endpoint(wire="chat", provider="openai", base_url=url, api_key="x")
        model = Hosted("gpt-4o", wire=WIRE, endpoint=endpoint, dialect="OPENAI")
    talk = Agent(model, tools=tools).conversation([{"type": "system", "message": SYSTEM}])
    try:
        return ["".join([piece async for piece in talk.say(f"How warm is it in {city}?")]) for city in CITIES]
    finally:
        await model.aclose()


async def _peer(url: str) -> list[str]:
    outputs: list[str] = []
    history: list[Any] = []
    async with AsyncClient() as client:
        provider = OpenAIProvider(base_url=url, api_key="x", http_client=client)
        agent = PeerAgent(OpenAIChatModel("gpt-4o", provider=provider), instructions=SYSTEM, tools=[forecast])
        for city in CITIES:
            result = await agent.run(f"How warm is it in {city}?", message_history=history)
            history = result.all_messages()
            outputs.append(result.output)
    return outputs


SYSTEMS: Mapping[str, Callable[[str], Awaitable[list[str]]]] = {
    "**actum**": lambda url: _actum(url, is_known=True),
    "**actum (unknown host)**": lambda url: _actum(url, is_known=False),
    "pydantic-ai": _peer,
}


async def measured() -> dict[str, Chat]:
    """Hold the chat with each system."""
    chats: dict[str, Chat] = {}
    expected = [f"In {city} it is {forecast(city):g} degrees." for city in CITIES]
    async with Desk().running() as desk:
        for name, chat in SYSTEMS.items():
            outputs = await chat(f"{desk.url}/{name.strip('*').partition(' ')[0]}/turns/v1")
            assert outputs == expected, f"{name}: {outputs}"
            log, desk.log = desk.log, []
            chats[name] = Chat(
                len(log), sum(request.prompt for request in log), sum(request.completion for request in log)
            )
    return chats


def table(chats: Mapping[str, Chat]) -> str:
    """The chats as a table."""
    rows = [
        f"| {name} | {chat.requests} | {chat.prompt:,} | {chat.completion:,} | {chat.usd:.4f} |"
        for name, chat in chats.items()
    ]
    return "\n".join(["| | requests | tokens of prompts | of answers | $ |", "|---|---:|---:|---:|---:|", *rows]) + "\n"


def main() -> None:
    """Measure, and write the table into the page."""
    rows = table(asyncio.run(measured()))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda block: f"{block[1]}\n{rows}\n{block[2]}", page), encoding="utf-8")
    print(rows)


if __name__ == "__main__":
    main()
