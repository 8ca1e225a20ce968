"""Runs that are kept in files: started, listed, resumed, forked, decided on and replayed.

A kept run is an Idea file whose context holds what the run has left, and a log next to it (`FILE.log`) for what is
newer than the file; a process that was killed loses nothing that was logged. It is a run of the folder it lies in, as
`Runs(folder)` has them. It can be read at any moment; while one process carries it out, others that would go on with it
are refused with an `IdeaError`. A `run` is named by the path of its file.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from .app.agent import Agent, assembled, fitted, is_agent, with_deps
from .app.begun import approve_of, stricter_approve
from .app.coercion import Given, blocking, check_initial_input
from .app.idea import Idea
from .app.loading import Code, ready
from .app.retracing import Replayed, is_alike, replayed, replayed_output, retracer
from .app.stream import member_of
from .errors import ActumError, IdeaError, SchemaError
from .events import AnyEvent
from .ideas.ticks import RUN, about_of
from .protocol.approvals import Pending
from .protocol.solution import Result
from .runs.handle import Run
from .runs.held import Runner
from .runs.kept_conversation import KeptConversation
from .runs.kept_run import KeptRun, Versions, is_taken
from .runs.run_folder import RunFolder
from .runs.runs import Runs, run_in_file
from .schema.infer import shape_of
from .schema.json import Json
from .sources.files import path_given

__all__ = [
    "KeptConversation",
    "KeptRun",
    "Pending",
    "Replay",
    "Replayed",
    "RunState",
    "Summary",
    "Versions",
    "approve",
    "approve_of",
    "conversation",
    "deny",
    "fork",
    "keep",
    "listed",
    "open_gate",
    "replay",
    "resume",
    "start",
    "waiting",
]

T = TypeVar("T")
RunState: TypeAlias = Literal["cut", "waiting", "unfinished", "finished"]
"""`cut`: its process ended before the run did; `waiting`: for a decision; `unfinished`: it ended without output."""
_ALL = 1_000_000


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
        return self.is_same_output and all(request.is_same for request in self.requests)


async def start(
    run: str | Path,
    idea: Idea,
    agent: Runner = None,
    *,
    input: Mapping[str, Any] | None = None,
    show: Callable[[AnyEvent], None] | None = None,
    versions: Versions | None = None,
    approve: str | None = None,
    deps: Any = None,
) -> Result[Any]:
    """Run an Idea and keep the run in a new file. Without a model, the Idea's saved solution is the plan.

    Args:
        run: the new file.
        idea: what is run.
        agent: what carries it out: an agent, fitted to the Idea; what makes one for it; or None, for what its config
            names.
        input: values of its input, over those that it has.
        show: gets every event.
        versions: where every request with its answer is saved.
        approve: who decides on its calls, as `--approve` names it; kept with the run, for `approve_of` to tell later.
        deps: what its tools are given in their `Ctx`; no file holds that, and `resume` is given it again.

    Raises:
        IdeaError: the file exists already, or can't be written.
        ActumError: what ended the run; the file holds what had been done.
    """
    runner = _agent_for(agent, idea, str(run), deps)
    identified = idea.identified(runner.config)
    context = identified.context if runner.model is not None else identified.without_model()
    prepared, schema = await assembled(runner).prepared(context, identified.schema, input=input)
    check_initial_input(prepared)
    with KeptRun.begin(path_given(run), replace(identified, schema=schema), prepared, approve) as kept:
        return await kept.carry_on(runner, show, versions)


async def resume(
    run: str | Path,
    agent: Runner = None,
    *,
    show: Callable[[AnyEvent], None] | None = None,
    versions: Versions | None = None,
    keeps_approve: bool = True,
    anew: bool = False,
    deps: Any = None,
) -> Result[Any]:
    """Continue a run that was cut, or that waited for a decision.

    Calls whose results are recorded are not made again; calls that still wait for a decision keep waiting. What was
    begun to be held, or to be asked about, is held whatever the agent's own approver lets run, and what was to run
    nothing runs nothing (`approve_of`).

    Args:
        run: its file.
        agent: what carries it out, as for `start`.
        show: gets every event.
        versions: where every request with its answer is saved.
        keeps_approve: False lets the agent's own approver alone decide.
        anew: the agent's limits begin anew; they count from the run's beginning.
        deps: as for `start`.

    Raises:
        IdeaError: no run is kept there, or another process has it open.
        ActumError: what ended the run; the file holds what had been done.
    """
    with KeptRun.open(path_given(run)) as kept:
        runner = copy(_agent_for(agent, kept.idea, str(run), deps))
        runner.approve = stricter_approve(kept.idea, runner.approve) if keeps_approve else runner.approve
        return await kept.carry_on(runner, show, versions, anew=anew)


@asynccontextmanager
async def conversation(
    run: str | Path,
    agent: Agent,
    context: Given = (),
    schema: Any = str,
    *,
    member: str = "",
    most: int | None = None,
    summary: bool = False,
    deps: Any = None,
) -> AsyncGenerator[KeptConversation]:
    """A conversation that is kept in a file, for `async with`: the one that is there goes on, else a new one begins.

    What a process that was killed had done is there: the next turn first goes on with the one that was cut.

    Args:
        run: the file, as `actum chat --save` has it.
        agent: what carries the turns out; what was begun to be held is held, as for `resume`.
        context: what a new conversation begins with, and `schema` that of its outputs, a text by default.
        member: the path of the text in an output that is more than a text.
        most: leaves the oldest turns out where all are longer than so many characters; with `summary`, summed up.
        deps: as for `start`.

    Raises:
        IdeaError: no run is kept in the file, or another process has it open.
        SchemaError: the schema has no text at `member`; a `summary` without `most`.
    """
    if summary and most is None:
        raise SchemaError("a summary takes the place of turns that are cut: say with most= when")
    runner, path = copy(with_deps(agent, deps)), path_given(run)
    kept = KeptRun.open(path) if is_taken(path) else None
    if kept is None:
        begins, closed = await assembled(runner).prepared(context, shape_of(schema).schema)
        check_initial_input(begins)
        kept = KeptRun.begin(path, Idea(context=begins, schema=closed), begins)
    with kept:
        runner.approve = stricter_approve(kept.idea, runner.approve)
        where = member_of(kept.idea.schema, member)
        yield KeptConversation(kept=kept, agent=runner, member=where, most=most, summary=summary)


def listed(folder: str | Path = "runs", *, pass_over: Callable[[ActumError], object] | None = None) -> list[Summary]:
    """The runs that are kept in a folder, by file name.

    `pass_over` is told of each file that can't be read, and the others are listed; without it, that is an error.

    Raises:
        IdeaError: there are no files, or one can't be read.
    """
    where = path_given(folder)
    if not (os.path.isdir(where) and any(path.is_file() for path in where.glob("*.json"))):
        raise IdeaError(f"no runs are kept in {folder}")

    async def list_runs() -> list[Summary]:
        async with Runs.of(RunFolder(where)) as runs:
            listed_runs = sorted(await runs.list(most=_ALL), key=lambda run: run.id)
            for damage in await runs.damaged():
                if pass_over is None:
                    raise IdeaError(damage)
                pass_over(IdeaError(damage))
            return [await _summary(run, where / f"{run.id}.json") for run in listed_runs]

    return blocking(list_runs())


def fork(run: str | Path, new: str | Path, *, at: int, input: Mapping[str, Any] | None = None) -> None:
    """Begin a new run as another was before its request `at` (from 1), with other values in its input.

    `resume` continues it from there.

    Raises:
        IdeaError: the run made no such request, or the new file exists already.
        MessageError: the input doesn't fit its schema.
    """

    async def forked(handle: Run) -> None:
        keep(await handle.fork(at, input=input), new)

    _at(run, forked)


def keep(run: Idea, file: str | Path) -> None:
    """Keep a run that has not begun (`Run.fork` makes one) in a new file, for `resume` to begin it.

    Raises:
        IdeaError: the file exists already, or can't be written.
    """
    with KeptRun.begin(path_given(file), run, run.context, about=run.meta.get(RUN)):
        pass


def waiting(run: str | Path) -> list[Pending]:
    """The calls of a run that wait for a decision, including those of its delegates.

    Raises:
        IdeaError: no run is kept there.
    """
    return list(_at(run, Run.pending))


def approve(run: str | Path, of: str | None = None, *, parameters: Mapping[str, Any] | None = None) -> list[Pending]:
    """Let the call at `of` run when the run is resumed, all waiting calls without it; `parameters` replace its own.

    Returns:
        The calls that were approved.

    Raises:
        IdeaError: no such call waits, or its tool doesn't take the parameters.
    """
    places = None if of is None else [of]
    return list(_at(run, lambda handle: handle.decide_all(places, "approve", parameters=parameters)))


def deny(run: str | Path, of: str | None = None, *, reason: str = "denied") -> list[Pending]:
    """Refuse the call at `of`, all waiting calls without it; the model is told the reason when the run is resumed.

    Returns:
        The calls that were denied.

    Raises:
        IdeaError: no such call waits.
    """
    return list(_at(run, lambda handle: handle.decide_all(None if of is None else [of], "deny", reason=reason)))


def open_gate(run: str | Path, gate: str, value: Json = True) -> None:
    """Put a value at a gate, for example `†state.approvals.budget`: calls that wait for it run on `resume`.

    Raises:
        IdeaError: `gate` names no gate, or no delegate waits there.
    """
    _at(run, lambda handle: handle.signal(gate, value))


async def replay(run: Idea | str | Path, *, activities: Sequence[str] = ()) -> Replay:
    """Make every request and the output of a run again, and compare them with what was recorded.

    No model is asked, no call is carried out, nothing is changed, and no Python is run: what modules register is known
    by their pins. `activities` are modules or files with Activities, in addition to those that the Idea names. `run`
    may also be the address that a run was saved at, or the run as an Idea (`Run.idea`).

    Raises:
        IdeaError: no run is kept there.
        ActumError: the Idea has changed so much that a request can't be made at all.
    """
    name = str(run.file or "the run") if isinstance(run, Idea) else str(run)
    run = run if isinstance(run, Idea) else Idea.load(run)
    code = Code.to_read(activities)
    agent, ticks = retracer(run, name, code)
    left_out = code.remarks
    requests = tuple([request async for request in replayed(agent, run.context, run.schema, ticks)])
    output: Any = about_of(run.meta, name).get("output")
    try:
        again = await replayed_output(agent, run.context, run.schema, ticks) if output is not None else None
    except ActumError as error:
        return Replay(requests=requests, output=output, is_same_output=False, error=error, left_out=left_out)
    is_same_output = is_alike(again, output)
    return Replay(requests=requests, output=output, is_same_output=is_same_output, left_out=left_out)


def _agent_for(agent: Runner, idea: Idea, name: str, deps: Any) -> Agent:
    if agent is None:
        return with_deps(ready(idea, name).agent(), deps)
    return with_deps(fitted(agent, idea) if is_agent(agent) else agent(idea), deps)


def _at(file: str | Path, act: Callable[[Run], Awaitable[T]]) -> T:
    """The result of an action on the run in a file."""

    async def do() -> T:
        async with run_in_file(file) as run:
            return await act(run)

    return blocking(do())


async def _summary(run: Run, path: Path) -> Summary:
    if run.state == "done":
        return Summary(path=path, state="finished", output=run.row.output)
    if run.row.is_cut:
        log = path.with_name(f"{path.name}.log")
        return Summary(path=path, state="cut" if log.exists() and log.stat().st_size else "unfinished")
    if run.state != "waiting":
        return Summary(path=path, state="unfinished")
    gates = tuple(gate for gate in run.row.waiting if "†" in gate)
    return Summary(path=path, state="waiting", calls=tuple(await run.pending()), gates=gates)
