"""Who decides on calls before they run: what is asked, and what the answers mean (L6)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import Any, Final, TypeAlias, cast

from ..errors import ApprovalDenied, SchemaError
from ..protocol.activity import error_text, is_async
from ..protocol.approvals import Asked, reply_to
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.tool import Tool
from .undoing import Threads


class Hold(Enum):
    """The answer of an approver who can't say yet."""

    HOLD = "hold"


HOLD: Final = Hold.HOLD
Reply: TypeAlias = bool | str | Mapping[str, Any] | Hold
"""What an approver says of a call: `True` runs it, `False` or a reason denies it, a Call replaces it, `HOLD` waits.

The words of a decision mean what they say: "approve", "deny" and "hold".
"""
Approve: TypeAlias = Callable[[Asked, Tool, Context], Awaitable[Reply] | Reply]
"""Decides on a call: `True`, `False` or a reason why not, a changed Call, or `HOLD`. If not async, on a thread."""


_WORDS: Mapping[str, Reply] = {"approve": True, "deny": False, "hold": HOLD}
_ASSENT = frozenset(
    (
        "approved",
        "accept",
        "accepted",
        "allow",
        "allowed",
        "confirm",
        "confirmed",
        "granted",
        "ok",
        "okay",
        "true",
        "y",
        "yes",
    )
)
"""Words that can't be meant as a reason to deny."""
_REPLIES = "it returns True, False, a reason to deny, a Call, or HOLD"


def check_approver(approve: object) -> None:
    """Whether it can be asked about calls.

    Raises:
        SchemaError: saying what it isn't.
    """
    if approve is None:
        return
    if not callable(approve):
        raise SchemaError(
            f"an approver is a function (call, tool, context), not {approve!r}: {_REPLIES}", path="approve"
        )
    with suppress(ValueError):  # one whose parameters can't be read
        signature = inspect.signature(approve)
        try:
            signature.bind(None, None, None)
        except TypeError:
            raise SchemaError(
                f"an approver takes three arguments, (call, tool, context), not {signature}", path="approve"
            ) from None


async def decide(approve: Approve, threads: Threads, call: Asked, tool: Tool, context: Context) -> Call | None:
    """Ask; return the call that may run, None where it has to wait.

    Raises:
        ApprovalDenied: with the reason; also where the approver itself fails, since what isn't approved doesn't run.
        InvalidParameters: what should run instead isn't a call, or has another condition.
    """
    try:
        ask: partial[Any] = partial(approve, call, tool, context)
        decision: Any = await (ask() if is_async(approve) else threads.settle(ask))
    except Exception as error:
        raise ApprovalDenied(f"the approver failed: {error_text(error)}", tool=tool.name) from error
    word = decision.strip().lower() if isinstance(decision, str) else None
    decision = _WORDS.get(word, decision) if word is not None else decision
    if decision is HOLD:
        return None
    if decision is True:
        return reply_to(call, call)
    if isinstance(decision, Mapping):
        return reply_to(call, cast("Mapping[str, Any]", decision))
    if decision is not False and (word is None or word in _ASSENT):
        returned = repr(word) if word is not None else "None" if decision is None else f"a {type(decision).__name__}"
        raise ApprovalDenied(f"the approver failed: it returned {returned}; {_REPLIES}", tool=tool.name)
    raise ApprovalDenied(decision or "denied", tool=tool.name)
