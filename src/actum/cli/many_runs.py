"""What `actum runs` does with many runs at once: list what failed, submit it again, cancel it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Literal

from ..errors import RunError
from ..runs.handle import Run
from ..runs.runs import Runs
from ..runs.selecting import RunFilter, selected
from .options import CommandError
from .render.terminal import say, tell

Action = Literal["failed", "again", "cancel"]
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_AGE = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_LONGEST_ID = 200


def age_of(text: str) -> float:
    """The seconds that `--since` says: an age, or from a time on.

    Raises:
        CommandError: it is neither.
    """
    if found := _AGE.fullmatch(text):
        return float(found[1]) * _UNITS[found[2]]
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(text).astimezone(UTC)).total_seconds()
    except ValueError:
        raise CommandError(f"--since takes an age, such as 90m, 12h or 1d, or a time, not {text!r}") from None


async def act_on_many(runs: Runs, action: Action, which: RunFilter, *, is_dry: bool) -> int:
    """List the runs that are meant, and do with them what is asked for; the exit code."""
    async with aclosing(selected(runs, which)) as found:
        meant = [run async for run in found]
    if action == "failed" or is_dry:
        for run in meant:
            say(_told(run))
    codes = Counter(str((run.row.error or {}).get("code", run.state)) for run in meant)
    counted = ", ".join(f"{code} {count}" for code, count in codes.most_common())
    tell(f"actum: {len(meant)} run{'' if len(meant) == 1 else 's'}{f' ({counted})' if meant else ''}")
    return 0 if action == "failed" or is_dry else await _done(action, meant)


async def _done(action: Action, meant: Sequence[Run]) -> int:
    refused = 0
    for run in meant:
        try:
            if action == "cancel":
                await run.cancel()
                say(run.id)
            else:
                say((await _again(run)).id)
        except RunError as error:  # the others are still to be seen to
            refused += 1
            tell(f"actum: error: {run.id}: {error.message}")
    return 1 if refused else 0


async def _again(run: Run) -> Run:
    """Submit a run again, under an id that says of which: what was submitted so before is that run."""
    name = f"{run.id}.again"
    return await run.again(name if len(name) <= _LONGEST_ID else None)


def _told(run: Run) -> str:
    error = run.row.error or {}
    ended = run.row.ended or run.row.created
    with suppress(OverflowError, ValueError, OSError):
        when = f"{datetime.fromtimestamp(ended, UTC):%Y-%m-%dT%H:%M:%SZ}"
        why = f"  {error.get('code')}: {' '.join(str(error.get('message')).split())}" if error else ""
        return f"{run.id}  {when}  {run.state}{why}"
    return run.id
