"""A small real model answers real requests: the form is checked, and only such choices as it can make."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from actum import Agent, Config, Context, Idea, Limits, Tools, errors, events, models
from actum.protocol.config import Settings
from actum.schema.json import JsonObject as Json

from ..serving.house import events_of
from ..studio.rooms import idea_file, room

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
    all_events: list[events.Event] = []
    async with agent.stream("Say yes.", Literal["yes, of course, gladly", "no"]) as run:
        all_events = [event async for event in run]
    assert sum(isinstance(event, events.OutputDelta) for event in all_events) > 1
    usage = run.result.usage
    assert usage.requests == 1
    assert usage.input_tokens is not None
    assert usage.input_tokens > 10
    assert usage.output_tokens is not None
    assert 3 <= usage.output_tokens <= 30
    assert usage.usd == 0


async def test_the_studio_follows_what_it_writes(url: str, tmp_path: Path) -> None:
    config: Json = {"settings": {"max_tokens": 60, "temperature": 0}, "tools": []}
    schema: Json = {"type": "string", "minLength": 20, "maxLength": 60}
    idea_file(tmp_path, "say.json", context=[{"type": "user", "message": "Say hello."}], solution=None)
    path = tmp_path / "say.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "config": config, "schema": schema}))
    async with room(tmp_path, model(url)) as client:
        origin = {"origin": str(client.base_url).rstrip("/")}
        began = await client.post("/studio/ideas/say.json", data={"model": ""}, headers=origin)
        assert began.status_code == 303, began.text
        at = began.headers["location"]
        kinds: list[str] = []
        text = ""
        async with client.stream("GET", f"{at}/events") as stream:
            async for event in events_of(stream):
                kinds.append(str(event.get("event")))
                text += event["data"].get("text", "") if kinds[-1] == "text" else ""
                if kinds[-1] == "end":
                    break
        page = unescape((await client.get(at)).text)
    assert kinds.count("text") > 3, "it is told as it is written, not at its end"
    assert kinds[-1] == "end"
    assert len(text) >= 20
    assert text.strip('"')[:20] in page


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
    # Without chance: what it draws may be blanks up to max_tokens.
    short = Agent(model(url), config=Config(settings=Settings(max_tokens=40, temperature=0)))
    assert (await short.run("yes or no?", Literal["yes", "no"])).output in {"yes", "no"}


async def test_equal_seeds_write_equal_texts(url: str) -> None:
    async def colour(seed: int) -> str:
        request = models.ModelRequest(
            messages=({"role": "user", "content": "A colour?"},),
            schema={"enum": ["red", "green", "blue", "yellow", "black", "white", "brown", "grey"]},
            settings=Settings(seed=seed, temperature=2),
        )
        return "".join([item async for item in model(url).stream(request) if isinstance(item, str)])

    first = [await colour(seed) for seed in range(4)]
    assert [await colour(seed) for seed in range(4)] == first
    assert all(first)


@pytest.mark.rule("W42")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("It broke at once, very bad.", "negative"),
        ("I love this lamp!", "positive"),
        ("The worst hotel ever.", "negative"),
    ],
)
def test_the_commands_of_the_how_to_sort_a_text(url: str, tmp_path: Path, text: str, kind: str) -> None:
    """The commands of "your first answer from a real model, without a key", but for the port."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "models.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^local/bin/(actum run .*)$", page, re.MULTILINE)
    (idea,) = re.findall(r'```yaml title="review.yaml"\n(.*?)```', page, re.DOTALL)
    (tmp_path / "review.yaml").write_text(idea, encoding="utf-8")
    words = [f"text={text}" if word.startswith("text=") else word for word in shlex.split(command)]
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=tmp_path, env={**os.environ, "LLAMACPP_BASE_URL": url}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip().strip('"')) == (0, kind), done.stderr


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
    texts = {form.format(noun): "positive" for noun in THINGS for form in GOOD}
    return texts | {form.format(noun): "negative" for noun in THINGS for form in BAD}


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
    right = sum(label == meant for label, meant in zip(result.output, texts.values(), strict=True))
    assert right >= 90, right
    assert result.usage.requests == 100
