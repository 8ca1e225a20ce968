"""Calls that whoever has begun the run carries out, such as a page: they wait until their result is given (L6).

A tool says so by `_activity: "elsewhere"`, which is there without being registered.
"""

from __future__ import annotations

from typing import Any

from ..errors import ActivityError
from .activity import Activity
from .tool import Tool

ELSEWHERE = "elsewhere"


async def _unreachable() -> Any:
    raise ActivityError("whoever has begun the run carries it out, and has to give its result: it can't be approved")


ACTIVITY = Activity(name=ELSEWHERE, function=_unreachable)


def returning(value: Any) -> Activity:
    """An Activity that returns a result that was given."""

    async def say() -> Any:
        return value

    return Activity(name=ELSEWHERE, function=say)


def is_elsewhere(tool: Tool) -> bool:
    """Whether the calls of a tool are carried out by whoever has begun the run."""
    return tool.fixed("_activity") == ELSEWHERE
