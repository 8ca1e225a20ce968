"""Plans with `_then`, conditions, items and computed values: drawn, checked and priced before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from actum import Context, Limits, Tools, inspection
from actum import tools as DEFAULT
from actum.cli.render.plan_lines import mermaid_of, plan_text, price_of
from actum.generation.offer import Toolset, offered
from actum.ideas.file import read_idea
from actum.ideas.published import idea_schema
from actum.inspection.plan_drawing import svg_of
from actum.schema.json import JsonObject as Json
from actum.schema.validator import Validator

pytestmark = pytest.mark.rule("E7")
STEP: Json = {"properties": {"n": {}, "_output": {"type": "integer"}}, "required": ["n"]}
PAY: Json = {"properties": {"n": {}, "_activity": {"const": "pay"}, "_output": {}}, "_effects": "ordered"}
THEN: Json = {"_then": True}


def step(n: Any, path: str | None = None, **meta: Any) -> Json:
    return {"_tool": "step", "n": n, "_output": 1, **meta} | ({"_outputPath": path} if path else {})


def pay(n: Any, **meta: Any) -> Json:
    return {"_tool": "pay", "n": n, **meta}


def planned(*calls: Any, output: Any = None) -> Context:
    return Context([{"type": "plan", "plan": list(calls), "output": output}])


def tools() -> Tools:
    registry = Tools()
    registry.activity("pay")(_pay)
    registry.register("pay", PAY)
    registry.register("ask", {"_delegate": "helper.json"})
    return registry


async def _pay(n: int) -> int:
    return n


def offering(context: Context) -> Toolset:
    return offered(context, tools())


FLOW = (
    pay(1),
    {"_value": "{[n for n in †state.all if n > 1]}"},
    THEN,
    pay("{len(†calls.1) + 2}", _when="{†calls.0 == 1}"),
    pay("†each", _each="†calls.1"),
)


def test_the_graph_says_what_orders_and_what_is_computed_of_what() -> None:
    graph = inspection.graph_of(planned(*FLOW, output="{†calls.3}"))
    assert [(vertex.kind, vertex.name, vertex.index) for vertex in graph.vertices[:5]] == [
        ("call", "pay", 0),
        ("computed", "_value", 1),
        ("then", "_then", 2),
        ("call", "pay", 3),
        ("call", "pay", 4),
    ]
    third, fourth = graph.vertices[3:5]
    assert (third.condition, third.computed, third.items) == ("{†calls.0 == 1}", {"n": "{len(†calls.1) + 2}"}, None)
    assert (fourth.condition, fourth.computed, fourth.items) == (None, {}, "†calls.1")
    named = [(edge.source, edge.target, edge.reference) for edge in graph.edges if edge.kind == "read"]
    assert named == [
        (5, 1, "†state.all"),
        (0, 3, "†calls.0"),
        (1, 3, "†calls.1"),
        (1, 4, "†calls.1"),
        (3, 6, "†calls.3"),
    ]
    assert [(edge.source, edge.target) for edge in graph.edges if edge.kind == "order"] == [
        (0, 2),
        (1, 2),
        (2, 3),
        (2, 4),
    ]


def test_calls_whose_tools_keep_their_order_are_drawn_in_it_where_the_tools_are_known() -> None:
    context = planned(pay(1), step(1), pay(2), pay(3))
    assert inspection.graph_of(context).edges == []
    ordered = inspection.graph_of(context, toolset=offering(context)).edges
    assert [(edge.source, edge.target, edge.kind) for edge in ordered] == [(0, 2, "order"), (2, 3, "order")]
    assert inspection.price(context, offering(context)).steps == 3


def test_many_calls_around_a_then_cost_no_edge_for_each_pair() -> None:
    calls = [step(1) for _ in range(1_000)]
    assert len(inspection.graph_of(planned(*calls, THEN, *calls)).edges) == 2_000


def test_the_text_of_a_graph_fits_a_terminal_and_says_conditions_items_and_order() -> None:
    long = pay("{" + " + ".join(["len(†calls.1)"] * 20) + "}")
    text = plan_text(inspection.graph_of(planned(*FLOW, long, output="{†calls.3} done")))
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    assert "2 _then after 0 pay, 1 _value" in words
    assert "3 pay if {†calls.0 == 1} n={len(†calls.1) + 2} derived: _when, n ← †calls.0 (0 pay)" in words
    assert "†calls.1 (1 _value) after 2 _then" in words
    assert "4 pay for each of †calls.1" in words
    assert "5 pay n={len(†calls.1) + len(†calls.1) + len(†calls.1) …" in words
    assert "output {†calls.3} done derived: all of it ← †calls.3 (3 pay)" in words
    assert [line[:3].strip() for line in text.splitlines() if "_then" in line[:12]] == [""], "no step of the plan"


def test_drawings_dash_what_only_orders() -> None:
    graph = inspection.graph_of(planned(*FLOW))
    drawn = svg_of(graph)
    ElementTree.fromstring(drawn)
    assert drawn.count('stroke-dasharray="5 4"') == 4
    mermaid = mermaid_of(graph).splitlines()
    assert '  n3["3 pay<br/>if {†calls.0 == 1}<br/>n={len(†calls.1) + 2}"]' in mermaid
    assert "  n2 -.-> n3" in mermaid


def test_what_steers_a_terminal_is_spelled_out_in_a_graph() -> None:
    hostile = pay("{†state.x + '\u001b[2J'}", _when="{†state.x == '\u202e'}")
    for drawn in (plan_text, mermaid_of, svg_of):
        text = drawn(inspection.graph_of(planned(hostile)))
        assert "\u001b" not in text
        assert "\u202e" not in text


@pytest.mark.rule("P4")
def test_a_price_counts_calls_and_says_which_may_not_be_made() -> None:
    context = planned(
        pay(1),
        THEN,
        {"_value": "{†calls.0 + 1}"},
        pay("{†calls.2}", _when="{†calls.2 > 1}"),
        {"_tool": "ask", "_each": [1, 2, 3]},
        {"_tool": "ask", "_each": "†calls.0"},
        {"_tool": "ask", "_when": "{†calls.2 > 1}"},
    )
    price = inspection.price(context, offering(context), Limits(calls=4))
    assert (price.calls, price.conditional, price.repeated, price.requests) == (7, 2, 1, 3)
    assert price.makers == {"code": 2, "the delegate helper.json": 5}
    assert price.steps == 3
    assert not price.is_over_calls, "it is sure to make only four"
    assert inspection.price(context, offering(context), Limits(calls=3)).is_over_calls
    assert "calls that are made on a condition: 2" in price_of(price)


CHECKS: dict[str, tuple[list[Any], list[tuple[int | None, str, str]]]] = {
    "order, values, conditions and items": (list(FLOW), []),
    "a then that says more": ([{"_then": True, "n": 1}], [(0, "invalid_parameters", "and nothing else")]),
    "a then that says no": ([{"_then": False}], [(0, "invalid_parameters", "and nothing else")]),
    "a value and a tool": ([{"_value": 1, "_tool": "step"}], [(0, "invalid_parameters", "not both")]),
    "a value with parameters": ([{"_value": 1, "n": 1}], [(0, "invalid_parameters", "takes no 'n'")]),
    "a condition that decides nothing": ([pay(1, _when="yes")], [(0, "invalid_parameters", "a condition is")]),
    "a condition that nothing fills": ([pay(1, _when="{†calls.7 > 1}")], [(0, "unresolved_reference", "†calls.7")]),
    "computed of what nothing fills": ([pay("{†state.no + 1}")], [(0, "unresolved_reference", "†state.no")]),
    "a text that names a reference": ([pay("see †calls.0")], [(0, "unresolved_reference", "†calls")]),
    "an expression that can't be read": ([pay("{†calls.0 +}")], [(0, "unresolved_reference", "n")]),
    "a reference to a then": ([pay(1), THEN, pay("†calls.1")], [(2, "unresolved_reference", "orders the others")]),
    "computed of a then": ([pay(1), THEN, pay("{†calls.1}")], [(2, "unresolved_reference", "orders the others")]),
    "an item where there are none": ([pay("{†each + 1}")], [(0, "unresolved_reference", "†each")]),
    "items by which other calls are computed": ([pay(1), pay("{†each + †calls.0}", _each=[1])], []),
    "a cycle through a then": (
        [pay("†calls.2"), THEN, step(1)],
        [(0, "cyclic_plan", "call 0 (pay) → call 2 (step) → element 1 (_then) → call 0 (pay)")],
    ),
    "a cycle through what is ordered": (
        [pay("†calls.1"), pay(1)],
        [(0, "cyclic_plan", "call 0 (pay) → call 1 (pay) → call 0 (pay)")],
    ),
    "a cycle through a condition": (
        [step(1, _when="{†calls.1 > 0}"), step("{†calls.0}")],
        [(0, "cyclic_plan", "call 0 (step) → call 1 (step) → call 0 (step)")],
    ),
    "a cycle through a scope": (
        [step("†calls.1", "†state.a"), pay(1, _scopes=["state.a"])],
        [(0, "cyclic_plan", "call 0 (step) → call 1 (pay) → call 0 (step)")],
    ),
    "a field that no result has": (
        [step(1), pay("†calls.0.no")],
        [(1, "unresolved_reference", "†calls.0.no")],
    ),
    "computed of a field that no result has": (
        [step(1), pay("{†calls.0.no + 1}")],
        [(1, "unresolved_reference", "no")],
    ),
    "a result that was shown": ([pay("†results.3[0].id")], []),
    "a part of a result that isn't there": ([pay("†results.3[9]")], [(0, "unresolved_reference", "†results.3")]),
    "a result that was never shown": (
        [pay("†results.9")],
        [(0, "unresolved_reference", "there are †results.3 to 3")],
    ),
    "computed of a result that was never shown": (
        [pay("{†results.9 + 1}")],
        [(0, "unresolved_reference", "†results.9")],
    ),
}
SHOWN: Json = {
    "type": "data", "kind": "result", "data": [{"id": 7}], "_call": {"_tool": "find"}, "_of": "0.0",
    "_outputMethod": "set", "_shown": 0, "_number": 3,
}  # fmt: skip


@pytest.mark.rule("C12", "P1")
@pytest.mark.parametrize("form", ["plan", "solution"])
@pytest.mark.parametrize("case", CHECKS)
def test_check_finds_what_a_run_would_refuse_and_nothing_else(tmp_path: Path, case: str, form: str) -> None:
    calls, expected = CHECKS[case]
    context: list[Json] = [
        {"type": "tool", "tool": {"step": STEP, "pay": PAY}},
        {"type": "state", "all": [1, 2]},
        SHOWN,
    ]
    if form == "plan":
        idea: Json = {"context": [*context, {"type": "plan", "plan": calls}], "schema": {}}
    else:
        idea = {"context": context, "schema": {}, "solution": {"calls": calls}}
    DEFAULT.activity("pay")(_pay)
    path = tmp_path / "idea.json"
    path.write_text(json.dumps(idea), encoding="utf-8")
    problems = inspection.check(path).problems
    assert [(problem.path[-1], problem.error.code) for problem in problems] == [
        (index, code) for index, code, _ in expected
    ]
    for problem, (_, _, message) in zip(problems, expected, strict=True):
        assert message in problem.error.message


@pytest.mark.rule("X1")
@pytest.mark.parametrize(
    ("element", "is_right"),
    [
        *((element, True) for element in FLOW),
        ({"_tool": "pay", "_with": {"n": "†calls.0"}}, True),
        ({"_value": {"a": ["†calls.0"]}, "_when": True}, True),
        ({"_value": "{†each}", "_each": [1]}, True),
        ({"_then": False}, False),
        ({"_then": True, "n": 1}, False),
        ({"_value": 1, "_tool": "pay"}, False),
        ({"_value": 1, "n": 2}, False),
        ({"_tool": "pay", "_when": 5}, False),
        ({"n": 1}, False),
    ],
    ids=str,
)
def test_the_published_format_knows_all_elements_of_a_plan(element: Json, is_right: bool) -> None:
    idea: Json = {"context": [{"type": "plan", "plan": [element]}]}
    assert Validator(idea_schema()).accepts(idea) is is_right
    assert read_idea(json.dumps(idea), "idea").context == idea["context"]


EXPECTING = (
    pay(1, _else="†state.before"),
    {"_expect": "{†calls.0 > 0}"},
    pay(2, _each="†state.all", _else=None),
    {"_expect": {"of": "†calls.2", "as": "[int]"}},
    pay(3),
)


@pytest.mark.rule("C14", "C16", "P4")
def test_what_is_expected_and_what_stands_for_failures_is_drawn_and_has_no_price() -> None:
    context = planned(*EXPECTING)
    graph = inspection.graph_of(context, toolset=offering(context))
    assert [vertex.kind for vertex in graph.vertices[:5]] == ["call", "expect", "call", "expect", "call"]
    assert [vertex.otherwise for vertex in graph.vertices[:3]] == ["†state.before", None, "null"]
    orders = {(edge.source, edge.target) for edge in graph.edges if edge.kind == "order"}
    assert {(0, 1), (1, 2), (2, 3), (3, 4)} <= orders
    reads = {(edge.source, edge.target) for edge in graph.edges if edge.kind == "read"}
    assert {(0, 1), (2, 3)} <= reads
    for drawn in (plan_text(graph), mermaid_of(graph), svg_of(graph)):
        assert "_expect" in drawn
        assert "else null" in drawn
    assert inspection.price(context, offering(context)).calls == 3
    ElementTree.fromstring(svg_of(graph))


@pytest.mark.rule("C14", "C16", "X1")
def test_the_published_format_knows_both() -> None:
    judge = Validator(idea_schema())
    for element in EXPECTING:
        assert judge.accepts({"context": [{"type": "plan", "plan": [element]}]})
    assert not judge.accepts({"context": [{"type": "plan", "plan": [{"_expect": 1}]}]})
