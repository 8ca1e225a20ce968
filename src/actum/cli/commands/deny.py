"""`actum deny`: refuse calls that wait (L6)."""

from __future__ import annotations

from ...app import kept


def deny(run: str, call: str | None = None, /, *, because: str = "denied") -> int:
    """Refuse a waiting call and tell the model why when the run is resumed; without CALL, all that wait.

    Parameters
    ----------
    run
        The run's file.
    call
        The call, as `actum waiting` names it.
    because
        The reason.
    """
    kept.deny(run, call, reason=because)
    return 0
