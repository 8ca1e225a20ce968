"""`actum resume`, `actum approve`, `actum deny`, `actum waiting`: runs that go on later, elsewhere (L6, L8)."""

from __future__ import annotations

import json as standard_json
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .. import approvals
from ..errors import IdeaError
from ..protocol.context import Context
from ..schema.json import Json, JsonObject, NotJson, decode, encode
from .approving import Asking, approver
from .failing import CommandError
from .keeping import KeptRun
from .library import StoreName
from .lines import printable
from .loading import ready
from .run import Approval, finish, renderer_of, run_kept, versions_at

_GATE = "state.approvals."


async def resume(
    run: str,
    /,
    *,
    model: str | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
    approve: Approval = "all",
    record: str | None = None,
    versions: str | None = None,
    store: StoreName = None,
    activities: Annotated[list[str] | None, Parameter(negative="")] = None,
) -> int:
    """Go on with a run that was kept by `actum run --save`: cut, killed, or waiting for a decision.

    Calls whose results are in the record are not made again. Calls that wait for a decision stay, unless it was given
    by `actum approve` or `actum deny`, or is given now with --approve ask.

    Parameters
    ----------
    run
        The run's file.
    model
        The model, such as openai:gpt-5.2, or replay:FILE.
    json
        One JSON event per line on stdout.
    quiet
        Only the output.
    approve
        Who decides on calls that were not held before.
    record
        Where to record what the model is asked and answers.
    versions
        An address that each request with its answer is saved at as a version, as for `actum run`.
    store
        The store of the versions, as for `actum save`.
    activities
        A module or file with Activities, beside those that the Idea names.
    """
    if approve == "plan":
        raise CommandError("a plan is approved before it runs: --approve plan is for `actum run`")
    renderer = renderer_of(Path(run).name, json=json, quiet=quiet)
    async with versions_at(versions, store) as saved:
        with KeptRun.found(Path(run)) as kept:
            loaded = ready(kept.idea, run, model=model, activities=activities or [], record=record)
            agent = loaded.agent(approver(approve, Asking(renderer)))
            return finish(await run_kept(kept, agent, renderer, saved), is_json=json)


def approve(run: str, call: str | None = None, /, *, edit: str | None = None, value: str = "true") -> int:
    """Let a call that waits run when its run is resumed; without CALL, all that wait.

    Parameters
    ----------
    run
        The run's file.
    call
        The call, as `actum waiting` names it; or a gate, such as †state.approvals.budget.
    edit
        Other parameters for the call, as a JSON object.
    value
        What stands at the gate from now on, as JSON.
    """
    with KeptRun.found(Path(run)) as kept:
        if call is not None and _GATE in call:
            kept.keep(approvals.opened(kept.idea.context, call, _json(value, "--value")))
            return 0
        context = kept.idea.context
        for one in _chosen(context, call, run):
            replacement = _edited(one.call, edit) if edit is not None else None
            context = approvals.decided(context, one.of, "approve", replacement=replacement)
        kept.keep(context)
    return 0


def deny(run: str, call: str | None = None, /, *, because: str = "denied") -> int:
    """Refuse a call that waits: the model is told the reason when the run is resumed; without CALL, all that wait.

    Parameters
    ----------
    run
        The run's file.
    call
        The call, as `actum waiting` names it.
    because
        The reason.
    """
    with KeptRun.found(Path(run)) as kept:
        context = kept.idea.context
        for one in _chosen(context, call, run):
            context = approvals.decided(context, one.of, "deny", reason=because)
        kept.keep(context)
    return 0


def waiting(run: str, /, *, json: Annotated[bool, Parameter(name="--json", negative="")] = False) -> int:
    """List the calls of a run that wait for a decision, also those in its delegates.

    Parameters
    ----------
    run
        The run's file.
    json
        As one JSON list.
    """
    with KeptRun.found(Path(run)) as kept:
        found = approvals.pending(kept.idea.context)
    if json:
        listed: list[JsonObject] = [{"of": one.of, "call": one.call, "delegates": list(one.delegates)} for one in found]
        print(standard_json.dumps(listed, ensure_ascii=False))
        return 0
    for one in found:
        within = f" in {' → '.join(one.delegates)}" if one.delegates else ""
        print(printable(f"{one.of}  {encode(one.call)}{within}"))
        for message in one.crossing:
            print(printable(f"    is given {encode(message)}"))
    return 0


def _chosen(context: Context, call: str | None, run: str) -> list[approvals.Pending]:
    found = approvals.pending(context)
    chosen = [one for one in found if call is None or one.of == call]
    if not chosen:
        there = ", ".join(one.of for one in found) or "none"
        raise IdeaError(f"{run}: no call waits for a decision{f' at {call!r}' if call else ''}; waiting are: {there}")
    return chosen


def _edited(call: JsonObject, edit: str) -> JsonObject:
    parameters = _json(edit, "--edit")
    if not isinstance(parameters, dict):
        raise CommandError("--edit takes the parameters as a JSON object")
    return {key: value for key, value in call.items() if key.startswith("_")} | parameters


def _json(text: str, option: str) -> Json:
    try:
        return decode(text)
    except NotJson as error:
        raise CommandError(f"{option}: {error}") from None
