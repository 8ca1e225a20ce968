"""A5 and C5: what a group has done is undone by the undo of each Activity, which is given the call as it was made."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from pydantic import Field

from actum import Agent, Call, Tools, errors, models

from .scripts import Json, answer, call, sent, text_of

pytestmark = pytest.mark.rule("A5", "C5")

TEXT: Json = {"type": "string"}
BOUND = 20


class Desk:
    """Tools that note what they do and undo, and `fail`, which fails when the others are done."""

    def __init__(self, *names: str, waits_for: int = 1, **tools: Json) -> None:
        self.tools, self.log = Tools(), list[str]()
        self.undone: list[tuple[Call, Any]] = []
        self._left, self._done = waits_for, asyncio.Event()
        for name in names:
            self._activity(name)
        for name, schema in tools.items():
            self.tools.register(name, {"_output": TEXT, **schema})
        self.tools.register("fail", {"_output": TEXT})
        self.tools.activity("fail", self._fail)

    def _activity(self, name: str) -> None:
        async def do(call: Call) -> str:
            self.log.append(f"{name} did")
            self.step()
            return f"by {name}"

        def undo(call: Call, result: Any) -> None:
            self.undone.append((call, result))
            self.log.append(f"{name} undid")

        self.tools.activity(name, do).undo(undo)

    def step(self) -> None:
        """Note that one of the calls that `fail` waits for is done."""
        self._left -= 1
        if self._left <= 0:
            self._done.set()

    async def _fail(self) -> str:
        await self._done.wait()
        for _ in range(20):  # until what was done has ended, too
            await asyncio.sleep(0)
        raise RuntimeError("sold out")

    async def all(self, *calls: Json, **options: Any) -> errors.ActumError:
        """Carry out the calls and one that fails."""
        async with asyncio.timeout(BOUND):
            with pytest.raises(errors.ActivityError, match="sold out") as caught:
                await self.tools.all([*calls, call("fail")], **options)
        return caught.value


@pytest.mark.parametrize(
    ("tool", "added"),
    [
        ({"_module": "act"}, {}),
        ({"_activity": "act"}, {}),
        ({"_delegate": "anonymous", "_activity": "act"}, {}),
        ({"_activity": {"enum": ["act", "a"]}}, {"_activity": "act"}),
        ({}, {"_activity": "act"}),
        ({}, {"_delegate": "act"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("names", [["act"], ["act", "a"]], ids=["alone", "with one of the tool's name"])
async def test_what_has_run_is_undone_however_it_was_chosen(tool: Json, added: Json, names: list[str]) -> None:
    if tool.get("_activity", {}) == {"enum": ["act", "a"]}:
        names = ["act", "a"]
    desk = Desk(*names, a=tool)
    error = await desk.all(call("a", **added))
    assert desk.log == ["act did", "act undid"]
    assert desk.undone[0][1] == "by act"
    assert error.result.not_undone == []


async def test_an_activity_of_the_tools_name_undoes_nothing_that_a_delegate_did() -> None:
    desk = Desk("a", a={"_delegate": {"enum": ["D", "E"]}})

    def reply(_: models.ModelRequest) -> Json:
        desk.step()
        return answer(output="by the delegate")

    delegates = {"D": {"context": [{"type": "system", "message": "D"}], "schema": TEXT}}
    await desk.all(call("a", _delegate="D"), delegates=delegates, model=models.Scripted([reply]))
    assert desk.log == []


def served_by(activity: str) -> Json:
    """A tool of a delegate that says what carries it out (D13)."""
    return {"_output": TEXT, "_activity": activity}


DEEP: dict[str, Json] = {
    "X": {
        "context": [
            {"type": "tool", "tool": {"act": served_by("act"), "mail": served_by("mail"), "in": {"_delegate": "Y"}}},
            {"type": "plan", "plan": [call("act"), call("mail"), {"_then": True}, call("in")], "output": "†calls.3"},
        ],
        "schema": {},
    },
    "Y": {
        "context": [
            {"type": "tool", "tool": {"last": served_by("last"), "look": {**served_by("look"), "_effects": "none"}}},
            {"type": "plan", "plan": [call("look"), {"_then": True}, call("last")], "output": "†calls.2"},
        ],
        "schema": {},
    },
}


async def test_what_a_delegates_own_calls_did_is_undone_in_reverse_order_and_what_has_no_undo_is_named() -> None:
    desk = Desk("act", "last", waits_for=4, a={"_delegate": "X"})
    desk.tools.activity("mail", lambda: (desk.step(), "sent")[1])
    desk.tools.activity("look", lambda: (desk.step(), "seen")[1])
    error = await desk.all(call("a"), delegates=DEEP)
    assert desk.log == ["act did", "last did", "last undid", "act undid"]
    assert [call.tool for call in error.result.not_undone] == ["mail"]
    assert error.message == "tool 'fail': RuntimeError: sold out; calls that were done and can't be undone: 1"
    assert list(error.result.context) == []


async def test_a_delegate_that_fails_itself_leaves_nothing_done_either() -> None:
    desk = Desk("act", a={"_delegate": "Z"})
    interfaces = {"type": "tool", "tool": {"act": served_by("act"), "fail": served_by("fail")}}
    plan = {"type": "plan", "plan": [call("act"), call("fail")], "output": "†calls.1"}
    with pytest.raises(errors.DelegateError):
        await desk.tools.all([call("a")], delegates={"Z": {"context": [interfaces, plan], "schema": {}}})
    assert desk.log == ["act did", "act undid"]


async def test_an_undo_is_told_values_for_references_items_and_what_an_approver_has_made_of_them() -> None:
    desk = Desk("src", "pay", "g", waits_for=5, src={}, pay={"properties": {"amount": TEXT, "at": TEXT}})
    desk.tools.register("any", {"_output": TEXT, "properties": {"amount": TEXT}, "_activity": {"enum": ["pay", "g"]}})

    async def edit(call: Call, *_: object) -> Any:
        if call.get("amount") == "1000":
            return {**call, "amount": "10"}
        return {**call, "_activity": "g"} if call.tool == "any" else True

    await desk.all(
        call("src"),
        call("pay", amount="†calls.0", at="{†calls.0}!"),
        call("pay", amount="1000"),
        call("pay", _each=["a"], amount="†each"),
        call("any", amount="x", _activity="pay"),
        approve=edit,
    )
    by_amount = {parameters.get("amount"): parameters for parameters, _ in desk.undone}
    assert set(by_amount) == {None, "by src", "10", "a", "x"}
    assert by_amount["by src"]["at"] == "by src!"
    assert "g undid" in desk.log
    assert not any("†" in str(parameters) for parameters in by_amount.values())


async def test_an_undo_is_told_the_defaults_of_the_function_and_what_it_was_given_not_what_it_made_of_it() -> None:
    desk = Desk()
    undone: list[Any] = []

    @desk.tools.tool
    async def book(
        seats: list[str], class_: str = "economy", *, row: int | None = None, meal: str = Field("none", min_length=1)
    ) -> str:
        """Book."""
        seats.append("changed")
        desk.step()
        return "booked"

    @book.undo
    async def _(call: Call, result: str) -> None:  # pyright: ignore[reportUnusedFunction]
        undone.append((call.parameters, result))

    await desk.all(call("book", seats=["1a"]))
    assert undone == [({"seats": ["1a"], "class_": "economy", "row": None, "meal": "none"}, "booked")]


async def test_what_was_carried_out_is_undone_though_its_result_misfits() -> None:
    tools, undone = Tools(), list[Any]()

    def undo(_: Call, result: Any) -> None:
        undone.append(result)

    tools.register("book", {"_output": {"type": "integer"}})
    tools.activity("book", lambda: "b-1").undo(undo)
    with pytest.raises(errors.ActumError, match="_output"):
        await tools.all([call("book")])
    assert undone == ["b-1"]


async def test_a_function_in_a_thread_that_ends_after_its_call_was_cancelled_is_undone() -> None:
    desk = Desk()
    gate, undone = threading.Event(), list[Any]()
    loop = asyncio.get_running_loop()

    @desk.tools.tool
    def book() -> str:
        """Book."""
        loop.call_soon_threadsafe(desk.step)
        gate.wait(BOUND)
        return "booked"

    @book.undo
    def _(_: Call, result: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        undone.append(result)

    @desk.tools.tool
    async def hang() -> str:
        """Hang until it is cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            gate.set()
        return ""

    assert callable(hang)
    await desk.all(call("book"), call("hang"))
    assert undone == ["booked"]


