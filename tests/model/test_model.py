"""The runtime does what the protocol says: it is compared with a model of it (`meaning`), under several schedulers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from actum.schema.json import is_object

from ..effort import cases, in_parts
from .drawing import Case, Talk, talks
from .drawing import cases as drawn
from .given import ANSWERED, CONTEXT, GATE, INSIDE, INSTANCES, TEXT
from .meaning import Run
from .running import Schedule, Seen, Talking, bench_of, left_by, ran
from .values import Json, folded, plain
from .world import READER, Unsaid

pytestmark = [
    pytest.mark.rule(
        "C4", "C6", "C7", "C8", "C9", "C10", "C11", "C12", "C13", "T14", "O4", "O5", "O6", "O7", "O8", "O9"
    ),
    pytest.mark.rule("O10", "S8", "I2", "L3", "L8", "M9"),
]
BOUND = 30


def canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def compared(case: Case, model: Run, seen: Seen) -> None:
    told = model.told
    ended = getattr(seen.error, "code", "")
    if (seen.error is not None and ended != model.ended) or not seen.result:
        raise AssertionError(f"the run ended with {seen.error!r}, and should with {model.ended!r}") from seen.error
    assert ended == model.ended, f"the run should end with {model.ended!r}"
    if case.broken:
        _place(model, seen)
    same(
        "carried out",
        map(list, seen.begun),
        [[one.place, one.activity, one.arguments, one.crossing] for one in told.made if one.activity],
    )
    _check_order(model, seen)
    asked = [list(one) for one in seen.requests]
    shown = [[one.tool, one.blocks, one.data] for one in told.requests]
    is_loose = [one.is_loose for one in told.requests if not one.of]
    none: list[Any] = ["", [], {}]
    for number, (own, wanted) in enumerate(zip_longest(of_planner(asked), of_planner(shown), fillvalue=none)):
        if is_loose[number : number + 1] == [True]:
            continue
        same(f"shown by request {number}", *(_shown(some[1], case.broken) for some in (own, wanted)))
        same(f"data shown by request {number}", [own[2]], [wanted[2]])
    if not any(one.is_loose for one in told.requests if one.of):
        same("asked in delegates", [one for one in asked if one[0]], [one for one in shown if one[0]])
    same("left", *(left(some, case.broken) for some in (left_by(seen.result.context), model.left)))
    assert [one.meta for one in seen.result.solutions] == model.metas
    for one in seen.result.calls:
        if one.error is not None and not one.error.message.startswith("it waits for itself"):
            assert one.error.tool == (one.tool or "_value"), f"{one.error!r} names another tool than {one.tool!r}"
    same("output", [seen.result.output], [None if model.ended else model.output])
    for instance in (None, *seen.result.context.instances):
        view = seen.result.context if instance is None else seen.result.context.of(instance)
        kinds = {one.kind for one in model.writes}
        own = {kind: plain(folded(model.writes, kind, instance)) for kind in sorted(kinds)}
        same(f"data of {instance}", [{kind: view.data.get(kind) for kind in sorted(kinds)}], [own])


def of_planner(requests: list[Any]) -> list[Any]:
    return [one for one in requests if not one[0]]


def same(what: str, found: Iterable[Any], wanted: Iterable[Any]) -> None:
    """Whether the runtime has what the model has, in any order."""
    own, other = Counter(map(canonical, found)), Counter(map(canonical, wanted))
    if own != other:
        raise AssertionError(f"{what}: only in the run {[*(own - other)]}, only in the model {[*(other - own)]}")


def _place(model: Run, seen: Seen) -> None:
    """Name calls by the places that they would have if no answer had been asked for again: it has a number of its own
    if any of its calls had started (L3, C9)."""
    free: dict[str, list[str]] = {}
    for one in model.told.made:
        free.setdefault(canonical([one.activity, one.arguments, one.crossing]), []).append(one.place)
    places: dict[str, str] = {}
    for place, *own in seen.begun:
        known = free.get(canonical(own))
        places[place] = known.pop(0) if known else f"once more: {place}"
    seen.begun = [(places[place], activity, made, crossed) for place, activity, made, crossed in seen.begun]
    seen.log = [(sign, places[place]) for sign, place in seen.log]


def _shown(blocks: Iterable[Any], broken: Any) -> list[Any]:
    """What a request shows. A call that was skipped, and refers to what hadn't arrived in a first attempt, may be told
    of twice: whether it is the same is known only at the end of an answer (L3)."""
    told = list(blocks)
    return [one for at, one in enumerate(told) if not broken or one[0] != "skipped" or one not in told[:at]]


def left(found: Iterable[Json], broken: Any) -> list[Json]:
    """What calls have left, but of items; without their places where an answer was asked for again."""
    without = {"_of"} if broken else set[str]()
    kept = [{key: one for key, one in own.items() if key not in without} for own in found if not _is_item_record(own)]
    return [one for at, one in enumerate(kept) if not broken or one["what"] != "skipped" or one not in kept[:at]]


def _is_item_record(one: Json) -> bool:
    return one["what"] in {"record", "skipped"} and one["_of"].count(".") > 1


def _check_order(model: Run, seen: Seen) -> None:
    running: set[str] = set()
    ended: set[str] = set()
    own = {one.place: one for one in model.told.made}
    explicit = {place for place, one in own.items() if one.activity}
    for sign, place in seen.log:
        if sign == "-":
            running.discard(place)
            ended.add(place)
        else:
            running.add(place)
            early = (own[place].after & explicit) - ended
            assert not early, f"{place} began before {sorted(early)} had ended"


async def compare(case: Case, schedules: list[Schedule]) -> None:
    model = Run(case.world, case.context, case.answers)
    model.go()
    asked = len(model.told.requests) + sum(map(len, case.broken.values()))
    for schedule in schedules:
        seen = await ran(case, schedule)
        if case.most is None or asked < case.most:
            compared(case, model, seen)
        else:  # who makes the requests that are left is decided by time, and the last one offers no calls (L5)
            assert seen.result.usage.requests <= case.most
            if any(one.tool == READER.name for one in model.told.requests):
                continue  # what reads a reader that meets the limit has an alternative, or goes without it (D18)
            made = Counter(canonical([one.activity, one.arguments, one.crossing]) for one in model.told.made)
            assert not Counter(canonical(own) for _, *own in seen.begun) - made
            own, wanted = (
                Counter(canonical(one) for one in left(some, case.broken) if one["what"] in {"result", "data"})
                for some in (left_by(seen.result.context), model.left)
            )
            assert not own - wanted


def compared_if_said(comparing: Coroutine[Any, Any, None]) -> None:
    """Compare where the protocol says what comes of it."""
    try:
        asyncio.run(asyncio.wait_for(comparing, BOUND))
    except Unsaid:
        reject()


def talked(talk: Talk) -> tuple[Run, list[Any]]:
    """What a conversation comes to whose approver says yes at once."""
    gates: list[Json] = [{"type": "state", "approvals": {"g": True}}] if GATE in canonical(talk.turns) else []
    model = Run(talk.world, [*talk.context, *gates], [])
    said = ({"type": "user", "message": f"turn {number}"} for number in range(len(talk.turns)))
    return model, [model.turn(one, answers) for one, answers in zip(said, talk.turns, strict=True)]


def _stands_in_for_what_waits(talk: Talk) -> bool:
    """Whether an `_else` refers to calls where some wait: it doesn't wait for them, and the failure counts."""
    said = [one["_else"] for turn in talk.turns for own in turn for one in own["calls"] if "_else" in one]
    refers = any(sign in canonical(said) for sign in ("†calls", "†state"))
    return refers and (bool(talk.held) or GATE in canonical(talk.turns))


