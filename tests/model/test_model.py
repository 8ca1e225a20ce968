"""The runtime does what the protocol says: it is compared with a model of it (`meaning`), under several schedulers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Collection, Coroutine, Iterable
from contextlib import suppress
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from actum.dataflow.expression import parse, references
from actum.schema.json import is_object

from ..effort import cases, in_parts
from .drawing import Case, Talk, talks
from .drawing import cases as drawn
from .given import CONTEXT, FIRST_INSIDE, GATE, INSTANCES, REPLIES, TEXT
from .meaning import Run
from .running import Observed, Schedule, Talking, bench_of, messages_left_by, observe
from .values import Json, folded, meets, plain
from .world import READER, Unspecified

pytestmark = [
    pytest.mark.rule(
        "C4", "C6", "C7", "C8", "C9", "C10", "C11", "C12", "C13", "T14", "O4", "O5", "O6", "O7", "O8", "O9"
    ),
    pytest.mark.rule("O10", "S8", "I2", "L3", "L8", "M9"),
]
BOUND = 30


def canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def check_run(case: Case, model: Run, observed: Observed) -> None:
    trace = model.trace
    code = getattr(observed.error, "code", "")
    if (observed.error is not None and code != model.error_code) or not observed.result:
        raise AssertionError(
            f"the run ended with {observed.error!r}, and should with {model.error_code!r}"
        ) from observed.error
    assert code == model.error_code, f"the run should end with {model.error_code!r}"
    if case.broken:
        _place(model, observed)
    same(
        "carried out",
        map(list, observed.executions),
        [
            [execution.place, execution.activity, execution.arguments, execution.crossing]
            for execution in trace.executions
            if execution.activity
        ],
    )
    _check_order(model, observed)
    actual_requests = [list(request) for request in observed.requests]
    expected_requests = [[request.tool, request.blocks, request.data] for request in trace.requests]
    loose = [request.depends_on_timing for request in trace.requests if not request.caller]
    none: list[Any] = ["", [], {}]
    for number, (actual, expected) in enumerate(
        zip_longest(of_planner(actual_requests), of_planner(expected_requests), fillvalue=none)
    ):
        if loose[number : number + 1] == [True]:
            continue
        same(
            f"shown by request {number}", *(_without_repeats(request[1], case.broken) for request in (actual, expected))
        )
        same(f"data shown by request {number}", [actual[2]], [expected[2]])
    if not any(request.depends_on_timing for request in trace.requests if request.caller):
        same(
            "asked in delegates",
            [request for request in actual_requests if request[0]],
            [request for request in expected_requests if request[0]],
        )
    same(
        "left",
        *(
            comparable(messages, case.broken)
            for messages in (messages_left_by(observed.result.context), model.messages)
        ),
    )
    assert [solution.meta for solution in observed.result.solutions] == model.metas
    for call in observed.result.calls:
        if call.error is not None and not call.error.message.startswith("it waits for itself"):
            assert call.error.tool == (call.tool or "_value"), f"{call.error!r} names another tool than {call.tool!r}"
    same("output", [observed.result.output], [None if model.error_code else model.output])
    for instance in (None, *observed.result.context.instances):
        view = observed.result.context if instance is None else observed.result.context.of(instance)
        kinds = {write.kind for write in model.writes}
        expected = {kind: plain(folded(model.writes, kind, instance)) for kind in sorted(kinds)}
        same(f"data of {instance}", [{kind: view.data.get(kind) for kind in sorted(kinds)}], [expected])


def of_planner(requests: list[Any]) -> list[Any]:
    return [request for request in requests if not request[0]]


def same(what: str, actual: Iterable[Any], expected: Iterable[Any]) -> None:
    """Whether the runtime has what the model has, in any order."""
    in_run, in_model = Counter(map(canonical, actual)), Counter(map(canonical, expected))
    if in_run != in_model:
        raise AssertionError(
            f"{what}: only in the run {[*(in_run - in_model)]}, only in the model {[*(in_model - in_run)]}"
        )


def _place(model: Run, observed: Observed) -> None:
    """Name calls by the places that they would have if no answer had been asked for again: it has a number of its own
    if any of its calls had started (L3, C9). Of calls that are alike, each has its own index."""
    free: dict[str, list[str]] = {}
    for execution in model.trace.executions:
        free.setdefault(canonical([execution.activity, execution.arguments, execution.crossing]), []).append(
            execution.place
        )
    places: dict[str, str] = {}
    for place, *call in observed.executions:
        options = sorted(free.get(canonical(call), ()), key=lambda option: _index(option) != _index(place))
        places[place] = options[0] if options else f"once more: {place}"
        free[canonical(call)] = options[1:]
    observed.executions = [
        (places[place], activity, arguments, crossed) for place, activity, arguments, crossed in observed.executions
    ]
    observed.log = [(sign, places[place]) for sign, place in observed.log]


def _index(place: str) -> str:
    """A place without the number of its answer."""
    return place.partition(".")[2]


def _without_repeats(blocks: Iterable[Any], broken: Any) -> list[Any]:
    """What a request shows. A call that was skipped, and refers to what hadn't arrived in a first attempt, may stand
    there twice: whether it is the same is known only at the end of an answer (L3)."""
    shown = list(blocks)
    return [block for at, block in enumerate(shown) if not broken or block[0] != "skipped" or block not in shown[:at]]


def comparable(messages: Iterable[Json], broken: Any) -> list[Json]:
    """What calls have left, but of items; without their places where an answer was asked for again."""
    without = {"_of"} if broken else set[str]()
    kept = [
        {key: value for key, value in message.items() if key not in without}
        for message in messages
        if not _is_item_record(message)
    ]
    return [
        message
        for at, message in enumerate(kept)
        if not broken or message["what"] != "skipped" or message not in kept[:at]
    ]


def _is_item_record(message: Json) -> bool:
    return message["what"] in {"record", "skipped"} and message["_of"].count(".") > 1


def _check_order(model: Run, observed: Observed) -> None:
    running: set[str] = set()
    ended: set[str] = set()
    executions = {execution.place: execution for execution in model.trace.executions}
    explicit = {place for place, execution in executions.items() if execution.activity}
    for sign, place in observed.log:
        if sign == "-":
            running.discard(place)
            ended.add(place)
        else:
            running.add(place)
            early = (executions[place].after & explicit) - ended
            assert not early, f"{place} began before {sorted(early)} had ended"


async def compare(case: Case, schedules: list[Schedule]) -> None:
    model = Run(case.world, case.context, case.answers)
    model.go()
    count = len(model.trace.requests) + sum(map(len, case.broken.values()))
    for schedule in schedules:
        observed = await observe(case, schedule)
        if case.max_requests is None or count < case.max_requests:
            check_run(case, model, observed)
        else:  # who makes the requests that are left is decided by time, and the last one offers no calls (L5)
            assert observed.result.usage.requests <= case.max_requests
            if any(request.tool == READER.name for request in model.trace.requests):
                continue  # what reads a reader that meets the limit has an alternative, or goes without it (D18)
            expected = Counter(
                canonical([execution.activity, execution.arguments, execution.crossing])
                for execution in model.trace.executions
            )
            assert not Counter(canonical(call) for _, *call in observed.executions) - expected
            actual, expected = (
                Counter(
                    canonical(message)
                    for message in comparable(messages, case.broken)
                    if message["what"] in {"result", "data"}
                )
                for messages in (messages_left_by(observed.result.context), model.messages)
            )
            assert not actual - expected


def check_if_specified(comparing: Coroutine[Any, Any, None]) -> None:
    """Compare where the protocol says what comes of it."""
    try:
        asyncio.run(asyncio.wait_for(comparing, BOUND))
    except Unspecified:
        reject()


def talked(talk: Talk) -> tuple[Run, list[Any]]:
    """What a conversation comes to whose approver says yes at once."""
    gates: list[Json] = [{"type": "state", "approvals": {"g": True}}] if GATE in canonical(talk.turns) else []
    model = Run(talk.world, [*talk.context, *gates], [])
    messages = ({"type": "user", "message": f"turn {number}"} for number in range(len(talk.turns)))
    return model, [model.turn(message, answers) for message, answers in zip(messages, talk.turns, strict=True)]


def _stands_in_for_what_waits(talk: Talk) -> bool:
    """Whether an `_else` refers to calls where some wait: it doesn't wait for them, and the failure counts."""
    answers = [answer for group in (*talk.turns, *talk.replies.values()) for answer in group]
    replacements = [call["_else"] for answer in answers for call in answer["calls"] if "_else" in call]
    refers = any(sign in canonical(replacements) for sign in ("†calls", "†state"))
    return refers and (bool(talk.held) or GATE in canonical(talk.turns))


