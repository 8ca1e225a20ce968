"""The providers' own prompt caches: asked for where the prefix is stable, and counted (M7, L5)."""

from __future__ import annotations

import json

import pytest

from actum import Agent, Tools
from actum.generation.model import ModelRequest
from actum.models import Usage
from actum.models.wires.anthropic import WIRE
from actum.schema.json import JsonObject as Json

from .asking import REQUEST, collect
from .server import Server
from .wires import WIRES

LONG = "Be brief. " * 600
SYSTEM = {"type": "system", "message": LONG}
DONE = '{"calls": [], "output": 5}'
CALLED = '{"calls": [{"_tool": "look"}], "output": null}'


def marked(body: Json) -> list[str]:
    """The texts up to which the provider is asked to cache."""
    blocks = [*body.get("system", []), *(part for one in body["messages"] for part in one["content"])]
    return [block["text"] for block in blocks if isinstance(block, dict) and "cache_control" in block]


def looking() -> Tools:
    tools = Tools()

    @tools.tool
    def look() -> int:
        return 5

    return tools


def changing() -> Tools:
    tools, count = Tools(), iter(range(10**6))

    @tools.tool
    def look() -> int:
        return next(count)

    return tools


@pytest.mark.rule("M7", "W14")
async def test_anthropic_is_asked_to_cache_what_the_next_request_begins_with(server: Server) -> None:
    wire = WIRES["anthropic"]
    server.reply(wire.answer(CALLED), wire.answer(DONE))
    context = [SYSTEM, {"type": "user", "message": "Look."}, {"type": "state", "x": 1}]
    await Agent(wire.hosted(server), tools=looking()).run(context)
    first, second = (received.body for received in server.received)
    assert marked(first)[1:] == ["Look."]
    assert marked(second)[:2] == marked(first), "what all runs begin with, and what the run's last request ended with"
    (result,) = marked(second)[2:]
    assert result.startswith("¶result 0"), "what the next request, too, would begin with, but not the folded state"
    assert json.dumps(second["messages"]).index("Look.") < json.dumps(second["messages"]).index("result 0")


@pytest.mark.rule("M7")
async def test_where_only_instructions_come_again_those_are_cached(server: Server) -> None:
    wire = WIRES["anthropic"]
    server.reply(wire.answer(DONE))
    await Agent(wire.hosted(server), tools=looking()).run([SYSTEM, {"type": "state", "x": 1}])
    (instructions,) = marked(server.last.body)
    assert instructions.endswith("Be brief. ")


@pytest.mark.rule("M7", "W18")
@pytest.mark.parametrize(
    ("name", "words", "asks"),
    [("anthropic", 100, False), ("anthropic", 600, True), ("openai", 100, False), ("openai", 600, True)],
)
async def test_a_beginning_that_is_too_short_to_be_kept_is_not_marked(
    server: Server, name: str, words: int, asks: bool
) -> None:
    server.reply(WIRES[name].answer(DONE))
    said = {"type": "system", "message": "Be brief. " * words}
    await Agent(WIRES[name].hosted(server), tools=looking()).run([said, {"type": "user", "message": "Look."}])
    assert ("cache" in server.last.raw.decode()) is asks


@pytest.mark.rule("W18")
@pytest.mark.parametrize(
    ("model", "least"), [("claude-haiku-4-5", 4096), ("claude-3-5-haiku-latest", 2048), ("claude-sonnet-4-5", 1024)]
)
def test_how_much_is_kept_at_least_depends_on_the_model(model: str, least: int) -> None:
    assert WIRE.least_kept(model) == least


@pytest.mark.rule("M7", "W15")
@pytest.mark.parametrize("name", list(WIRES))
async def test_what_has_no_second_request_asks_for_no_cache(server: Server, name: str) -> None:
    server.reply(WIRES[name].answer(DONE))
    await Agent(WIRES[name].hosted(server), tools=Tools()).run("Look.")
    assert "cache" not in server.last.raw.decode()


@pytest.mark.rule("L5", "W20")
@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "google"])
async def test_what_a_cache_has_saved_is_told(server: Server, name: str) -> None:
    server.reply(WIRES[name].answer("{}"))
    usage = (await collect(WIRES[name].hosted(server)))[-1]
    assert isinstance(usage, Usage)
    assert usage.cached_tokens == 4
    assert usage.usd is not None
    assert usage.saved_usd is not None
    assert 0 < usage.saved_usd < usage.usd


