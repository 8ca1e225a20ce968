"""The record of a run: every entry reads as it is written, and a log that was cut anywhere is a context (L8)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from actum import Agent, Ctx, Tools, errors, models
from actum.dataflow.node import Status
from actum.execution.record.plans import standing_plans
from actum.execution.record.recorder import (
    Appended,
    Arrived,
    Began,
    Closed,
    Entry,
    FailedCall,
    Inserted,
    OutputArrived,
    Recorder,
    Restarted,
    parse_entry,
)
from actum.execution.record.recovery import recover_context
from actum.protocol.approvals import approval
from actum.protocol.call import Place
from actum.protocol.context import Memory
from actum.protocol.marks import Marks
from actum.protocol.message import DATA_KINDS
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("L8")
TEXT: Json = {"type": "text", "text": "go"}
CALL: Json = {"_tool": "work"}
LEFT: Json = {"type": "data", "kind": "record", "data": None, "_call": CALL, "_of": "0.0"}


@pytest.mark.parametrize(
    "entry",
    [
        Began(context=[TEXT], run="r"),
        Began(context=[], run="r", call=CALL),
        Appended(TEXT),
        Inserted(0, TEXT),
        Arrived(answer=0, start=3, index=0, call=CALL),
        Arrived(answer=0, start=3, index=7, call=CALL, place=Place(0, 2)),
        FailedCall(place=Place(0, 2), call=CALL, error="it broke"),
        Restarted(answer=0, by=1, start=3, kept={Place(0, 2): CALL}),
        OutputArrived(answer=0, start=3, output=None),
        OutputArrived(answer=0, start=3, output=["†calls.0"]),
        Closed(0),
    ],
    ids=lambda entry: type(entry).__name__,
)
def test_an_entry_reads_as_it_is_written(entry: Entry) -> None:
    assert parse_entry(json.loads(json.dumps({"at": [], **entry.to_dict()}))) == entry


@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        ({}, "it is not an entry that a run writes"),
        ({"began": "no context", "run": "r"}, "'began' must be a list of objects"),
        ({"began": [5], "run": "r"}, "'began' must be a JSON object"),
        ({"began": [], "run": 5}, "'run' must be a text"),
        ({"began": [], "run": "r", "call": []}, "'call' must be a JSON object"),
        ({"message": "no message"}, "'message' must be a JSON object"),
        ({"inserted": 5, "index": 0}, "'inserted' must be a JSON object"),
        ({"inserted": TEXT, "index": -1}, "'index' must be a whole number that is not negative"),
        ({"inserted": TEXT, "index": True}, "'index' must be a whole number that is not negative"),
        ({"inserted": TEXT}, "'index' must be a whole number that is not negative"),
        ({"shown": 0.5}, "'shown' must be a whole number that is not negative"),
        ({"failed": 5, "call": CALL, "error": ""}, "'failed' must be a place such as 3.0"),
        ({"failed": "here", "call": CALL, "error": ""}, "'here' is not a place, for example 3.0"),
        ({"failed": "0.0", "call": CALL}, "'error' must be a text"),
        ({"answer": "0", "call": CALL}, "'answer' must be a whole number that is not negative"),
        ({"answer": 0, "start": [], "call": CALL}, "'start' must be a whole number that is not negative"),
        ({"answer": 0}, "it is not an entry that a run writes about an answer"),
        ({"answer": 0, "closed": 1}, "it is not an entry that a run writes about an answer"),
        ({"answer": 0, "index": 0, "call": "no call"}, "'call' must be a JSON object"),
        ({"answer": 0, "call": CALL, "index": "0"}, "'index' must be a whole number that is not negative"),
        ({"answer": 0, "call": CALL, "index": 0, "adopted": None}, "'adopted' must be a place such as 3.0"),
        ({"answer": 0, "call": CALL}, "'index' must be a whole number that is not negative"),
        ({"answer": 0, "call": CALL, "index": 0, "adopted": "here"}, "'here' is not a place, for example 3.0"),
        ({"began": []}, "it doesn't say which run has begun: records from before 0.1.0 can't be read"),
        ({"start": 3, "call": CALL, "index": 0}, "it is not an entry that a run writes"),
        ({"answer": 0, "restarted": 1, "kept": {"here": CALL}}, "'here' is not a place, for example 3.0"),
        ({"answer": 0, "restarted": 1, "kept": {"0.0": 5}}, "'kept' must be a JSON object"),
        ({"answer": 0, "restarted": 1, "kept": []}, "'kept' must be a JSON object"),
        ({"answer": 0, "restarted": "1", "kept": {}}, "'restarted' must be a whole number that is not negative"),
        ({"began": [], "run": "r", "said": 1}, "'said' must be at most the number of messages"),
        ({"began": [], "run": "r", "said": -1}, "'said' must be a whole number that is not negative"),
        ({"began": [], "run": "r", "trace": 5}, "'trace' must be a text"),
        ({"failed": "0.0", "call": 5, "error": ""}, "'call' must be a JSON object"),
        ({"failed": "0.0", "call": {}, "error": "", "marks": 5}, "'marks' must be a JSON object"),
        ({"answer": -1}, "'answer' must be a whole number that is not negative"),
        ({"heard": 1}, "it is not an entry that a run writes"),
        ({"answer": 0, "withheld": 1}, "it is not an entry that a run writes about an answer"),
    ],
)
def test_what_is_no_entry_is_refused(entry: Json, wrong: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(wrong)}$"):
        parse_entry({"at": [], **entry})


@pytest.mark.parametrize(
    ("at", "wrong"),
    [
        (None, "'at' must be a list of places"),
        ("0.0", "'at' must be a list of places"),
        ({}, "'at' must be a list of places"),
        ([5], "'at' must be a place such as 3.0"),
        ([["0.0"]], "'at' must be a place such as 3.0"),
        (["here"], "'here' is not a place, for example 3.0"),
    ],
)
def test_an_entry_says_of_which_run_it_is(at: Any, wrong: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(wrong)}$"):
        recover_context([{"at": at, **BEGAN.to_dict()}])


def lines(*entries: Entry, at: tuple[str, ...] = ()) -> list[Json]:
    return [{"at": list(at), **entry.to_dict()} for entry in entries]


BEGAN = Began(context=[TEXT], run="r")
ARRIVED = [Arrived(answer=0, start=1, index=0, call=CALL), Arrived(answer=0, start=1, index=1, call=CALL)]
THEN: Json = {"_then": True}
KEPT = Restarted(answer=0, by=1, start=1, kept={Place(0, 0): CALL})
AGAIN = Arrived(answer=1, start=1, index=0, call=CALL)
FAILED: Json = {"type": "error", "call": CALL, "error": "it broke", "_of": "0.0"}
FAILED_ENTRY = FailedCall(place=Place(0, 0), call=CALL, error="it broke")
UNUSABLE: Json = {**FAILED, "_outcome": "unusable"}
UNUSABLE_ENTRY = FailedCall(place=Place(0, 0), call=CALL, error="it broke", marks={"_outcome": "unusable"})
MARKS: Json = {"_of": "0", "_run": "r", "_by": "model"}


CUT: list[tuple[list[Json], list[Json]]] = [
    ([], []),
    (lines(BEGAN), [TEXT]),
    (lines(BEGAN, *ARRIVED), [TEXT, {"type": "plan", "plan": [CALL, CALL], **MARKS}]),
    (lines(BEGAN, ARRIVED[0], Appended(LEFT)), [TEXT, {"type": "plan", "plan": [CALL], **MARKS}, LEFT]),
    (lines(BEGAN, ARRIVED[0], Appended(LEFT), Closed(0)), [TEXT, LEFT]),
    (
        lines(BEGAN, ARRIVED[0], OutputArrived(answer=0, start=1, output="†calls.0")),
        [TEXT, {"type": "plan", "plan": [CALL], "output": "†calls.0", **MARKS}],
    ),
    (lines(BEGAN, ARRIVED[0], Restarted(answer=0, by=1, start=1, kept={})), [TEXT]),
    (
        lines(BEGAN, ARRIVED[0], Restarted(answer=0, by=1, start=1, kept={Place(0, 0): CALL})),
        [TEXT, {"type": "plan", "plan": [CALL], "_of": "1", "_run": "r", "_by": "model", "_places": {"0": "0.0"}}],
    ),
    (lines(BEGAN, Appended(LEFT), BEGAN), [TEXT]),
    (
        lines(BEGAN, ARRIVED[0], KEPT, Arrived(answer=1, start=1, index=0, call=CALL, place=Place(0, 0))),
        [TEXT, {"type": "plan", "plan": [CALL], **MARKS, "_of": "1", "_places": {"0": "0.0"}}],
    ),
    (
        lines(BEGAN, ARRIVED[0], KEPT, Arrived(answer=1, start=1, index=0, call=THEN), AGAIN),
        [TEXT, {"type": "plan", "plan": [CALL, CALL], **MARKS, "_of": "1", "_places": {"1": "0.0"}}],
    ),
    (
        lines(BEGAN, ARRIVED[0], FAILED_ENTRY, KEPT, AGAIN),
        [TEXT, {"type": "plan", "plan": [CALL], **MARKS, "_of": "1"}, FAILED],
    ),
    (lines(BEGAN, ARRIVED[0], FAILED_ENTRY, KEPT), [TEXT, FAILED]),
    (lines(BEGAN, ARRIVED[0], FAILED_ENTRY), [TEXT, {"type": "plan", "plan": [CALL], **MARKS}]),
    (
        lines(BEGAN, ARRIVED[0], FAILED_ENTRY, Appended(FAILED), Closed(0)),
        [TEXT, FAILED],
    ),
    (
        lines(BEGAN, ARRIVED[0], UNUSABLE_ENTRY, Appended(UNUSABLE), Closed(0)),
        [TEXT, UNUSABLE],
    ),
]


@pytest.mark.parametrize(("entries", "context"), CUT)
def test_a_log_that_was_cut_is_the_context_it_had_reached(entries: list[Json], context: list[Json]) -> None:
    assert recover_context(entries) == context


def test_a_delegate_under_way_is_suspended_unless_its_call_is_done() -> None:
    inner = lines(Began(context=[TEXT], run="i", call=CALL), at=("0.0",))
    outer = lines(BEGAN, ARRIVED[0])
    suspended = {"type": "suspended", "of": "0.0", "call": CALL, "context": [TEXT]}
    assert recover_context([*outer, *inner])[-1] == suspended
    assert suspended not in recover_context([*outer, *inner, *lines(Appended(LEFT))])


def test_a_delegate_under_way_may_hold_types_of_its_own_however_deep_it_lies() -> None:
    note: Json = {"type": "note", "words": "x"}
    suspended: Json = {"type": "suspended", "of": "0.0", "call": CALL, "context": [note]}
    outer: Json = {**suspended, "context": [suspended]}
    assert recover_context(lines(BEGAN, Appended(note), Appended(outer))) == [TEXT, note, outer]


def test_an_entry_about_a_run_that_has_not_begun_is_refused() -> None:
    for at, where in ((), "the top"), (("0.0", "1.2"), "0.0/1.2"):
        with pytest.raises(ValueError, match=rf"^the run at {where} has not begun$"):
            recover_context(lines(Appended(TEXT), at=at))


@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        (Inserted(3, TEXT), "it names a message behind the last one"),
        (Arrived(answer=0, start=3, index=0, call=CALL), "it names a message behind the last one"),
        (OutputArrived(answer=0, start=9, output=1), "it names a message behind the last one"),
        (Restarted(answer=0, by=1, start=9, kept={Place(0, 0): CALL}), "it names a message behind the last one"),
        (
            Arrived(answer=0, start=1, index=1, call=CALL),
            "a call has arrived before the one that is listed before it",
        ),
        (Appended({"type": "text"}), "message 1: a text message needs 'text'"),
        (
            Appended({"type": "data", "kind": "record", "data": None, "_call": CALL, "_of": 5}),
            "message 1: '_of' must be a place such as \"3.0\", not 5",
        ),
        (
            Appended({"type": "data", "kind": "record", "data": None, "_call": CALL, "_shown": "0"}),
            "message 1: '_shown' must be a whole number that is not negative",
        ),
        (
            Appended({"type": "suspended", "of": "0.0", "call": CALL, "context": [5]}),
            "message 1, at context[0]: message 0: a message must be a JSON object, "
            '{"type": "user", "message": …}, not a int',
        ),
        (
            Appended({"type": "suspended", "of": "0.0", "call": CALL, "context": [{"type": "text", "_of": []}]}),
            "message 1, at context[0]: message 0: a text message needs 'text'",
        ),
    ],
)
def test_an_entry_that_does_not_fit_what_was_told_is_refused(entry: Entry, wrong: str) -> None:
    with pytest.raises((ValueError, errors.MessageError), match=rf"^{re.escape(wrong)}$"):
        recover_context(lines(BEGAN, entry))


PLAN: Json = {"type": "plan", "plan": [CALL], **MARKS}


@pytest.mark.parametrize(("behind", "failed"), [([], set[int]()), ([{**LEFT, "_of": "1.0"}], {0})])
def test_a_failed_call_is_made_again_unless_the_model_has_answered_since(behind: list[Json], failed: set[int]) -> None:
    messages = [PLAN, FAILED, *behind]
    (standing,) = standing_plans(messages, Memory(), Marks.of(messages), DATA_KINDS)
    assert {index for index, end in enumerate(standing.ends) if end.status is Status.FAILED} == failed
    assert not any(end.status is Status.DONE for end in standing.ends)


UNMARKED: Json = {"type": "plan", "plan": [CALL]}


@pytest.mark.rule("C9", "L6")
@pytest.mark.parametrize(
    ("left", "wrong"),
    [
        ({"type": "data", "kind": "record", "data": None, "_call": CALL}, "left by a call and doesn't say by which"),
        ({"type": "state", "x": 1, "_call": {"_tool": "other"}}, "left by a call and doesn't say by which"),
        ({"type": "error", "call": CALL, "error": "it broke"}, "nothing says which"),
        (approval("1.0", CALL, "held"), "no plan before it is answer 1"),
        ({"type": "suspended", "of": "1.0", "call": CALL, "context": []}, "no plan before it is answer 1"),
    ],
    ids=["a record", "a write", "an error", "a decision", "a delegate"],
)
def test_what_a_call_has_left_without_a_mark_is_refused(left: Json, wrong: str) -> None:
    """As contexts from before 0.1.0 have it: whether the call is done would be a guess."""
    for behind in ([], [UNMARKED]):
        with pytest.raises(errors.MessageError, match=rf"message 2: .*{wrong}.*from before 0\.1\.0.*begin a new run"):
            Marks.of([TEXT, UNMARKED, left, *behind])


def test_what_an_author_says_before_a_plan_needs_no_mark() -> None:
    given: list[Json] = [{"type": "state", "x": 1, "_call": CALL}, {"type": "error", "call": CALL, "error": "it broke"}]
    marks = Marks.of([*given, UNMARKED, {"type": "error", "call": {"_tool": "other"}, "error": "it broke"}])
    assert ([plan.number for plan in marks.plans], dict(marks.left), marks.next_answer) == ([0], {}, 1)


@pytest.mark.rule("P2")
@pytest.mark.parametrize(
    ("plan", "path"),
    [
        ({"plan": [CALL, {**CALL, "x": {1}}]}, "plan[1]"),
        ({"plan": [CALL], "output": {"a": "†calls.0 <|>"}}, "output"),
    ],
)
def test_what_is_wrong_with_a_plan_is_told_with_its_message_and_place(plan: Json, path: str) -> None:
    messages = [TEXT, {"type": "plan", **plan}]
    with pytest.raises(errors.MessageError) as caught:
        list(standing_plans(messages, Memory(), Marks.of(messages), DATA_KINDS))
    assert (caught.value.index, caught.value.path) == (1, path)


def test_a_recorder_has_all_that_a_record_offers() -> None:
    class Record:
        settled, lease, gate, post, spread, keyed = "settled", 3, "gate", "post", "spread", "run"

        def __call__(self, entry: Json) -> None: ...

    record: Any = Record()
    recorder = Recorder.of(record)
    assert (recorder.settled, recorder.lease, recorder.gate, recorder.post, recorder.spread, recorder.run) == (
        *("settled", 3, "gate", "post", "spread"), "run")  # fmt: skip
    below = recorder.below(Place(1, 2), CALL)
    assert (below.at, below.call, below.run) == (("1.2",), CALL, "run/1.2")
    assert (below.settled, below.lease, below.gate, below.post, below.spread) == ("settled", 3, "gate", None, "spread")
    assert Recorder.of(None).below(Place(0, 0), CALL).run == ""


class Gated:
    """A record that has a key for its run and decides when a request may be sent."""

    keyed = "mine"

    def __init__(self) -> None:
        self.said: list[str] = []
        self.gate = self

    def __call__(self, entry: Json) -> None: ...

    async def enter(self, model: str, tokens: int) -> None:
        self.said.append(f"+{model}")

    async def refused(self, model: str, retry_after: float | None) -> None:
        self.said.append(f"!{model}")

    async def left(self, model: str, tokens: int, used: int | None) -> None:
        self.said.append(f"-{model}")


async def test_each_request_of_a_run_is_let_in_and_its_calls_are_keyed_by_it() -> None:
    tools, keys = Tools(), list[str]()

    @tools.tool
    def look(ctx: Ctx) -> int:
        """Look."""
        keys.append(ctx.key)
        return 1

    assert look.name == "look"
    tools.register("ask", {"_delegate": "one", "_output": {}})
    reads = {"_tool": "read", "of": "x", "ask": "y", "as": "text"}
    agent = Agent(
        models.Scripted(
            [
                {"calls": [{"_tool": "look"}, {"_tool": "ask"}, reads], "output": ["†calls.0", "†calls.1", "†calls.2"]},
                *({"calls": [], "output": "told"} for _ in range(2)),
            ]
        ),
        tools=tools,
        delegates={"one": {"context": [{"type": "text", "text": "say"}], "schema": {"type": "string"}}},
    )
    record = Gated()
    async with agent.stream("go", record=record) as run:
        async for _ in run:
            pass
    assert run.result.output == [1, "told", "told"]
    assert record.said.count("+scripted") == record.said.count("-scripted") == 3
    assert keys == ["mine/0.0"]
