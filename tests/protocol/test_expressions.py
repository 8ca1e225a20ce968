"""E7 and X0: a value's origin says what was computed for it, of what, and how many items each filter kept."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from actum import Agent, Result, Tools, models
from actum.dataflow.computing.evaluator import Filter
from actum.protocol.message import NUMBER
from actum.protocol.provenance import Origin
from actum.protocol.readings import FILTERS, filters_of, readings, with_filters
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("E7", "X0")
MAILS = [{"from": "ana", "size": 3}, {"from": "bo", "size": 30}, {"from": "cy", "size": 40}]
BIG = "{[m.size for m in †calls.0 if m.size > 10]}"


def tools() -> Tools:
    tools = Tools()

    @tools.tool
    async def mails() -> list[dict[str, Any]]:
        """List the mails."""
        return MAILS

    @tools.tool
    async def add(a: Any, b: Any = 0) -> Any:
        """Add two values."""
        return a + b

    assert (mails.name, add.name) == ("mails", "add")
    tools.register("ask", {"properties": {"of": {}, "_output": {"type": "string"}}, "_delegate": "asker"})
    return tools


def ran(*answers: Json, context: Any = "go") -> Result[Any]:
    asker: Json = {"context": [], "schema": {"type": "string"}}
    empty: Json = {"calls": [], "output": None}
    model = models.Scripted([empty | answer for answer in answers])
    return asyncio.run(Agent(model, tools=tools(), delegates={"asker": asker}).run(context, {}))


def by_call(result: Result[Any], tool: str) -> list[Json]:
    return [message for message in result.context.messages if message.get("_call", {}).get("_tool") == tool]


def expressions_of(origin: Origin) -> list[tuple[str, str, list[str]]]:
    return [
        (expression.at, expression.text, list(map(str, expression.references))) for expression in origin.expressions
    ]


def test_an_origin_lists_the_expressions_of_its_call_with_what_they_read_and_what_filters_kept() -> None:
    calls = [{"_tool": "mails"}, {"_tool": "add", "a": f"{{sum({BIG[1:-1]})}}", "b": 1, "_when": "{len(†calls.0) > 1}"}]
    result = ran({"calls": calls, "output": "{†calls.1 * 2}"})
    assert result.output == 142
    (output,) = result.provenance()
    assert expressions_of(output) == [("", "{†calls.1 * 2}", ["†calls.1"])]
    (added,) = output.of
    assert (added.by, added.value) == ("code", 71)
    assert expressions_of(added) == [
        ("_when", "{len(†calls.0) > 1}", ["†calls.0"]),
        ("a", "{sum([m.size for m in †calls.0 if m.size > 10])}", ["†calls.0"]),
    ]
    assert [(filtering.kept, filtering.of) for filtering in added.filters] == [(2, 3)]
    assert [origin.call for origin in added.of] == [{"_tool": "mails"}]
    (listed,) = (entry for entry in json.loads(json.dumps(output.to_list())) if entry.get("place") == "0.1")
    assert [(filtering["kept"], filtering["of"]) for filtering in listed["filters"]] == [(2, 3)]
    assert listed["expressions"][0] == {"at": "_when", "text": "{len(†calls.0) > 1}", "reads": ["†calls.0"]}


def test_what_filters_of_an_output_kept_is_known_of_the_run_that_was_kept() -> None:
    result = ran({"calls": [{"_tool": "mails"}], "output": {"big": BIG, "n": 1}})
    (output,) = result.provenance()
    assert expressions_of(output) == [("big", BIG, ["†calls.0"])]
    assert [(filtering.kept, filtering.of) for filtering in output.filters] == [(2, 3)]
    assert result.context.messages[-1][FILTERS] == [{"filter": output.filters[0].source, "kept": 2, "of": 3}]


def test_a_value_is_made_by_code_and_what_reads_it_leads_on_to_what_it_read() -> None:
    calls = [{"_tool": "mails"}, {"_value": {"sizes": BIG}}, {"_tool": "add", "a": "†calls.1.sizes[0]"}]
    (origin,) = ran({"calls": calls, "output": "†calls.2"}).provenance()
    value = origin.of[0].of[0]
    assert (value.by, value.value, value.place) == ("code", {"sizes": [30, 40]}, "0.1")
    assert expressions_of(value) == [("_value.sizes", BIG, ["†calls.0"])]
    assert value.of[0].call == {"_tool": "mails"}


def test_a_number_of_a_result_leads_to_the_message_that_has_it() -> None:
    first = {"calls": [{"_tool": "mails"}, {"_tool": "add", "a": 1}]}
    second = {"calls": [{"_tool": "add", "a": "{†results.1 + †results.0[0].size}"}], "output": "†results.1"}
    result = ran(first, second)
    (output,) = result.provenance()
    assert (output.value, [origin.place for origin in output.of]) == (1, ["0.1"])
    last = by_call(result, "add")[-1]
    (added,) = (origin for origin in result.provenance("†result") if origin.place == last["_of"])
    assert sorted(origin.place for origin in added.of) == ["0.0", "0.1"]
    numbered = next(message[NUMBER] for message in result.context.messages if message.get("_of") == "0.0")
    assert [origin.place for origin in result.provenance(f"†results.{numbered}")] == ["0.0"]


def test_a_skipped_call_is_made_by_nobody_and_has_read_its_condition_alone() -> None:
    calls = [
        {"_tool": "mails"},
        {"_tool": "add", "a": 1},
        {"_tool": "add", "a": "†calls.1", "_when": "{len(†calls.0) > 5}"},
    ]
    (output,) = ran({"calls": calls, "output": "{†calls.2 == None}"}).provenance()
    assert output.value is True
    (skipped,) = output.of
    assert (skipped.by, skipped.value, expressions_of(skipped)) == (
        "nobody", None, [("_when", "{len(†calls.0) > 5}", ["†calls.0"])],
    )  # fmt: skip
    assert [origin.call for origin in skipped.of] == [{"_tool": "mails"}]


def test_a_call_for_every_item_counts_its_filters_over_all_items() -> None:
    calls = [
        {"_tool": "mails"},
        {"_tool": "add", "_each": [1, 35], "a": "{len([m for m in †calls.0 if m.size > †each])}"},
    ]
    result = ran({"calls": calls, "output": "†calls.1"})
    assert result.output == [3, 1]
    (each,) = result.provenance()[0].of
    assert expressions_of(each)[0][2] == ["†calls.0", "†each"]
    assert [(filtering.kept, filtering.of) for filtering in each.filters] == [(4, 6)]


def test_instances_and_delegates_have_their_expressions_too() -> None:
    context: list[Json] = [
        {"type": "input", "input": {"v": [1, 5]}, "_instance": "①"},
        {"type": "input", "input": {"v": [7, 8, 9]}, "_instance": "②"},
    ]
    add = {"_tool": "add", "a": "{len([n for n in †input.v if n > 4])}", "_outputPath": "†state.s"}
    ask = {"_tool": "ask", "of": "{†calls.0 + 1}"}
    result = ran({"calls": [{**add, "_instance": "①"}, {**add, "_instance": "②"}, ask], "output": "†calls.2"},
                 {"output": "asked"}, context=context)  # fmt: skip
    counts = {instance: result.provenance("†state.s", instance)[0].filters for instance in "①②"}
    assert {instance: [(kept.kept, kept.of) for kept in filters] for instance, filters in counts.items()} == {
        "①": [(1, 2)], "②": [(3, 3)],
    }  # fmt: skip
    (delegated,) = result.provenance()[0].of
    assert (delegated.by, expressions_of(delegated)) == ("delegate asker", [("of", "{†calls.0 + 1}", ["†calls.0"])])


def test_a_model_is_shown_nothing_of_the_mark_and_no_scope_lets_it_through() -> None:
    first = {"calls": [{"_tool": "mails"}, {"_tool": "add", "a": f"{{len({BIG[1:-1]})}}", "_outputPath": "†state.n"}]}
    model = models.Scripted([{"output": None, **first}, {"calls": [], "output": 1}])
    asyncio.run(Agent(model, tools=tools()).run("go", {}))
    assert FILTERS not in json.dumps(model.requests[-1].messages)
    assert "kept" not in json.dumps(model.requests[-1].messages)


def test_a_mark_is_counted_together_and_what_is_no_mark_says_nothing() -> None:
    message: Json = {"type": "output", "output": 1}
    assert with_filters(message, []) is message
    marked = with_filters(message, [Filter("if a", 1, 2), Filter("if b", 0, 1), Filter("if a", 2, 3)])
    assert filters_of(marked) == (Filter("if a", 3, 5), Filter("if b", 0, 1))
    forgeries: list[Any] = [5, "x", {}, [5], [{"filter": 1, "kept": 1, "of": 1}], [{"filter": "x"}], None]
    for forged in forgeries:
        assert filters_of({FILTERS: forged}) == ()


def test_the_expressions_of_a_call_are_found_wherever_they_stand_and_what_is_none_is_left_out() -> None:
    call: Json = {
        "_tool": "t",
        "_when": "†input.go",
        "_each": "†calls.0",
        "_with": {"m.to": "†calls.1 <|> †state.x"},
        "m": {"list": [1, "{†each.n + 1}"], "plain": "no {braces}"},
        "bad": "{†calls.0 +}",
    }
    assert [(reading.at, reading.is_computed) for reading in readings(call)] == [
        ("_when", False),
        ("_each", False),
        ("m.to", False),
        ("m.list[1]", True),
    ]
