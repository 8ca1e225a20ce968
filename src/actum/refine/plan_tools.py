"""What plans need of tools: how many requests they make, which effects they have, what their tools are known by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..generation.offer import Toolset
from ..protocol.reader import READ, is_read
from ..schema.json import JsonObject


def digests_of(plan: Mapping[str, Any], toolset: Toolset) -> dict[str, str]:
    """By what the tools are known that a plan calls (R35)."""
    names = {str(one["_tool"]) for one in plan["plan"] if "_tool" in one}
    return {name: one for name, one in toolset.digests.items() if name in names}


def asking(plan: JsonObject) -> int:
    """How many requests a plan makes."""
    return sum(one.get("_tool") == READ or "_delegate" in one for one in plan["plan"])


def effects_of(plan: JsonObject, toolset: Toolset) -> tuple[str, ...]:
    """The tools of a plan that don't only read."""
    called = {str(one["_tool"]) for one in plan["plan"] if "_tool" in one and not is_read(one, toolset.tools)}
    return tuple(sorted(called - toolset.reading - toolset.latent))
