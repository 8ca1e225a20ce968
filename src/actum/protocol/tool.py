"""A tool: an interface as pure JSON Schema, with what its meta-properties say parsed and judged once (T1-T3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, cast

from ..dataflow.expression import Expression, parse
from ..dataflow.fold import METHODS
from ..dataflow.graph import written_paths
from ..dataflow.reference import ReferenceSyntax
from ..errors import SchemaError
from ..schema.json import JsonObject, NotJson, plain
from ..schema.validator import Validator
from ..schema.walk import definitions_of
from .call import META, SPELLINGS

Fixed = Literal["_tool", "_activity", "_delegate", "_scopes", "_outputPath"]
_TOP_LEVEL = frozenset({"_tool", "_activity", "_delegate", "_scopes", "_outputPath"})
_STRINGS = frozenset({"_tool", "_activity", "_delegate", "_outputPath", "_outputMethod"})
_RESOLUTION = "_resolution"
ANONYMOUS = "anonymous"
"""The `_delegate` that stands for an empty context of its own (D2, D9)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """One tool. `schema` is what was registered, `meta` the schema of each meta-property it declares."""

    name: str
    schema: JsonObject
    meta: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    resolution: Literal["execution", "upfront"] | None = None
    is_contracted: bool = False
    """Whether its delegate's schemas have been merged into its own (D8)."""
    bound: object = None
    """What its `_delegate` names, for a tool that was made of an Idea in code (X2)."""
    origin: str | None = None
    """The file that defined it, None for code: what a relative `_delegate` starts from (D2)."""

    @cached_property
    def parameters(self) -> JsonObject:
        """The schema of its parameters alone: the registered one without meta-properties (C3)."""
        rest = {key: value for key, value in self.schema.items() if not key.startswith("_")}
        properties = cast("JsonObject", rest.get("properties", {}))
        rest["properties"] = {key: value for key, value in properties.items() if not key.startswith("_")}
        if "required" in rest:
            rest["required"] = [name for name in rest["required"] if not name.startswith("_")]
        return rest

    @cached_property
    def validator(self) -> Validator:
        """Judges parameters."""
        return Validator(self.parameters, tool=self.name)

    @cached_property
    def output(self) -> JsonObject | None:
        """The schema of its result, None where it has none."""
        return self.meta.get("_output")

    @cached_property
    def output_validator(self) -> Validator | None:
        """Judges results, None where the tool says nothing of them."""
        if self.output is None:
            return None
        return Validator({**self._definitions, **self.output}, tool=self.name, at="properties._output")

    def complaint(self, key: str, value: Any) -> str | None:
        """What is wrong with a value for one of its meta-properties; None where it is right, or declares nothing."""
        validator = self._meta_validators.get(key)
        return None if validator is None else validator.complaint(value)

    @cached_property
    def _meta_validators(self) -> dict[str, Validator]:
        return {
            key: Validator({**self._definitions, **schema}, tool=self.name, at=key)
            for key, schema in self.meta.items()
            if schema and key != "_output"
        }

    @cached_property
    def _definitions(self) -> JsonObject:
        return definitions_of(self.schema)

    @cached_property
    def accepts_null(self) -> bool:
        """Whether null is a result, so that it can't mean "not yet" (C4)."""
        return bool(self.output) and self.output_validator is not None and self.output_validator.accepts(None)

    def fixed(self, key: str) -> Any:
        """The value that the author fixed for a meta-property, None where it is open or not declared (T8)."""
        return self.meta.get(key, {}).get("const")

    def is_fixed(self, key: str) -> bool:
        """Whether the author fixed a meta-property, so that the model has no say in it."""
        return "const" in self.meta.get(key, {})

    @cached_property
    def is_plain(self) -> bool:
        """Whether it says nothing of how its calls are carried out, as most tools."""
        return self.meta.keys() <= {"_tool", "_output"} and "const" not in self.meta.get("_output", {})

    @cached_property
    def constants(self) -> JsonObject:
        """The meta-properties that the author fixed (T8)."""
        return {key: schema["const"] for key, schema in self.meta.items() if "const" in schema}

    @cached_property
    def output_path(self) -> Expression | None:
        """The output path that the author fixed."""
        path = self.fixed("_outputPath")
        return parse(path) if path is not None else None

    @property
    def description(self) -> str:
        """What it is for, in its author's words."""
        return str(self.schema.get("description") or self.schema.get("title") or "")

    @cached_property
    def is_delegated(self) -> bool:
        """Whether it is carried out in isolation (D1)."""
        return "_delegate" in self.meta

    def is_upfront(self, default: bool) -> bool:
        """Whether its delegate is resolved before composition: as it says itself, else as the request does (D8)."""
        wanted = default if self.resolution is None else self.resolution == "upfront"
        return wanted and self.fixed("_delegate") not in {None, ANONYMOUS}

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


