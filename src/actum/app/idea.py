"""`Idea`: a saved Request, perhaps with its Solution, as a portable file (X1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ideas.file import IdeaText, read_idea, write_idea
from ..protocol.context import Context
from ..protocol.solution import Result
from ..protocol.tool import Tool, parse_tool
from ..schema.json import JsonObject
from ..sources.files import read_text, write_text

if TYPE_CHECKING:
    from ..generation.model import Model
    from .agent import Agent


@dataclass(frozen=True, kw_only=True)
class Idea:
    """A context and a schema; `config` says what it needs, `source` is the file that it was read from."""

    context: Context
    schema: Any = None
    meta: JsonObject = field(default_factory=dict[str, Any])
    config: JsonObject = field(default_factory=dict[str, Any])
    solution: JsonObject | None = None
    source: Path | None = None

    @classmethod
    def load(cls, path: str | Path) -> Idea:
        """Read an Idea from a JSON file, or a YAML one.

        Raises:
            IdeaError: where it can't be read or is none, naming file, line and column.
        """
        source = Path(path)
        text = read_idea(read_text(source), str(path))
        return cls(
            context=Context(text.context),
            schema=text.schema,
            meta=text.meta,
            config=text.config,
            solution=text.solution,
            source=source,
        )

    def save(self, path: str | Path) -> None:
        """Write the Idea as JSON; a file that stands there is replaced whole or not at all.

        Raises:
            IdeaError: where it can't be written.
        """
        own = IdeaText(
            context=self.context.messages,
            schema=self.schema,
            meta=self.meta,
            config=self.config,
            solution=self.solution,
        )
        write_text(Path(path), write_idea(own))

    async def run(
        self, agent: Agent | Model | str | None = None, *, input: Mapping[str, Any] | None = None
    ) -> Result[Any]:
        """Run it with an agent, or with a model and the process-wide tools."""
        from .agent import Agent

        runner = agent if isinstance(agent, Agent) else Agent(agent)
        return await runner.run(self.context, self.schema, input=input)

    def as_tool(self, name: str) -> Tool:
        """The Idea as a tool: parameters from its input's schema, `_output` from its own, `_delegate` its file (X2).

        Raises:
            SchemaError: where the input's schema makes no tool.
        """
        schemas = [
            message["schema"] for message in self.context if message.get("type") == "input" and "schema" in message
        ]
        schema: JsonObject = dict(schemas[-1]) if schemas else {"type": "object"}
        schema["properties"] = dict(schema.get("properties", {}))
        if self.schema is not None:
            schema["properties"]["_output"] = self.schema
        schema["_delegate"] = str(self.source.resolve()) if self.source else name
        return parse_tool(schema, name, origin=str(self.source) if self.source else None)
