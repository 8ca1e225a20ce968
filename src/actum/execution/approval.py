"""Holding a call for a decision before it runs: approve, deny, modify (L6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias, cast

from ..errors import ApprovalDenied
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.tool import Tool


class Hold(Enum):
    """The answer of an approver who can't say yet."""

    HOLD = "hold"


HOLD: Final = Hold.HOLD
Answer: TypeAlias = "bool | str | Mapping[str, Any] | Hold"
Approve: TypeAlias = Callable[[Call, Tool, Context], Awaitable[Answer]]
"""`True` runs the call, `False` or a reason denies it, a Call replaces it, `HOLD` lets it wait for a later run."""


async def decide(approve: Approve, call: Call, tool: Tool, context: Context) -> Call | None:
    """Ask; return the call that may run, None where it has to wait.

    Raises:
        ApprovalDenied: with the reason; also where the approver itself fails, since what isn't approved doesn't run.
    """
    try:
        decision: Any = await approve(call, tool, context)
    except Exception as error:
        raise ApprovalDenied(f"the approver failed: {type(error).__name__}: {error}", tool=tool.name) from error
    if decision is HOLD:
        return None
    if decision is True:
        return call
    if isinstance(decision, str):
        raise ApprovalDenied(decision or "denied", tool=tool.name)
    if isinstance(decision, Mapping):
        return Call(cast("Mapping[str, Any]", decision))
    raise ApprovalDenied("denied", tool=tool.name)
