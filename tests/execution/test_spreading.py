"""What crosses between a run and the runs of their own that its calls are: bounds as JSON, and errors by kind (D11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from actum import Call, Context, Tools, errors
from actum.execution.delegation.caller import Ancestor, SavedRequest, context_of_item, failure_of
from actum.schema.json import JsonObject as Json

ASK = Tools().register("ask", {"_delegate": "d", "properties": {"of": {}}})


@pytest.mark.rule("D11")
@pytest.mark.parametrize(
    ("error", "of_delegate", "of_item"),
    [
        (
            {"code": "activity", "message": "tool 'ask': ValueError: no"},
            (errors.DelegateError, "tool 'ask': activity"),
            (errors.ActivityError, "tool 'ask': ValueError: no"),
        ),
        (
            {"code": "model", "message": "words of its own"},
            (errors.DelegateError, "tool 'ask': model"),
            (errors.ActivityError, "tool 'ask': words of its own"),
        ),
        (
            {
                "code": "delegate",
                "message": "tool 'inner': the delegate 'b' failed: boom",
                "tool": "inner",
                "data": {"chain": ["a", "b"]},
            },
            (errors.DelegateError, "tool 'ask': the delegate 'a' → 'b' failed: boom"),
            (errors.DelegateError, "tool 'ask': the delegate 'a' → 'b' failed: boom"),
        ),
        (
            {"code": "delegate_not_found", "message": "tool 'ask': it failed: gone", "tool": "ask"},
            (errors.DelegateNotFound, "tool 'ask': it failed: gone"),
            (errors.DelegateNotFound, "tool 'ask': it failed: gone"),
        ),
        (
            {"code": "limit_exceeded", "message": "the run has made its 2 requests", "data": {"limit": "requests"}},
            (errors.LimitExceeded, "the run has made its 2 requests"),
            (errors.LimitExceeded, "the run has made its 2 requests"),
        ),
        (
            {"code": "plan_failed", "message": "x", "data": {"cause": {"code": "activity", "message": "tool 'p': no"}}},
            (errors.DelegateError, "tool 'ask': activity"),
            (errors.ActivityError, "tool 'ask': tool 'p': no"),
        ),
        (
            {"code": "not_known", "message": "own", "data": {"cause": {"code": "delegate_not_found", "message": "go"}}},
            (errors.DelegateNotFound, "tool 'ask': go"),
            (errors.ActivityError, "tool 'ask': own"),
        ),
    ],
    ids=str,
)
def test_of_an_error_inside_only_the_kind_crosses_and_of_an_item_the_words(
    error: Json, of_delegate: tuple[type[errors.ActumError], str], of_item: tuple[type[errors.ActumError], str]
) -> None:
    for is_item, (kind, message) in ((False, of_delegate), (True, of_item)):
        failure = failure_of(error, ASK, is_item=is_item)
        assert (type(failure), failure.message) == (kind, message)
        assert getattr(failure, "limit", None) == error.get("data", {}).get("limit")


@pytest.mark.rule("C15")
@pytest.mark.parametrize(
    ("reported", "outcome"), [("unknown", "unknown"), ("unusable", "unusable"), ("nonsense", "failed")]
)
def test_what_nobody_knows_of_a_plan_of_its_own_nobody_knows_of_its_call(reported: str, outcome: str) -> None:
    cause = {"code": "activity", "message": "no"}
    error: Json = {"code": "plan_failed", "message": "x", "data": {"cause": cause, "outcome": reported}}
    assert failure_of(error, ASK, is_item=True).outcome == outcome


@pytest.mark.rule("D15")
@pytest.mark.parametrize("roots", [None, [], [Path("/a"), Path("/b")]])
@pytest.mark.parametrize("is_foreign", [True, False])
def test_what_bounds_a_delegate_is_the_same_from_json(roots: list[Path] | None, *, is_foreign: bool) -> None:
    origin = Context((), origin="/here/own.json")
    request = SavedRequest(context=origin, config={"tools": ["t"]}, is_foreign=is_foreign, roots=roots)
    ancestor = Ancestor("d", request, {"t": True, "u": False})
    again = Ancestor.of(json.loads(json.dumps(ancestor.to_dict())))
    assert again.to_dict() == ancestor.to_dict()
    assert (again.name, again.tools, again.request.context.origin) == ("d", {"t": True, "u": False}, "/here/own.json")
    assert (again.request.config, again.request.is_foreign) == ({"tools": ["t"]}, is_foreign)
    assert (None if again.request.roots is None else list(again.request.roots)) == roots


@pytest.mark.rule("C12", "E3")
def test_a_call_for_an_item_is_a_plan_of_it_alone_and_its_values_are_no_references() -> None:
    registry = Tools()
    tool = registry.register("ask", {"_delegate": "d", "properties": {"of": {}}})
    call = Call({"_tool": "ask", "of": "†state.x", "_delegate": "d", "_outputPath": "†state.y"})
    scoped = Context([{"type": "state", "x": 1}, {"type": "data", "kind": "item", "data": 2}])
    messages: list[Any] = list(context_of_item(call, tool, scoped, ["state"], registry))
    assert messages[:2] == list(scoped)
    data, plan, approval = messages[2:]
    assert data == {"type": "data", "kind": "item1", "data": {"of": "†state.x"}}
    assert plan["plan"] == [{"_tool": "ask", "of": "†item1.of", "_delegate": "d", "_scopes": ["state"]}]
    assert (plan["output"], approval["type"], approval["of"], approval["decision"]) == (
        "†calls.0",
        "approval",
        "0.0",
        "approve",
    )
    other: list[Any] = list(context_of_item(call, tool, Context(()), (), Tools()))
    assert other[0] == {"type": "tool", "tool": {"ask": dict(tool.schema)}}
    assert other[1]["kind"] == "item"
    assert "_scopes" not in other[2]["plan"][0]
