"""`tool` `{tool: {name: schema, …}}`, or one schema with its `_tool`: tools that a context brings along."""

from __future__ import annotations

from dataclasses import dataclass

from ..schema.json import JsonObject
from .kind import Key, Kind, show_nothing


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """Tools by name."""

    tool: JsonObject

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        return {"type": "tool", "tool": self.tool}


KINDS = [
    Kind(
        type="tool",
        about="Tools that the context brings along.",
        keys={
            "tool": Key(
                types=("object",),
                is_required=True,
                about="Tools by name, each a JSON Schema; or one schema with its `_tool`.",
            )
        },
        value=ToolMessage,
        show=show_nothing,
    )
]
