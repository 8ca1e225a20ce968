"""`actum.kept`: what can be done with a run that is kept in a file (L6, L8, X5)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ..errors import ActumError, IdeaError
from ..events import AnyEvent
from ..ideas.course import COURSE, Course, Sums
from ..ideas.ticks import RUN, Tick, about_of, begun_with, ticks_of
from ..protocol import approvals
from ..protocol.approvals import Pending
from ..protocol.context import Context
from ..protocol.marks import without_run
from ..protocol.place import Place
from ..protocol.solution import Result
from ..schema.json import Json, JsonObject, is_list
from ..schema.lowering import DIALECTS
from ..sources.files import path_given
from .agent import Agent
from .begun import approve_of, as_begun
from .idea import Idea
from .kept_run import KeptRun, Versions, carry_on
from .loading import Code, ready
from .retracing import Replayed, Unasked, is_alike, replayed, replayed_output

__all__ = [
    "KeptRun",
    "Pending",
    "Replay",
    "Replayed",
    "RunState",
    "Summary",
    "Versions",
    "approve",
    "approve_of",
    "deny",
    "fork",
    "listed",
    "open_gate",
    "replay",
    "resume",
    "start",
    "waiting",
]

Runner: TypeAlias = "Agent | Callable[[Idea], Agent] | None"
"""What carries a run out: an agent, fitted to its Idea; what makes one for it; or None, for what its config names."""
RunState = Literal["cut", "waiting", "unfinished", "finished"]
"""`cut`: its process ended before the run did; `waiting`: for a decision; `unfinished`: it ended without output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One run of a folder: `output` if it is finished, `calls` and `gates` if it waits."""

    path: Path
    state: RunState
    output: Json = None
    calls: tuple[Pending, ...] = ()
    gates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A run made again from its record. `error` says why its output can't be made again."""

    requests: tuple[Replayed, ...]
    output: Json
    is_same_output: bool
    error: ActumError | None = None
    left_out: tuple[str, ...] = ()
    """What of the Idea's Python could not be known without running it: it may be why something comes out otherwise."""

    @property
    def is_same(self) -> bool:
        """Whether every request and the output come out byte for byte as they did."""
        return self.is_same_output and all(one.is_same for one in self.requests)


async def start(
    run: str | Path,
    idea: Idea,
    agent: Runner = None,
    *,
    input: Mapping[str, Any] | None = None,
    show: Callable[[AnyEvent], None] | None = None,
    versions: Versions | None = None,
    approve: str | None = None,
) -> Result[Any]:
    """Run an Idea and keep the run in a new file; `show` gets every event, `versions` every request with its answer.

    `approve` is kept with it: who decides on its calls, as `--approve` names it, for `approve_of` to tell later.
    Without a model, the Idea's saved solution is the plan.

    Raises:
        IdeaError: the file exists already, or can't be written.
        ActumError: what ended the run; the file holds what had been done.
    """
    runner = _agent_for(agent, idea, str(run))
    own = idea.identified(runner.config)
    context = own.context if runner.model is not None else own.without_model()
    prepared, schema = await runner.prepared(context, own.schema, input=input)
    with KeptRun.begin(path_given(run), replace(own, schema=schema), prepared, approve) as kept:
        return await carry_on(kept, runner, show, versions)


async def resume(
    run: str | Path,
    agent: Runner = None,
    *,
    show: Callable[[AnyEvent], None] | None = None,
    versions: Versions | None = None,
    keeps_approve: bool = True,
    anew: bool = False,
) -> Result[Any]:
    """Continue a run that was cut, or that waited for a decision (L8).

    Calls whose results are recorded are not made again; calls that still wait for a decision keep waiting. What was
    begun to be held, or to be asked about, is held whatever the agent's own approver lets run, and what was to run
    nothing runs nothing (`approve_of`); without `keeps_approve`, the agent's alone decides. The agent's limits count
    from the run's beginning (L5); `anew` lets them begin anew.

    Raises:
        IdeaError: no run is kept there, or another process has it open.
        ActumError: what ended the run; the file holds what had been done.
    """
    with KeptRun.open(path_given(run)) as kept:
        runner = copy(_agent_for(agent, kept.idea, str(run)))
        runner.approve = as_begun(kept.idea, runner.approve) if keeps_approve else runner.approve
        return await carry_on(kept, runner, show, versions, anew=anew)


