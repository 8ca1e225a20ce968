"""`tool` `{tool: {name: schema, …}}`, or one schema with its `_tool`: tools that a context brings along (T4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from ..errors import MessageError, SchemaError
from ..protocol.tool import Tool, parse_tool
from ..schema.json import Json, JsonObject, encode
from ..schema.validator import is_schema
from .block import BLOCK_SIGIL, Block, Kind, View


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """Tools by name."""

    tool: JsonObject

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        return {"type": "tool", "tool": self.tool}


def tools_of(message: JsonObject, index: int, origin: str | None = None) -> Iterator[Tool]:
    """The tools that a message defines; `origin` is the file or URL that it was read from.

    Raises:
        MessageError: for one that is malformed, naming the message, the tool and the JSON path.
    """
    definition = cast("JsonObject", message["tool"])
    named: list[tuple[str | None, object]] = [*definition.items()]
    if "_tool" in definition or (is_schema(definition) and "_tool" in definition.get("properties", {})):
        named = [(None, definition)]
    for name, schema in named:
        try:
            yield parse_tool(schema, name, origin=origin)
        except SchemaError as error:
            placed = MessageError(error.message, index=index)
            placed.tool, placed.path = error.tool, error.path  # its message names them already
            raise placed from error


def _show(_message: JsonObject, _view: View) -> Iterable[Block]:
    return ()


def prose(tools: Sequence[Tool], hidden: Sequence[Tool]) -> Iterable[Block]:
    """What a schema doesn't say of the tools: examples of calls, and the names of those not spelled out (T12)."""
    examples = [
        (tool.name, example) for tool in tools for example in cast("list[Json]", tool.schema.get("examples", []))
    ]
    lines = [f"{name} {encode(example)}" for name, example in examples]
    if lines:
        yield Block("system", f"{BLOCK_SIGIL}examples\n" + "\n".join(lines))
    if hidden:
        names = "\n".join(f"{tool.name}: {_first_line(tool.description)}" for tool in hidden)
        yield Block("system", f"{BLOCK_SIGIL}tools, ask for the schemas of those you need\n{names}")


def scope_hints(latent: Sequence[Tool]) -> Iterable[Block]:
    """What the calls that the model carries out itself are to be made from: a hint, not a filter (S4)."""
    scopes = [(tool.name, cast("list[str]", tool.fixed("_scopes"))) for tool in latent if tool.fixed("_scopes")]
    if scopes:
        lines = "\n".join(f"{name}: {' '.join(BLOCK_SIGIL + scope for scope in fixed)}" for name, fixed in scopes)
        yield Block("system", f"{BLOCK_SIGIL}scopes, what these calls are made from\n{lines}")


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]


KINDS = [Kind(type="tool", value=ToolMessage, show=_show)]
