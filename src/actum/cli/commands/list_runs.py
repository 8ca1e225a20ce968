"""`actum runs`: the runs of a folder, or of another place (X5, L8)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast, get_args

from ...errors import RunError
from ...inspection.wording import counted, short
from ...protocol.approvals import Pending
from ...runs.cron import moment_of
from ...runs.handle import Run
from ...runs.moving import moved_runs
from ...runs.row import Row, State
from ...runs.run_store import sqlite_path
from ...runs.runs import Runs
from ...runs.selecting import RunFilter, selected
from ...schema.json import encode
from ..keeping import run_at
from ..options import AnyRuns, CommandError, runs_at
from ..render.terminal import say, say_below, tell

_OF_ONE = ("show", "release")


async def actum_list_runs(
    folder: str = "runs",
    place: str | None = None,
    /,
    *,
    store: AnyRuns = None,
    state: State | None = None,
    tenant: str | None = None,
    most: int = 100,
    since: str | None = None,
    code: str | None = None,
    find: str = "",
    dry_run: bool = False,
) -> int:
    """List the runs that are kept in a folder, each with its output or with what it waits for.

    With --store, those that were submitted, the newest first. Those that can't be read are told of on stderr, and the
    exit code is 2.

    `actum runs failed` lists the dead letters of a place with their codes; `again` submits them anew, each as a run
    called ID.again that goes on from what the other has left, under the same idempotency keys; `cancel` ends runs that
    go on. All take the same filters, say first how many runs they mean, and with --dry-run do nothing else.
    `actum runs show RUN` says how far one is, and `actum runs release RUN` lets one that waits for a worker with all
    that it needs go on with what there is. `actum runs move PLACE` takes all runs of a folder or a database over into
    that of --store, whose workers go on with them. A folder of one of these names is written ./failed.

    Parameters
    ----------
    folder
        The folder; or failed, again, cancel, show, release, or move.
    place
        For show and release: the run. For move: the folder, or the database, that the runs are in.
    state
        Only those of this state.
    tenant
        Only those of this tenant.
    most
        How many to list.
    since
        Only those that ended, or if they go on were submitted, within this time: 90m, 12h, 1d, or since a time.
    code
        Only those that failed with this code, for example tool_failed.
    find
        Only those whose id, or the path of whose Idea, this is a part of.
    dry_run
        Only say which runs are meant.
    """
    if folder == "move":
        return await _move(place, store)
    if folder in _OF_ONE:
        return await _act_on_one(folder, place, store)
    if place is not None:
        raise CommandError(f"it lists one place; for one run: actum runs show {place} --store {folder}")
    if folder in get_args(Action):
        action = cast("Action", folder)
        meant = state or (None if action == "cancel" else "failed")
        age = None if since is None else age_of(since)
        wanted = RunFilter(state=meant, tenant=tenant, code=code, find=find, seconds=age)
        if action == "cancel" and wanted == RunFilter():
            raise CommandError("`actum runs cancel` takes what it means: --state, --tenant, --since, --code, or --find")
        async with runs_at(store) as runs:
            return await act_on_many(runs, action, wanted, is_dry=dry_run)
    if since is not None or code is not None or find or dry_run:
        raise CommandError("--since, --code, --find and --dry-run are for `actum runs failed`, `again` and `cancel`")
    async with runs_at(store or folder) as runs:
        listed = await runs.list(state=state, tenant=tenant, most=most)
        has_files = store is None and "://" not in folder and sqlite_path(folder) is None
        for handle in sorted(listed, key=lambda run: run.id) if has_files else listed:
            name = Path(folder, f"{handle.id}.json") if has_files else handle.id
            say_below(0, f"{name}  {await _describe(handle)}")
        damaged = await runs.damaged()
    for words in damaged:
        tell(f"actum: error: a run that can't be read is left out: {words}")
    return 2 if damaged else 0


async def _act_on_one(action: str, name: str | None, store: str | None) -> int:
    if name is None:
        raise CommandError(f"`actum runs {action}` takes a run: actum runs {action} RUN --store URL")
    async with run_at(name, store) as run:
        if action == "release":
            await run.release()
        else:
            say(f"{run.id}  {await _describe(run)}")
            for label, value in _facts(run.row):
                say(f"  {label}  {value}")
    return 0


def _facts(row: Row) -> Iterator[tuple[str, str]]:
    """Further facts about a run, as labels and values."""
    times = {"submitted": row.created, "ended": row.ended, "waits since": row.uncarried}
    yield from ((label, f"{moment_of(int(at)):%Y-%m-%dT%H:%M:%SZ}") for label, at in times.items() if at)
    if row.name:
        yield "Idea", row.name
    for kind, names in (row.needs or {}).items():
        if kind != "code" and names:
            yield f"needs {kind}", ", ".join(sorted(names))
    for loss in row.losses:
        yield "lost", str(loss)


async def _move(place: str | None, store: str | None) -> int:
    if place is None:
        raise CommandError("`actum runs move` takes the place that the runs are in: actum runs move runs/ --store URL")
    async with runs_at(place) as source, runs_at(store, makes=True) as target:
        moved = await moved_runs(source, target)
    say(str(moved))
    return 0


async def _describe(run: Run) -> str:
    row = run.row
    pending = await run.pending() if row.state == "waiting" and not row.is_cut else ()
    match row.state:
        case "queued" if row.missing:
            return f"waits for a worker that has {', '.join(row.missing)}"
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
    """The calls that wait for a decision, then the gates and the runs that the run waits for."""
    yield from (f"{call.of} {encode(call.call)}" for call in pending)
    yield from row.gates


Action = Literal["failed", "again", "cancel"]
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_LONGEST_ID = 200


def age_of(text: str) -> float:
    """The seconds that `--since` means: an age, or the time since a moment.

    Raises:
        CommandError: it is neither.
    """
    if match := _AGE.fullmatch(text):
        return float(match[1]) * _UNITS[match[2]]
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(text).astimezone(UTC)).total_seconds()
    except ValueError:
        raise CommandError(f"--since takes an age, for example 90m, 12h or 1d, or a time, not {text!r}") from None


async def act_on_many(runs: Runs, action: Action, wanted: RunFilter, *, is_dry: bool) -> int:
    """List the runs that a filter selects and carry out the action; returns the exit code."""
    async with aclosing(selected(runs, wanted)) as matches:
        chosen = [run async for run in matches]
    if action == "failed" or is_dry:
        for run in chosen:
            say(_line(run))
    codes = Counter(str((run.row.error or {}).get("code", run.state)) for run in chosen)
    by_code = ", ".join(f"{code} {count}" for code, count in codes.most_common())
    tell(f"actum: {counted(len(chosen), 'run')}{f' ({by_code})' if chosen else ''}")
    return 0 if action == "failed" or is_dry else await _act(action, chosen)


async def _act(action: Action, chosen: Sequence[Run]) -> int:
    refused = 0
    for run in chosen:
        try:
            if action == "cancel":
                await run.cancel()
                say(run.id)
            else:
                say((await _again(run)).id)
        except RunError as error:  # the other runs still get their turn
            refused += 1
            tell(f"actum: error: {run.id}: {error.message}")
    return 1 if refused else 0


async def _again(run: Run) -> Run:
    """Submit a run again, under an id made from its own, so that doing it twice makes one run."""
    name = f"{run.id}.again"
    return await run.again(name if len(name) <= _LONGEST_ID else None)


def _line(run: Run) -> str:
    error = run.row.error or {}
    ended = run.row.ended or run.row.created
    with suppress(OverflowError, ValueError, OSError):
        when = f"{datetime.fromtimestamp(ended, UTC):%Y-%m-%dT%H:%M:%SZ}"
        why = f"  {error.get('code')}: {' '.join(str(error.get('message')).split())}" if error else ""
        return f"{run.id}  {when}  {run.state}{why}"
    return run.id
