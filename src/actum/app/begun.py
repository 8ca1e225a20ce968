"""Who decides on the calls of a kept run: what it was begun with holds for whoever goes on with it."""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any, Literal, TypeAlias, get_args

from ..execution.approver import HOLD, Approve, Reply
from ..ideas.ticks import APPROVE, begun_with
from ..protocol.activity import is_async
from ..protocol.approvals import Asked
from ..protocol.context import Context
from ..protocol.tool import Tool
from .saved import SavedIdea

Begun: TypeAlias = Literal["ask", "plan", "all", "none", "hold"]
"""Who decides, as `--approve` names it."""


def approve_of(idea: SavedIdea) -> Begun | None:
    """Who decides on the calls of a kept run, as it was begun with; None if that was not said.

    Whatever else is said there means "hold": what nobody can read lets nothing run.
    """
    found = begun_with(idea.meta)
    if not found:
        return None
    return next((one for one in get_args(Begun) if one == found[APPROVE]), "hold")


def as_begun(idea: SavedIdea, approve: Approve | None) -> Approve | None:
    """The stricter of who decided when a run began and of whom somebody else names who goes on with it.

    Where a person was to be asked, or calls were to be held, they wait for a decision, but for those that `approve`
    denies. A plan that was approved then runs.
    """
    match approve_of(idea):
        case None | "all" | "plan":
            return approve
        case "none":
            return deny_all
        case "ask" | "hold":
            return hold_all if approve is None else _held(approve)


async def hold_all(*_: object) -> Reply:
    """An approver that lets every call wait."""
    return HOLD


async def deny_all(*_: object) -> Reply:
    """An approver that lets no call run."""
    return "no call may run (--approve none)"


def _held(approve: Approve) -> Approve:
    """An approver that denies what this one denies, and lets the others wait."""

    async def settled(reply: Awaitable[Reply]) -> Reply:
        return _unless_denied(await reply)

    def ask(call: Asked, tool: Tool, context: Context) -> Any:
        reply = approve(call, tool, context)
        return settled(reply) if isawaitable(reply) else _unless_denied(reply)

    async def ask_on_loop(call: Asked, tool: Tool, context: Context) -> Reply:
        return await ask(call, tool, context)

    return ask_on_loop if is_async(approve) else ask


def _unless_denied(reply: Reply) -> Reply:
    return reply if reply is False or isinstance(reply, str) else HOLD
