"""Who decides on the calls of a kept run: what it was begun with still holds when somebody goes on with it."""

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
    """Who decides on the calls of a kept run, as noted when it began; None if it wasn't.

    Any unknown word means "hold", so that no call runs by mistake.
    """
    about = begun_with(idea.meta)
    if not about:
        return None
    return next((mode for mode in get_args(Begun) if mode == about[APPROVE]), "hold")


def stricter_approve(idea: SavedIdea, approve: Approve | None) -> Approve | None:
    """The stricter of the approver that a run began with and the one that goes on with it.

    If a person was to be asked or calls were to be held, they wait for a decision, except those that `approve` denies.
    An approved plan runs.
    """
    match approve_of(idea):
        case None | "all" | "plan":
            return approve
        case "none":
            return deny_all
        case "ask" | "hold":
            return hold_all if approve is None else _hold_unless_denied(approve)


async def hold_all(*_: object) -> Reply:
    """An approver that lets every call wait."""
    return HOLD


async def deny_all(*_: object) -> Reply:
    """An approver that lets no call run."""
    return "no call may run (--approve none)"


def _hold_unless_denied(approve: Approve) -> Approve:
    """An approver that denies what this one denies, and lets the others wait."""

    async def awaited(reply: Awaitable[Reply]) -> Reply:
        return _held_unless_denied(await reply)

    def ask(call: Asked, tool: Tool, context: Context) -> Any:
        reply = approve(call, tool, context)
        return awaited(reply) if isawaitable(reply) else _held_unless_denied(reply)

    async def ask_on_loop(call: Asked, tool: Tool, context: Context) -> Reply:
        return await ask(call, tool, context)

    return ask_on_loop if is_async(approve) else ask


def _held_unless_denied(reply: Reply) -> Reply:
    return reply if reply is False or isinstance(reply, str) else HOLD
