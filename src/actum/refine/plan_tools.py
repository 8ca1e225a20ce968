"""What plans need of tools: the number of requests, the effects, and the tools' digests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..generation.offer import Toolset
from ..protocol.reader import READ, is_reader_call
from ..schema.json import JsonObject


def digests_of(plan: Mapping[str, Any], toolset: Toolset) -> dict[str, str]:
    """The digests of the tools that a plan calls (R35)."""
    names = {str(element["_tool"]) for element in plan["plan"] if "_tool" in element}
    return {name: digest for name, digest in toolset.digests.items() if name in names}


def asking(plan: JsonObject) -> int:
    """How many requests a plan makes."""
    return sum(element.get("_tool") == READ or "_delegate" in element for element in plan["plan"])


def effects_of(plan: JsonObject, toolset: Toolset) -> tuple[str, ...]:
    """The tools of a plan that don't only read."""
    return tuple(sorted(called_in(plan, toolset) - toolset.reading - toolset.latent))


def called_in(plan: JsonObject, toolset: Toolset) -> set[str]:
    """The tools that a plan calls, but for the reader."""
    calls = [element for element in plan["plan"] if "_tool" in element and not is_reader_call(element, toolset.tools)]
    return {str(call["_tool"]) for call in calls}
