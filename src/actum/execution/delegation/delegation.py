"""The catch-all Activity for tools with a `_delegate`: who carries out its calls (D1-D16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...errors import ActumError, SchemaError
from ...ideas.store import parse_address
from ...protocol.call import Call, Place
from ...protocol.context import Context, is_url
from ...protocol.tool import ANONYMOUS, Tool
from ..isolated import Suspension
from .by_code import ByCode
from .by_reader import ByReader
from .by_run import ByRun
from .by_server import ByServer
from .caller import Caller, context_of_item

Carrier: TypeAlias = ByCode | ByReader | ByServer | ByRun
"""Who carries a delegated call out: it says which calls it `takes`, makes one, and says what is known of the tool."""


class Delegation:
    """Carries out the delegated calls of one run; below it, of the runs that these lead to."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self._by_run = ByRun(caller, Delegation)
        self._carriers = (ByCode(caller), ByReader(caller, Delegation), ByServer(caller), self._by_run)

    async def __call__(self, call: Call, tool: Tool, context: Context, suspension: Suspension) -> Any:
        """What has come of a call, of the parent's context only the scoped one is seen (D4, D7).

        A run continues from its suspension, and leaves its context there if it is cut (L8).
        """
        name = str(call["_delegate"])
        self.caller.check_depth(name, tool)
        return await self._carrier(name, tool).carry(name, call, tool, context, suspension)

    def _carrier(self, name: str, tool: Tool) -> Carrier:
        return next(carrier for carrier in self._carriers if carrier.takes(name, tool))

    async def contract(self, tool: Tool) -> Tool:
        """The tool as its delegate is, for one that is resolved beforehand (D8)."""
        if not tool.is_fixed("_delegate"):
            raise SchemaError(
                "it can't be resolved upfront, since each call chooses its delegate: fix one, make a tool for each, or "
                "let it say '_resolution': 'execution'",
                tool=tool.name,
                path="_delegate",
            )
        name: str = tool.fixed("_delegate")
        return await self._carrier(name, tool).contract(name, tool)

    async def digest(self, call: Call, tool: Tool) -> str:
        """What the delegate of a call is known by; empty for one of elsewhere, which is asked for nothing before."""
        name = str(call["_delegate"])
        is_far = "://" in name or is_url(tool.origin) or (name.startswith("idea:") and parse_address(name).url)
        if is_far or name == ANONYMOUS or self._carrier(name, tool) is not self._by_run:
            return ""
        try:
            return (await self.caller.resolve(name, tool)).digest
        except ActumError:  # which the call itself will say
            return ""

    async def latent(
        self, call: Call, tool: Tool, context: Context, kept: Suspension | None = None, *, hint: Sequence[str] = ()
    ) -> Any:
        """Let a model carry out one call by itself, made from the scopes in `hint` (D9, S4)."""
        return await self._by_run.latent(call, tool, context, kept or Suspension(place=Place(0), call=call), hint)

    def takes_item(self, tool: Tool) -> bool:
        """Whether the calls of a tool for the items of a list are runs of their own."""
        return self.caller.spreads(tool)

    async def item(
        self, call: Call, tool: Tool, context: Context, scopes: Sequence[str], suspension: Suspension
    ) -> Any:
        """The result of a call for an item of a list, which a run of its own makes."""
        caller = self.caller
        item_context = context_of_item(call, tool, context, scopes, caller.runtime.registry)
        return await caller.apart(caller.record.at, item_context, None, tool, suspension, is_item=True)
