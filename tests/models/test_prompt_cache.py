"""The providers' own prompt caches: asked for where the prefix is stable, and counted (M7, L5)."""

from __future__ import annotations

import json

import pytest

from actum import Agent, Tools
from actum.generation.model import ModelRequest
from actum.models import Usage
from actum.schema.json import JsonObject as Json

from .asking import REQUEST, collect
from .server import Server
from .wires import WIRES

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


@pytest.mark.rule("M7")
async def test_anthropic_is_asked_to_cache_what_the_next_request_begins_with(server: Server) -> None:
    wire = WIRES["anthropic"]
    server.reply(wire.answer(CALLED), wire.answer(DONE))
    context = [{"type": "user", "message": "Look."}, {"type": "state", "x": 1}]
    await Agent(wire.hosted(server), tools=looking()).run(context)
    first, second = (received.body for received in server.received)
    assert marked(first) == ["Look."]
    (result,) = marked(second)
    assert result.startswith("¶result 0"), "what the next request, too, would begin with, but not the folded state"
    assert json.dumps(second["messages"]).index("Look.") < json.dumps(second["messages"]).index("result 0")


@pytest.mark.rule("M7")
async def test_where_only_instructions_come_again_those_are_cached(server: Server) -> None:
    wire = WIRES["anthropic"]
    server.reply(wire.answer(DONE))
    await Agent(wire.hosted(server), tools=looking()).run(
        [{"type": "system", "message": "Be brief."}, {"type": "state", "x": 1}]
    )
    (instructions,) = marked(server.last.body)
    assert instructions.endswith("Be brief.")


@pytest.mark.rule("M7")
@pytest.mark.parametrize("name", list(WIRES))
async def test_what_has_no_second_request_asks_for_no_cache(server: Server, name: str) -> None:
    server.reply(WIRES[name].answer(DONE))
    await Agent(WIRES[name].hosted(server), tools=Tools()).run("Look.")
    assert "cache" not in server.last.raw.decode()


@pytest.mark.rule("L5")
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
    await agent.run([{"type": "user", "message": "First."}, {"type": "user", "message": "Look."}, {"type": "shout"}])
    assert marked(server.last.body) == ["First."]
    assert REQUEST.stable == 0