def listed(folder: str | Path = "runs", *, pass_over: Callable[[ActumError], object] | None = None) -> list[Summary]:
    """The runs that are kept in a folder, by file name.

    `pass_over` is told of each file that can't be read, and the others are listed; without it, that is an error.

    Raises:
        IdeaError: there are no files, or one can't be read.
    """
    where = path_given(folder)
    files = sorted(path for path in where.glob("*.json") if path.is_file()) if os.path.isdir(where) else []
    if not files:
        raise IdeaError(f"no runs are kept in {folder}")
    found: list[Summary] = []
    for path in files:
        try:
            idea = Idea.load(path)
            found += [_summary(path, idea)] if RUN in idea.meta else []
        except ActumError as error:
            if pass_over is None:
                raise
            pass_over(error)
    return found


def fork(run: str | Path, new: str | Path, *, at: int, input: Mapping[str, Any] | None = None) -> None:
    """Begin a new run as another was before its request `at` (from 1), with other values in its input (X5).

    `resume` continues it from there.

    Raises:
        IdeaError: the run made no such request, or the new file exists already.
    """
    with KeptRun.open(path_given(run)) as kept:
        ticks = kept.ticks
        if not 1 <= at <= len(ticks):
            raise IdeaError(f"{run} made {len(ticks)} requests: there is no request {at} to fork before")
        messages = kept.idea.context.messages[: ticks[at - 1].at]
        context = Context.checked(without_run(messages), kept.idea.context.data_kinds, kept.idea.context.origin)
        changed = context.extended([{"type": "input", "input": dict(input)}]) if input else context
        before: JsonObject = {"ticks": [tick.to_dict() for tick in ticks[: at - 1]], "from": str(run), "at": at}
        before |= begun_with(kept.idea.meta) | {"makers": _makers_of(context, Sums.of(kept.about))}
        before |= {COURSE: course} if (course := _course_before(kept.about, ticks[at - 1])) else {}
        idea = kept.idea
    with KeptRun.begin(path_given(new), idea, changed) as begun:
        begun.keep(changed, before)


def waiting(run: str | Path) -> list[Pending]:
    """The calls of a run that wait for a decision, including those of its delegates (L6).

    Raises:
        IdeaError: no run is kept there, or another process has it open.
    """
    with KeptRun.open(path_given(run)) as kept:
        return approvals.pending(kept.idea.context)


def approve(run: str | Path, of: str | None = None, *, parameters: Mapping[str, Any] | None = None) -> list[Pending]:
    """Let the call at `of` run when the run is resumed, all waiting calls without it; `parameters` replace its own.

    Returns:
        The calls that were approved.

    Raises:
        IdeaError: no such call waits, or its tool doesn't take the parameters.
    """
    with KeptRun.open(path_given(run)) as kept:
        context = kept.idea.context
        chosen = _chosen(context, of, run)
        for one in chosen:
            edited = None if parameters is None else _with_parameters(one.call, parameters)
            context = approvals.decided(context, one.of, "approve", replacement=edited)
        kept.keep(context)
    return chosen


def deny(run: str | Path, of: str | None = None, *, reason: str = "denied") -> list[Pending]:
    """Refuse the call at `of`, all waiting calls without it; the model is told the reason when the run is resumed.

    Returns:
        The calls that were denied.

    Raises:
        IdeaError: no such call waits.
    """
    with KeptRun.open(path_given(run)) as kept:
        context = kept.idea.context
        chosen = _chosen(context, of, run)
        for one in chosen:
            context = approvals.decided(context, one.of, "deny", reason=reason)
        kept.keep(context)
    return chosen


