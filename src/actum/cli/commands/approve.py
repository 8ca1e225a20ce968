"""`actum approve`: let calls that wait run when their run is resumed (L6, C7)."""

from __future__ import annotations

from ...app import kept
from ..options import json_of, object_of

_GATE = "state.approvals."


def approve(run: str, call: str | None = None, /, *, edit: str | None = None, value: str = "true") -> int:
    """Let a waiting call run when its run is resumed; without CALL, all that wait.

    Parameters
    ----------
    run
        The run's file.
    call
        The call, as `actum waiting` names it; or a gate, such as †state.approvals.budget.
    edit
        Other parameters for the call, as a JSON object.
    value
        The value to put at the gate, as JSON.
    """
    if call is not None and _GATE in call:
        kept.open_gate(run, call, json_of(value, "--value"))
    else:
        kept.approve(run, call, parameters=object_of(edit, "--edit") if edit is not None else None)
    return 0
