"""`actum deny`: refuse calls that wait (L6)."""

from __future__ import annotations

from ..keeping import RunName, decide_on, run_at
from ..options import AnyRuns


async def actum_deny(
    run: RunName, call: str | None = None, /, *, because: str = "denied", store: AnyRuns = None
) -> None:
    """Refuse a waiting call and tell the model why when the run is resumed; without CALL, all that wait.

    Parameters
    ----------
    call
        The call, as `actum waiting` names it.
    because
        The reason.
    """
    async with run_at(run, store) as handle:
        await decide_on(handle, call, "deny", reason=because)