async def test_what_only_reads_or_a_model_has_written_is_not_named_and_an_undo_that_fails_is() -> None:
    desk = Desk("act", waits_for=4, act={}, look={"_effects": "none"}, mail={"properties": {"to": TEXT}}, say={})
    desk.tools.activity("look", lambda: (desk.step(), "seen")[1])

    def mail(to: str) -> str:
        desk.step()
        return f"sent to {to}"

    desk.tools.activity("mail", mail)

    def broken(_: Call, __: Any) -> None:
        raise KeyError("gone")

    desk.tools.register("break", {"_output": TEXT})
    desk.tools.activity("break", lambda: (desk.step(), "broken")[1]).undo(broken)
    calls = [call("act"), call("say"), call("look"), call("mail", to="ada"), call("break")]
    error = await desk.all(*calls, model=models.Scripted([answer(output="said")]))
    named = {call.tool: call.parameters for call in error.result.not_undone}
    assert named == {"mail": {"to": "ada"}, "break": {}}
    assert error.__notes__ == ["undoing 'break' failed: KeyError: 'gone'"]
    assert error.message.endswith("can't be undone: 2")
    assert desk.log == ["act did", "act undid"]


@pytest.mark.rule("L2")
async def test_a_model_is_told_how_many_calls_stay_done_and_not_which() -> None:
    outer = Tools()

    @outer.tool
    async def order() -> str:
        """Order."""
        desk = Desk(mail={})
        desk.tools.activity("mail", lambda: (desk.step(), "sent")[1])
        return (await desk.tools.all([call("mail"), call("fail")]))[0]

    assert callable(order)
    agent = Agent(models.Scripted([answer(call("order")), answer(output="sorry")]), tools=outer)
    result = await agent.run("Order it.")
    prompt = text_of(sent(agent)[1].messages)
    assert "can't be undone: 1" in prompt
    assert "mail" not in prompt
    assert [call.tool for call in result.errors[0].result.not_undone] == ["mail"]
    plan: list[Json] = [{"type": "plan", "plan": [call("order")], "output": "†calls.0"}]
    with pytest.raises(errors.ActumError) as caught:
        await Agent(None, tools=outer).run(plan)
    assert [call.tool for call in caught.value.result.not_undone] == ["mail"]
    assert any("_call" in message or message["type"] == "plan" for message in caught.value.result.context)
