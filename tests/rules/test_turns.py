"""What a turn leaves for the next: settled, held, cut, given up, or taken over by an answer (M4, L8)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from actum import HOLD, Agent, Context, Limits, Tools, approvals, errors
from actum.events import CallStarted
from actum.execution.record.recovery import recover_context
from actum.schema.json import JsonObject as Json

from .scripts import agent, answer, call, sent

PLAN = answer(call("refund", id="o1"), output="Done: {†calls.0}")
ANSWERS = (PLAN, answer(output="SECOND"), answer(output="THIRD"), answer(output="FOURTH"))


class Desk:
    """A tool that pays, an approver of its calls, and what it has paid."""

    def __init__(self, *answers: Json, approve: Callable[..., Any] | None = None) -> None:
        self.paid: list[str] = []
        self.tools = Tools()

        @self.tools.tool(effects="ordered")
        async def refund(id: str) -> str:  # pyright: ignore[reportUnusedFunction]
            """Refund."""
            if id == "bad":
                raise ValueError("no such order")
            self.paid.append(id)
            return f"paid {id}"

        self.agent = agent(*(answers or ANSWERS), tools=self.tools, approve=approve)

    @property
    def requests(self) -> list[list[Any]]:
        """What the model was shown, request by request."""
        return [[(message["role"], message["content"]) for message in request.messages] for request in sent(self.agent)]


def hold(*_: object) -> Any:
    return HOLD


def hold_first(call: Json, *_: object) -> Any:
    return HOLD if call["id"] == "o1" else True


def again(context: Context) -> list[Json]:
    return json.loads(json.dumps(context.messages))


async def turn(talk: Any, words: Any = None) -> Any:
    async with talk.stream(words) as run:
        async for _ in run:
            pass
    return run.result.output


async def spoken(talk: Any, *texts: str) -> list[Any]:
    return [await turn(talk, words) for words in texts]


async def at_once(*answers: Json, texts: tuple[str, ...] = ("refund me", "and now?", "hello?")) -> Desk:
    """The same conversation with an approver that says yes at once."""
    desk = Desk(*answers, approve=lambda *_: True)
    await spoken(desk.agent.conversation(), *texts)
    return desk


def in_substance(context: Context) -> list[Json]:
    """The messages of a conversation but for plans, decisions and dates."""
    kept = [message for message in context.messages if message["type"] not in ("plan", "approval", "suspended")]
    return [{key: value for key, value in message.items() if key != "_date"} for message in kept]


@pytest.mark.rule("M4", "L6", "L8")
@pytest.mark.parametrize("reloads", [True, False])
@pytest.mark.parametrize("separate", [True, False])
async def test_a_turn_that_was_approved_is_over(reloads: bool, separate: bool) -> None:
    desk = Desk(approve=hold)
    talk = desk.agent.conversation()
    assert await turn(talk, "refund me") is None
    context = approvals.decided(talk.context, "0.0", "approve")
    talk = desk.agent.conversation(again(context) if reloads else context)
    if separate:
        assert await turn(talk) == "Done: paid o1"
        assert await turn(talk) == "Done: paid o1"  # there is nothing else to do
    talk = desk.agent.conversation(again(talk.context)) if reloads else talk
    assert await spoken(talk, "and now?", "hello?") == ["SECOND", "THIRD"]
    other = await at_once()
    assert desk.requests == other.requests
    assert desk.paid == ["o1"]


@pytest.mark.rule("M4", "L8")
async def test_it_comes_to_the_same_messages_as_one_that_was_approved_at_once() -> None:
    desk, other = Desk(approve=hold), Desk(approve=lambda *_: True)
    talk, same = desk.agent.conversation(), other.agent.conversation()
    await turn(talk, "refund me")
    talk = desk.agent.conversation(approvals.decided(talk.context, "0.0", "approve"))
    await spoken(talk, "and now?", "hello?")
    await spoken(same, "refund me", "and now?", "hello?")
    assert in_substance(talk.context) == in_substance(same.context)


@pytest.mark.rule("M4", "L6")
async def test_an_output_behind_a_decision_with_new_words_stands_before_them() -> None:
    desk = Desk(approve=hold)
    talk = desk.agent.conversation()
    await turn(talk, "refund me")
    context = [*again(talk.context), {"type": "user", "message": "and now?"}]
    decided = approvals.decided(Context(context), "0.0", "approve")  # decided behind the words, or before them
    assert (await desk.agent.run(decided, str)).output == "SECOND"
    assert [content for role, content in desk.requests[-1] if role != "system"][-3:] == [
        '¶result 0 of {"_tool":"refund","id":"o1"}\n"paid o1"',
        "Done: paid o1",
        "and now?",
    ]


@pytest.mark.rule("M4", "O9")
async def test_what_still_waits_keeps_no_later_turn_waiting() -> None:
    desk = Desk(PLAN, answer(output="Not yet."), approve=hold)
    talk = desk.agent.conversation()
    assert await spoken(talk, "refund me", "is it done?") == [None, "Not yet."]
    assert [pending.of for pending in approvals.pending(talk.context)] == ["0.0"]
    talk = desk.agent.conversation(again(approvals.decided(talk.context, "0.0", "approve")))
    assert await turn(talk) == "Done: paid o1"
    assert desk.paid == ["o1"]
    assert len(desk.requests) == 2


@pytest.mark.rule("M4", "O9")
async def test_an_answer_takes_the_place_of_an_output_that_was_withheld() -> None:
    desk = Desk(answer(call("refund", id="bad"), output="Done."), *ANSWERS[1:], approve=hold)
    talk = desk.agent.conversation()
    await turn(talk, "refund me")
    talk = desk.agent.conversation(again(approvals.decided(talk.context, "0.0", "approve")))
    assert await spoken(talk, "and now?", "hello?") == ["SECOND", "THIRD"]
    talk = desk.agent.conversation(again(talk.context))
    assert await turn(talk, "still there?") == "FOURTH"
    assert not any("output" in message for message in talk.context if message["type"] == "plan")


@pytest.mark.rule("M4", "L6")
async def test_after_a_denial_the_model_answers_and_the_plan_is_over() -> None:
    desk = Desk(approve=hold)
    talk = desk.agent.conversation()
    await turn(talk, "refund me")
    talk = desk.agent.conversation(again(approvals.decided(talk.context, "0.0", "deny")))
    assert [await turn(talk), *await spoken(talk, "and now?", "hello?")] == ["SECOND", "THIRD", "FOURTH"]
    assert desk.paid == []


@pytest.mark.rule("M4", "L7", "L8")
async def test_a_turn_that_was_left_early_is_finished_before_new_words() -> None:
    desk = Desk()
    talk = desk.agent.conversation()
    async with talk.stream("refund me") as run:
        async for event in run:
            if isinstance(event, CallStarted):
                break
    talk = desk.agent.conversation(again(talk.context))
    assert await spoken(talk, "and now?", "hello?") == ["SECOND", "THIRD"]
    assert desk.requests[1:] == (await at_once()).requests[1:]
    assert desk.paid == ["o1"]


@pytest.mark.rule("M4")
async def test_runs_and_resumed_runs_follow_each_other_like_turns() -> None:
    desk = Desk(approve=hold)
    held = await desk.agent.run("refund me", str)
    done = await desk.agent.resume(approvals.decided(held.context, "0.0", "approve"), str)
    more = await desk.agent.run([*done.context, {"type": "user", "message": "and now?"}], str)
    assert (held.output, done.output, more.output) == (None, "Done: paid o1", "SECOND")


@pytest.mark.rule("M4")
async def test_a_cut_conversation_forgets_a_settled_plan_whole() -> None:
    """If the output were cut with an old turn and the plan stayed, its calls would be made again."""
    desk = Desk(approve=hold)
    talk = desk.agent.conversation()
    await turn(talk, "refund me")
    decided = approvals.decided(talk.context, "0.0", "approve")
    talk = desk.agent.conversation(decided, most=10)
    assert [await turn(talk), *await spoken(talk, "and now?", "hello?", "bye")] == [
        "Done: paid o1",
        "SECOND",
        "THIRD",
        "FOURTH",
    ]
    assert desk.paid == ["o1"]
    assert not any(message["type"] in ("plan", "approval") for message in talk.context)


@pytest.mark.rule("M4", "L8")
async def test_a_cut_conversation_keeps_what_a_plan_that_waits_has_done() -> None:
    both = answer(call("refund", id="o2"), call("refund", id="o1"), output="Done: {†calls.1}")
    desk = Desk(both, answer(call("refund", id="o3")), *ANSWERS[1:], approve=hold_first)
    talk = desk.agent.conversation(most=10)
    assert await spoken(talk, "refund me", "and now?", "hello?", "bye") == [None, None, "SECOND", "THIRD"]
    talk = desk.agent.conversation(again(approvals.decided(talk.context, "0.1", "approve")), most=10)
    assert await turn(talk) == "Done: paid o1"
    assert desk.paid == ["o2", "o3", "o1"]


@pytest.mark.rule("M4")
async def test_what_is_given_up_is_not_asked_about_any_more() -> None:
    desk = Desk(approve=hold)
    talk = desk.agent.conversation()
    await turn(talk, "refund me")
    talk.give_up()
    assert approvals.pending(talk.context) == []
    assert await turn(talk, "never mind") == "SECOND"
    assert desk.paid == []


@pytest.mark.rule("M4", "P3")
async def test_a_plan_among_new_messages_belongs_to_the_next_turn() -> None:
    desk = Desk(approve=hold_first)
    talk = desk.agent.conversation()
    await turn(talk, "refund me")
    context = approvals.decided(talk.context, "0.0", "approve")
    more = [
        {"type": "user", "message": "this one too"},
        {"type": "plan", "plan": [call("refund", id="o2")], "output": "Both: {†calls.0}"},
    ]
    result = await Agent(desk.agent.model, tools=desk.tools).run(context.extended(more), str)
    assert result.output == "Both: paid o2"
    assert desk.paid == ["o1", "o2"]
    assert len(desk.requests) == 1


@pytest.mark.rule("M4", "C7")
async def test_a_gate_that_is_opened_beside_new_words_lets_the_plan_run_first() -> None:
    desk = Desk(answer(call("refund", id="{†state.approvals.go}"), output="Done: {†calls.0}"), *ANSWERS[1:])
    talk = desk.agent.conversation()
    assert await turn(talk, "refund me") is None
    words = {"type": "user", "message": "and now?"}
    assert await turn(talk, [words, {"type": "state", "approvals": {"go": "o7"}}]) == "SECOND"
    assert desk.paid == ["o7"]
    assert [message["output"] for message in talk.context if message["type"] == "output"] == ["Done: paid o7", "SECOND"]


@pytest.mark.rule("M4", "L8")
async def test_the_record_of_two_turns_in_one_run_is_read_back() -> None:
    desk = Desk(approve=hold)
    held = await desk.agent.run("refund me", str)
    decided = approvals.decided(held.context, "0.0", "approve")
    context = decided.extended([{"type": "user", "message": "and now?"}])
    entries: list[Json] = []
    async with desk.agent.stream(context, str, record=entries.append) as run:
        async for _ in run:
            pass
    for end in range(1, len(entries) + 1):
        messages = recover_context(entries[:end])
        assert [message for message in messages if message["type"] in ("text", "user")] == [
            {"type": "text", "text": "refund me"},
            {"type": "user", "message": "and now?"},
        ]
        other = Desk(answer(output="SECOND"))
        result = await other.agent.resume(Context(messages), str)
        assert result.output == "SECOND"
        assert len(desk.paid + other.paid) == 1 + (not any("_call" in message for message in messages))
    assert in_substance(Context(recover_context(entries))) == in_substance(run.context)


@pytest.mark.rule("L5")
async def test_a_turn_that_goes_on_counts_its_limits_from_its_beginning() -> None:
    desk = Desk(answer(call("refund", id="bad"), output="Done."), *ANSWERS[1:], approve=hold)
    talk = Agent(desk.agent.model, tools=desk.tools, approve=hold, limits=Limits(requests=1)).conversation()
    assert await turn(talk, "refund me") is None
    talk.context = approvals.decided(talk.context, "0.0", "approve")
    with pytest.raises(errors.LimitExceeded, match="1 requests"):
        await turn(talk)  # the call fails, and the turn has made its request
    assert await turn(talk, "and now?") == "SECOND"
