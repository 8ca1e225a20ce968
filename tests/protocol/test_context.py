"""A context is an immutable sequence of messages, with the folded value of each kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actum import Context, errors
from actum.protocol.context import redacted

MESSAGES: list[dict[str, Any]] = [
    {"type": "text", "text": "hello"},
    {"type": "state", "a": [{"b": 1}], "n": None},
    {"type": "data", "kind": "user", "data": {"name": "Ann"}},
]


@pytest.mark.parametrize(
    ("address", "as_told"),
    [
        ("https://ann:SECRET@example.com", "https://example.com"),
        ("https://ann:SECRET@example.com/a/b?key=SECRET#SECRET", "https://example.com/a/b"),
        ("https://example.com/@ann/b", "https://example.com/@ann/b"),
        ("ideas/@ann?.json", "ideas/@ann?.json"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_an_address_is_told_without_what_may_be_secret(address: str, as_told: str) -> None:
    assert redacted(address) == as_told


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


@pytest.mark.rule("M3", "C9")
@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (5, 'a message must be a JSON object, {"type": "user", "message": …}, not a int'),
        ({"type": "state", "state": {1: 2}}, "the key 1 is not a string"),
        ({"type": "data", "kind": "each", "data": 1}, "'each' is not a name for a kind: †each means something else"),
        ({"type": "state", "_call": 5}, "'_call' must be the call that has left the message, an object"),
        ({"type": "state", "_of": 5}, "'_of' must be a place such as \"3.0\", not 5"),
        ({"type": "state", "_of": "x"}, "'_of': 'x' is not a place, for example 3.0"),
        ({"type": "state", "_rank": "0."}, "'_rank': '0.' is not a place, for example 3.0"),
        ({"type": "state", "_run": 5}, "'_run' must be the id of a run, not 5"),
        ({"type": "plan", "plan": [], "_places": 5}, "'_places' must map indices of calls to places"),
        ({"type": "plan", "plan": [], "_places": {"x": "0.0"}}, "'_places' must map indices of calls to places"),
        ({"type": "plan", "plan": [], "_places": {"0": "x"}}, "'_places': 'x' is not a place, for example 3.0"),
        ({"type": "plan", "plan": [], "_places": {"0": 5}}, "'_places' must be a place such as \"3.0\", not 5"),
        ({"type": "state", "_shown": -1}, "'_shown' must be a whole number that is not negative"),
        ({"type": "state", "_shown": True}, "'_shown' must be a whole number that is not negative"),
        ({"type": "state", "_number": 10**9}, "'_number' must be a whole number that is not negative"),
        ({"type": "state", "_again": "1"}, "'_again' must be a whole number that is not negative"),
        ({"type": "state", "state": {}, "_outputPath": "x"}, "'_outputPath' must be one reference, not 'x'"),
        ({"type": "state", "state": {}, "_outputPath": 5}, "'_outputPath' must be one reference, not 5"),
        ({"type": "state", "state": {}, "_outputPath": "†a b"}, "'_outputPath' must be one reference, not '†a b'"),
        (
            {"type": "state", "state": {}, "_outputPath": "†state.y"},
            "'_outputPath' names '†state.y', where the message has no value",
        ),
        (
            {"type": "state", "state": {"x": 1}, "_outputPath": "†state.x", "_outputMethod": "append"},
            "'_outputMethod' must be one of set, merge, assign, push, concat, erase, not 'append'",
        ),
        (
            {"type": "state", "state": {"x": "a"}, "_outputPath": "†state.x", "_outputMethod": "concat"},
            "it can't be folded into 'state': concat joins two strings or two lists, at .x they are neither",
        ),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_message_is_told_with_its_index(message: Any, complaint: str) -> None:
    with pytest.raises(errors.MessageError) as caught:
        _ = Context([{"type": "state", "x": [1]}, message]).state
    assert (str(caught.value), caught.value.index) == (f"message 1: {complaint}", 1)


def test_what_is_wrong_inside_of_a_suspended_delegate_is_told_with_its_place() -> None:
    inner = [{"type": "text", "text": "x"}, {"type": "state", "_shown": -1}]
    with pytest.raises(errors.MessageError) as caught:
        Context([{"type": "suspended", "of": "0.0", "call": {"_tool": "ask"}, "context": inner}])
    complaint = "'_shown' must be a whole number that is not negative"
    assert (caught.value.index, caught.value.path) == (0, "context[1]")
    assert str(caught.value).endswith(complaint)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (5, "a context is a text or a list of messages, not 5"),
        ({"type": "state"}, "a context is a text or a list of messages, not {'type': 'state'}"),
    ],
)
def test_what_is_no_context_is_told(given: Any, complaint: str) -> None:
    with pytest.raises(errors.MessageError) as caught:
        Context(given)
    assert str(caught.value) == complaint


def test_what_a_context_lacks_is_told_in_full() -> None:
    for context, there in ((Context(MESSAGES), "state, user"), (Context([]), "no data")):
        with pytest.raises(KeyError) as key:
            _ = context["absent"]
        assert key.value.args == (f"the context holds no 'absent'; it holds {there}",)
        with pytest.raises(AttributeError) as attribute:
            _ = context.absent
        assert str(attribute.value) == f"the context holds no 'absent'; it holds {there}"
    with pytest.raises(errors.MessageError) as caught:
        Context(MESSAGES).get(5)  # type: ignore[arg-type] -- as a slip
    assert str(caught.value) == "a reference is a text such as '†state.name', not 5"
