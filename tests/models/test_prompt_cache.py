"""The providers' own prompt caches: asked for where the prefix is stable, and counted (M7, L5)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actum import Agent, Runs, Tools
from actum.generation.model import ModelRequest
from actum.models import Usage
from actum.models.wires.anthropic import WIRE
from actum.schema.json import JsonObject as Json

from ..effort import EFFORT
from ..runs.desks import PATIENCE, serving
from .asking import REQUEST, collect
from .costs import KEEPING, RECORD, SHAPES, counted
from .server import Server
from .wires import WIRES

LONG = "Be brief. " * 600
SYSTEM = {"type": "system", "message": LONG}
DONE = '{"calls": [], "output": 5}'
CALLED = '{"calls": [{"_tool": "look"}], "output": null}'


def marked(body: Json) -> list[str]:
    """The texts up to which the provider is asked to cache."""
    blocks = [*body.get("system", []), *(part for message in body["messages"] for part in message["content"])]
    return [block["text"] for block in blocks if isinstance(block, dict) and "cache_control" in block]


def looking() -> Tools:
    tools = Tools()

    @tools.tool
    def look() -> int:
        return 5

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
    system = {"type": "system", "message": "Be brief. " * words}
    await Agent(WIRES[name].hosted(server), tools=looking()).run([system, {"type": "user", "message": "Look."}])
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


@pytest.mark.rule("W16")
async def test_what_is_kept_for_one_tenant_is_found_by_no_other(server: Server, tmp_path: Path) -> None:
    wire = WIRES["openai"]
    server.reply(wire.answer(DONE))
    idea = {"context": [SYSTEM, {"type": "user", "message": "Look."}], "schema": {"type": "integer"}}
    keys: list[str] = []
    async with Runs(tmp_path / "runs.db") as runs, serving(runs, Agent(wire.hosted(server), tools=looking())):
        for tenant in ("", "acme", "acme", "other", ""):
            run = await runs.submit(idea, tenant=tenant)
            await run.result(timeout=PATIENCE)
            keys.append(server.last.body["prompt_cache_key"])
    assert [len(key) for key in keys] == [32] * 5
    assert (keys[1], keys[4]) == (keys[2], keys[0])
    assert len({*keys}) == 3


MOST = {"one request": (1.0, 1.25, 0.13), "five requests": (0.4, 0.15, 0.15)}
MOST["a conversation of five turns"] = (0.7, 0.3, 0.3)
RECORDED: Json = json.loads(RECORD.read_text())


@pytest.mark.rule("M7", "W14", "W15", "W19")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", KEEPING)
async def test_what_runs_1_2_and_100_pay_of_the_price_of_their_input(server: Server, name: str, shape: str) -> None:
    """Of an agent with long instructions, where its process goes on. `make reference` makes a page of the record."""
    runs = (1, 2, 3, 100 if EFFORT != "little" else 5)
    first, second, third, last = await counted(server, name, shape, runs)
    assert [first, second, last] == RECORDED[name][shape], "python -m tests.models.costs"
    paid = [
        0.1 * read + 1.25 * written + whole - read - written for read, written, whole in (first, second, third, last)
    ]
    plain = first[2]
    assert [part <= most * plain for part, most in zip((paid[0], paid[1], paid[3]), MOST[shape], strict=True)] == [
        True
    ] * 3
    assert sum(paid[:3]) <= 3 * plain, "what three runs have saved is never negative"
