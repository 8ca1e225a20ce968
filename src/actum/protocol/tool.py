"""A tool: an interface as pure JSON Schema, with what its meta-properties say. `declaration` reads it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from types import CodeType
from typing import Any, Literal, TypeAlias

from ..dataflow.expression import Expression, parse
from ..schema.json import JsonObject, encode, is_object
from ..schema.type_reading import type_of
from ..schema.types import ANYTHING, Type
from ..schema.validator import Validator
from ..schema.walk import ANNOTATIONS, definitions_of, mapped
from .call import META

Effects: TypeAlias = Literal["none", "some", "ordered"]
"""What calls do: only read, nobody says, or something for which their order counts (T14)."""
ANONYMOUS = "anonymous"
"""The `_delegate` that is an empty context (D2, D9)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tool:
    """One tool. `schema` is what was registered, `meta` the schema of each meta-property it declares."""

    name: str
    schema: JsonObject
    meta: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    is_contracted: bool = False
    """Whether its delegate's schemas have been merged into its own."""
    bound: object = None
    """The Idea that its `_delegate` names, for a tool that was made of an Idea in code."""
    is_held: bool = False
    """Whether its calls wait for a decision where a run has nobody to ask."""
    seal: str = ""
    """A digest of how a server has listed it, empty for others."""
    origin: str | None = None
    """The file that defined it, None for code: what a relative `_delegate` starts from."""
    owners: tuple[str, ...] = ()
    """The instances whose messages define it, and who alone can call it; none where it is everybody's."""

    @cached_property
    def parameters(self) -> JsonObject:
        """The schema of its parameters alone: the registered one without meta-properties."""
        rest = {key: value for key, value in self.schema.items() if not key.startswith("_")}
        properties: JsonObject = rest.get("properties", {})
        rest["properties"] = {key: _unmarked(value) for key, value in properties.items() if not key.startswith("_")}
        if "required" in rest:
            rest["required"] = [name for name in rest["required"] if not name.startswith("_")]
        return rest

    @cached_property
    def validator(self) -> Validator:
        """Judges parameters."""
        return Validator(self.parameters, tool=self.name)

    @cached_property
    def output(self) -> JsonObject | None:
        """The schema of its result, None if it has none."""
        return self.meta.get("_output")

    @cached_property
    def result(self) -> JsonObject | None:
        """The same with the definitions that it may refer to."""
        return None if self.output is None else {**definitions_of(self.schema), **self.output}

    @cached_property
    def output_validator(self) -> Validator | None:
        """Judges results, None if the tool says nothing of them."""
        return None if self.result is None else Validator(self.result, tool=self.name, at="properties._output")

    def complaint(self, key: str, value: Any) -> str | None:
        """What is wrong with a value for one of its meta-properties; None if it is right, or declares nothing."""
        is_judged = bool(self.meta.get(key)) and key != "_output"
        return _meta_validator(self, key).complaint(value) if is_judged else None

    @cached_property
    def returns(self) -> Type:
        """What is declared of its results, anything where nothing is."""
        return ANYTHING if self.result is None else type_of(self.result)

    def fixed(self, key: str) -> Any:
        """The value that the author fixed for a meta-property, None if it is open or not declared."""
        return self.meta.get(key, {}).get("const")

    def is_fixed(self, key: str) -> bool:
        """Whether the author fixed a meta-property, so that the model has no say in it."""
        return "const" in self.meta.get(key, {})

    @cached_property
    def is_plain(self) -> bool:
        """Whether it leaves open how its calls are carried out, as most tools do."""
        return self.meta.keys() <= _PLAIN and "const" not in self.meta.get("_output", {})

    @cached_property
    def constants(self) -> JsonObject:
        """The meta-properties of its calls that the author fixed."""
        return {key: schema["const"] for key, schema in self.meta.items() if "const" in schema and key in META}

    def choices(self, key: str) -> list[Any] | None:
        """The values among which the model chooses for a meta-property, None if the author lists none."""
        return self.meta.get(key, {}).get("enum")

    @cached_property
    def instances(self) -> list[str] | None:
        """The instances that its calls may be for, None if it doesn't say."""
        return [self.fixed("_instance")] if self.is_fixed("_instance") else self.choices("_instance")

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
        """Whether it is carried out in isolation."""
        return "_delegate" in self.meta

    @cached_property
    def effects(self) -> Effects:
        """What its calls do: nothing but read, something unknown, or what must keep the order of the answer."""
        return self.fixed("_effects") or "some"

    @cached_property
    def timeout(self) -> float | None:
        """How many seconds one of its calls may take, None where its author bounds nothing."""
        return self.fixed("_timeout")

    @cached_property
    def retries(self) -> int | None:
        """How often its Activity is tried again, None where its author leaves that to the Activity."""
        return self.fixed("_retries")

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


