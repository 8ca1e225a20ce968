"""`actum approve`: let calls that wait run when their run is resumed (L6, C7)."""

from __future__ import annotations

from collections.abc import Awaitable

from ...app import kept
from ...runs.sending import signal
from ...schema.json import JsonObject
from ..options import RunsPlace, json_of, object_of, runs_at
from ..waiting import chosen

_GATE = "state.approvals."


def approve(
    run: str, call: str | None = None, /, *, edit: str | None = None, value: str = "true", store: RunsPlace = None
) -> int | Awaitable[int]:
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
    gate = call if call is not None and _GATE in call else None
    if store is not None:
        return _approve(store, run, call, parameters, None if gate is None else signal(gate, json_of(value, "--value")))
    if gate is not None:
        kept.open_gate(run, gate, json_of(value, "--value"))
    else:
        kept.approve(run, call, parameters=parameters)
    return 0


async def _approve(
    store: str, run: str, call: str | None, parameters: JsonObject | None, opening: JsonObject | None
) -> int:
    async with runs_at(store) as runs:
        if opening is not None:
            await runs.signal(run, opening["gate"], opening["value"])
            return 0
        for of in await chosen(runs, run, call):
            await runs.decide(run, of, "approve", parameters=parameters)
    return 0