async def compare_talk(talk: Talk, schedule: Schedule) -> None:
    model, outputs = talked(talk)
    # Where a call has failed, the model is asked while others are held, or those that their delegates make.
    inside = {number for number in talk.held if number >= INSIDE} if model.told.failing else set[int]()
    desk = Talking(talk, schedule, talk.held - model.told.failing - inside)
    spoken = await desk.spoken(bench_of(talk.world))
    seen = desk.found()
    if GATE in canonical(talk.turns) and (model.told.failing or '"state"' in canonical(talk.turns)):
        raise Unsaid(-1)  # the model is asked while the gate holds, or what it holds crosses, and may be told in texts
    made = {canonical(ungated([one.activity, one.arguments, one.crossing])) for one in model.told.made if one.activity}
    same("carried out", {canonical(ungated(more)) for _, *more in seen.begun}, made)
    own, wanted = (
        {canonical(ungated(one)) for one in left(some, talk.broken)} for some in (left_by(spoken.context), model.left)
    )
    same("left", own, wanted)
    same("outputs", enumerate(map(ungated, spoken.outputs)), enumerate(map(ungated, outputs)))
    asked = [list(one) for one in seen.requests if not one[0]]
    shown = [[one.tool, one.blocks, one.data] for one in model.told.requests if not one.of]
    is_loose = [one.is_loose for one in model.told.requests if not one.of]
    for number, (own, wanted) in enumerate(zip_longest(asked, shown, fillvalue=list[Any](("", [], {})))):
        if is_loose[number : number + 1] != [True]:
            same(f"shown by request {number}", ungated(own[1]), ungated(wanted[1]))
            same(f"data shown by request {number}", [ungated(own[2])], [ungated(wanted[2])])