VALUES = Tool(name="_value", schema={"type": "object", "properties": {}})
"""Stands in for the tool of an element that only computes (C13)."""
EXPECTS = Tool(name="_expect", schema={"type": "object", "properties": {}})
"""Stands in for the tool of an element that says what is expected (C16)."""

_PLAIN = {"_tool", "_output", "_effects", "_timeout", "_retries"}
"""The meta-properties with which a call still has nothing but parameters."""


@lru_cache(maxsize=1024)
def _meta_validator(tool: Tool, key: str) -> Validator:
    return Validator({**definitions_of(tool.schema), **tool.meta[key]}, tool=tool.name, at=key)


@lru_cache(maxsize=1024)
def size_of(tool: Tool) -> int:
    """The characters of a tool's schema."""
    return len(encode(tool.schema))


def owned_by(tool: Tool, instances: Sequence[str]) -> Tool:
    """The tool as that of `instances` whose messages define it."""
    owner_schema: JsonObject = {"enum": [*instances]}
    properties = {**tool.schema.get("properties", {}), "_instance": owner_schema}
    schema, meta = {**tool.schema, "properties": properties}, {**tool.meta, "_instance": owner_schema}
    return replace(tool, schema=schema, meta=meta, owners=tuple(instances))


def says_the_same(tool: Tool, other: Tool) -> bool:
    """Whether two tools say the same."""
    return all(getattr(tool, name) == getattr(other, name) for name in ("name", "schema", "bound", "is_held", "origin"))


def delegates_of(tool: Tool) -> list[str]:
    """The delegates that calls of a tool may be carried out by, as they are named."""
    return [tool.fixed("_delegate")] if tool.is_fixed("_delegate") else tool.choices("_delegate") or []


def is_upfront(tool: Tool, default: bool) -> bool:
    """Whether a tool's delegate is resolved before composition: as it says itself, else as the request does."""
    wanted = tool.fixed("_resolution") == "upfront" if tool.is_fixed("_resolution") else default
    return wanted and not {ANONYMOUS}.issuperset(delegates_of(tool))


def _unmarked(schema: Any) -> Any:
    """A parameter's schema without its own meta-property, which no model and no validator needs."""
    if not is_object(schema) or not any(key[:1] == "_" for key in schema):
        return schema
    return {key: value for key, value in schema.items() if key[:1] != "_"}


_LENGTH = 12
"""How many hexadecimal digits a digest has: enough to tell versions of a tool apart; no trust rests on it."""


@lru_cache(maxsize=4096)
def interface_digest(tool: Tool) -> str:
    """A digest of a tool: of its name, parameters and `_output`, or of how its server has listed it.

    Descriptions don't count.
    """
    if tool.seal:
        return tool.seal[:_LENGTH]
    parts = [None if schema is None else mapped(schema, _bare) for schema in (tool.parameters, tool.result)]
    return _short(encode([tool.name, *parts], sort_keys=True))


def _bare(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in ANNOTATIONS}


def code_digest(function: Callable[..., Any]) -> str:
    """A digest of a function's code, wherever it lies; empty for what isn't written in Python."""
    inner: Any = inspect.unwrap(function)
    inner = getattr(inner, "func", inner)  # of a partial
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    return "" if code is None else _of_code(code)


@lru_cache(maxsize=4096)
def _of_code(code: CodeType) -> str:
    return _short("\0".join(_parts(code)))


def _parts(code: CodeType) -> Iterator[str]:
    """The parts of code that decide what it does, without its file and line numbers."""
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
        else:
            members: Any = constant
            # The order of a set differs between processes.
            yield repr(sorted(map(repr, members)) if isinstance(constant, frozenset) else constant)


def _short(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()[:_LENGTH]
