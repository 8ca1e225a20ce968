"""The record of a run: every entry reads as it is written, and a log that was cut anywhere is a context (L8)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actum.execution.record.entries import (
    Adopted,
    Answered,
    Appended,
    Arrived,
    Began,
    Closed,
    Entry,
    Inserted,
    Restarted,
    parse_entry,
)
from actum.execution.record.plans import standing_plans
from actum.execution.record.recovery import recovered
from actum.protocol.approvals import approval
from actum.protocol.context import Memory
from actum.protocol.marks import Marks
from actum.protocol.message import DATA_KINDS
from actum.protocol.place import Place

pytestmark = pytest.mark.rule("L8")
Json = dict[str, Any]
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
        Arrived(answer=0, start=3, call=CALL),
        Restarted(answer=0, by=1, start=3, kept={Place(0, 2): CALL}),
        Adopted(answer=1, index=4, place=Place(0, 2)),
        Answered(answer=0, start=3, output=None),
        Answered(answer=0, start=3, output=["†calls.0"]),
        Closed(0),
    ],
    ids=lambda entry: type(entry).__name__,
)
def test_an_entry_reads_as_it_is_written(entry: Entry) -> None:
    assert parse_entry(json.loads(json.dumps({"at": [], **entry.to_dict()}))) == entry


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"began": "no context"},
        {"message": "no message"},
        {"inserted": 5, "index": 0},
        {"answer": "0", "call": CALL},
        {"answer": 0},
        {"answer": 0, "call": "no call"},
        {"answer": 0, "adopted": "here", "index": 0},
        {"answer": 0, "adopted": "0.0"},
        {"answer": 0, "restarted": 1, "kept": {"here": CALL}},
    ],
)
def test_what_is_no_entry_is_refused(entry: Json) -> None:
    with pytest.raises(ValueError, match=r"has no keys|is not a place"):
        parse_entry({"at": [], **entry})


def told(*entries: Entry, at: tuple[str, ...] = ()) -> list[Json]:
    return [{"at": list(at), **entry.to_dict()} for entry in entries]


BEGAN = Began(context=[TEXT], run="r")
ARRIVED = [Arrived(answer=0, start=1, call=CALL), Arrived(answer=0, start=1, call=CALL)]
MARKS: Json = {"_of": "0", "_run": "r", "_by": "model"}


@pytest.mark.parametrize(
    ("entries", "context"),
    [
        ([], []),
        (told(BEGAN), [TEXT]),
        (told(BEGAN, *ARRIVED), [TEXT, {"type": "plan", "plan": [CALL, CALL], **MARKS}]),
        (told(BEGAN, ARRIVED[0], Appended(LEFT)), [TEXT, {"type": "plan", "plan": [CALL], **MARKS}, LEFT]),
        (told(BEGAN, ARRIVED[0], Appended(LEFT), Closed(0)), [TEXT, LEFT]),
        (
            told(BEGAN, ARRIVED[0], Answered(answer=0, start=1, output="†calls.0")),
            [TEXT, {"type": "plan", "plan": [CALL], "output": "†calls.0", **MARKS}],
        ),
        (told(BEGAN, ARRIVED[0], Restarted(answer=0, by=1, start=1, kept={})), [TEXT]),
        (
            told(BEGAN, ARRIVED[0], Restarted(answer=0, by=1, start=1, kept={Place(0, 0): CALL})),
            [TEXT, {"type": "plan", "plan": [CALL], "_of": "1", "_run": "r", "_by": "model", "_places": {"0": "0.0"}}],
        ),
        (told(BEGAN, Appended(LEFT), BEGAN), [TEXT]),
    ],
)
def test_a_log_that_was_cut_is_the_context_it_had_reached(entries: list[Json], context: list[Json]) -> None:
    assert recovered(entries) == context


def test_a_delegate_under_way_is_suspended_unless_its_call_is_done() -> None:
    inner = told(Began(context=[TEXT], run="i", call=CALL), at=("0.0",))
    outer = told(BEGAN, ARRIVED[0])
    suspended = {"type": "suspended", "of": "0.0", "call": CALL, "context": [TEXT]}
    assert recovered([*outer, *inner])[-1] == suspended
    assert suspended not in recovered([*outer, *inner, *told(Appended(LEFT))])


def test_an_entry_about_a_run_that_has_not_begun_is_refused() -> None:
    with pytest.raises(ValueError, match="has not begun"):
        recovered(told(Appended(TEXT)))


PLAN: Json = {"type": "plan", "plan": [CALL], **MARKS}
FAILED: Json = {"type": "error", "call": CALL, "error": "it broke", "_of": "0.0"}


@pytest.mark.parametrize(("behind", "failed"), [([], set[int]()), ([{**LEFT, "_of": "1.0"}], {0})])
def test_a_failed_call_is_made_again_unless_the_model_has_answered_since(behind: list[Json], failed: set[int]) -> None:
    messages = [PLAN, FAILED, *behind]
    (standing,) = standing_plans(messages, Memory(), Marks.of(messages), DATA_KINDS)
    assert (standing.done, standing.failed) == ({}, failed)


@pytest.mark.rule("C9", "L6")
def test_a_decision_that_was_saved_before_places_names_a_plan_by_its_message() -> None:
    plan: Json = {"type": "plan", "plan": [CALL]}
    marks = Marks.of([TEXT, plan, approval("1.0", CALL, "held")])
    assert [one.number for one in marks.plans] == [1]
