"""What a small real model does with real requests: form, never wit, but for choices that it is able to make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from actum import Agent, Config, Context, Idea, Limits, Tools, errors, events, models
from actum.protocol.config import Settings
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("W41")


def model(url: str) -> models.Model:
    return models.load("llamacpp:gemma3-270m", base_url=url, price=models.Price.FREE)


class Row(BaseModel):
    name: str = Field(max_length=12)
    count: int = Field(ge=0, le=99)
    kind: Literal["a", "b"] | None = None


class Tree(BaseModel):
    name: str = Field(max_length=8)
    below: list[Tree] = Field(default=[], max_length=2)


def one_tool() -> Tools:
    tools = Tools()

    @tools.tool(effects="none")
    def weather(city: Literal["Rome", "Oslo"], days: int = 1) -> str:
        """The weather."""
        return f"{city}: sun for {days}"

    assert weather.name == "weather"
    return tools


def many_tools() -> Tools:
    tools = one_tool()
    for name in ("buy", "sell", "keep", "count"):
        tools.register(name, {"properties": {"row": Row.model_json_schema()}, "required": ["row"], "_effects": "none"})
        tools.activity(name, lambda: 1)
    return tools


KINDS: dict[str, tuple[Any, Tools, Config]] = {
    "text": (str, Tools(), Config()),
    "number": (float, Tools(), Config()),
    "choice": (Literal["yes", "no"], Tools(), Config()),
    "object": (Row, Tools(), Config()),
    "list": (list[Row], Tools(), Config()),
    "map": (dict[str, int], Tools(), Config()),
    "union": (Row | int | list[bool], Tools(), Config()),
    "recursive": (Tree, Tools(), Config()),
    "a latent tool": (int, Tools(), Config()),
    "a tool": (Row, one_tool(), Config(flow=False)),
    "a tool with the flow": (str, one_tool(), Config(readers=False)),
    "references aside": (Row, one_tool(), Config(flow=False, references="aside")),
    "many tools": (Row, many_tools(), Config(flow=False, shapes=False)),
}
KINDS["a latent tool"][1].register("think", {"properties": {"_output": {"type": "integer"}}})


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_of_schema_is_taken_and_what_is_answered_parses_or_is_told_to_be_cut(
    url: str, kind: str
) -> None:
    output, tools, config = KINDS[kind]
    settings = Settings(max_tokens=40, temperature=0.5, seed=1)
    agent = Agent(model(url), tools=tools, config=replace(config, settings=settings, retries=0))
    try:
        solution = await agent.request("Rome, please: one row of two.", output)
    except errors.ModelError as error:
        assert error.code == "model_truncated"  # noqa: PT017  either is well
    else:
        assert solution.usage.output_tokens is not None


async def test_an_answer_arrives_in_pieces_and_is_counted(url: str) -> None:
    agent = Agent(model(url), config=Config(settings=Settings(max_tokens=30, temperature=0)))
    seen: list[events.Event] = []
    async with agent.stream("Say yes.", Literal["yes, of course, gladly", "no"]) as run:
        seen = [event async for event in run]
    assert sum(isinstance(event, events.OutputDelta) for event in seen) > 1
    usage = run.result.usage
    assert usage.requests == 1
    assert usage.input_tokens is not None
    assert usage.input_tokens > 10
    assert usage.output_tokens is not None
    assert 3 <= usage.output_tokens <= 30
    assert usage.usd == 0


async def test_who_leaves_has_the_server_stop(url: str) -> None:
    """It has one place: were the first answer written on, the second would come minutes later."""
    long = models.ModelRequest(
        messages=({"role": "user", "content": "Count from 1 to 100000."},),
        schema={"type": "array", "items": {"type": "integer"}, "minItems": 200},
        settings=Settings(max_tokens=3_500),
    )
    stream = model(url).stream(long)
    async for item in stream:
        if isinstance(item, str):
            break
    await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    short = Agent(model(url), config=Config(settings=Settings(max_tokens=20)))
    assert (await short.run("yes or no?", Literal["yes", "no"])).output in {"yes", "no"}


async def test_equal_seeds_write_equal_texts(url: str) -> None:
    async def said(seed: int) -> str:
        request = models.ModelRequest(
            messages=({"role": "user", "content": "A colour?"},),
            schema={"enum": ["red", "green", "blue", "yellow", "black", "white", "brown", "grey"]},
            settings=Settings(seed=seed, temperature=2),
        )
        return "".join([item async for item in model(url).stream(request) if isinstance(item, str)])

    first = [await said(seed) for seed in range(4)]
    assert [await said(seed) for seed in range(4)] == first
    assert all(first)


THINGS = ("lamp", "chair", "phone", "book", "film", "meal", "hotel", "game", "bag", "coat")
GOOD = (
    "I love this {}!",
    "A wonderful {}, I am so happy.",
    "The best {} ever.",
    "Great {}, excellent quality.",
    "This {} is perfect.",
)
BAD = (
    "I hate this {}!",
    "A terrible {}, I am so angry.",
    "The worst {} ever.",
    "Awful {}, horrible quality.",
    "This {} is broken garbage.",
)
SHOTS = (
    ("What a fantastic day, I enjoyed it.", "positive"),
    ("Disgusting, I want my money back.", "negative"),
    ("Simply lovely and beautiful.", "positive"),
    ("It broke at once, very bad.", "negative"),
    ("Great work, thank you so much!", "positive"),
    ("Never again, this was awful.", "negative"),
)


def reviews() -> dict[str, str]:
    texts = {form.format(thing): "positive" for thing in THINGS for form in GOOD}
    return texts | {form.format(thing): "negative" for thing in THINGS for form in BAD}


def classifier() -> Idea:
    """Six shots as turns, each answered as the next is to be."""
    turns: list[Json] = []
    for text, kind in SHOTS:
        turns.append({"type": "user", "message": f'¶input\n{{"text":"{text}"}}'})
        turns.append({"type": "assistant", "message": f'{{"output":"{kind}"}}'})
    context = [{"type": "system", "message": "Is the text positive or negative?"}, *turns]
    return Idea(context=context, schema={"enum": ["positive", "negative"]})


async def test_a_hundred_texts_are_sorted_by_delegates_one_for_each(url: str) -> None:
    tools = Tools()
    properties = {"text": {"type": "string"}, "_output": {"enum": ["positive", "negative"]}}
    tools.register("sort", {"properties": properties, "required": ["text"], "_delegate": "classifier"})
    texts = reviews()
    plan = {"type": "plan", "plan": [{"_tool": "sort", "_each": "†input.texts", "text": "†each"}], "output": "†calls.0"}
    agent = Agent(
        model(url),
        tools=tools,
        delegates={"classifier": classifier()},
        limits=Limits(requests=110),
        config=Config(settings=Settings(temperature=0, max_tokens=16)),
    )
    context = Context([{"type": "input", "texts": [*texts]}, plan])
    result = await agent.run(context, list[str])
    assert len(texts) == 100
    assert set(result.output) <= {"positive", "negative"}
    right = sum(said == meant for said, meant in zip(result.output, texts.values(), strict=True))
    assert right >= 90, right
    assert result.usage.requests == 100
