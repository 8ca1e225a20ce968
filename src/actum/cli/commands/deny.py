"""`actum deny`: refuse calls that wait (L6)."""

from __future__ import annotations

from ..keeping import RunName, decider, run_at, tell_decided
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
    async with run_at(run, store) as held:
        places = None if call is None else [call]
        tell_decided("denied", await held.decide_all(places, "deny", reason=because, by=decider()))
