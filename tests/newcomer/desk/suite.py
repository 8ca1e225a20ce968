# pyright: basic
"""The suite: no model."""

from __future__ import annotations

import json
from typing import Any

import desk
import pytest
from fastapi.testclient import TestClient

from actum import errors, models
from app import make_app

REFUND = {
    "calls": [
        {"_tool": "find_orders"},
        {"_value": "{one(o for o in †calls.0 if o.late)}"},
        {"_tool": "refund", "order_id": "†calls.1.id", "amount": "†calls.1.price"},
    ],
    "output": {"text": "Refunded {†calls.1.item}: {†calls.2}", "category": "refund", "follow_up": False},
}
HELLO = {"calls": [], "output": {"text": "Hello!", "category": "other", "follow_up": True}}


def replies(client: TestClient, user: str, text: str) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for block in client.post(f"/chat/{user}", json={"text": text}).text.strip().split("\n\n"):
        event, data = block.split("\n", 1)
        out.setdefault(event.removeprefix("event: "), []).append(json.loads(data.removeprefix("data: ")))
    return out


@pytest.fixture(autouse=True)
def _clean() -> None:
    desk.PAID.clear()


def test_hello_is_typed_and_streams() -> None:
    client = TestClient(make_app(models.Scripted([HELLO], chunk=4)))
    out = replies(client, "ana", "hi")
    assert out["answer"] == [HELLO["output"]]
    assert "".join(out["text"]) == "Hello!"


def test_refund_waits_then_runs_once() -> None:
    client = TestClient(make_app(models.Scripted([REFUND])))
    assert replies(client, "ana", "refund")["waiting"][0][0]["call"]["order_id"] == "o1"
    assert not desk.PAID
    pending = client.get("/chat/ana/pending").json()
    text = client.post("/chat/ana/decisions", json={"of": pending[0]["of"], "approve": True}).text
    assert "Refunded lamp: 40.00 for o1 to ana" in text
    assert list(desk.PAID.values()) == ["40.00 for o1 to ana"]
    assert client.post("/chat/ana/decisions", json={"of": pending[0]["of"], "approve": True}).status_code == 409


def test_denied() -> None:
    client = TestClient(make_app(models.Scripted([REFUND, HELLO])))
    replies(client, "ana", "refund")
    place = client.get("/chat/ana/pending").json()[0]["of"]
    text = client.post("/chat/ana/decisions", json={"of": place, "approve": False, "reason": "too late"}).text
    assert "Hello!" in text
    assert not desk.PAID


def test_users_do_not_see_each_other() -> None:
    model = models.Scripted([HELLO, HELLO, HELLO])
    client = TestClient(make_app(model))
    replies(client, "ana", "I am Ana, my code is 1234")
    replies(client, "bob", "I am Bob")
    assert "1234" not in json.dumps(model.requests[1].messages)
    replies(client, "ana", "and again")
    assert "1234" in json.dumps(model.requests[2].messages)


def test_provider_down_is_an_event() -> None:
    down = models.Scripted([errors.ModelError("overloaded", code="model_server", retryable=True)])
    assert replies(TestClient(make_app(down)), "ana", "hi")["error"][0]["code"] == "model_server"


def test_bad_output_is_asked_again() -> None:
    model = models.Scripted([{"calls": [], "output": {"text": "x", "category": "nonsense"}}, HELLO])
    assert replies(TestClient(make_app(model)), "ana", "hi")["answer"] == [HELLO["output"]]
    assert len(model.requests) == 2


def test_conversation_goes_on_after_a_refund() -> None:
    model = models.Scripted([REFUND, HELLO])
    client = TestClient(make_app(model))
    replies(client, "ana", "refund")
    place = client.get("/chat/ana/pending").json()[0]["of"]
    client.post("/chat/ana/decisions", json={"of": place, "approve": True})
    assert replies(client, "ana", "thank you, bye")["answer"] == [HELLO["output"]]


async def test_refund_tool_alone() -> None:
    desk.USER.set("ana")
    assert await desk.refund("o1", 1.0, _key="k") == "1.00 for o1 to ana"


def test_unit_by_registry() -> None:
    import asyncio

    desk.USER.set("ana")
    assert asyncio.run(desk.tools({"_tool": "track", "order_id": "o1"})) == "o1 is in Lisbon"
