"""How long runs that are over are kept: by state, in days. A run that is swept is gone, and its id is free again."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import RunError
from .checks import shown_value
from .database import clock_of
from .row import OVER, State
from .run_store import RunStore

_DAY = 86_400.0
_MOST_DAYS = 100_000
_AT_ONCE = 200
"""How many runs are deleted in one transaction, so that others never wait long."""


def checked_days(keep: Mapping[State, float]) -> dict[State, float]:
    """How many days runs of each state are kept; those of a state that isn't named are kept for good.

    Raises:
        RunError: runs leave such a state, or the number of days is invalid.
    """
    if not isinstance(keep, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
        raise RunError("how long runs are kept is said in days by state: {'done': 30}")
    for state, days in keep.items():
        if state not in OVER:
            raise RunError(f"only runs that are over are swept: {', '.join(sorted(OVER))}, not {state!r}")
        if not isinstance(days, int | float) or not 0 <= days <= _MOST_DAYS:  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may be unchecked
            raise RunError(f"runs that are {state} are kept for days, up to {_MOST_DAYS}, not {shown_value(days)}")
    return dict(keep)


async def sweep_runs(store: RunStore, keep: Mapping[State, float], now: float | None = None) -> int:
    """Delete the runs that have been over for longer than they are kept, with their records; return how many.

    `now` is the time by the clock of the store, if known already.
    """
    at, swept = await clock_of(store.database) if now is None else now, 0
    for state, days in checked_days(keep).items():
        while count := await store.sweep(state, at - days * _DAY, _AT_ONCE):
            swept += count
    return swept