@pytest.mark.rule("L5")
def test_an_unknown_saving_stays_unknown() -> None:
    known, unknown = Usage(requests=1, usd=1.0, saved_usd=0.5), Usage(requests=1)
    assert (known + known).saved_usd == 1.0
    assert (known + unknown).saved_usd is None


@pytest.mark.rule("M3")
async def test_a_handler_that_changes_a_message_leaves_only_those_before_it_stable(server: Server) -> None:
    def shouting(_: Json, request: ModelRequest) -> ModelRequest:
        request.messages[-1]["content"] = "LOOK."
        return request

    wire = WIRES["anthropic"]
    server.reply(wire.answer(DONE))
    agent = Agent(wire.hosted(server), tools=looking(), message_types={"shout": shouting})
    await agent.run([{"type": "user", "message": LONG}, {"type": "user", "message": "Look."}, {"type": "shout"}])
    assert marked(server.last.body) == [LONG]
    assert REQUEST.stable == 0


class Billing:
    """What Anthropic counts for what it is sent: 1.25 for what it is asked to keep, 0.1 for what it has kept."""

    def __init__(self) -> None:
        self.kept: set[str] = set()

    def of(self, body: Json) -> float:
        blocks = [{"text": json.dumps(body["output_config"])}, *body.get("system", [])]
        blocks = [{"text": one} if isinstance(one, str) else one for one in blocks]
        blocks += [part for one in body["messages"] for part in one["content"]]
        ends = [n for n, block in enumerate(blocks) if "cache_control" in block]
        assert len(ends) <= 4
        texts = [json.dumps(block.get("text")) for block in blocks]
        reached = [n for end in ends for n in range(max(-1, end - 20), end + 1) if "".join(texts[: n + 1]) in self.kept]
        read, written = max(reached, default=-1) + 1, max(ends, default=-1) + 1
        self.kept |= {"".join(texts[: end + 1]) for end in ends}
        sizes = [len(text) for text in texts]
        return 0.1 * sum(sizes[:read]) + 1.25 * sum(sizes[read:written]) + sum(sizes[max(read, written) :])

    def plain(self, body: Json) -> float:
        blocks = [json.dumps(body["output_config"]), *body.get("system", [])]
        texts = [json.dumps(one if isinstance(one, str) else one.get("text")) for one in blocks]
        return sum(map(len, texts)) + sum(
            len(json.dumps(part.get("text"))) for one in body["messages"] for part in one["content"]
        )


@pytest.mark.rule("M7", "W14", "W15", "W19")
@pytest.mark.parametrize(
    ("shape", "prices"),
    [("one request", (1.0, 1.25, 0.13)), ("five requests", (0.4, 0.15, 0.15)), ("a conversation", (0.7, 0.3, 0.3))],
)
async def test_what_runs_1_2_and_100_pay_of_the_price_of_their_input(
    server: Server, shape: str, prices: tuple[float, ...]
) -> None:
    """Of an agent with long instructions, where its process goes on (wires.md, W19)."""
    wire, billing = WIRES["anthropic"], Billing()
    model = wire.hosted(server)
    paid: list[float] = []
    for number in range(100):
        server.received.clear()
        said = [SYSTEM, {"type": "user", "message": f"Question {number}?"}]
        if shape == "one request":
            server.reply(wire.answer(DONE))
            await Agent(model, tools=Tools()).run(said)
        elif shape == "five requests":
            server.script(*[wire.answer(CALLED)] * 4, wire.answer(DONE))
            await Agent(model, tools=changing()).run(said)
        else:
            server.script(wire.answer('{"calls": [], "output": "five"}'))
            talk = Agent(model, tools=Tools()).conversation([SYSTEM])
            for turn in range(5):
                _ = [piece async for piece in talk.say(f"Question {number}, {turn}?")]
        bodies = [received.body for received in server.received]
        paid.append(sum(map(billing.of, bodies)) / sum(map(billing.plain, bodies)))
        if number == 2:
            assert sum(paid) <= 3 + 0.26, "a process that ends early has lost next to nothing"
    assert [round(paid[n], 2) <= most for n, most in zip((0, 1, 99), prices, strict=True)] == [True] * 3, paid[:3]
