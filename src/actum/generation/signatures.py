"""What a schema says in the notation of shapes: for hosts that enforce it and don't show it to the model (T10, T13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..messages.kind import BLOCK_SIGIL
from ..protocol.call import EACH, ELSE, WHEN
from ..schema.json import JsonObject, encode, is_list, is_object
from ..schema.quoting import quoted, spelled
from ..schema.shapes import FORMATS, MAP, WORDS, free_name
from ..schema.walk import definitions_of, properties_of, required_of

_FORM = "Answer with JSON in one line, its keys in the order told here: "
_CALLS = '`f(a, b?)` is called by {"_tool": "f", "a": …}; what has no type is a text, what has a `?` may be left out.'
_TOOL = "_tool"
_SAID = (EACH, WHEN, ELSE, "_outputPath")
"""What may be said of any call, and is told once."""
_TYPES = {one["type"]: word for word, one in WORDS.items() if one.keys() == {"type"}}
"""The words of JSON's types."""
_BOUNDS = ("pattern", "format", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What the messages say of the form of an answer.

    `text` and the lines of `types` are told beside a schema that nobody is shown; nothing where it is. `before` is what
    an answer holds in front of a typed output: an earlier one is shown so; None where an output is any text.
    """

    text: str = ""
    types: tuple[str, ...] = ()
    before: JsonObject | None = None


def signatures(schema: JsonObject, returns: Mapping[str, str], types: Sequence[str]) -> AnswerForm:
    """Tell an answer's schema, as it is sent, by the calls that it may hold and the shapes of its other parts.

    `returns` is what tools return, in words; `types` those that these name, a line each.
    """
    notation = _Notation(definitions_of(schema).get("$defs", {}), dict(line.split(" ", 1) for line in types))
    parts = properties_of(schema)
    form = ", ".join(f"{encode(name)}: {'[…]' if name == 'calls' else '…'}" for name in parts)
    lines = [f"{_FORM}{{{form}}}"]
    for name, part in parts.items():
        if name == "calls":
            told = notation.calls(part.get("items") or {}, returns)
            lines += [f"{BLOCK_SIGIL}calls, {_CALLS}", *told]
        else:
            lines.append(f"{BLOCK_SIGIL}{name} {notation.told(part)}")
    return AnswerForm("\n".join(lines), notation.types())


class _Notation:
    """Tells schemas that share definitions; `taken` are types that are told already, by name."""

    def __init__(self, definitions: JsonObject, taken: Mapping[str, str]) -> None:
        self._definitions = definitions
        self._taken = taken
        self._names: dict[str, str] = {}
        self._said: dict[str, None] = {}
        self._open: set[str] = set()

    def types(self) -> tuple[str, ...]:
        """A line for each type that was named, and not told before."""
        bodies: dict[str, str] = {}
        while waiting := [one for one in self._names if one not in bodies]:
            bodies |= {one: self.told(self._definitions[one]) for one in waiting}
        return tuple(f"{self._names[one]} {body}" for one, body in bodies.items())

    def calls(self, items: JsonObject, returns: Mapping[str, str]) -> list[str]:
        """A line for each call, and one for each element that is none."""
        lines: list[str] = []
        for one in items.get("anyOf", [items]):
            group = self._definitions.get(_name_of(one), one)
            lines += [
                self._call(call, returns) if _TOOL in properties_of(call) else f"or {self.told(call)}"
                for call in group.get("anyOf", [group])
            ]
        return [*dict.fromkeys(lines), *self._said]

    def _call(self, call: JsonObject, returns: Mapping[str, str]) -> str:
        parameters, needed = dict(properties_of(call)), required_of(call)
        tool = str(parameters.pop(_TOOL).get("const"))
        if said := {name: parameters.pop(name) for name in _SAID if name in parameters and name not in needed}:
            path = {name: said.pop(name) for name in ("_outputPath",) if name in said}
            members = [_TOOL, *self._fields(said), "…", *self._fields(path)]
            self._said[f"or {{{', '.join(members)}}}"] = None
        gives, description = returns.get(tool, ""), _line(call.get("description", ""))
        if gives:  # said before the description, as in Python
            description = " ".join(description.replace(f"Returns {gives}.", "").split())
        arrow, about = f" -> {gives}" if gives else "", f": {description}" if description else ""
        return f"{tool}({', '.join(self._fields(parameters, needed))}){arrow}{about}"

    def told(self, schema: Any) -> str:
        """A schema's shape, and in brackets what its author says of it and what else it asks for."""
        node = self._plain(schema)
        if not is_object(node):
            return "any"
        options: list[Any] = node.get("anyOf") or node.get("oneOf") or []
        shape = "|".join(dict.fromkeys(map(self.told, self._values(options)))) if options else self._shape(node)
        return shape + _remark(node)

    def _plain(self, schema: Any) -> Any:
        """A schema without the references that may stand in its place."""
        while is_object(schema) and "anyOf" in schema and len(values := self._values(schema["anyOf"])) == 1:
            schema = values[0]
        return schema

    def _values(self, options: Sequence[Any]) -> list[Any]:
        """The alternatives that aren't a reference in the place of the others; the first where all are."""
        values = [one for one in options if not self._is_reference(one)]
        return values or list(options[:1])

    def _is_reference(self, schema: Any) -> bool:
        return is_object(schema) and _refers(self._definitions.get(_name_of(schema), schema))

    def _shape(self, node: JsonObject) -> str:
        if self._is_reference(node):
            return "†…"
        if "$ref" in node:
            return self._named(_name_of(node))
        if "const" in node or "enum" in node:
            values: list[Any] = [node["const"]] if "const" in node else node["enum"]
            return "|".join(quoted(one) if isinstance(one, str) else encode(one) for one in values)
        kind: Any = node.get("type")
        if is_list(kind):
            return "|".join(self._shape({**node, "type": one}) for one in kind)
        if kind == "array":
            first: list[Any] = node.get("prefixItems") or [node.get("items", True)]
            return f"[{', '.join(map(self.told, first))}]"
        if kind == "object":
            return self._object(node)
        return FORMATS.get(node.get("format", ""), _TYPES.get(str(kind), "any"))

    def _object(self, node: JsonObject) -> str:
        rest = node.get("additionalProperties", True)
        if not (properties := properties_of(node)):
            return f"{MAP}{self.told(rest)}}}" if rest is not False else "{}"
        more = "" if rest is False else f", *: {self.told(rest)}"
        return f"{{{', '.join(self._fields(properties, required_of(node)))}{more}}}"

    def _fields(self, properties: JsonObject, required: Sequence[str] = ()) -> list[str]:
        return [
            f"{spelled(name, None)}{'' if name in required else '?'}{_typed(self.told(one))}"
            for name, one in properties.items()
        ]

    def _named(self, name: str) -> str:
        definition = self._definitions.get(name, {})
        if _TOOL in properties_of(definition) or any(
            _TOOL in properties_of(one) for one in definition.get("anyOf", ())
        ):
            calls = [one["properties"][_TOOL].get("const") for one in definition.get("anyOf", [definition])]
            return " or ".join(f"{tool}(…)" for tool in calls) if len(calls) < 4 else "a call"
        if "properties" not in definition and name not in self._open:
            self._open.add(name)
            shape = self.told(definition)
            self._open.discard(name)
            return shape
        if name not in self._names:
            self._names[name] = free_name(name, {**self._taken, **dict.fromkeys(self._names.values(), "")})
        return self._names[name]


def _refers(schema: JsonObject) -> bool:
    return str(schema.get("pattern", "")).startswith(("^†", "^(†"))


def _name_of(schema: JsonObject) -> str:
    return str(schema.get("$ref", "")).removeprefix("#/$defs/")


def _typed(shape: str) -> str:
    if shape == "text":
        return ""
    return shape.removeprefix("text") if shape.startswith("text (") else f": {shape}"


def _remark(node: JsonObject) -> str:
    asked = [f"{key}: {encode(node[key])}" for key in _BOUNDS if key in node and not _is_told(key, node)]
    said = _line(node.get("description", ""))
    words = "; ".join([*([said] if said else []), *asked])
    return f" {words}" if not asked and words[:1] == "(" else f" ({words})" if words else ""


def _is_told(key: str, node: JsonObject) -> bool:
    return (key == "format" and node[key] in FORMATS) or (key == "pattern" and _refers(node))


def _line(text: Any) -> str:
    return " ".join(str(text).split())
