"""`actum cancel`: end a run for good."""

from __future__ import annotations

from ..keeping import RunName, run_at
from ..options import AnyRuns


async def actum_cancel(run: RunName, /, *, store: AnyRuns = None) -> None:
    """End a run that was submitted, for good: whatever works on it is cut."""
    async with run_at(run, store) as handle:
        await handle.cancel()
