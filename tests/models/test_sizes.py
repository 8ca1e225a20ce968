"""How much a small request is: the support desk to which somebody says "hi", beside what pydantic-ai sends (W24-W28).

Bytes of what is sent over HTTP, and tokens by cl100k, whose ranks a package holds. A host that enforces a schema and
doesn't show it charges for the messages alone.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from actum import Agent, Config, Tools, errors, inspection
from actum.models.hosted import Hosted
from actum.models.scripted import Scripted
from actum.schema.json import encode

from .billing import tokens
from .server import Server
from .wires import WIRES

SYSTEM = "You are the help desk of a shop. Refund late orders below 50."
CONTEXT = [{"type": "system", "message": SYSTEM}, {"type": "user", "message": "hi"}]


class Order(BaseModel):
    id: str
    item: str
    price: float
    late: bool


class Answer(BaseModel):
    """What the desk says."""

    text: str = Field(description="The answer for the customer.")
    category: Literal["delivery", "refund", "other"]
    follow_up: bool = False


async def find_orders() -> list[Order]:
    """All orders of the customer who is writing."""
    return []


async def track(order_id: str) -> str:
    """Where a parcel is."""
    return order_id


def search_faq(question: str, limit: int = 3) -> list[str]:
    """Search the help pages."""
    return [question][:limit]


async def refund(order_id: str, amount: float) -> str:
    """Pay money back for an order."""
    return f"{order_id} {amount}"


FUNCTIONS: tuple[Any, ...] = (find_orders, track, search_faq, refund)


def desk() -> Tools:
    tools = Tools()
    for function in FUNCTIONS:
        tools.tool(effects="ordered" if function is refund else "none")(function)
    return tools


@dataclass(frozen=True, slots=True)
class Size:
    """How much a text is."""

    bytes: int
    tokens: int

    @classmethod
    def of(cls, value: Any) -> Size:
        text = encode(value)  # however its library writes what isn't ASCII
        return cls(len(text.encode()), tokens(text))


async def by_the_library(server: Server) -> Size:
    """How much pydantic-ai sends for the same tools and the same output."""
    from openai import AsyncOpenAI
    from pydantic_ai import Agent as Other
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(base_url=f"{server.url}/v1", api_key="key", max_retries=0)
    model = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client))
    agent = Other(model, output_type=Answer, instructions=SYSTEM, tools=FUNCTIONS)
    with suppress(Exception):  # what is answered is no answer to it
        await agent.run("hi")
    await client.close()
    return Size.of(server.received.pop(0).body)


def hosted(server: Server, wire: str, dialect: str) -> Hosted:
    model = WIRES[wire].hosted(server)
    model._dialect = dialect  # pyright: ignore[reportPrivateUsage]
    return model


async def sent(server: Server, model: Hosted, **config: Any) -> tuple[Size, Size]:
    """How much a request is, and its messages alone."""
    server.received.clear()
    with suppress(errors.ActumError):
        await Agent(model, tools=desk(), config=Config(**config)).run(CONTEXT, Answer)
    body = server.received[0].body
    return Size.of(body), Size.of(body.get("messages"))


@pytest.mark.rule("T10", "W24")
@pytest.mark.parametrize(
    ("wire", "dialect"),
    [
        ("openai", "OPENAI"),
        ("openai-responses", "OPENAI"),
        ("openai-compatible", "COMPATIBLE"),
        ("anthropic", "ANTHROPIC"),
        ("google", "GOOGLE"),
    ],
)
async def test_a_desk_that_is_greeted_sends_little_more_than_its_peers(server: Server, wire: str, dialect: str) -> None:
    server.reply(WIRES["openai"].answer("no answer"))
    peer = await by_the_library(server)
    whole, _ = await sent(server, hosted(server, wire, dialect))
    without, _ = await sent(server, hosted(server, wire, dialect), flow=False)
    assert (whole.bytes <= 2.3 * peer.bytes, without.bytes <= 1.7 * peer.bytes) == (True, True)
    assert (whole.tokens <= 820, without.tokens <= min(600, 1.7 * peer.tokens)) == (True, True)


@pytest.mark.rule("T10", "W24")
async def test_a_host_that_shows_no_schema_is_told_of_it_in_few_words(server: Server) -> None:
    server.reply(WIRES["openai"].answer("no answer"))
    peer = await by_the_library(server)
    _, words = await sent(server, hosted(server, "openai-compatible", "GRAMMAR"))
    assert words.bytes <= 1.15 * peer.bytes
    assert words.tokens <= 1.5 * peer.tokens <= 530


@pytest.mark.rule("T10", "T13", "W25")
async def test_a_schema_is_told_once(server: Server) -> None:
    """By the host, by signatures beside a schema that nobody is shown, or in words where none is sent."""
    server.reply(WIRES["openai"].answer("no answer"))
    for which, dialect, description in (
        ("openai", "OPENAI", None),
        ("openai-compatible", "GRAMMAR", "track(order_id) -> text: Where a parcel is."),
        ("openai-compatible", "PROMPTED_ONLY", '"_tool":{"const":"track"}'),
    ):
        await sent(server, hosted(server, which, dialect))
        body = server.received[0].body
        words = "\n".join(message["content"] for message in body["messages"])
        assert ("response_format" in body) is (dialect != "PROMPTED_ONLY")
        assert ("Where a parcel is" in words) is (description is not None)
        assert description is None or description in words
        assert words.count("Where a parcel is") <= 1


@pytest.mark.rule("T16", "T10", "W27")
async def test_the_reader_takes_at_most_300_bytes(server: Server) -> None:
    server.reply(WIRES["openai"].answer("no answer"))
    model = hosted(server, "openai", "OPENAI")
    (whole, _), (without, _) = await sent(server, model), await sent(server, model, readers=False)
    assert 0 < whole.bytes - without.bytes <= 300


@pytest.mark.rule("W31")
@pytest.mark.parametrize("provider", inspection.PROVIDERS)
async def test_how_many_tokens_a_request_has_is_estimated_within_a_tenth(provider: str) -> None:
    model = Scripted([{"calls": [], "output": None}], dialect=inspection.PROVIDERS[provider], repeat_last=True)
    agent = Agent(model, tools=desk())
    estimates = {part: row[provider] for part, row in inspection.sizes(agent, CONTEXT, Answer).items()}
    await agent.request(CONTEXT, Answer)
    words = tokens("".join(str(message["content"]) for message in model.requests[0].messages))
    schema_tokens = 0 if provider == "grammar" else tokens(encode(model.requests[0].schema))
    assert estimates["in all"] == pytest.approx(words + schema_tokens, rel=0.1)
    flat = inspection.sizes(Agent(model, tools=desk(), config=Config(flow=False)), CONTEXT, Answer)
    assert estimates["flow=False saves"] == estimates["in all"] - flat["in all"][provider]
    assert "flow=False saves" not in flat
