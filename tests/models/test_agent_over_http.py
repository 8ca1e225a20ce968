"""An Agent over real HTTP: what is sent, when calls start, and what a failing host does to a run."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Config, Tools, errors, events, models

from .asking import Naps, refusal
from .server import CUT, Part, Reply, Server
from .wires import WIRES, chat

OUTPUT = {
    "type": "object",
    "properties": {"total": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["total"],
}


def agent(server: Server, tools: Tools, name: str = "openai:gpt-4o", **config: Any) -> Agent:
    model = models.load(name, base_url=f"{server.url}/v1", api_key="key", retries=0)
    return Agent(model, tools=tools, config=Config(**config))


def answer(text: dict[str, Any] | str, *cuts: int) -> Reply:
    whole = text if isinstance(text, str) else json.dumps(text)
    marks = [0, *cuts, len(whole)]
    pieces: list[Part] = [whole[start:end] for start, end in pairwise(marks)]
    return Reply(parts=chat(pieces))


def counting() -> tuple[Tools, list[int]]:
    tools = Tools()
    doubled: list[int] = []

    @tools.tool
    async def double(value: int, by: int = 2) -> int:  # pyright: ignore[reportUnusedFunction] -- registered
        """Multiply."""
        doubled.append(value)
        return value * by

    return tools, doubled


CHAIN = {
    "calls": [{"_tool": "double", "value": 3, "by": None}, {"_tool": "double", "value": "†calls.0"}],
    "output": {"total": "†calls.1", "note": None},
    "meta": {"path": None, "version": "1.1"},
}


@pytest.mark.rule("W6")
@pytest.mark.parametrize("kind", ["openai-compatible", "openai"])
async def test_a_host_that_imposes_no_schema_is_told_it_in_words_from_then_on(
    server: Server, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The host is trusted to impose it until a finished answer is no JSON (W6); OpenAI itself is always trusted."""
    wire = WIRES[kind]
    right = wire.answer('{"calls": [], "output": 5}')
    server.script(wire.answer("I think it's five."), right)
    model = wire.hosted(server)
    model._dialect = "GRAMMAR" if kind == "openai-compatible" else "OPENAI"  # pyright: ignore[reportPrivateUsage]
    for _ in range(2):
        assert (await Agent(model).run("2 + 3?", int)).output == 5
    assert len(server.received) == 3
    is_told = ["response_format" not in request.body for request in server.received]
    assert is_told == ([False, True, True] if kind == "openai-compatible" else [False] * 3)
    words = ["Answer with JSON of this schema" in request.raw.decode() for request in server.received]
    assert words == is_told
    assert sum("model_unenforced" in record.getMessage() for record in caplog.records) == (kind == "openai-compatible")


@pytest.mark.rule("O6", "O7", "T9")
async def test_a_chain_costs_one_request_and_nulls_for_what_was_left_out_come_back_absent(server: Server) -> None:
    tools, doubled = counting()
    server.reply(answer(CHAIN, 10, 40, 41))
    result = await agent(server, tools).run("go", OUTPUT)
    assert (result.output, doubled, len(server.received)) == ({"total": 12}, [3, 6], 1)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (11, 7)


@pytest.mark.rule("T9", "T10")
async def test_the_composed_schema_is_lowered_for_the_host_and_named_in_no_other_place(server: Server) -> None:
    tools, _ = counting()
    server.reply(answer(CHAIN))
    runner = agent(server, tools)
    await runner.run("go", OUTPUT)
    sent = server.last.body["response_format"]["json_schema"]["schema"]
    assert sent == runner.compose("go", OUTPUT)
    assert '"^†"' not in json.dumps(sent, ensure_ascii=False)
    assert list(sent["properties"]) == sent["required"] == ["calls", "output"]


@pytest.mark.rule("C6", "L1")
async def test_a_call_starts_before_the_host_has_sent_the_rest_of_the_answer(server: Server) -> None:
    tools = Tools()
    started = asyncio.Event()

    @tools.tool
    async def begin() -> int:  # pyright: ignore[reportUnusedFunction] -- registered
        """Begin."""
        started.set()
        return 1

    server.reply(
        Reply(parts=chat(['{"calls":[{"_tool":"begin"}', started, '],"output":{"total":"†calls.0"},"meta":{}}']))
    )
    async with asyncio.timeout(10):
        assert (await agent(server, tools).run("go", OUTPUT)).output == {"total": 1}


@pytest.mark.rule("L3")
async def test_a_cut_connection_is_asked_again_and_a_call_that_has_started_is_not_repeated(server: Server) -> None:
    tools, doubled = counting()
    text = json.dumps(CHAIN)
    half = text.index("}, {") + 1
    server.reply(Reply(parts=[*chat([text[:half]], finish=None)[:2], CUT]), answer(CHAIN))
    result = await agent(server, tools).run("go", OUTPUT)
    assert (result.output, doubled, len(server.received)) == ({"total": 12}, [3, 6], 2)


@pytest.mark.rule("L3")
async def test_a_host_that_is_down_is_asked_as_often_as_its_adapter_says_and_no_more(server: Server) -> None:
    naps = Naps()
    for retries, requests in ((2, 3), (0, 1)):
        server.received.clear()
        server.reply(refusal(500))
        model = models.load("openai:m", base_url=f"{server.url}/v1", api_key="key", retries=naps.policy(retries))
        with pytest.raises(errors.ModelError, match="answered 500") as caught:
            await Agent(model, config=Config(retries=2)).run("go", OUTPUT)
        assert (caught.value.code, len(server.received), caught.value.result.usage.requests) == (
            "model_server",
            requests,
            1,
        )
    assert naps.taken == [0.5, 1.0]