def open_gate(run: str | Path, gate: str, value: Json = True) -> None:
    """Put a value at a gate, such as `†state.approvals.budget`: calls that wait for it run on `resume` (C7).

    Raises:
        IdeaError: `gate` names no gate, or no delegate waits there.
    """
    with KeptRun.open(path_given(run)) as kept:
        kept.keep(approvals.opened(kept.idea.context, gate, value))


async def replay(run: str | Path, *, activities: Sequence[str] = ()) -> Replay:
    """Make every request and the output of a run again, and compare them with what was recorded (X5).

    No model is asked, no call is carried out, nothing is changed, and Python is read rather than run. `activities` are
    modules or files with Activities, beside those that the Idea names. `run` may be the address that a run was saved
    at.

    Raises:
        IdeaError: no run is kept there.
        ActumError: the Idea has changed so much that a request can't be made at all.
    """
    idea = Idea.load(run)
    known = about_of(idea.meta, str(run))
    ticks = ticks_of(known, str(run))
    model = Unasked(DIALECTS.get(str(known.get("dialect"))))
    code = Code.to_read(activities)
    agent = ready(idea, str(run), model=model, code=code).agent()
    left_out = tuple(code.left_out)
    requests = tuple([one async for one in replayed(agent, idea.context, idea.schema, ticks)])
    output: Any = known.get("output")
    try:
        again = await replayed_output(agent, idea.context, idea.schema, ticks) if output is not None else None
    except ActumError as error:
        return Replay(requests=requests, output=output, is_same_output=False, error=error, left_out=left_out)
    is_same_output = is_alike(again, output)
    return Replay(requests=requests, output=output, is_same_output=is_same_output, left_out=left_out)


def _agent_for(agent: Runner, idea: Idea, name: str) -> Agent:
    if agent is None:
        return ready(idea, name).agent()
    return agent.fitted(idea) if isinstance(agent, Agent) else agent(idea)


def _summary(path: Path, idea: Idea) -> Summary:
    log = path.with_name(path.name + ".log")
    if log.exists() and log.stat().st_size:
        return Summary(path=path, state="cut")
    known = about_of(idea.meta, str(path))
    calls, gates = tuple(approvals.pending(idea.context)), tuple(_gates(known))
    if calls or gates:
        return Summary(path=path, state="waiting", calls=calls, gates=gates)
    output: Any = known.get("output")
    return Summary(path=path, state="unfinished" if output is None else "finished", output=output)


def _course_before(about: JsonObject, tick: Tick) -> list[JsonObject]:
    """The rows of what a run had done before a request."""
    course = Course.of(about)
    calls = [row.to_dict() for row in course.calls.values() if tick.number is None or _answer(row.call) < tick.number]
    return [*(row.to_dict() for row in course.requests if not row.within and row.request < tick.at), *calls]


def _makers_of(context: Context, sums: Sums) -> JsonObject:
    """Who has carried out the calls that a context holds (X0)."""
    called = {message["_call"].get("_tool") for message in context if "_call" in message}
    return {tool: maker for tool, maker in sums.makers.items() if tool in called}


def _answer(place: str) -> int:
    return Place.parse(place).answer


def _gates(about: JsonObject) -> Iterator[str]:
    """The gates that a run waits for; calls that wait for a decision are known from its context."""
    told: Any = about.get("waiting")
    return (str(one) for one in told if "†" in str(one)) if is_list(told) else iter(())


def _chosen(context: Context, of: str | None, run: str | Path) -> list[Pending]:
    found = approvals.pending(context)
    chosen = [one for one in found if of is None or one.of == of]
    if not chosen:
        there = ", ".join(one.of for one in found) or "none"
        raise IdeaError(f"{run}: no call waits for a decision{f' at {of!r}' if of else ''}; waiting: {there}")
    return chosen


def _with_parameters(call: JsonObject, parameters: Mapping[str, Any]) -> JsonObject:
    return {key: value for key, value in call.items() if key.startswith("_")} | dict(parameters)