def ungated(value: Any) -> Any:
    """A value without what gates hold, which isn't there before they are opened, and without the order of keys that is
    seen in texts: a call that was held writes when it is decided on (O8)."""
    if isinstance(value, str) and value.startswith(TEXT):
        with suppress(ValueError):
            return f"{TEXT}{canonical(ungated(json.loads(value.removeprefix(TEXT))))}"
    if is_object(value):
        return {key: ungated(one) for key, one in value.items() if key != "approvals"}
    items: Any = value
    return [ungated(one) for one in items] if isinstance(value, list | tuple) else value


PARTS = cases(little=2, more=15, most=100)
FOUND: list[Json] = json.loads(Path(__file__).with_name("found.json").read_text(encoding="utf-8"))
"""Answers of which the run and the model once made different things."""


@pytest.mark.parametrize("found", FOUND, ids=[one["why"].split(",")[0] for one in FOUND])
@pytest.mark.parametrize(
    "schedule",
    [Schedule(), Schedule(order=1, chunk=7), Schedule(order=2, patience=3, chunk=1), Schedule(order=2, patience=5)],
)
async def test_what_was_found_is_gone(found: Json, schedule: Schedule) -> None:
    context = [*CONTEXT, *INSTANCES, *found.get("context", [])]
    if "turns" not in found:
        broken = {int(number): shares for number, shares in found.get("broken", {}).items()}
        case = Case(context, found["answers"], ANSWERED, broken=broken, is_upfront=found.get("upfront", False))
        await compare(case, [schedule])
        return
    cuts = {int(turn): events for turn, events in found.get("cuts", {}).items()}
    limits = {int(turn): most for turn, most in found.get("limits", {}).items()}
    forks, held = frozenset(found.get("forks", ())), frozenset(found.get("held", ()))
    talk = Talk(context, found["turns"], ANSWERED, held, cuts, forks=forks, limits=limits)
    await compare_talk(talk, schedule)


@pytest.mark.timeout(900)  # many cases, which may meet a loaded machine
@in_parts(
    given(drawn(), st.integers(0, 1000), st.sampled_from([1, 2, 1000])),
    parts=PARTS,
    examples=cases(little=200, more=3_000, most=50_000),
)
def test_a_run_comes_to_what_the_protocol_says_whenever_its_calls_end(case: Case, order: int, parallel: int) -> None:
    schedules = [
        Schedule(),
        Schedule(order=order, parallel=parallel, chunk=7),
        Schedule(order=order, patience=3, chunk=1),
    ]
    compared_if_said(compare(case, schedules))


@pytest.mark.timeout(900)  # many cases, which may meet a loaded machine
@in_parts(
    given(talks(), st.sampled_from([Schedule(), Schedule(order=1), Schedule(order=2, patience=5)])),
    parts=PARTS,
    examples=cases(little=100, more=3_000, most=50_000),
)
def test_a_conversation_that_is_held_cut_and_loaded_again_comes_to_the_same(talk: Talk, schedule: Schedule) -> None:
    assume(not _stands_in_for_what_waits(talk))
    compared_if_said(compare_talk(talk, schedule))
