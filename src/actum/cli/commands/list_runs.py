"""`actum runs`: the runs of a folder, or of another place (X5, L8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...inspection.wording import short
from ...protocol.approvals import Pending
from ...runs.row import Row, State
from ...schema.json import encode
from ..options import AnyRuns, runs_at
from ..render.terminal import say, tell


async def actum_list_runs(
    folder: str = "runs",
    /,
    *,
    store: AnyRuns = None,
    state: State | None = None,
    tenant: str | None = None,
    most: int = 100,
) -> int:
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
    async with runs_at(store or folder) as runs:
        found = await runs.list(state=state, tenant=tenant, most=most)
        for one in found if store is not None else sorted(found, key=lambda run: run.id):
            name = one.id if store is not None else Path(folder, f"{one.id}.json")
            waits = one.state == "waiting" and not one.row.is_cut
            say(f"{name}  {_described(one.row, await one.pending() if waits else ())}")
        damaged = await runs.damaged()
    for words in damaged:
        tell(f"actum: error: a run that can't be read is left out: {words}")
    return 2 if damaged else 0


def _described(row: Row, pending: Sequence[Pending]) -> str:
    match row.state:
        case "running":
            return f"running on {row.worker}"
        case "waiting" if row.is_cut:
            return "has no output yet: `actum resume` continues it"
        case "waiting":
            escalated = f", escalated to {row.escalated}" if row.escalated is not None else ""
            return f"waits for {', '.join(_waits(row, pending))}{escalated}"
        case "failed":
            return f"failed: {(row.error or {}).get('message')}"
        case "done":
            return f"output {short(row.output)}"
        case state:
            return state


def _waits(row: Row, pending: Sequence[Pending]) -> Iterator[str]:
    """The calls that wait for a decision, then the gates and the runs that are waited for."""
    yield from (f"{one.of} {encode(one.call)}" for one in pending)
    yield from (one for one in row.waiting if not one.startswith("approval "))
