"""The Delegate document's worked example: the parameters of a call meet the schema that a delegate expects."""

from __future__ import annotations

import json

import pytest

from actum import Agent, Tools, models
from actum.events import RequestStarted
from actum.schema.json import JsonObject as Json

EXPECTED_INPUT: Json = {
    "type": "object",
    "properties": {"recipientId": {"type": "string"}, "messageBody": {"type": "string"}},
}


@pytest.mark.rule("D4", "D5", "D6")
@pytest.mark.parametrize("spelling", ["_delegate", "_module"])
async def test_the_speaker_gets_what_was_said_and_the_schema_it_expects(spelling: str) -> None:
    address = "http://example.com/agents/speaker_EN"
    tools = Tools()
    tools.register(
        "sendMessage",
        {
            "type": "object",
            "properties": {"userId": {"type": "string"}, "text": {"type": "string"}},
            "required": ["userId", "text"],
            spelling: address,
        },
    )
    call = {"_tool": "sendMessage", spelling: address, "userId": "u_123", "text": "Hello, world!"}
    agent = Agent(
        models.Scripted(
            [
                {"calls": [call], "output": "†calls.0", "meta": {}},
                {"calls": [], "output": "sent", "meta": {}},
            ]
        ),
        tools=tools,
        delegates={
            address: {
                "context": [
                    {"type": "system", "message": "You are an expert in messaging in English."},
                    {"type": "input", "schema": EXPECTED_INPUT},
                ],
                "schema": {"type": "string"},
            }
        },
    )
    async with agent.stream("отправь") as run:
        contexts = [event.context async for event in run if isinstance(event, RequestStarted) and event.depth == 1]
    assert run.result.output == "sent"
    expected: list[Json] = [
        {"type": "system", "message": "You are an expert in messaging in English."},
        {"type": "input", "input": {"userId": "u_123", "text": "Hello, world!"}, "schema": EXPECTED_INPUT},
    ]
    assert json.dumps(contexts, sort_keys=True) == json.dumps([expected], sort_keys=True)
