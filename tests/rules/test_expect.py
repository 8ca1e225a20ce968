"""`_expect`: deliver if this holds, else let the model look (C16)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from actum import Agent, Config, Limits, Result, Tools, errors, models
from actum.execution.record.recovery import recover_context

from .scripts import Json, agent, answer, call, sent, text_of

pytestmark = pytest.mark.rule("C16")
DATA = {"type": "input", "items": ["ab", "cde"], "n": 7, "secret": "Ann"}


def toolbox(log: list[Any] | None = None) -> Tools:
    tools, entries = Tools(), [] if log is None else log

    @tools.tool(effects="none")
    async def find(what: str) -> list[str]:  # pyright: ignore[reportUnusedFunction]
        """Find what there is; "bad" can't be looked for."""
        entries.append(what)
        if what == "bad":
            raise ValueError("no")
        return [] if what == "nothing" else [what, "secret"]

    @tools.tool
    async def pay(amount: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Pay."""
        entries.append(amount)
        return amount

    return tools


async def planned(*calls: Json, output: Any = "done", **more: Any) -> tuple[Result[Any], list[Any]]:
    """The result of a plan that no model wrote, without a model, and what was done."""
    log: list[Any] = []
    runner = Agent(None, tools=toolbox(log), **more)
    try:
        return await runner.run([DATA, {"type": "plan", "plan": list(calls), "output": output}]), log
    except errors.ActumError as error:
        return error.result, log


HOLDS: Mapping[str, Any] = {
    "an expression": "{len(†calls.0) > 1}",
    "a reference": "†calls.3",
    "true": True,
    "a shape": {"of": "†calls.0", "as": "[text]"},
    "a part, as a schema": {"of": "†input.n", "as": {"type": "integer", "minimum": 7}},
    "an alternative": "†calls.4 <|> †calls.3",
}
HOLDS_NOT: Mapping[str, Any] = {
    "an expression": "{len(†calls.0) > 5}",
    "false": False,
    "a shape": {"of": "†input", "as": "{n: text, …}"},
    "what was skipped": "{†calls.4 is None}",
    "what was skipped, plainly": "†calls.4",
    "what has failed": "{len(†calls.5) > 0}",
    "no boolean": "†input.n",
    "what can't be computed": "{†calls.0[7] == 'x'}",
}


def plan_with(expected: Any, *, fails: bool = False) -> list[Json]:
    more = [call("find", what="bad")] if fails else []
    early = [call("find", what="x"), {"_expect": expected}, call("pay", amount=1)]
    return [*early, {"_value": "{†input.n > 1}"}, {"_value": "{†input.n > 1}", "_when": False}, *more]


@pytest.mark.parametrize("which", HOLDS)
async def test_where_it_holds_what_is_behind_it_is_made_and_the_output_delivered(which: str) -> None:
    calls = plan_with(HOLDS[which])
    if which in ("a reference", "an alternative"):  # which stand behind it here
        calls = [calls[0], *calls[3:], {"_expect": HOLDS[which].replace("4", "2").replace("3", "1")}, calls[2]]
    result, log = await planned(*calls)
    assert (result.output, log) == ("done", ["x", 1])


@pytest.mark.parametrize("which", HOLDS_NOT)
async def test_where_it_does_not_hold_nothing_behind_it_is_made_and_the_output_withheld(which: str) -> None:
    calls = plan_with(HOLDS_NOT[which], fails="failed" in which)
    calls = [calls[0], *calls[3:], calls[1], calls[2]]
    text = json.dumps(calls, ensure_ascii=False).replace("†calls.4", "†calls.2").replace("†calls.5", "†calls.3")
    result, log = await planned(*json.loads(text))
    assert result.output is None
    assert 1 not in log
    assert [error for error in result.errors if "_expect" in error.message or isinstance(error, errors.NotAsExpected)]


@pytest.mark.rule("C11")
async def test_what_is_behind_it_comes_after_all_that_is_listed_before_it() -> None:
    result, log = await planned(call("find", what="bad"), {"_expect": "{†input.n > 1}"}, call("pay", amount=1))
    assert (result.output, log) == (None, ["bad"])
    result, log = await planned(call("find", what="x", _when=False), {"_expect": True}, call("pay", amount=1))
    assert (result.output, log) == ("done", [1])


@pytest.mark.rule("E6", "O9")
async def test_a_model_is_shown_the_expression_and_the_kinds_that_it_read_and_asked_again() -> None:
    log: list[Any] = []
    first = answer(
        call("find", what="nothing"), {"_expect": "{len(†calls.0) > 0 and †input.secret != ''}"}, output="ok"
    )
    runner = agent(first, answer(output="looked"), tools=toolbox(log))
    result = await runner.run([DATA], str)
    assert result.output == "looked"
    prompt = text_of(sent(runner)[1].messages)
    assert "{len(†calls.0) > 0 and †input.secret != ''} doesn't hold" in prompt
    assert "†calls.0 is a list of 0 items; †input.secret is a text" in prompt
    assert [error.code for error in result.errors] == ["not_as_expected"]


@pytest.mark.rule("S10", "E6")
async def test_in_a_sealed_run_it_tells_kinds_and_nothing_of_the_data() -> None:
    first = answer(call("find", what="x"), {"_expect": "{†calls.0[1] == 'x'}"}, output="ok")
    runner = agent(first, answer(output="looked"), tools=toolbox(), config=Config(sealed=True))
    await runner.run([{"type": "user", "message": "go"}], str)
    prompt = text_of(sent(runner)[1].messages)
    assert "{†calls.0[1] == 'x'} doesn't hold: †calls.0 is a list of 2 items" in prompt
    assert '"secret"' not in prompt


@pytest.mark.rule("O6")
@pytest.mark.parametrize("is_later", [False, True])
async def test_it_counts_as_an_element_and_has_no_value(is_later: bool) -> None:
    expected, reader = {"_expect": True}, call("pay", amount="†calls.1" if is_later else "†calls.0")
    result, log = await planned(*([reader, expected] if is_later else [expected, reader]))
    assert (result.output, log) == (None, [])
    assert "_expect, which has no value" in str(result.errors[0])
    shifted, log = await planned(expected, call("pay", amount=3), output="†calls.1")
    assert (shifted.output, log) == (3, [3])


WRONG: tuple[Json, ...] = (
    {"_expect": "{†input.n > 1}", "_tool": "pay", "amount": 1},
    {"_expect": "†input.n", "_else": 0},
    {"_expect": 1},
    {"_expect": "yes"},
    {"_expect": None},
    {"_expect": {"of": "†input.n"}},
    {"_expect": {"of": 7, "as": "int"}},
    {"_expect": {"of": "†input.n", "as": "nmu"}},
    {"_expect": "{†nowhere.x > 1}"},
    {"_expect": "{len(†calls.0.title) > 1}"},
)


@pytest.mark.parametrize("element", WRONG)
async def test_one_that_is_none_is_refused_and_nothing_behind_it_is_made(element: Json) -> None:
    result, log = await planned(call("find", what="x"), element, call("pay", amount=1))
    assert (result.output, log) == (None, ["x"])
    assert any(isinstance(error, errors.CallError) for error in result.errors)


@pytest.mark.rule("C13", "L5", "L6")
async def test_it_is_no_call_to_an_approver_a_limit_or_a_price() -> None:
    approved: list[str] = []

    async def approve(call: Json, *_: object) -> bool:
        approved.append(call["_tool"])
        return True

    elements = [call("find", what="x"), {"_expect": "{len(†calls.0) > 1}"}, call("pay", amount=1)]
    result, _ = await planned(*elements, approve=approve, limits=Limits(calls=2))
    assert result.output == "done"
    assert approved == ["find", "pay"]


@pytest.mark.rule("L8")
@pytest.mark.parametrize("holds", [True, False])
async def test_a_run_that_is_cut_anywhere_comes_to_the_same_and_takes_the_same_branch(holds: bool) -> None:
    entries: list[Json] = []
    elements = [call("find", what="x"), {"_expect": f"{{len(†calls.0) > {1 if holds else 3}}}"}, call("pay", amount=1)]
    plan = {"type": "plan", "plan": elements, "output": "†calls.2"}
    log: list[Any] = []
    stream = Agent(None, tools=toolbox(log)).stream([DATA, plan], record=entries.append)
    try:
        async with stream:
            async for _ in stream:
                pass
    except errors.ActumError:
        assert not holds
    whole = list(log)
    for cut in range(1, len(entries) + 1):
        context = recover_context(json.loads(json.dumps(entries[:cut])))
        before = [message["_call"] for message in context if "_call" in message]
        log.clear()
        again = Agent(None, tools=toolbox(log))
        if holds:
            assert (await again.resume(context)).output == 1
        else:
            with pytest.raises(errors.ActumError):
                await again.resume(context)
        done = [
            next(iter(members.values())) for members in ({k: v for k, v in c.items() if k != "_tool"} for c in before)
        ]
        assert [*(value for value in done if not str(value).startswith("{")), *log] == whole


@pytest.mark.parametrize("pieces", [1, 7, 10_000])
async def test_it_is_the_same_however_the_answer_arrives(pieces: int) -> None:
    log: list[Any] = []
    solution = answer(
        call("find", what="x"), {"_expect": "{len(†calls.0) > 5}"}, call("pay", amount=1), {"_then": True}, output="ok"
    )
    model = models.Scripted([json.dumps(solution), answer(output="no")], chunk=pieces)
    result = await Agent(model, tools=toolbox(log)).run([DATA])
    assert (result.output, log) == ("no", ["x"])


@pytest.mark.rule("C7")
async def test_one_that_waits_for_a_decision_holds_what_is_behind_it() -> None:
    result, log = await planned({"_expect": "†state.approvals.go"}, call("pay", amount=1))
    assert (result.output, log, result.waiting) == (None, [], ["†state.approvals.go"])
    opened = [*result.context, {"type": "state", "approvals": {"go": True}}]
    assert (await Agent(None, tools=toolbox(log)).resume(opened)).output == "done"
    assert log == [1]


@pytest.mark.rule("M9", "O10")
async def test_what_it_leaves_is_shown_to_no_model_and_has_no_number() -> None:
    first = answer(call("find", what="x"), {"_expect": "{len(†calls.0) > 1}"}, call("pay", amount=1))
    runner = agent(first, answer(output=["†results.0", "†results.1"]), tools=toolbox())
    assert (await runner.run("go")).output == [["x", "secret"], 1]
    assert "_expect" not in text_of(sent(runner)[1].messages[1:])


async def test_a_plan_that_no_model_wrote_is_left() -> None:
    with pytest.raises(errors.PlanLeft) as caught:
        await Agent(None, tools=toolbox()).run(
            [DATA, {"type": "plan", "plan": [{"_expect": "{†input.n > 9}"}, call("pay", amount=1)], "output": 1}]
        )
    assert isinstance(caught.value.__cause__, errors.NotAsExpected)
