"""Holding a call for a decision before it runs: approve, deny, modify (L6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

from ..errors import ApprovalDenied
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.tool import Tool

Decision: TypeAlias = "bool | str | Mapping[str, Any]"
Approve: TypeAlias = Callable[[Call, Tool, Context], Awaitable[Decision]]
"""`True` runs the call, `False` or a reason denies it, a Call replaces it."""


async def decide(approve: Approve, call: Call, tool: Tool, context: Context) -> Call:
    """Ask; return the call that may run.

    Raises:
        ApprovalDenied: with the reason; also where the approver itself fails, since what isn't approved doesn't run.
    """
    try:
        decision: Any = await approve(call, tool, context)
    except Exception as error:
        raise ApprovalDenied(f"the approver failed: {type(error).__name__}: {error}", tool=tool.name) from error
    if decision is True:
        return call
    if isinstance(decision, str):
        raise ApprovalDenied(decision or "denied", tool=tool.name)
    if isinstance(decision, Mapping):
        return Call(cast("Mapping[str, Any]", decision))
    raise ApprovalDenied("denied", tool=tool.name)