def parse_tool(schema: object, name: str | None = None, *, origin: str | None = None) -> Tool:
    """Read a tool's schema, in any spelling (T1, T2).

    Raises:
        SchemaError: naming the tool and the JSON path: not a JSON Schema object, an unknown `_…` key, a meta-property
            declared twice, two spellings that differ (T3).
    """
    try:
        own = plain(schema)
    except NotJson as error:
        raise SchemaError(str(error), tool=name) from None
    if not isinstance(own, dict):
        raise SchemaError(f"a tool is a JSON Schema object, not {type(schema).__name__}", tool=name)
    label = name or _declared_name(own)
    if own.get("type", "object") != "object":
        raise SchemaError(f"a tool's schema has the type object, not {own['type']!r}", tool=label, path="type")
    if not isinstance(own.get("properties", {}), dict):
        raise SchemaError("'properties' is an object", tool=label, path="properties")
    meta = _collect(own, label)
    fixed_name = meta.get("_tool", {}).get("const", name)
    if name is not None and fixed_name != name:
        raise SchemaError(f"it is registered as {name!r}, but its '_tool' says {fixed_name!r}", tool=name, path="_tool")
    if not isinstance(fixed_name, str) or not fixed_name:
        raise SchemaError("it has no name: neither one it is registered under nor a fixed '_tool'", path="_tool")
    resolution = own.pop(_RESOLUTION, None)
    tool = Tool(name=fixed_name, schema=own, meta=meta, resolution=resolution, origin=origin)
    _check(tool)
    return tool


def _declared_name(schema: JsonObject) -> str | None:
    declared = schema.get("_tool")
    if declared is None:
        inner: Any = schema.get("properties")
        declared = cast("JsonObject", inner).get("_tool") if isinstance(inner, dict) else None
    if isinstance(declared, dict):
        declared = cast("JsonObject", declared).get("const")
    return declared if isinstance(declared, str) else None


def _collect(schema: JsonObject, name: str | None) -> dict[str, JsonObject]:
    """Gather the meta-properties of both places under the protocol's spellings; the schema keeps them normalised."""
    properties = cast("JsonObject", schema.setdefault("properties", {}))
    meta: dict[str, JsonObject] = {}
    for holder, place in ((schema, ""), (properties, "properties.")):
        own: dict[str, JsonObject] = {}
        for key in [key for key in holder if key.startswith("_") and key != _RESOLUTION]:
            canonical = SPELLINGS.get(key, key)
            value = _as_schema(canonical, holder.pop(key), name, place + key, top=not place)
            if own.get(canonical, value) != value:
                raise SchemaError(f"{key!r} and another spelling of it differ", tool=name, path=place + key)
            if canonical in meta:
                raise SchemaError(f"{canonical!r} is declared twice", tool=name, path=place + key)
            own[canonical] = value
        meta |= own
    required: Any = schema.get("required")
    if isinstance(required, list) and all(isinstance(key, str) for key in cast("list[Any]", required)):
        schema["required"] = list(dict.fromkeys(SPELLINGS.get(key, key) for key in cast("list[str]", required)))
    schema["properties"] = {**({"_tool": meta["_tool"]} if "_tool" in meta else {}), **properties}
    schema["properties"] |= {key: value for key, value in meta.items() if key != "_tool"}
    return meta


def _as_schema(key: str, value: Any, name: str | None, path: str, *, top: bool) -> JsonObject:
    if key not in META:
        known = ", ".join(META)
        raise SchemaError(f"{key!r} is no meta-property; they are {known}", tool=name, path=path)
    if not top:
        if not isinstance(value, dict):
            raise SchemaError(f"{key!r} among the properties is a schema", tool=name, path=path)
        return cast("JsonObject", value)
    if key not in _TOP_LEVEL:
        raise SchemaError(f"{key!r} stands under 'properties', not at the top level", tool=name, path=path)
    if isinstance(value, dict) and key != "_tool":
        return cast("JsonObject", value)
    return {"const": value}


def _check(tool: Tool) -> None:
    for key in _STRINGS:
        value = tool.fixed(key)
        if tool.is_fixed(key) and not isinstance(value, str):
            raise SchemaError(f"{key!r} is a string", tool=tool.name, path=key)
    scopes = tool.fixed("_scopes")
    if tool.is_fixed("_scopes") and (not isinstance(scopes, list) or not all(isinstance(s, str) for s in scopes)):  # pyright: ignore[reportUnknownVariableType]
        raise SchemaError("'_scopes' is a list of strings", tool=tool.name, path="_scopes")
    if tool.is_delegated and not tool.is_fixed("_delegate") and "enum" not in tool.meta["_delegate"]:
        raise SchemaError("'_delegate' is fixed, or an enum to choose from", tool=tool.name, path="_delegate")
    if tool.resolution == "upfront" and not tool.is_upfront(False):
        raise SchemaError("only a tool with one fixed delegate is resolved upfront", tool=tool.name, path=_RESOLUTION)
    if tool.is_fixed("_outputMethod") and tool.fixed("_outputMethod") not in METHODS:
        raise SchemaError(f"'_outputMethod' is one of {', '.join(METHODS)}", tool=tool.name, path="_outputMethod")
    if tool.resolution not in {None, "execution", "upfront"}:
        raise SchemaError("'_resolution' is execution or upfront", tool=tool.name, path=_RESOLUTION)
    _check_path(tool)
    Validator(tool.schema, tool=tool.name)
    assert tool.validator
    assert tool.output is None or tool.output_validator


def _check_path(tool: Tool) -> None:
    try:
        path = tool.output_path
    except ReferenceSyntax as error:
        raise SchemaError(str(error), tool=tool.name, path="_outputPath") from None
    if any(reference.kind == "calls" for reference in written_paths(path)):
        raise SchemaError("†calls holds results and can't be written", tool=tool.name, path="_outputPath")
