"""`actum cancel`: end a run for good."""

from __future__ import annotations

from ..options import AnyRuns, runs_at


async def actum_cancel(run: str, /, *, store: AnyRuns = None) -> int:
    """End a run that was submitted, for good: whatever works on it is cut.

    Parameters
    ----------
    run
        The run's id.
    """
    async with runs_at(store) as runs:
        await runs.cancel(run)
    return 0