@pytest.mark.rule("L3")
async def test_a_run_waits_as_the_adapter_does_before_it_asks_for_what_broke_off_again(server: Server) -> None:
    naps = Naps()
    begun = chat(['{"calls":'], finish=None)[:2]
    server.reply(*[Reply(parts=[*begun, CUT])] * 2, answer({"calls": [], "output": {"total": 1}, "meta": {}}))
    model = models.load("openai:m", base_url=f"{server.url}/v1", api_key="key", retries=naps.policy())
    assert (await Agent(model).run("go", OUTPUT)).output == {"total": 1}
    assert (len(server.received), naps.taken) == (3, [0.5, 1.0])


@pytest.mark.rule("L3")
async def test_a_scripted_error_shows_as_itself() -> None:
    for code in ("model_server", "model_timeout", "model_rate_limit"):
        scripted = models.Scripted([errors.ModelError("down", code=code, retryable=True)])
        with pytest.raises(errors.ModelError, match="down") as caught:
            await Agent(scripted).run("go", OUTPUT)
        assert caught.value.code == code
    empty = errors.ModelError("nothing", code="model_content", retryable=True)
    scripted = models.Scripted([empty, {"calls": [], "output": {"total": 1}}])
    assert (await Agent(scripted).run("go", OUTPUT)).output == {"total": 1}


@pytest.mark.rule("L3")
async def test_prose_and_broken_json_are_asked_again_with_what_was_wrong(server: Server) -> None:
    tools, _ = counting()
    server.reply(answer("Sorry, I can't."), answer('{"calls": [}'), answer(CHAIN))
    result = await agent(server, tools).run("go", OUTPUT)
    assert result.output == {"total": 12}
    assert "not usable" in server.last.body["messages"][-1]["content"]


async def test_a_host_that_refuses_the_schema_is_asked_again_a_rung_lower(server: Server) -> None:
    tools, _ = counting()
    refusal = {"error": {"message": "Invalid schema for response_format 'answer'", "type": "invalid_request_error"}}
    server.reply(
        Reply(parts=[json.dumps(refusal)], status=400, content_type="application/json"),
        answer(CHAIN),
    )
    async with agent(server, tools).stream("go", OUTPUT) as run:
        retried = [event async for event in run if isinstance(event, events.Retried)]
    assert (run.result.output, len(retried)) == ({"total": 12}, 1)
    first, second = (json.dumps(received.body.get("response_format")) for received in server.received)
    assert first != second


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (
            Reply(status=429, headers={"retry-after": "1"}, content_type="application/json", parts=["{}"]),
            "model_rate_limit",
        ),
        (Reply(status=500, content_type="application/json", parts=["{}"]), "model_server"),
        (Reply(content_type="text/html", parts=["<html>"]), "model_content"),
    ],
    ids=["429", "500", "html"],
)
@pytest.mark.rule("L5")
async def test_what_the_host_says_ends_the_run_with_what_was_done(server: Server, reply: Reply, code: str) -> None:
    tools, _ = counting()
    server.reply(answer({"calls": [{"_tool": "double", "value": 3}], "output": None, "meta": {}}), reply)
    with pytest.raises(errors.ActumError) as caught:
        await agent(server, tools, retries=0).run("go", OUTPUT)
    cause = caught.value if isinstance(caught.value, errors.ModelError) else caught.value.__cause__
    assert isinstance(cause, errors.ModelError)
    assert cause.code == code
    assert [message["data"] for message in caught.value.result.context if message.get("kind") == "result"] == [6]


@pytest.mark.rule("L7")
async def test_cancelling_a_run_hangs_up(server: Server) -> None:
    tools, _ = counting()
    reply = Reply(parts=chat(['{"calls":[', asyncio.Event()]))
    server.reply(reply)
    async with asyncio.timeout(10):
        task = asyncio.create_task(agent(server, tools).run("go", OUTPUT))
        await reply.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await reply.hung_up.wait()


@pytest.mark.rule("L5", "L7")
async def test_running_out_of_time_hangs_up(server: Server) -> None:
    from actum import Limits

    tools, _ = counting()
    reply = Reply(parts=chat(['{"calls":[', asyncio.Event()]))
    server.reply(reply)
    model = models.load("openai:gpt-4o", base_url=f"{server.url}/v1", api_key="key", retries=0)
    async with asyncio.timeout(20):
        with pytest.raises(errors.LimitExceeded, match="seconds"):
            await Agent(model, tools=tools, limits=Limits(seconds=1.0)).run("go", OUTPUT)
        await reply.hung_up.wait()


@pytest.mark.rule("T9")
async def test_a_recording_of_a_hosted_model_replays_without_it(server: Server, tmp_path: Path) -> None:
    tools, doubled = counting()
    server.reply(answer(CHAIN))
    model = models.load("openai:gpt-4o", base_url=f"{server.url}/v1", api_key="key", retries=0)
    recording = models.Recording(model, tmp_path / "tape.jsonl")
    first = await Agent(recording, tools=tools).run("go", OUTPUT)
    again = await Agent(f"replay:{tmp_path / 'tape.jsonl'}", tools=tools).run("go", OUTPUT)
    assert (again.output, again.solutions, len(server.received)) == (first.output, first.solutions, 1)
    assert doubled == [3, 6, 3, 6]
