"""Messages sent to a run, whether or not a worker owns it: decisions, values at gates, deadlines (L6, C7).

They are kept as JSON beside the run until its next owner has taken them up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..errors import IdeaError
from ..execution.isolated import ANOTHER
from ..protocol import approvals
from ..protocol.approvals import Ruling
from ..protocol.context import Context
from ..schema.json import Json, JsonObject
from . import checks
from .row import Row

DEADLINE: JsonObject = {"deadline": True}
"""The time for decisions is over: calls that still wait for one are refused."""
OVER: JsonObject = {"over": True}
"""The children that it waited for are over."""
RESUME: JsonObject = {"resume": True}
ANEW: JsonObject = {"resume": "anew"}
"""A run that was cut is to go on; `ANEW`: with its limits begun anew."""
_LONGEST_REASON = 100_000
_TOO_LATE = "nobody has decided on it in time"


def deadlines(row: Row) -> Sequence[JsonObject]:
    """What a run that waits for decisions is sent when the time is over: first that somebody else is to decide."""
    if len(row.gates) == len(row.waiting):
        return ()
    return [DEADLINE if row.escalate is None or row.escalated is not None else {"escalate": row.escalate}]


def escalated_to(sent: Iterable[JsonObject]) -> str | None:
    """Who is to decide, according to the messages; None if they name nobody."""
    return next((str(item["escalate"]) for item in sent if "escalate" in item), None)


def decision(
    of: str, ruling: Ruling, reason: str = "", parameters: Mapping[str, Any] | None = None, by: str = ""
) -> JsonObject:
    """A decision on the call at a place; `parameters` replace its own, and `by` is who has decided.

    Raises:
        IdeaError: one of them isn't a parameter, but would change what is called, or how.
    """
    item: JsonObject = {
        "decide": of,
        "ruling": ruling,
        "reason": checks.as_text(reason, "a reason", most=_LONGEST_REASON),
        "by": checks.as_text(by, "who decides"),
    }
    if parameters is not None:
        item["parameters"] = checks.as_members(parameters, "the parameters of a call")
        if meta := [name for name in item["parameters"] if name.startswith("_")]:
            raise IdeaError(f"{of}: {meta[0]!r} is not a parameter: what is called, and how, stays as it was shown")
    return item


def with_time(items: Sequence[JsonObject], now: float) -> list[JsonObject]:
    """The messages, decisions among them with their time by the clock of the place."""
    return [{**item, "time": round(now, 3)} if "decide" in item else item for item in items]


def result_given(of: str, value: Json) -> JsonObject:
    """The result of the call at a place that the run's submitter makes itself."""
    return {**decision(of, "approve"), "given": {"value": checks.as_json_value(value, "a result")}}


def signal(name: str, value: Json) -> JsonObject:
    """A value at the gate `†state.approvals.NAME`; a name that is a reference already stays as it is."""
    at = name if "†" in name else f"†state.approvals.{name}"
    return {"gate": at, "value": checks.as_json_value(value, "the value at a gate")}


def with_sent(context: Context, sent: Iterable[JsonObject]) -> Context:
    """The context with the messages applied; those that no longer fit, since an earlier one settled it, are left out.

    Deadlines come last: a decision that has been sent counts, however late the run goes on.
    """
    for item in sorted(sent, key=lambda item: item == DEADLINE):
        with suppress(IdeaError):
            context = with_item(context, item)
    return context


def with_item(context: Context, item: JsonObject) -> Context:
    """The context with one message applied.

    Raises:
        IdeaError: no such call waits, its tool doesn't take the parameters, or the gate is none.
    """
    if "gate" in item:
        return approvals.opened(context, item["gate"], item["value"])
    if "escalate" in item or "over" in item or "resume" in item or "batch" in item:
        return context  # they only wake the run: results of children are looked up where they are needed
    if "deadline" in item:
        for pending in approvals.pending(context):
            context = approvals.decided(context, pending.of, "deny", reason=_TOO_LATE)
        return context
    of, ruling, parameters = item["decide"], item["ruling"], item.get("parameters")
    waiting = [pending.call for pending in approvals.pending(context) if pending.of == of]
    members: JsonObject = {key: value for call in waiting for key, value in call.items() if key.startswith("_")}
    replacement = None if parameters is None else members | parameters
    return approvals.decided(
        context,
        of,
        ruling,
        reason=item.get("reason", ""),
        replacement=replacement,
        given=item.get("given"),
        by=item.get("by", ""),
        time=item.get("time"),
    )


def parts_waited_for(waiting: Sequence[str]) -> list[str]:
    """The ids of the children that a run waits for, out of all that it waits for."""
    return [reason.removeprefix(f"{ANOTHER} ") for reason in waiting if reason.startswith(f"{ANOTHER} ")]
