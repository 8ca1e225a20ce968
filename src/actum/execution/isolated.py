"""The port to what carries out calls in isolation, and what such a call leaves when it is cut (D1, L6, L8)."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..dataflow.reference import Path
from ..protocol.call import Call, Place
from ..protocol.context import Context
from ..protocol.lineage import Marks, Source
from ..protocol.tool import Tool
from ..schema.json import JsonObject

ANOTHER = "run"
"""What stands before the id of another run that a run waits for."""


class Suspended(Exception):
    """A call has ended without a result: its delegate waits for a decision (L6), or another run carries it out."""


@dataclass(slots=True, kw_only=True)
class Suspension:
    """What a delegate had reached when it was cut, and then what it has reached when it is cut again (L8).

    `waiting` is what it waits for, where that is why it ended. `place` is its call's, `call` that call as it was
    authored.
    """

    place: Place
    call: Call
    context: list[JsonObject] | None = None
    waiting: tuple[str, ...] = ()
    sources: Marks = field(default_factory=dict[Path, Source])
    """What of the parameters of the call came out of data, by the places (S10)."""
    has_effects: bool = False
    """Whether a call has begun in the delegate that doesn't only read (T14)."""
    maker: str = ""
    """The digest of the saved request that its run was made of."""


class Delegate(Protocol):
    """What carries out calls of tools with a `_delegate`: the catch-all Activity with the ordinary arguments (D1)."""

    def __call__(self, call: Call, tool: Tool, context: Context, suspension: Suspension) -> Awaitable[Any]:
        """The result of the original call.

        Raises:
            Suspended: it waits for a decision; what it has reached is in the suspension.
        """
        ...

    def takes_item(self, tool: Tool) -> bool:
        """Whether it carries out the calls of a tool for the items of a list, as runs of their own."""
        ...

    def item(
        self, call: Call, tool: Tool, context: Context, scopes: Sequence[str], suspension: Suspension
    ) -> Awaitable[Any]:
        """The result of a call for an item; raises as it itself.

        Raises:
            Suspended: another run carries it out, which is not over.
        """
        ...

    def contract(self, tool: Tool) -> Awaitable[Tool]:
        """The tool as its delegate is, for one that is resolved beforehand (D8)."""
        ...

    def digest(self, call: Call, tool: Tool) -> Awaitable[str]:
        """What the delegate of a call is known by, empty where that isn't known before it is asked."""
        ...
