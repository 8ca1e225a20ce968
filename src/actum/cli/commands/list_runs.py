"""`actum runs`: the runs that a folder holds (X5)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from ... import kept
from ...inspection.wording import short
from ...runs.row import Row, State
from ...schema.json import encode
from ..options import AnyRuns, runs_at
from ..render.telling import say, tell


def actum_list_runs(
    folder: str = "runs",
    /,
    *,
    store: AnyRuns = None,
    state: State | None = None,
    tenant: str | None = None,
    most: int = 100,
) -> int | Awaitable[int]:
    """List the runs that are kept in a folder, each with its output or with what it waits for.

    With --store, those that were submitted, the newest first.

    Those that can't be read are told of on stderr, and the exit code is 2.

    Parameters
    ----------
    folder
        The folder.
    state
        Only those of this state.
    tenant
        Only those of this tenant.
    most
        How many to list.
    """
    if store is not None:
        return _submitted(store, state, tenant, most)
    damaged: list[str] = []
    for one in kept.listed(folder, pass_over=lambda error: damaged.append(error.message)):
        say(f"{one.path}  {_described(one)}")
    return _tell_damaged(damaged)


async def _submitted(store: str, state: State | None, tenant: str | None, most: int) -> int:
    async with runs_at(store) as place:
        for one in await place.list(state=state, tenant=tenant, most=most):
            say(f"{one.id}  {_told(one.row)}")
        return _tell_damaged(await place.damaged())


def _tell_damaged(damaged: Sequence[str]) -> int:
    """Tell of the runs that could not be listed; the exit code."""
    for one in damaged:
        tell(f"actum: error: a run that can't be read is left out: {one}")
    return 2 if damaged else 0


def _told(row: Row) -> str:
    match row.state:
        case "running":
            return f"running on {row.worker}"
        case "waiting":
            escalated = f", escalated to {row.escalated}" if row.escalated is not None else ""
            return f"waits for {', '.join(row.waiting)}{escalated}"
        case "failed":
            return f"failed: {(row.error or {}).get('message')}"
        case "done":
            return f"output {short(row.output)}"
        case state:
            return state


def _described(run: kept.Summary) -> str:
    match run.state:
        case "cut":
            return "was cut: `actum resume` continues it"
        case "waiting":
            calls = [f"{one.of} {encode(one.call)}" for one in run.calls]
            return f"waits for {', '.join([*calls, *run.gates])}"
        case "unfinished":
            return "has no output yet"
        case "finished":
            return f"output {short(run.output)}"