def _writes_late(talk: Talk, held: Collection[int]) -> bool:
    """Whether an answer that holds a call writes one path twice: what is made after a decision writes then (O8)."""
    for answer in (answer for group in (*talk.turns, *talk.replies.values()) for answer in group):
        paths = [parse(call["_outputPath"]) for call in answer["calls"] if "_outputPath" in call]
        places = [set(references(path)) for path in paths]
        are_met = any(meets(place, other) for a, b in combinations(places, 2) for place in a for other in b)
        if are_met and any(call.get("n") in held for call in answer["calls"]):
            return True
    return False


async def compare_talk(talk: Talk, schedule: Schedule) -> None:
    model, outputs = talked(talk)
    # Where a call has failed, the model is asked while others are held, or those that their delegates make.
    inside = {number for number in talk.held if number >= FIRST_INSIDE} if model.trace.failing else set[int]()
    held = talk.held - model.trace.failing - inside
    if _writes_late(talk, held):
        raise Unspecified(-1)
    desk = Talking(talk, schedule, held)
    observed_talk = await desk.converse(bench_of(talk.world))
    observed = desk.observation()
    if GATE in canonical(talk.turns) and (model.trace.failing or '"state"' in canonical(talk.turns)):
        # The model is asked while the gate holds, or what it holds crosses, and may be seen in texts.
        raise Unspecified(-1)
    expected = {
        canonical(ungated([execution.activity, execution.arguments, execution.crossing]))
        for execution in model.trace.executions
        if execution.activity
    }
    same("carried out", {canonical(ungated(call)) for _, *call in observed.executions}, expected)
    actual, expected = (
        {canonical(ungated(message)) for message in comparable(messages, talk.broken)}
        for messages in (messages_left_by(observed_talk.context), model.messages)
    )
    same("left", actual, expected)
    same("outputs", enumerate(map(ungated, observed_talk.outputs)), enumerate(map(ungated, outputs)))
    actual_requests = [list(request) for request in observed.requests if not request[0]]
    expected_requests = [
        [request.tool, request.blocks, request.data] for request in model.trace.requests if not request.caller
    ]
    loose = [request.depends_on_timing for request in model.trace.requests if not request.caller]
    for number, (actual, expected) in enumerate(
        zip_longest(actual_requests, expected_requests, fillvalue=list[Any](("", [], {})))
    ):
        if loose[number : number + 1] != [True]:
            shown = (_without_repeats(ungated(request[1]), talk.broken) for request in (actual, expected))
            same(f"shown by request {number}", *shown)
            same(f"data shown by request {number}", [ungated(actual[2])], [ungated(expected[2])])


