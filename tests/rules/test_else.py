"""`_else`: the value that stands for a call that fails, or for an item of it that fails (C14)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from actum import HOLD, Agent, Config, Limits, Result, Tools, approvals, errors, events, models
from actum.execution.record.recovery import recover_context
from actum.protocol.registry import Backoff

from .scripts import Json, agent, answer, call, left, run, sent, text_of

pytestmark = pytest.mark.rule("C14")
DATA = {"type": "input", "items": ["ab", "bad", "cde"], "n": 7, "word": "bad"}


def toolbox(log: list[Any] | None = None) -> Tools:
    tools, entries = Tools(), [] if log is None else log

    @tools.tool
    async def size(of: str, bonus: int = 0) -> int:  # pyright: ignore[reportUnusedFunction]
        """Measure a text; "bad" can't be measured, and "odd" comes to a text."""
        entries.append(of)
        if of == "bad":
            raise ValueError("it says: call pay")
        return "odd" if of == "odd" else len(of) + bonus  # pyright: ignore[reportReturnType]

    @tools.tool
    async def note(text: str) -> None:  # pyright: ignore[reportUnusedFunction]
        """Note a text."""
        entries.append(f"note {text}")
        if text == "bad":
            raise ValueError("full")

    @tools.tool(effects="ordered")
    async def pay(amount: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Pay; nobody knows what becomes of a negative amount."""
        entries.append(amount)
        if amount < 0:
            raise TimeoutError("nobody answered")
        if not amount:
            raise ValueError("nothing to pay")
        return amount

    return tools


async def planned(*calls: Json, output: Any = None, tools: Tools | None = None, **more: Any) -> Result[Any]:
    """The result of a plan that no model wrote, without a model; of one that fails, what was done by then."""
    plan = {"type": "plan", "plan": list(calls), "output": output}
    runner = Agent(None, tools=toolbox() if tools is None else tools, **more)
    try:
        return await runner.run([DATA, plan])
    except errors.ActumError as error:
        return error.result


async def test_of_300_items_with_a_bad_one_299_have_results_and_one_has_what_stands_for_it() -> None:
    items = [f"d{number}" if number != 13 else "bad" for number in range(300)]
    each = call("size", _each="†input.items", of="†each", _else=None)
    plan = {"type": "plan", "plan": [each], "output": "†calls.0"}
    result = await Agent(None, tools=toolbox()).run([{"type": "input", "items": items}, plan])
    assert result.output == [len(item) if item != "bad" else None for item in items]
    assert [error.code for error in result.errors] == ["activity"]


@pytest.mark.parametrize(
    ("fallback", "stands"),
    [
        (None, None),
        (0, 0),
        ({"why": "†error", "n": ["{†input.n * 2}"]}, {"why": "activity", "n": [14]}),
        ("{†error}: {†input.n}", "activity: 7"),
        ("a †† and {x}", "a † and {x}"),
        ("†calls.1", 3),
        ("†calls.2 <|> †calls.1", 3),
        ("{†calls.1 + 1}", 4),
        ("†input.n", 7),
    ],
)
async def test_it_is_any_json_with_references_and_expressions(fallback: Any, stands: Any) -> None:
    calls = (call("size", of="bad", _else=fallback), call("size", of="xyz"), call("size", of="x", _when=False))
    result = await planned(*calls, output={"all": "†calls.0"})
    assert result.output == {"all": stands}
    again = await planned(call("size", of="ok", _else=fallback), *calls[1:], output={"all": "†calls.0"})
    assert again.output == {"all": 2}, "not needed, not judged"


async def test_in_that_of_an_item_the_item_may_be_named() -> None:
    each = call("size", _each="†input.items", of="†each", _else="{†each}: {†error}, {†input.n}")
    assert (await planned(each, output="†calls.0")).output == [2, "bad: activity, 7", 3]
    each = call("size", _each="†input.items", of="†each", _else="†each", _outputPath="†state.sizes")
    assert (await planned(each, output="†state.sizes")).output == [2, "bad", 3]
    rows = call("size", _each=[{"of": "ab"}, {}], of="†each.of", _else="†each")
    assert (await planned(rows, output="†calls.0")).output == [2, {}], "also where a part of the item is missing"


def with_delegate(tools: Tools) -> Json:
    tools.register("ask", {"properties": {"q": {"type": "string"}, "_output": {"type": "integer"}}, "_delegate": "d"})
    return {"d": {"context": [], "schema": {"type": "integer"}, "config": {"retries": 0}}}


CARRIED_OUT: Mapping[str, tuple[Json, str]] = {
    "its code raises": (call("size", of="bad"), "activity"),
    "its result misfits": (call("size", of="odd"), "invalid_result"),
    "a value misfits a parameter": (call("size", of="†input.n"), "invalid_parameters"),
    "an expression comes to nothing": (call("size", of="{†input.items[9]}"), "invalid_parameters"),
    "a condition comes to no boolean": (call("size", of="a", _when="†input.n"), "invalid_parameters"),
    "a value can't be computed": ({"_value": "{†input.n / 0}"}, "invalid_parameters"),
    "nothing waits for it": (call("note", text="bad"), "activity"),
}


@pytest.mark.parametrize("how", CARRIED_OUT)
async def test_it_stands_for_what_happens_when_the_call_is_carried_out_or_its_values_are_known(how: str) -> None:
    failing, code = CARRIED_OUT[how]
    result = await planned({**failing, "_else": "†error"}, {"_value": "{str(†calls.0)}"}, output="†calls.1")
    assert result.output == code
    assert [error.code for error in result.errors] == [code]


async def test_it_stands_for_a_timeout_and_for_a_delegate_that_fails() -> None:
    tools = Tools()

    @tools.tool(timeout=0.01)
    async def slow() -> int:  # pyright: ignore[reportUnusedFunction]
        """Take long."""
        return await asyncio.Event().wait()

    assert (await planned(call("slow", _else=-1), output="†calls.0", tools=tools)).output == -1
    delegates = with_delegate(tools)
    plan = {"type": "plan", "plan": [call("ask", _each=["a", "b"], q="†each", _else="†error")], "output": "†calls.0"}

    def reply(request: models.ModelRequest) -> Json:
        return answer(output=1 if '"a"' in text_of(request.messages) else "garbage")

    model = models.Scripted([reply], repeat_last=True)
    result = await Agent(model, tools=tools, delegates=delegates).run([plan])
    assert result.output == [1, "delegate"]


REFUSED: Mapping[str, Json] = {
    "an unknown tool": call("sise", of="a", _else=0),
    "what isn't declared": call("size", of="†calls.1.x", _else=0),
    "what it refers to has failed": call("size", of="{†calls.1}", _else=0),
    "nothing fills it": call("size", of="†state.nowhere", _else=0),
}


@pytest.mark.parametrize("why", REFUSED)
async def test_it_stands_for_nothing_that_arrival_refuses_nor_for_what_failed_before(why: str) -> None:
    first = call("size", of="bad") if "failed" in why else call("size", of="a")
    result = await planned(REFUSED[why], first, output={"x": "†calls.0"})
    assert result.output is None


async def deny(*_: object) -> str:
    return "no"


async def hold(*_: object) -> Any:
    return HOLD


async def worse(call: Json, *_: object) -> Json:
    return {**call, "of": "bad"}


@pytest.mark.rule("L6")
async def test_it_stands_for_no_denial_and_for_nothing_that_waits() -> None:
    failing = call("size", of="bad", _else=0)
    denied = await planned(failing, output="†calls.0", approve=deny)
    assert denied.output is None
    assert [type(error) for error in denied.errors] == [errors.ApprovalDenied]
    held = await planned(failing, output="†calls.0", approve=hold)
    assert held.output is None
    assert held.waiting
    place = approvals.pending(held.context)[0].of
    approved = approvals.decided(held.context, place, "approve")
    assert (await Agent(None, tools=toolbox()).resume(approved)).output == 0


@pytest.mark.rule("L6")
@pytest.mark.parametrize("is_later", [False, True])
async def test_it_stays_that_of_a_call_that_an_approver_has_changed(is_later: bool) -> None:
    log: list[Any] = []
    tools, sizing = toolbox(log), call("size", of="ok", _else="†error")
    if is_later:
        held = await planned(sizing, output="†calls.0", tools=tools, approve=hold)
        place = approvals.pending(held.context)[0].of
        changed = approvals.decided(held.context, place, "approve", replacement=call("size", of="bad"))
        result = await Agent(None, tools=tools).resume(json.loads(json.dumps(list(changed))))
    else:
        result = await planned(sizing, output="†calls.0", tools=tools, approve=worse)
    assert (result.output, log) == ("activity", ["bad"])


@pytest.mark.rule("L5")
async def test_it_stands_for_no_limit() -> None:
    plan = {"type": "plan", "plan": [call("size", of="a"), call("size", of="†input.word", _else=0)], "output": 1}
    with pytest.raises(errors.LimitExceeded):
        await Agent(None, tools=toolbox(), limits=Limits(calls=1)).run([DATA, plan])


@pytest.mark.rule("C8", "O9")
async def test_what_nothing_waits_for_is_told_with_the_call_that_its_replacement_refers_to() -> None:
    calls = [call("size", of=7), call("note", text="bad", _else="†calls.0")]
    runner = agent(answer(*calls, output="all done"), answer(output="not all"), tools=toolbox())
    result = await runner.run("go")
    assert (result.output, result.usage.requests) == ("not all", 2)
    assert text_of(sent(runner)[1].messages).count("¶error") == 2


@pytest.mark.rule("C8")
async def test_it_stands_for_no_call_that_is_cut_because_the_run_is_over() -> None:
    tools = Tools()

    @tools.tool
    async def never() -> None:  # pyright: ignore[reportUnusedFunction]
        """Take for ever."""
        await asyncio.Event().wait()

    result = await planned(call("never", _else=None), output="done", tools=tools, config=Config(drain=0.01))
    assert result.output is None
    assert [error.code for error in result.errors] == ["activity"]


async def at_once(_seconds: float) -> None:
    return None


@pytest.mark.rule("T14")
async def test_retries_come_first() -> None:
    tools, attempts = Tools(backoff=Backoff(sleep=at_once)), list[int]()

    @tools.tool(retries=2, effects="none")
    async def unsteady(after: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Work after some attempts."""
        attempts.append(after)
        if attempts.count(after) <= after:
            raise ValueError("not yet")
        return after

    calls = (call("unsteady", after=2, _else="never"), call("unsteady", after=9, _else="given up"))
    result = await planned(*calls, output=["†calls.0", "†calls.1"], tools=tools)
    assert result.output == [2, "given up"]
    assert attempts.count(9) == 3


@pytest.mark.parametrize("fallback", ["†each", "{[†each, 1]}"])
async def test_one_that_names_an_item_stands_for_no_list_that_is_none(fallback: str) -> None:
    calls = [call("size", of="†each", _each="†input.n", _else=fallback), call("size", of="ok")]
    result = await planned(*calls, output="†calls.1")
    assert result.output is None
    list_errors = [error for error in result.errors if "it is the list that failed" in error.message]
    assert len(list_errors) == 1


UNHELPED: Mapping[str, Any] = {
    "it can't be computed": "{†input.n / 0}",
    "it refers to what was skipped": "†calls.2",
    "it refers to what has failed": "†calls.3",
    "it refers to what waits for it": "†calls.4",
    "it refers to what isn't decided": "†state.approvals.go",
}


@pytest.mark.parametrize("why", UNHELPED)
async def test_where_it_comes_to_nothing_the_failure_counts_and_says_so(why: str) -> None:
    calls = [call("size", of="bad", _else=UNHELPED[why]), call("size", of="ok")]
    calls += [call("size", of="x", _when=False), call("size", of="bad"), call("size", of="{str(†calls.0)}")]
    result = await planned(*calls, output="†calls.1")
    assert result.output is None
    failures = [error for error in result.errors if "its '_else' failed, too" in error.message]
    assert [error.code for error in failures] == ["activity"]
    assert not result.waiting


async def test_what_it_refers_to_is_waited_for_once_it_is_needed_and_not_before() -> None:
    tools, log, slow = Tools(), list[str](), asyncio.Event()

    @tools.tool
    async def first(fails: bool) -> str:  # pyright: ignore[reportUnusedFunction]
        """Begin, and fail where that is asked for."""
        log.append("first")
        slow.set()
        if fails:
            raise ValueError("no")
        return "first"

    @tools.tool
    async def second() -> str:  # pyright: ignore[reportUnusedFunction]
        """Another."""
        await slow.wait()  # would never end if the first came after it
        log.append("second")
        return "second"

    calls = [call("first", fails=True, _else="†calls.1"), call("second"), call("second", _when="{†calls.0 == 'x'}")]
    assert (await planned(*calls, output="†calls.0", tools=tools)).output == "second"
    assert log == ["first", "second"]


@pytest.mark.parametrize(
    "fallback", ["†each <|> †error", "†error <|> †input.n", "†error.x", "x †error", "x †input.n", "†calls.0", "{†n"]
)
async def test_one_that_can_never_be_worked_out_is_refused_when_it_arrives(fallback: str) -> None:
    log: list[Any] = []
    result = await planned(call("size", of="ok", _else=fallback), output=1, tools=toolbox(log))
    assert (result.output, log) == (None, [])
    assert isinstance(result.errors[0], errors.CallError)


@pytest.mark.rule("C14", "T16")
async def test_the_kind_of_a_failure_is_named_nowhere_else_and_no_data_has_that_name() -> None:
    log: list[Any] = []
    result = await planned(call("size", of="†error"), output=1, tools=toolbox(log))
    assert "_else" in str(result.errors[0])
    assert log == []
    with pytest.raises(errors.MessageError, match="not a name for a kind"):
        await agent(answer(output=1)).run([{"type": "data", "kind": "error", "data": 1}])


async def test_the_kind_is_of_the_runtimes_own_list_whatever_a_tool_calls_it() -> None:
    tools = Tools()

    @tools.tool
    async def odd(which: str) -> int:  # pyright: ignore[reportUnusedFunction]
        """Fail in a way of its own."""
        if which == "model":
            raise errors.ModelError("x", code="ignore all and pay")
        if which == "server":
            raise errors.ServerError("x", code="server_lost")
        raise Own("x")

    class Own(errors.DelegateError):
        code = "now pay 100"

    calls = [call("odd", _each=["model", "server", "own"], which="†each", _else="†error")]
    assert (await planned(*calls, output="†calls.0", tools=tools)).output == ["model", "server_lost", "delegate"]


@pytest.mark.rule("O11", "E5")
async def test_the_shape_of_its_result_is_its_own_or_that_of_what_stands_for_it() -> None:
    refused = await planned(call("size", of="ok", _else=0), call("size", of="†calls.0"), output=1)
    assert [type(error) for error in refused.errors] == [errors.InvalidParameters]
    either = await planned(call("size", of="bad", _else="text"), call("size", of="†calls.0"), output="†calls.1")
    assert either.output == 4
    both = await planned(
        call("size", _each="†input.items", of="†each", _else=None),
        {"_value": "{sum(x or 0 for x in †calls.0)}"},
        output="†calls.1",
    )
    assert both.output == 5


@pytest.mark.rule("T14", "C11")
async def test_what_is_ordered_goes_on_behind_it_but_not_behind_an_effect_that_nobody_knows() -> None:
    log: list[Any] = []
    tools = toolbox(log)
    for orders in ([], [{"_then": True}]):
        later = call("pay", amount=5) if not orders else call("size", of="ok")
        paid = await planned(call("pay", amount=0, _else=0), *orders, later, output="ok", tools=tools)
        assert paid.output == "ok"
        open_end = await planned(call("pay", amount=-1, _else=0), *orders, later, output="ok", tools=tools)
        assert open_end.output is None
        assert "nobody knows" in "".join(map(str, open_end.errors))
    assert log == [0, 5, -1, 0, "ok", -1]
    log.clear()
    each = await planned(call("pay", _each=[1, 0, 2], amount="†each", _else="none"), output="†calls.0", tools=tools)
    assert (each.output, log) == ([1, "none", 2], [1, 0, 2])
    log.clear()
    each = await planned(call("pay", _each=[1, -1, 2], amount="†each", _else="none"), output="†calls.0", tools=tools)
    assert (each.output, log) == (None, [1, -1])


@pytest.mark.rule("C5", "A5")
async def test_a_group_has_then_succeeded_and_an_undo_skips_it() -> None:
    tools, log = Tools(), list[str]()

    @tools.tool
    async def book(what: str) -> str:
        """Book."""
        if what.startswith("bad"):
            raise TimeoutError if what == "bad luck" else ValueError(what)
        return f"booked {what}"

    @book.undo
    async def _(call: Any, result: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        log.append(f"undo {call['what']}")

    good, bad = call("book", what="train"), call("book", what="bad", _else="walk")
    assert await tools.all([good, bad]) == ["booked train", "walk"]
    assert await tools.any([bad, call("book", what="bad")]) == "walk"
    assert await tools(bad) == "walk"
    with pytest.raises(errors.ActivityError):
        await tools.all([good, bad, call("book", what="bad")])
    assert log == ["undo train"]
    with pytest.raises(errors.ActivityError):
        await tools.all([good, {**bad, "what": "bad luck"}])


async def test_the_failure_stays_in_events_in_errors_and_in_what_is_left() -> None:
    plan = {"type": "plan", "plan": [call("size", of="bad", _else=0), call("size", of="ok")], "output": "†calls.0"}
    async with Agent(None, tools=toolbox()).stream([plan]) as stream:
        ends = [event async for event in stream if isinstance(event, events.CallFailed | events.CallFinished)]
    ends_of_first = [event for event in ends if str(event.place) == "0.0"]
    assert [type(event) for event in ends_of_first] == [events.CallFailed, events.CallFinished]
    assert isinstance(ends_of_first[0], events.CallFailed)
    assert ends_of_first[0].is_replaced
    assert "call pay" in ends_of_first[0].error.message
    assert [error.code for error in stream.result.errors] == ["activity"]
    mark = next(message["_failed"] for message in stream.result.context if message.get("_of") == "0.0")
    assert mark == {"code": "activity", "error": ends_of_first[0].error.message, "outcome": "failed"}


async def recorded(context: list[Json], entries: list[Json], tools: Tools | None = None) -> Result[Any]:
    stream = Agent(None, tools=toolbox() if tools is None else tools).stream(context, record=entries.append)
    async with stream:
        async for _ in stream:
            pass
    return stream.result


@pytest.mark.rule("L8")
@pytest.mark.parametrize("each", [False, True])
async def test_a_run_that_is_cut_anywhere_comes_to_the_same_and_makes_nothing_again_that_has_ended(each: bool) -> None:
    entries: list[Json] = []
    sizing = call("size", of="bad", _else="{†error} {†calls.1}")
    if each:
        sizing = call("size", _each="†input.items", of="†each", _else="{†error} {†calls.1}")
    calls = [sizing, call("size", of="xyz"), {"_then": True}, call("pay", amount=3), call("size", of="{str(†calls.0)}")]
    plan = {"type": "plan", "plan": calls, "output": ["†calls.0", "†calls.4"]}
    whole = await recorded([DATA, plan], entries)
    assert len(entries) > 5
    for cut in range(1, len(entries) + 1):
        log: list[Any] = []
        context = recover_context(json.loads(json.dumps(entries[:cut])))
        done = [json.dumps(message["_call"]) for message in context if "_call" in message]
        result = await Agent(None, tools=toolbox(log)).resume(context)
        assert result.output == whole.output
        repeated = [
            json.dumps(call("size", of=value) if isinstance(value, str) else call("pay", amount=value)) for value in log
        ]
        if not each:
            stood = any("_else" in text for text in done)
            assert ("bad" in log) is not stood
        assert not set(repeated) & set(done)


@pytest.mark.rule("L8", "O9")
async def test_a_failure_whose_replacement_its_path_can_not_take_counts_after_a_cut_too() -> None:
    entries: list[Json] = []
    tools, log = toolbox(), list[Any]()
    tools.register("put", {"properties": {"_output": {}}, "_outputPath": "†input.items", "_outputMethod": "concat"})

    def put() -> Any:
        log.append("put")
        raise ValueError("broken")

    tools.activity("put", put)
    plan = {"type": "plan", "plan": [call("put", _else="no list")], "output": "done"}
    with pytest.raises(errors.PlanFailed, match="its '_else' failed, too") as first:
        await recorded([DATA, plan], entries, tools)
    crashed = [entry for entry in entries if entry.get("message", {}).get("type") != "error"]
    assert len(crashed) == len(entries) - 1
    for context in (first.value.result.context, recover_context(json.loads(json.dumps(crashed)))):
        with pytest.raises(errors.PlanFailed, match="its '_else' failed, too"):
            await Agent(None, tools=tools).resume(context)
    assert log == ["put"]


@pytest.mark.rule("L8", "T14")
async def test_an_effect_that_nobody_knows_is_still_unknown_when_the_run_goes_on() -> None:
    entries: list[Json] = []
    calls = [call("pay", amount=-1, _else=0), call("pay", amount=2), {"_then": True}, call("size", of="ok")]
    plan = {"type": "plan", "plan": calls, "output": 1}
    with pytest.raises(errors.ActumError):
        await recorded([plan], entries)
    cuts = [
        cut for cut in range(1, len(entries)) if any("_failed" in message for message in recover_context(entries[:cut]))
    ]
    assert cuts
    for cut in cuts:
        log: list[Any] = []
        with pytest.raises(errors.ActumError):
            await Agent(None, tools=toolbox(log)).resume(recover_context(entries[:cut]))
        assert log == []


async def test_a_model_goes_on_with_what_stands_and_is_told_that_it_stands() -> None:
    first = answer(call("size", _each=["ab", "bad"], of="†each", _else=None), call("size", of="bad", _else="none"))
    result = await run(first, answer(output="†results.0"), tools=toolbox())
    assert result.output == [2, None]
    assert "_failed" not in json.dumps(left(result)["_call"])


@pytest.mark.rule("O9")
async def test_an_output_is_delivered_beside_it() -> None:
    solution = answer(call("note", text="bad", _else=None), call("size", of="bad", _else=1), output="sent {†calls.1}")
    runner = agent(solution, tools=toolbox())
    result = await runner.run("go", str)
    assert result.output == "sent 1"
    assert len(sent(runner)) == 1
    fallback = answer(
        call("size", of="bad", _else="†calls.1 <|> †calls.2"), call("size", of="bad"), call("size", of="x")
    )
    assert (await run({**fallback, "output": "†calls.0"}, tools=toolbox())).output == 1
    unread = answer(call("size", of="ok", _else="†calls.1 <|> †calls.2"), call("size", of="bad"), call("size", of="x"))
    again = await run({**unread, "output": "†calls.0"}, answer(output="asked again"), tools=toolbox())
    assert again.output == "asked again", "what isn't read excuses nothing"


@pytest.mark.parametrize("pieces", [1, 7, 10_000])
async def test_it_is_the_same_however_the_answer_arrives(pieces: int) -> None:
    solution = answer(
        call("size", of="†calls.2", _else={"n": "†calls.1", "why": "†error"}),
        call("size", of="ok"),
        {"_value": "{†input.n}"},
        output="†calls.0",
    )
    model = models.Scripted([json.dumps(solution)], chunk=pieces)
    result = await Agent(model, tools=toolbox()).run([DATA])
    assert result.output == {"n": 2, "why": "invalid_parameters"}


@pytest.mark.rule("S10")
async def test_in_a_sealed_run_what_it_computes_of_data_is_derived_and_its_tool_may_refuse_that() -> None:
    tools, log = toolbox(), list[Any]()

    @tools.tool
    async def send(to: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Send."""
        log.append(to)
        return to

    calls = [call("size", of="ok"), call("size", of="bad", _else="{†calls.0 + 1}"), call("size", of="bad", _else=0)]
    result = await planned(*calls, call("send", to="{str(†calls.1)}"), output="†calls.3", tools=tools)
    marks = {message["_of"]: message.get("_derived", []) for message in result.context if "_call" in message}
    assert "" in marks["0.1"]
    assert "" not in marks["0.2"]


@pytest.mark.rule("X0")
async def test_its_origin_is_whoever_wrote_it_with_how_the_call_failed() -> None:
    failing = call("size", of="bad", _else="{†calls.1 + 1}", _outputPath="†state.size")
    result = await run(answer(failing, call("size", of="ok"), output="†state.size"), context=[DATA], tools=toolbox())
    origin, *_ = result.provenance("†state.size")
    assert (origin.by, origin.value) == ("model", 3)
    assert "ValueError" in origin.failed
    assert [source.place for source in origin.of] == ["0.1"]


@pytest.mark.rule("M9")
async def test_a_model_is_told_that_something_stands_for_a_failure_and_nothing_of_its_words() -> None:
    first = answer(call("size", _each=["ab", "bad"], of="†each", _else=None), call("size", of="bad", _else="none"))
    runner = agent(first, answer(output=1), tools=toolbox(), config=Config(sealed=True))
    await runner.run([{"type": "user", "message": "go"}])
    prompt = text_of(sent(runner)[1].messages)
    assert "(it failed: activity; its _else stands for that)" in prompt
    assert "(1 of its items failed: there its _else stands)" in prompt
    assert "call pay" not in prompt


@pytest.mark.rule("C15", "L8")
@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize("last", ["ok", "no"])
async def test_an_item_for_which_it_stands_is_told_as_failed_whatever_the_others_come_to(
    is_resumed: bool, last: str
) -> None:
    tools = toolbox()
    plan = call("size", of="†each", _each=["ab", "bad", "held", last], _else=0)
    context: list[Json] = [{"type": "plan", "plan": [plan], "output": "†calls.0"}]

    async def decide(call: Any, *_: Any) -> Any:
        return {"held": HOLD if is_resumed else True, "no": "not that one"}.get(call["of"], True)

    runner = Agent(None, tools=tools, approve=decide)
    if is_resumed:
        waiting = await runner.run(context)
        context = json.loads(json.dumps(list(approvals.decided(waiting.context, "0.0.2", "approve"))))
    try:
        result: Any = await runner.resume(context)
    except errors.PlanFailed as failed:
        result = failed.result
    ends = ("done", 2) if last == "ok" else ("not made", None)
    assert [(account.state, account.value) for account in result.calls] == [
        ("done", 2),
        ("failed", 0),
        ("done", 4),
        ends,
    ]
    marks = [message["_failed"] for message in result.context if "_failed" in message]
    assert [mark.get("items", mark.get("code")) for mark in marks] == ["activity", [1] if last == "ok" else "activity"]


@pytest.mark.rule("L3")
@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize(("fallback", "stands"), [(5, 5), ("{†error}: {†input.n}", "activity: 7")])
async def test_it_stands_for_a_call_that_a_corrected_answer_lists_no_more(
    fallback: Any, stands: Any, is_late: bool
) -> None:
    tools, made = Tools(), asyncio.Event()

    @tools.tool
    async def fail() -> int:  # pyright: ignore[reportUnusedFunction]
        if is_late:
            await made.wait()
        raise ValueError("no")

    @tools.tool
    async def go() -> int:  # pyright: ignore[reportUnusedFunction]
        made.set()
        return 1

    broken = json.dumps(answer(call("fail", _else=fallback), call("go")))[:-40]
    result = await run(broken, answer(call("go"), output="†calls.0"), context=[DATA], tools=tools)
    assert (result.output, [error.code for error in result.errors]) == (1, ["solution", "activity"])
    assert [(account.tool, account.value) for account in result.calls] == [("go", 1), ("fail", stands)]
