"""An Idea as callers see it: its name, what it is for, and the schemas of what it takes and gives (X2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..app.idea import Idea
from ..schema.infer import shape_of
from ..schema.json import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """What a caller needs to know of an Idea. Of its context, it shows only what the author describes."""

    name: str
    description: str
    takes: JsonObject
    gives: Any

    @classmethod
    def of(cls, name: str, idea: Idea) -> Interface:
        """The interface of an Idea that is served under a name."""
        tool = idea.as_tool(name)
        about = idea.meta.get("description")
        description = about if isinstance(about, str) else tool.description or ""
        gives = True if idea.schema is None else shape_of(idea.schema).schema
        return cls(name=name, description=description, takes=tool.parameters, gives=gives)

    def to_dict(self) -> JsonObject:
        """The interface as JSON."""
        return {"name": self.name, "description": self.description, "input": self.takes, "output": self.gives}
