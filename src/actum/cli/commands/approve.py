"""`actum approve`: let calls that wait run when their run is resumed (L6, C7)."""

from __future__ import annotations

from ..keeping import RunName, decide_on, run_at
from ..options import AnyRuns, json_option, object_option

_GATE = "state.approvals."


async def actum_approve(
    run: RunName, call: str | None = None, /, *, edit: str | None = None, value: str = "true", store: AnyRuns = None
) -> None:
    """Let a waiting call run when its run is resumed; without CALL, all that wait.

    Parameters
    ----------
    call
        The call, as `actum waiting` names it; or a gate, for example †state.approvals.budget.
    edit
        Other parameters for the call, as a JSON object.
    value
        The value to put at the gate, as JSON.
    """
    parameters = object_option(edit, "--edit") if edit is not None else None
    gate = call if call is not None and _GATE in call else None
    opening = json_option(value, "--value") if gate is not None else None
    async with run_at(run, store) as handle:
        if gate is not None:
            await handle.signal(gate, opening)
        else:
            await decide_on(handle, call, "approve", parameters=parameters)
