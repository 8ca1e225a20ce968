"""A tool is called as the function that it was made of, and an output is what was asked for."""

from typing import Any, Literal, assert_type

from pydantic import BaseModel

from actum import (
    Activity,
    Agent,
    Call,
    Config,
    Conversation,
    Ctx,
    Idea,
    Limits,
    Result,
    Run,
    Solution,
    Stream,
    Tools,
    events,
)

tools = Tools()


class City(BaseModel):
    name: str
    people: int


@tools.tool
async def forecast(city: str, *, days: int = 1) -> list[str]:
    """The forecast for a city."""
    return [city] * days


@tools.tool(effects="none", timeout=5, retries=2)
def population(city: str) -> int:
    """How many live there."""
    return len(city)


@tools.activity("book")
async def booked(hotel: str, nights: int) -> bool:
    """Book a room."""
    return bool(hotel and nights)


@booked.undo
async def cancelled(call: Call, result: bool) -> None:
    print(call.tool, result)


@tools.activity("count")
@tools.tool
def counted(words: list[str]) -> int:
    return len(words)


@tools.tool
def near(ctx: Ctx[City], miles: int) -> str:
    assert_type(ctx.deps, City)
    return ctx.deps.name * miles


def plainly(n: int) -> str:
    return str(n)


assert_type(population("Rome"), int)
assert_type(counted(["a"]), int)
assert_type(tools.activity("plain", plainly)(1), str)
population(1)  # type: ignore[arg-type]

tools.tool(efects="none")(plainly)  # type: ignore[call-overload]
tools.tool(name="fixed", effects="none", delegate="anonymous", replace=True, _scopes=["state"])(plainly)
tools.register(plainly)  # type: ignore[arg-type]

by_name: dict[str, Activity] = {"population": population, "book": booked}


shop = Tools[City]()
desk = Agent("openai:gpt-5.2", tools=shop, deps=City)
assert_type(desk, Agent[City])
assert_type(Agent("openai:gpt-5.2", tools=[near]), Agent)
HOME = City(name="Rome", people=1)


@desk.instructions
def place(ctx: Ctx[City]) -> str:
    return ctx.deps.name


@desk.instructions  # type: ignore[arg-type]
async def missaid(ctx: Ctx[int]) -> str:
    return str(ctx.deps)


async def typed(run: Run) -> None:
    assert_type(await desk.run("Where?", City, deps=HOME), Result[City])
    assert_type(desk.conversation(output=City, deps=HOME), Conversation[City])
    await desk.run("Where?", City, deps=3)  # type: ignore[call-overload]
    await shop({"_tool": "near", "miles": 1}, deps=3)  # type: ignore[arg-type]
    desk.override(deps=3)  # type: ignore[arg-type]
    await Agent(None).run("Where?", City, deps=3)
    assert_type(await run.result(output=City), Result[City])
    assert_type(await run.result(timeout=1), Result[Any])


async def main(agent: Agent) -> None:
    assert_type(await forecast("Rome", days=2), list[str])
    assert_type(await booked("Ritz", nights=2), bool)
    await forecast("Rome", day=1)  # type: ignore[call-arg]
    await booked("Ritz")  # type: ignore[call-arg]
    assert_type((await agent.run("Where?", City)).output, City)
    assert_type((await agent.run("Where?", City | None)).output, City | None)
    assert_type((await agent.run("Where?", list[City])).output, list[City])
    assert_type((await agent.run("Which?", Literal["a", "b"])).output, Literal["a", "b"])
    assert_type(await agent.run("Where?", {"type": "object"}), Result[Any])
    assert_type(await agent.run("Where?"), Result[Any])
    assert_type(await agent.run("Where?", None), Result[Any])
    assert_type(await agent.request("Where?", City | None), Solution[City | None])
    assert_type((await agent.resume([], int | str)).output, int | str)
    assert_type(agent.conversation(output=City), Conversation[City])
    assert_type(agent.conversation("Where?", City | None), Conversation[City | None])
    assert_type(await Idea(context="Where?").run(agent, output=City), Result[City])
    assert_type(await Idea(context="Where?").run(agent), Result[Any])
    with agent.override(deps=City(name="Rome", people=1)) as same:
        assert_type(same, Agent)
    assert_type(agent.run_sync("Where?", City | None, input={"n": 1}).output, City | None)
    await agent.run("Where?", 5)  # type: ignore[call-overload]


async def watched(agent: Agent) -> City | None:
    assert_type(agent.stream("Where?", City), Stream[City])
    untyped: Stream = agent.stream("Where?")
    async with agent.stream("Where?", City | None) as stream:
        assert_type(stream, Stream[City | None])
        async for event in stream:
            if isinstance(event, events.CallFinished):
                print(event.call.tool, event.value)
        assert_type(stream.result, Result[City | None])
    print(untyped.context)
    return stream.result.output


def is_allowed(call: Call) -> bool:
    return call.tool != "book"


LISTED = Agent(None, tools=[population, plainly, Idea(context="Where?").as_tool("where")])
Agent(None, tools=[5])  # type: ignore[list-item]
Agent(None, approve=lambda call: True)  # type: ignore[arg-type, misc]
AGENT = Agent("openai:gpt-5.2", tools=tools, config=Config(retries=1), limits=Limits(usd=0.5))
