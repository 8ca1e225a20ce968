"""Ideas and other tools as an MCP host is offered them: a name, schemas, and annotations.

An output that isn't an object is wrapped in `{"result": …}`, since one such schema breaks the whole list for hosts of
the protocol before 2026-07-28. If the host's own model may be asked, each result says whether it is final.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..app.agent import Agent
from ..app.saved import SavedIdea
from ..errors import IdeaError
from ..generation.offer import offered
from ..inspection.served import reads_only
from ..schema.gathering import gathered
from ..schema.infer import shape_of
from ..schema.json import Json, JsonObject, is_object
from ..schema.validator import Validator
from ..studio.shelf import description_of

_LONGEST = 1_000
RESULT, OUTPUT = "result", "output"
ASKING = (
    " Where the result says `done: false`, you are asked in its `messages`: call `answer` with its `run` and an "
    "`answer` that fits its `schema`, until it is done."
)
NOT_DONE: JsonObject = {
    "done": {"type": "boolean"},
    "run": {"type": "string", "description": "What `answer` takes, once."},
    "seen": {"type": "integer", "description": "How many messages before these you have been shown already."},
    "messages": {"type": "array", "items": {"type": "object"}},
    "schema": {"type": "object", "description": "What `answer` has to fit; left out where it is as before."},
    "held": {"type": "string", "description": "What waits for a decision of the user, and how it is given."},
}


@dataclass(frozen=True, kw_only=True)
class Offered:
    """A tool as it is listed. `output` is the schema of its output, None for any value."""

    name: str
    description: str
    input: JsonObject
    output: JsonObject | None = None
    is_asking: bool = False
    """Whether the host's own model may be asked."""
    annotations: Mapping[str, bool] = field(default_factory=dict[str, bool])

    judged: JsonObject | None = None
    """A looser schema to validate arguments by, if whoever carries them out reports other errors better."""

    @cached_property
    def _takes(self) -> Validator:
        return Validator(self.judged or self.input)

    @cached_property
    def _gives(self) -> Validator:
        return Validator(self.result_schema)

    @property
    def is_wrapped(self) -> bool:
        """Whether its output is wrapped in an object."""
        return self.is_asking or (self.output or {}).get("type") != "object"

    @cached_property
    def result_schema(self) -> JsonObject:
        """The schema of what it returns: always an object."""
        if not self.is_wrapped:
            return dict(self.output or {})
        parts, definitions = gathered({"": self.output or {}})
        properties: JsonObject = {RESULT: parts[""]} if not self.is_asking else {**NOT_DONE, OUTPUT: parts[""]}
        schema: JsonObject = {"type": "object", "properties": properties, "required": [next(iter(properties))]}
        return {**schema, "$defs": definitions} if definitions else schema

    def complaint(self, arguments: JsonObject) -> str | None:
        """Why the arguments of a call don't fit; None if they do."""
        return self._takes.complaint(arguments)

    def result(self, output: Json) -> JsonObject:
        """The result of a call, with its output.

        Raises:
            IdeaError: the output doesn't fit its schema.
        """
        result: Any = output
        if self.is_wrapped:
            result = {"done": True, OUTPUT: output} if self.is_asking else {RESULT: output}
        if not is_object(result) or self._gives.complaint(result) is not None:
            raise IdeaError("the output doesn't fit the schema that was promised")
        return result

    def listed(self) -> JsonObject:
        """The tool as in `tools/list`."""
        tool: JsonObject = {"name": self.name, "description": self.description, "inputSchema": self.input}
        return {**tool, "outputSchema": self.result_schema, "annotations": dict(self.annotations)}


def offer_of(idea: SavedIdea, name: str, agent: Agent, *, is_asking: bool) -> Offered:
    """An Idea as a tool: parameters from its input, the result from its schema (X2).

    Raises:
        SchemaError: its input makes no tool.
    """
    tool = idea.as_tool(name)
    output = None if idea.schema is None else shape_of(idea.schema).schema
    only_reads = reads_only(offered(idea.context, agent.tools, agent.config.tools))
    return Offered(
        name=name,
        description=(description_of(idea)[:_LONGEST] or f"Runs the Idea {name}.") + (ASKING if is_asking else ""),
        input={"type": "object", **tool.parameters},
        output=output,
        is_asking=is_asking,
        annotations={"readOnlyHint": True} if only_reads else {"openWorldHint": True},
    )
