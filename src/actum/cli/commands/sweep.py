"""`actum sweep`: delete runs that have been over for long (L8)."""

from __future__ import annotations

from ...runs.row import State
from ..options import CommandError, RunsHome, pair_of, runs_at
from ..render.terminal import say


async def actum_sweep(*, keep: str, store: RunsHome = None) -> None:
    """Delete the runs that have been over for longer than they are kept, with their records; `export` keeps one.

    Parameters
    ----------
    keep
        For how many days, by state: done=30,failed=90,cancelled=7. Runs of other states stay.
    """
    days = kept_days(keep)
    async with runs_at(store) as runs:
        say(str(await runs.sweep(days)))


def kept_days(text: str) -> dict[State, float]:
    """The days by state that `--keep` names."""
    days: dict[State, float] = {}
    for part in text.split(","):
        state, number = pair_of(part.strip(), "--keep takes")
        if state not in ("done", "failed", "cancelled"):
            raise CommandError(f"--keep is about runs that are done, failed or cancelled, not {state!r}")
        try:
            days[state] = float(number)
        except ValueError:
            raise CommandError(f"--keep takes for how many days runs that are {state} stay, not {number!r}") from None
    return days
