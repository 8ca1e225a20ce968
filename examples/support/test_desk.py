"""What the desk does, without a model: its answers are written here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from desk import Customer, Order, agent
from fastapi.testclient import TestClient

from actum import errors, models, testing
from app import made, played

ANSWERS = json.loads(Path(__file__).with_name("answers.json").read_text(encoding="utf-8"))
REFUND, HELLO = ANSWERS["late"], ANSWERS[""]


class Desk:
    """The desk with a model that plays answers, and two customers."""

    def __init__(self) -> None:
        lamp, chair = Order(id="o1", item="lamp", price=40, late=True), Order(id="o2", item="chair", price=70)
        self.customers = {"ana": Customer("ana", [lamp]), "bob": Customer("bob", [chair])}
        self.client = TestClient(made(self.customers, ":memory:"))

    def say(self, name: str, text: str) -> dict[str, list[Any]]:
        return events_of(self.client.post(f"/talks/{name}", json={"text": text}).text)

    def decide(self, name: str, *, approve: bool, reason: str = "") -> dict[str, list[Any]]:
        of = self.client.get(f"/talks/{name}/pending").json()[0]["of"]
        decision = {"of": of, "approve": approve, "reason": reason}
        return events_of(self.client.post(f"/talks/{name}/decisions", json=decision).text)


def events_of(text: str) -> dict[str, list[Any]]:
    events: dict[str, list[Any]] = {}
    for block in text.strip().split("\n\n"):
        event, data = block.split("\n", 1)
        events.setdefault(event.removeprefix("event: "), []).append(json.loads(data.removeprefix("data: ")))
    return events


@pytest.fixture(autouse=True)
def no_real_requests() -> Iterator[None]:
    with testing.no_requests():
        yield


def test_an_answer_is_typed_and_streams() -> None:
    with agent.override(model=models.Scripted([HELLO], chunk=4)):
        events = Desk().say("ana", "hi")
    assert events["answer"] == [HELLO["output"]]
    assert "".join(events["text"]) == HELLO["output"]["text"]


def test_a_refund_waits_runs_once_and_the_conversation_goes_on() -> None:
    desk = Desk()
    with agent.override(model=models.Scripted([REFUND, HELLO])):
        events = desk.say("ana", "My lamp is late.")
        assert events["waiting"][0][0]["call"] == {"_tool": "refund", "order": "o1", "amount": 40}
        assert desk.customers["ana"].paid == {}
        of = events["waiting"][0][0]["of"]
        assert desk.decide("ana", approve=True)["answer"][0]["text"] == "Refunded lamp: 40.00 for o1 to ana"
        assert [*desk.customers["ana"].paid.values()] == ["40.00 for o1 to ana"]
        again = desk.client.post("/talks/ana/decisions", json={"of": of, "approve": True})
        assert again.status_code == 409
        assert desk.say("ana", "Thank you, bye.")["answer"] == [HELLO["output"]]


def test_a_refund_that_is_denied_is_not_paid_and_the_model_is_told_why() -> None:
    desk, model = Desk(), models.Scripted([REFUND, HELLO])
    with agent.override(model=model):
        desk.say("ana", "My lamp is late.")
        assert desk.decide("ana", approve=False, reason="too late")["answer"] == [HELLO["output"]]
    assert desk.customers["ana"].paid == {}
    assert "too late" in json.dumps(model.requests[1].messages)


def test_customers_do_not_see_each_other() -> None:
    desk, model = Desk(), models.Scripted([HELLO], repeat_last=True)
    with agent.override(model=model):
        desk.say("ana", "My code is 1234.")
        desk.say("bob", "Hello.")
        desk.say("ana", "And again.")
    assert ["1234" in json.dumps(request.messages) for request in model.requests] == [True, False, True]
    assert ["customer is bob" in json.dumps(request.messages) for request in model.requests] == [False, True, False]


def test_a_provider_that_is_down_is_an_event() -> None:
    down = errors.ModelError("overloaded", code="model_server", retryable=True)
    with agent.override(model=models.Scripted([down])):
        assert Desk().say("ana", "hi")["error"][0]["code"] == "model_server"


def test_an_answer_of_another_shape_is_asked_for_again() -> None:
    wrong: dict[str, Any] = {"calls": [], "output": {"text": "x", "category": "nonsense"}}
    model = models.Scripted([wrong, HELLO])
    with agent.override(model=model):
        assert Desk().say("ana", "hi")["answer"] == [HELLO["output"]]
    assert len(model.requests) == 2


def test_it_can_be_tried_without_a_model() -> None:
    desk = Desk()
    with agent.override(model=played()):
        assert desk.say("ana", "hi")["answer"] == [HELLO["output"]]
        assert desk.say("ana", "My lamp is late.")["waiting"][0][0]["call"]["amount"] == 40
