"""Delegated calls that code carries out, which was registered for them (D9, D13, D16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import InvalidParameters
from ...protocol.activity import Activity, Choice
from ...protocol.call import Call
from ...protocol.context import Context, redacted
from ...protocol.contract import merge_interface
from ...protocol.reader import Reader
from ...protocol.tool import ANONYMOUS, Tool
from ..calls.invoking import invoke
from ..isolated import Suspension
from .caller import CATCH_ALL, Caller


@dataclass(frozen=True, slots=True)
class ByCode:
    """Carries calls out by the code that was registered for them."""

    caller: Caller

    def takes(self, name: str, tool: Tool) -> bool:
        """Whether code was registered for the calls of a tool."""
        return self._serving(name, tool) is not None

    async def carry(self, name: str, call: Call, tool: Tool, context: Context, kept: Suspension) -> Any:
        """The result of that code, as if it had returned it itself."""
        serving = self._serving(name, tool)
        assert serving is not None  # else it isn't taken
        self._check_named(name, call, tool)
        activity = serving.of(call)
        activity.check(tool)
        kept.has_effects = tool.effects != "none"
        return await invoke(call, tool, context, activity, self.caller.budget, self.caller.runtime, at=kept)

    async def contract(self, name: str, tool: Tool) -> Tool:
        """The tool with the whole interface of the one that is registered by this name."""
        named = self._named_tool(name, tool)
        return tool if named is None else merge_interface(tool, named)

    def _serving(self, name: str, tool: Tool) -> Activity | Choice | None:
        """The Activity that a call goes to instead of any delegate (D9, D13, D16)."""
        registry = self.caller.runtime.registry
        if (replaced := registry.find_activity(CATCH_ALL)) is not None:
            return replaced
        if isinstance(tool, Reader):
            return None  # an Activity that happens to have its name is for other tools
        if name == ANONYMOUS:
            return registry.serving(tool, name)
        is_known = tool.bound is not None or name in self.caller.machine.delegates
        return None if is_known else registry.find_activity(name)

    def _named_tool(self, name: str, tool: Tool) -> Tool | None:
        """The registered tool that a `_delegate` names, whose Activity takes its place: its whole interface (D13)."""
        registry = self.caller.runtime.registry
        if registry.find_activity(CATCH_ALL) is not None or isinstance(tool, Reader) or name == ANONYMOUS:
            return None
        return registry.find(name)

    def _check_named(self, name: str, call: Call, tool: Tool) -> None:
        """Judge parameters by the tool that a `_delegate` names: no model is there to bridge a gap (D6, D13)."""
        named = self._named_tool(name, tool)
        if named is None or named is tool:
            return
        if (complaint := named.validator.complaint(call.parameters, quotes=False)) is not None:
            raise InvalidParameters(
                f"its delegate {redacted(name)!r} takes other parameters: {complaint}", tool=tool.name
            )
