"""Every endpoint against requests that are made of what the server itself publishes, right ones and wrong ones."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from actum import Agent, models
from actum.schema.json import JsonObject as Json
from actum.serving import Served
from actum.serving.callers import UNBOUNDED

from ..effort import EFFORT, cases
from ..runs.desks import Desk, chain, plan
from .house import TOKEN, Client, house

INPUT: Json = {
    "type": "object",
    "properties": {"of": {"type": "string"}, "days": {"type": "integer"}, "tags": {"type": "array", "items": {}}},
    "required": ["of"],
}
STEP: Json = {
    "context": [
        {"type": "input", "schema": INPUT},
        {"type": "plan", "plan": [{"_tool": "step", "of": "†input.of"}], "output": "†calls.0"},
    ],
    "schema": {"type": "string"},
}
IDEAS = {
    "step": STEP,
    "chain": chain(1),
    "gated": plan({"_tool": "step", "of": "†state.approvals.budget"}),
    "say": {"context": [{"type": "text", "text": "hello"}], "schema": {"type": "string"}},
}
NAMES: Json = {"enum": [*IDEAS, "none"]}
MESSAGE: Json = {
    "type": "object",
    "properties": {"role": {"enum": ["system", "user", "assistant", "tool"]}, "content": {"type": ["string", "array"]}},
}


async def published(client: Client) -> Json:
    """The document of the server, with the operations that other specifications describe."""
    from ag_ui.core import RunAgentInput

    document: Json = await client.ok("GET", "/openapi.json")
    page = RunAgentInput.model_json_schema(by_alias=True, ref_template="#/components/schemas/{model}")
    document["components"]["schemas"] |= page.pop("$defs")
    chat: Json = {"model": NAMES, "messages": {"type": "array", "items": MESSAGE}, "stream": {"type": "boolean"}}
    members: Json = {"jsonrpc": {"const": "2.0"}, "id": {"type": ["integer", "string"]}, "params": {"type": "object"}}
    members["method"] = {"enum": ["initialize", "tools/list", "tools/call", "ping", "server/discover", "none"]}
    document["paths"] |= {
        "/v1/chat/completions": posting({"type": "object", "properties": chat, "required": ["model", "messages"]}),
        "/v1/models/{id}": {"get": {"parameters": [in_path("id")], "responses": {"200": {"description": "a model"}}}},
        "/agui/say": posting(page),
        "/mcp": posting({"type": "object", "properties": members, "required": ["jsonrpc", "method"]}),
    }
    return document


def posting(schema: Json) -> Json:
    body: Json = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"post": {"requestBody": body, "responses": {"200": {"description": "an answer"}}}}


def in_path(name: str) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


PARTS = cases(little=1, more=60, most=60)
EACH = cases(little=3, more=3_000, most=3_000) // PARTS
"""How many requests of each operation a part makes."""


@pytest.mark.timeout(1_200)  # thousands of requests, which may meet a loaded machine
@pytest.mark.parametrize("part", range(PARTS))
async def test_no_request_breaks_an_endpoint(part: int, caplog: pytest.LogCaptureFixture) -> None:
    answer = json.dumps({"calls": [], "output": "ok"})
    agent = Agent(models.Scripted([answer] * 100_000), tools=Desk().tools)
    async with house(Served(IDEAS, agent=agent), quota=UNBOUNDED) as client:
        document = await published(client)
        run = await client.ok("POST", "/ideas/step/runs?wait=30", json={"of": "tea"})
        count = await asyncio.to_thread(fuzzed, document, str(client.base_url), run["id"], part)
        assert count > len(document["paths"])
        assert await client.ok("GET", f"/runs/{run['id']}") == run
        assert (await client.ok("POST", "/ideas/step/runs?wait=30", json={"of": "tea"}))["output"] == "tea."
    assert not [record for record in caplog.records if record.exc_info]


def fuzzed(document: Json, base: str, run: str, part: int) -> int:
    """Send all operations what is drawn for a part, and count the requests."""
    import requests
    import schemathesis
    from schemathesis import GenerationMode

    count = 0
    headers = {"authorization": f"Bearer {TOKEN}", "accept": "application/json, text/event-stream"}
    with requests.Session() as session:
        session.trust_env = False
        every: Any = schemathesis.openapi.from_dict(document)
        for parsed in every.get_all_operations():
            operation: Any = parsed.ok()
            drawn: list[Any] = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]

            @seed(part if EFFORT != "all" else random.getrandbits(64))
            @settings(
                max_examples=EACH,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
                database=None,
            )
            @given(st.one_of(drawn), st.booleans())
            def ask(case: Any, is_known: bool) -> None:
                nonlocal count
                count += 1
                if is_known and case.path_parameters and "id" in case.path_parameters:
                    case.path_parameters["id"] = run
                judged(case.call(base_url=base, session=session, headers=headers, timeout=30))

            ask()
    return count


def judged(answer: Any) -> None:
    exchange = f"{answer.request.method} {answer.request.url} {str(answer.request.body)[:500]}: {answer.text[:300]}"
    assert answer.status_code < 500, exchange
    if answer.text == "Invalid HTTP request received.":
        return  # what is drawn may be no HTTP (`transfer-encoding: x`): it reaches no endpoint, the server says so
    if answer.status_code >= 400 and "/mcp" not in answer.request.url:
        error = answer.json()["error"]
        assert {"code", "message"} <= error.keys(), exchange
