"""Running the Activity behind a call, again where it has failed (T14), and judging what it returns."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from ...dataflow.reference import SIGIL, Reference, ReferenceSyntax, clip, scan_reference
from ...errors import LONGEST_MESSAGE, ActivityError, ActumError, InvalidResult, LimitExceeded, ServerError
from ...events import CallProgress, CallRetried
from ...messages import Media, MessageObject, is_message
from ...protocol import elsewhere
from ...protocol.activity import Activity, Ctx, error_text, is_uncertain
from ...protocol.approvals import Decision
from ...protocol.call import Call
from ...protocol.context import Context
from ...protocol.registry import Backoff
from ...protocol.tool import Tool
from ...schema.infer import jsonable
from ...schema.json import Json, NotJson, encodable, is_list, plain
from ..budget import Budget
from ..emitter import Emitter
from ..ground import CARRYING, Ground, Runtime, Within
from ..isolated import Suspension
from ..job import Carried, Carry, Job, Yield
from ..undoing import Doing

_MOST_TOLD = 10_000
"""How often one call may tell how far it is."""
_MOST_KEYS = 8
_SCALARS = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True, slots=True)
class Output:
    """What an Activity returns to say more than a value.

    `path` names which of its call's alternative output paths it fills. `beside` are images, audio and files that
    are appended with it, for the model to look at.
    """

    value: Any
    path: str | None = None
    beside: tuple[Media, ...] = ()


def code_carry(ground: Ground, decision: Callable[[Job], Decision | None]) -> Carry:
    """Carry calls out by code, again where the tool says so, with the key of the call where it asks (C9)."""

    def carry(job: Job, call: Call) -> Awaitable[Carried]:
        activity = ground.toolset.activity(job.tool, call)
        if activity is elsewhere.ACTIVITY:  # whoever has begun the run says what it came to
            decided = decision(job)
            if decided is not None and decided.given is not None:
                activity = elsewhere.returning(decided.given.get("value"))
        assert activity is not None  # the model's own calls and delegates don't come here
        context = job.crossing or ground.journal.nothing
        if activity.sees_context:
            context = context.keyed(
                job.key, ground.journal.lease, _Reporter(job, ground.emit) if ground.emit.sink else None
            )
        again = None
        if retries := activity.retries_of(job.tool):
            registry = ground.toolset.registry
            backoff = Backoff() if registry is None else registry.backoff
            again = _Retrying(job=job, retries=retries, backoff=backoff, ground=ground)
        within = ground if activity.is_async else None
        return invoke(
            call, job.tool, context, activity, ground.budget, ground.runtime, again=again, at=job, within=within
        )

    return carry


Again: TypeAlias = Callable[[ActivityError], Awaitable[bool]]
"""Is told that an Activity has raised; whether it is tried again, at once."""


async def invoke(
    call: Call,
    tool: Tool,
    context: Context,
    activity: Activity,
    budget: Budget,
    runtime: Runtime,
    *,
    at: Job | Suspension,
    again: Again | None = None,
    within: Ground | None = None,
) -> Yield:
    """Run an Activity for a call and judge what it returns, which is counted before it is copied (L5).

    It is tried `again` only where it raised what isn't an error of ours: these say what would not get better.
    What it has done is noted in the `doings` of the `runtime`, also where its result can't be used. Its `Ctx` has
    the `deps` and the place `at` which the call stands; calls that it makes itself are `within` this run.

    Raises:
        InvalidParameters: an argument doesn't fit its type.
        InvalidResult: what it returned is not JSON, or doesn't fit the tool's `_output` (A4).
        ActivityError: the function raised.
        LimitExceeded: the run can't afford what it returned.
    """
    ctx: Ctx | None = None
    if activity.ctx:
        approval = at.approval if isinstance(at, Job) else None
        ctx = Ctx(runtime.deps, str(at.place), context.key, budget.usage, context.progress, approval)
    while True:
        # Each attempt has arguments of its own: the function may have changed those of the last one.
        own_call = call if again is None else Call(call)
        function = partial(activity.function, **activity.arguments(own_call, tool, context, ctx))
        doings = runtime.doings
        doing = None if doings is None else doings.begin(call, tool, activity)
        if doings is not None and doing is not None:
            function = doings.wrap(function, doing, is_async=activity.is_async)
        if within is None or not isinstance(at, Job):
            returned = await _run_function(function, tool, budget, is_async=activity.is_async)
        else:
            token = CARRYING.set(Within(of=at, ground=within))
            try:
                returned = await _run_function(function, tool, budget, is_async=True)
            finally:
                CARRYING.reset(token)
        if not isinstance(returned, _Raised):
            return judge_result(returned, tool, budget, doing)
        outcome = "unknown" if is_uncertain(returned.error) else None
        failure = ActivityError(error_text(returned.error), tool=tool.name, outcome=outcome)
        if again is None or not await again(failure):
            raise failure from returned.error


@dataclass(frozen=True, slots=True)
class _Raised:
    """What the function of an Activity has raised."""

    error: Exception | SystemExit


async def _run_function(function: Callable[[], Any], tool: Tool, budget: Budget, *, is_async: bool) -> Any:
    try:
        return await (function() if is_async else budget.threads.settle(function))
    except ServerError:
        raise
    except ActumError as error:
        if error.outcome in ("not made", "unusable"):  # that is said of another call: this one's code has begun
            error.outcome = "failed"
        raise
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        raise ActivityError("it was cancelled from within", tool=tool.name) from None
    except (Exception, SystemExit) as error:  # the program, and a worker's other runs, aren't a tool's to end
        return _Raised(error)


def judge_result(returned: Any, tool: Tool, budget: Budget, doing: Doing | None = None) -> Yield:
    """What an Activity returned, as JSON that fits the tool's `_output` (A4); its undo is told the same.

    Where one has run in a delegate's place, that was judged before.

    Raises:
        InvalidResult: it doesn't fit, or is not JSON.
        LimitExceeded: the run can't afford it.
    """
    if isinstance(returned, Yield):
        return returned
    path, beside = None, ()
    if isinstance(returned, Output):
        path = None if returned.path is None else _parse_path(returned.path, tool)
        beside, returned = returned.beside, returned.value
    if type(returned) not in _SCALARS and (messages := _as_messages(returned)):
        if doing is not None:
            results = [message.to_dict() for message in messages]
            doing.result = results[0] if len(results) == 1 else results
        return Yield(messages=messages, path=path)
    value, size = _as_json(returned, tool, budget)
    if doing is not None:
        doing.result = value
    if (message := describe_misfit(value, tool)) is not None:
        raise InvalidResult(message + _keys_there(value, tool), tool=tool.name, path="_output", returned=(value,))
    return Yield(value=value, path=path, weight=size, beside=beside)


def describe_misfit(value: Json, tool: Tool) -> str | None:
    """How a result doesn't fit the tool's `_output`, None where it does."""
    complaint = tool.output_validator.complaint(value, quotes=False) if tool.output_validator is not None else None
    return f"the result doesn't fit '_output': {complaint}" if complaint else None


def _keys_there(value: Json, tool: Tool) -> str:
    """Which keys an object has where it lacks one, so that whoever made the result can mend it."""
    problems = () if tool.output_validator is None else tool.output_validator.problems(value)
    for path, _, missing in problems:
        if missing is None:
            continue
        holder: Any = value
        for step in path:
            holder = holder[step]
        keys = ", ".join(repr(clip(key)) for key in [*holder][:_MOST_KEYS]) or "none"
        return f"; it has {keys}{', …' if len(holder) > _MOST_KEYS else ''}"
    return ""


def _as_messages(returned: object) -> tuple[MessageObject, ...]:
    items: list[Any] = [*returned] if isinstance(returned, tuple) else returned if is_list(returned) else [returned]
    return tuple(items) if all(is_message(item) for item in items) else ()


def _as_json(returned: Any, tool: Tool, budget: Budget) -> tuple[Json, int]:
    """What was returned as JSON, and its weight."""
    try:
        budget.take(size := budget.weight(returned))
        return plain(returned), size
    except NotJson as reason:
        if isinstance(returned, float):
            raise _not_json(reason, tool) from None
    try:
        value: Any = jsonable(returned)
        budget.take(size := budget.weight(value))
        return plain(value), size
    except (ValueError, RecursionError) as reason:
        raise _not_json(reason, tool) from None


def _not_json(reason: Exception, tool: Tool) -> InvalidResult:
    return InvalidResult(f"it returned what is not JSON: {reason}", tool=tool.name)


def _parse_path(path: str, tool: Tool) -> Reference:
    if not str(path).startswith(SIGIL):
        raise InvalidResult(f"a path begins with †, not {path!r}", tool=tool.name)
    try:
        reference, end = scan_reference(path, 0)
    except ReferenceSyntax as error:
        raise InvalidResult(str(error), tool=tool.name) from None
    if end != len(path):
        raise InvalidResult(f"{path!r} is not one path", tool=tool.name)
    return reference


@dataclass(slots=True, kw_only=True, eq=False)
class _Retrying:
    """Decides after each failure of one call's Activity whether to try again, and waits before the next attempt.

    An attempt spends a call of the limits, as the first has. There is none where the wait would outlast the run or
    what the tool may take: what is known by then is better told at once.
    """

    job: Job
    retries: int
    backoff: Backoff
    ground: Ground
    repeats: int = 0
    """How many attempts there were after the first."""

    async def __call__(self, failure: ActivityError) -> bool:
        """Whether to try again, now."""
        if self.repeats >= self.retries:
            return False
        seconds = self.backoff.seconds(self.repeats)
        if seconds >= self._seconds_left() or not self._can_pay():
            return False
        self.repeats += 1
        if self.ground.emit.sink:
            job = self.job
            event = CallRetried(call=job.call, place=job.place, error=failure, attempt=self.repeats, seconds=seconds)
            self.ground.emit(event)
        await (self.backoff.sleep or asyncio.sleep)(seconds)
        if (settled := self.ground.journal.settled) is not None:  # others may have taken over the run meanwhile
            await settled()
        return True

    def _can_pay(self) -> bool:
        try:
            self.ground.budget.call()
        except LimitExceeded:
            return False
        return True

    def _seconds_left(self) -> float:
        of_run = self.ground.budget.seconds_left
        until = self.job.patience.when() if self.job.patience is not None else None
        of_call = math.inf if until is None else until - asyncio.get_running_loop().time()
        return min(math.inf if of_run is None else of_run, of_call)


class _Reporter:
    """Reports how far one call is (`Progress`). What a thread reports comes before its end: both use the loop."""

    def __init__(self, job: Job, emit: Emitter) -> None:
        self._job, self._emit = job, emit
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._done, self._left = -math.inf, _MOST_TOLD

    def __call__(self, done: float, total: float | None = None, message: str | None = None) -> None:
        if threading.get_ident() == self._thread:
            self._tell(done, total, message)
        else:
            with suppress(RuntimeError):  # the run is over
                self._loop.call_soon_threadsafe(self._tell, done, total, message)

    def _tell(self, done: float, total: float | None, message: str | None) -> None:
        if not (self._job.is_under_way and self._left and self._done < done < math.inf):
            return
        self._done, self._left = done, self._left - 1
        total = total if total is not None and math.isfinite(total) else None
        words = None if message is None else encodable(message[:LONGEST_MESSAGE])
        self._emit(CallProgress(call=self._job.call, place=self._job.place, done=done, total=total, message=words))
