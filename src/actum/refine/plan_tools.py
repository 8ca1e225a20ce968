"""What plans need of tools: how many requests they make, which effects they have, what their tools are known by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..generation.offer import Toolset
from ..protocol.reader import READ, is_read
from ..protocol.tool import Tool, interface_digest
from ..schema.json import JsonObject


def digests_of(tools: Iterable[Tool]) -> dict[str, str]:
    """By what tools are known, whatever is said of them in words (R35)."""
    return {one.name: f"{interface_digest(one)} {one.effects}" for one in tools}


def tools_called(plan: Mapping[str, Any], toolset: Toolset) -> list[Tool]:
    """The tools that a plan calls."""
    names = {str(one["_tool"]) for one in plan["plan"] if "_tool" in one}
    return [tool for name, tool in toolset.tools.items() if name in names]


def asking(plan: JsonObject) -> int:
    """How many requests a plan makes."""
    return sum(one.get("_tool") == READ or "_delegate" in one for one in plan["plan"])


def effects_of(plan: JsonObject, toolset: Toolset) -> tuple[str, ...]:
    """The tools of a plan that don't only read."""
    called = {str(one["_tool"]) for one in plan["plan"] if "_tool" in one and not is_read(one, toolset.tools)}
    return tuple(sorted(called - set(toolset.reading)))
