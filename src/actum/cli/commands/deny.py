"""`actum deny`: refuse calls that wait (L6)."""

from __future__ import annotations

from ...app import kept
from ..options import RunsPlace, runs_at
from ..waiting import chosen


async def deny(run: str, call: str | None = None, /, *, because: str = "denied", store: RunsPlace = None) -> int:
    """Refuse a waiting call and tell the model why when the run is resumed; without CALL, all that wait.

    Parameters
    ----------
    run
        The run's file; with --store, the id of a run that was submitted, which goes on at once.
    call
        The call, as `actum waiting` names it.
    because
        The reason.
    store
        Where runs are kept, as for `actum submit`.
    """
    if store is None:
        kept.deny(run, call, reason=because)
        return 0
    async with runs_at(store) as runs:
        for of in await chosen(runs, run, call):
            await runs.decide(run, of, "deny", reason=because)
    return 0