def ungated(value: Any) -> Any:
    """A value without what gates hold, which isn't there before they are opened, and without the order of keys that is
    seen in texts: a call that was held writes when it is decided on (O8)."""
    if isinstance(value, str) and value.startswith(TEXT):
        with suppress(ValueError):
            return f"{TEXT}{canonical(ungated(json.loads(value.removeprefix(TEXT))))}"
    if is_object(value):
        return {key: ungated(member) for key, member in value.items() if key != "approvals"}
    items: Any = value
    return [ungated(item) for item in items] if isinstance(value, list | tuple) else value


PARTS = cases(little=2, more=15, most=100)
FOUND: list[Json] = json.loads(Path(__file__).with_name("found.json").read_text(encoding="utf-8"))
"""Answers of which the run and the model once made different things."""


@pytest.mark.parametrize("recorded", FOUND, ids=[record["why"].split(",")[0] for record in FOUND])
@pytest.mark.parametrize(
    "schedule",
    [Schedule(), Schedule(order=1, chunk=7), Schedule(order=2, patience=3, chunk=1), Schedule(order=2, patience=5)],
)
async def test_what_was_found_is_gone(recorded: Json, schedule: Schedule) -> None:
    context = [*CONTEXT, *INSTANCES, *recorded.get("context", [])]
    replies = REPLIES | recorded.get("replies", {})
    broken: Any = {int(number): shares for number, shares in recorded.get("broken", {}).items()}
    if "turns" not in recorded:
        repair, is_upfront = recorded.get("repair", False), recorded.get("upfront", False)
        case = Case(context, recorded["answers"], replies, repair, broken, is_upfront)
        await compare(case, [schedule])
        return
    cuts = {int(turn): events for turn, events in recorded.get("cuts", {}).items()}
    limits = {int(turn): most for turn, most in recorded.get("limits", {}).items()}
    forks, held = frozenset(recorded.get("forks", ())), frozenset(recorded.get("held", ()))
    broken = {turn: {int(number): shares for number, shares in of.items()} for turn, of in broken.items()}
    talk = Talk(context, recorded["turns"], replies, held, cuts, broken, forks, limits)
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
    check_if_specified(compare(case, schedules))


@pytest.mark.timeout(900)  # many cases, which may meet a loaded machine
@in_parts(
    given(talks(), st.sampled_from([Schedule(), Schedule(order=1), Schedule(order=2, patience=5)])),
    parts=PARTS,
    examples=cases(little=100, more=3_000, most=50_000),
)
def test_a_conversation_that_is_held_cut_and_loaded_again_comes_to_the_same(talk: Talk, schedule: Schedule) -> None:
    assume(not _stands_in_for_what_waits(talk))
    check_if_specified(compare_talk(talk, schedule))
