"""A context is an immutable sequence of messages, with the folded value of each kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actum import Context, errors

MESSAGES: list[dict[str, Any]] = [
    {"type": "text", "text": "hello"},
    {"type": "state", "a": [{"b": 1}], "n": None},
    {"type": "data", "kind": "user", "data": {"name": "Ann"}},
]


def test_a_context_is_a_sequence_of_messages() -> None:
    context = Context(MESSAGES)
    assert (len(context), context[0], list(context)) == (3, MESSAGES[0], MESSAGES)
    assert json.loads(json.dumps(list(context))) == MESSAGES
    assert context == MESSAGES
    assert Context("hello") == [MESSAGES[0]]


def test_values_are_read_by_kind_and_by_expression() -> None:
    context = Context(MESSAGES)
    assert context.state == context["state"] == {"a": [{"b": 1}], "n": None}
    assert context.user == {"name": "Ann"}
    assert context.get("†state.a[0].b") == 1
    assert context.get("†state.n", "default") is None
    assert context.get("†state.absent", "default") == "default"
    assert context.get("†absent.x <|> †user.name") == "Ann"
    assert context.get("†state.a *> †absent", 0) == 0


def test_values_are_copies() -> None:
    context = Context(MESSAGES)
    context.state["a"].append("spoiled")
    context.get("†state.a")[0]["b"] = "spoiled"
    assert context.state == {"a": [{"b": 1}], "n": None}


def test_what_a_context_lacks_is_named_with_what_it_has() -> None:
    context = Context(MESSAGES)
    with pytest.raises(KeyError, match="state, user"):
        _ = context["absent"]
    with pytest.raises(AttributeError, match="state, user"):
        _ = context.absent
    assert "user" in context
    assert "absent" not in context
    with pytest.raises(errors.MessageError):
        context.get("no reference")


@pytest.mark.rule("M6")
@pytest.mark.parametrize(
    "message",
    [
        {"type": "state", "state": {"x": 1}, "_outputPath": "no reference"},
        {"type": "state", "state": {"x": 1}, "_outputPath": "†state.y"},
        {"type": "state", "state": {"x": 1}, "_outputPath": "†state.x", "_outputMethod": "append"},
        {"type": "state", "state": {"x": 1}, "_outputPath": 5},
        {"type": "state", "state": {"x": "no list"}, "_outputPath": "†state.x", "_outputMethod": "concat"},
    ],
)
def test_a_message_that_no_call_could_have_written_names_its_index(message: dict[str, Any]) -> None:
    with pytest.raises(errors.MessageError) as caught:
        _ = Context([MESSAGES[0], {"type": "state", "x": [1]}, message]).state
    assert caught.value.index == 2


@pytest.mark.rule("I2")
def test_a_context_seen_from_an_instance() -> None:
    context = Context([{"type": "state", "x": 1}, {"type": "state", "y": 2, "_instance": "①"}])
    assert list(context.instances) == ["①"]
    assert context.of("①").state == {"x": 1, "y": 2}
    assert context.of("②").state == {"x": 1}
    assert context.of("①").of("②").state == {"x": 1}
    assert list(context.of("①")) == list(context)
