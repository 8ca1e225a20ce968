"""What a `_delegate` leads to, and what finds it (D2)."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..protocol.context import Context
from ..protocol.tool import Tool
from ..schema.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegated:
    """What a `_delegate` points to: a saved request. `is_foreign`: from outside, so that nothing local is its (D12)."""

    context: Context = field(default_factory=Context)
    schema: Any = None
    config: JsonObject = field(default_factory=dict[str, Any])
    solution: JsonObject | None = None
    version: str = ""
    is_foreign: bool = False


class Resolver(Protocol):
    """Finds what a `_delegate` points to (D2)."""

    def __call__(self, reference: str, tool: Tool) -> Awaitable[Delegated]:
        """The saved request.

        Raises:
            DelegateError: where there is none, or it may not be used.
        """
        ...
