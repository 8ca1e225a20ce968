"""Calls that are made for every item of a list, or under a condition (refine.md R14-R16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Idea, Tools, errors, kept, models
from actum.refine import Refined, refine

INPUT = {"type": "input", "schema": {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}}
ORDERS: Mapping[str, Sequence[tuple[int, str]]] = {
    "ana": [(11, "late"), (12, "paid")],
    "bo": [(21, "paid"), (22, "late"), (23, "late")],
    "cy": [(31, "late")],
    "di": [(41, "paid")],
    "ed": [(51, "late"), (52, "late"), (53, "paid"), (54, "late")],
}
DEBTS = {"ana": 250, "bo": 40, "cy": 101, "di": 7, "ed": 600, "flo": 99, "gus": 180}


def orders_of(name: str) -> list[dict[str, Any]]:
    return [{"id": number, "state": state} for number, state in ORDERS[name]]


class Desk:
    """Tools that list orders and debts, and remind; what they were asked to do."""

    def __init__(self) -> None:
        self.tools, self.reminded = Tools(), list[Any]()

        @self.tools.tool(effects="none")
        def orders(who: str) -> list[dict[str, Any]]:
            """The orders of a customer."""
            return orders_of(who)

        @self.tools.tool(effects="none")
        def debt(who: str) -> dict[str, int]:
            """What a customer owes."""
            return {"owes": DEBTS[who]}

        @self.tools.tool
        def remind(id: int) -> str:
            """Remind of an order."""
            self.reminded.append(id)
            return f"reminded of {id}"

        @self.tools.tool
        def call_up(who: str) -> str:
            """Call a customer."""
            self.reminded.append(who)
            return "called"


async def runs_of(folder: Path, idea: Idea, desk: Desk, answers: Mapping[str, list[Any]]) -> list[Path]:
    runs: list[Path] = []
    for name, answer in answers.items():
        runs.append(folder / f"{name}.json")
        agent = Agent(models.Scripted(answer), tools=desk.tools)
        await kept.start(runs[-1], idea, lambda _, agent=agent: agent, input={"who": name})
    return runs


def reminding(name: str, *, state: str = "late") -> list[Any]:
    late = [order["id"] for order in orders_of(name) if order["state"] == state]
    return [
        {"calls": [{"_tool": "orders", "who": name}], "output": None},
        {"calls": [{"_tool": "remind", "id": number} for number in late], "output": {"reminded": len(late)}},
    ]


async def reminded(folder: Path, words: str = "Remind of what is late.", **more: Any) -> Refined:
    idea, desk = Idea(context=[INPUT, words], schema={"type": "object"}), Desk()
    runs = await runs_of(folder, idea, desk, {name: reminding(name) for name in ORDERS})
    return await refine(runs, idea=idea, tools=desk.tools, **more)


@pytest.mark.rule("R14")
async def test_calls_as_many_as_a_list_has_items_become_one_call_for_each(tmp_path: Path) -> None:
    refined = await reminded(tmp_path)
    calls = [call for call in refined.plan["plan"] if "_tool" in call]
    assert calls == [
        {"_tool": "orders", "who": "†input.who"},
        {"_tool": "remind", "_each": "{[x for x in †calls.0 if x.state == 'late']}", "id": "†each.id"},
    ]
    assert {"_expect": "{len([x for x in †calls.0 if x.state == 'late']) <= 30}"} in refined.plan["plan"]
    assert refined.proof.holds, refined.proof.why
    assert not refined.questions
    desk = Desk()
    result = await Agent(None, tools=desk.tools).run([INPUT, refined.plan], {"type": "object"}, input={"who": "ed"})
    assert (desk.reminded, result.output) == ([51, 52, 54], {"reminded": 3})


@pytest.mark.rule("R12", "R14")
@pytest.mark.parametrize(
    ("words", "confirm", "questions"),
    [
        ("Remind.", {}, ["1._each"]),
        ("Remind of what is open.", {}, []),
        ("Remind.", {"1._each": ""}, []),
        ("Remind.", {"1._each": "{[x for x in †calls.0 if x.is_open]}"}, []),
    ],
)
async def test_a_truth_by_which_items_are_chosen_is_a_question_unless_the_author_names_it(
    tmp_path: Path, words: str, confirm: dict[str, str], questions: list[str]
) -> None:
    idea, desk = Idea(context=[INPUT, words], schema={"type": "object"}), Desk()

    @desk.tools.tool(effects="none", replace=True)
    def orders(who: str) -> list[dict[str, Any]]:
        """The orders of a customer."""
        return [{"id": order["id"], "is_open": order["state"] == "late"} for order in orders_of(who)]

    runs = await runs_of(tmp_path, idea, desk, {who: reminding(who) for who in ORDERS})
    refined = await refine(runs, idea=idea, tools=desk.tools, confirm=confirm)
    reminder = next(call for call in refined.plan["plan"] if call.get("_tool") == "remind")
    assert reminder["_each"] == "{[x for x in †calls.0 if x.is_open]}"
    assert [question.leaf for question in refined.questions] == questions
    with pytest.raises(errors.RefineError, match=r"isn't the list of remind in all examples"):
        await refine(runs, idea=idea, tools=desk.tools, confirm={"1._each": "†calls.0"})


@pytest.mark.rule("R16")
async def test_calls_that_a_model_carries_out_for_every_item_are_no_plan(tmp_path: Path) -> None:
    properties = {"id": {"type": "integer"}, "_output": {"type": "string"}}
    thank = {"type": "tool", "tool": {"thank": {"type": "object", "properties": properties, "required": ["id"]}}}
    idea, desk = Idea(context=[INPUT, thank, "Thank for what is late."], schema={"type": "object"}), Desk()

    def answers(name: str) -> list[Any]:
        late = [order["id"] for order in orders_of(name) if order["state"] == "late"]
        thanks = [{"_tool": "thank", "id": number, "_output": f"Thanks {number}"} for number in late]
        reading, output = {"calls": [{"_tool": "orders", "who": name}], "output": None}, {"thanked": len(late)}
        return [reading, {"calls": thanks, "output": output}]

    runs = await runs_of(tmp_path, idea, desk, {name: answers(name) for name in ORDERS})
    with pytest.raises(errors.RefineError, match="thank: a model carries it out for each item") as raised:
        await refine(runs, idea=idea, tools=desk.tools)
    assert raised.value.code == "other_shape"


@pytest.mark.rule("R12", "R14")
async def test_a_filter_that_nobody_has_said_is_no_plan(tmp_path: Path) -> None:
    with pytest.raises(errors.RefineError) as raised:
        await reminded(tmp_path, "Remind of what is overdue.")
    assert raised.value.code == "unknown_condition"
    assert "remind was called 0 to 3 times" in raised.value.message


def calling(name: str, most: int = 100) -> list[Any]:
    calls = [{"_tool": "call_up", "who": name}] if DEBTS[name] > most else []
    return [
        {"calls": [{"_tool": "debt", "who": name}], "output": None},
        {"calls": calls, "output": {"owes": DEBTS[name]}},
    ]


async def called(folder: Path, words: str, most: int = 100) -> Refined:
    idea, desk = Idea(context=[INPUT, words], schema={"type": "object"}), Desk()
    runs = await runs_of(folder, idea, desk, {name: calling(name, most) for name in DEBTS})
    return await refine(runs, idea=idea, tools=desk.tools)


@pytest.mark.rule("R15")
async def test_a_call_that_is_made_now_and_then_has_the_one_condition_that_tells_when(tmp_path: Path) -> None:
    refined = await called(tmp_path, "Call whoever owes more than 100.")
    (call,) = [call for call in refined.plan["plan"] if call.get("_tool") == "call_up"]
    assert call["_when"] == "{†calls.0.owes > 100}"
    assert call["who"] == "†input.who"
    assert refined.proof.holds, refined.proof.why
    desk = Desk()
    agent = Agent(None, tools=desk.tools)
    for name in ("bo", "gus"):
        await agent.run([INPUT, refined.plan], {"type": "object"}, input={"who": name})
    assert desk.reminded == ["gus"]


@pytest.mark.rule("R15", "R16")
async def test_where_no_condition_is_known_the_most_frequent_shape_alone_is_derived(tmp_path: Path) -> None:
    with pytest.raises(errors.RefineError) as raised:
        await called(tmp_path, "Call whoever owes much.")
    assert raised.value.code == "unknown_condition"


@pytest.mark.rule("R15", "R21")
async def test_a_plan_that_does_otherwise_than_a_run_of_another_shape_is_not_proved(tmp_path: Path) -> None:
    refined = await called(tmp_path, "Call whoever owes much.", most=50)
    assert [call["_tool"] for call in refined.plan["plan"] if "_tool" in call] == ["debt", "call_up"]
    assert set(refined.left_out) == {str(tmp_path / f"{name}.json") for name in ("bo", "di")}
    assert (refined.proof.same, refined.proof.right, refined.proof.wrong) == (5, 5, 2)
    assert not refined.proof.holds
    assert "bo.json: call_up(who=bo) is not recorded" in refined.proof.why


@pytest.mark.rule("R21")
async def test_a_run_of_another_shape_may_have_read_more_or_less(tmp_path: Path) -> None:
    idea, desk = Idea(context=[INPUT, "Say what they owe."], schema={"type": "object"}), Desk()
    answers = {name: calling(name, most=1_000) for name in ("ana", "bo", "cy")}
    answers["di"] = [
        {"calls": [{"_tool": "debt", "who": "di"}, {"_tool": "orders", "who": "di"}], "output": None},
        {"calls": [], "output": {"owes": DEBTS["di"]}},
    ]
    answers["ed"] = [{"calls": [], "output": {"owes": 0}}]
    refined = await refine(await runs_of(tmp_path, idea, desk, answers), idea=idea, tools=desk.tools)
    assert refined.proof.by_run[str(tmp_path / "di.json")] == "right"
    assert refined.proof.by_run[str(tmp_path / "ed.json")] == "left", "nobody knows what ed owes"
    assert refined.proof.holds, refined.proof.why


@pytest.mark.rule("R15")
async def test_a_condition_takes_three_examples_on_each_side(tmp_path: Path) -> None:
    refined = await called(tmp_path, "Call whoever owes more than 200.", most=200)
    assert [call["_tool"] for call in refined.plan["plan"] if "_tool" in call] == ["debt"]
    assert refined.left_out == {str(tmp_path / f"{name}.json"): "other_shape" for name in ("ana", "ed")}
    assert not refined.effects
