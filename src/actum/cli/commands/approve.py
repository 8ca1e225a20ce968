"""`actum approve`: let calls that wait run when their run is resumed (L6, C7)."""

from __future__ import annotations

from ...app import kept
from ..options import RunsPlace, json_of, object_of, runs_at
from ..waiting import chosen

_GATE = "state.approvals."


async def approve(
    run: str, call: str | None = None, /, *, edit: str | None = None, value: str = "true", store: RunsPlace = None
) -> int:
    """Let a waiting call run when its run is resumed; without CALL, all that wait.

    Parameters
    ----------
    run
        The run's file; with --store, the id of a run that was submitted, which goes on at once.
    call
        The call, as `actum waiting` names it; or a gate, such as †state.approvals.budget.
    edit
        Other parameters for the call, as a JSON object.
    value
        The value to put at the gate, as JSON.
    store
        Where runs are kept, as for `actum submit`.
    """
    parameters = object_of(edit, "--edit") if edit is not None else None
    is_gate = call is not None and _GATE in call
    if store is not None:
        async with runs_at(store) as runs:
            if call is not None and is_gate:
                await runs.signal(run, call, json_of(value, "--value"))
                return 0
            for of in await chosen(runs, run, call):
                await runs.decide(run, of, "approve", parameters=parameters)
    elif call is not None and is_gate:
        kept.open_gate(run, call, json_of(value, "--value"))
    else:
        kept.approve(run, call, parameters=parameters)
    return 0
