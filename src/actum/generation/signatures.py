"""An answer's schema in the notation of shapes, for hosts that enforce it but don't show it to the model (T10, T13)."""

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
_COMMON = (EACH, WHEN, ELSE, "_outputPath")
"""Keys that any call may have, explained once."""
_TYPES = {node["type"]: word for word, node in WORDS.items() if node.keys() == {"type"}}
"""The words of JSON's types."""
_BOUNDS = ("pattern", "format", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What the messages tell about the form of an answer.

    `text` and the lines of `types` are told if the host doesn't show the schema, else empty. `before` is what an answer
    holds before a typed output, as earlier outputs are shown; None if the output is any text.
    """

    text: str = ""
    types: tuple[str, ...] = ()
    before: JsonObject | None = None


def signatures(schema: JsonObject, returns: Mapping[str, str], types: Sequence[str]) -> AnswerForm:
    """Describe an answer's schema, as it is sent, by the signatures of its calls and the shapes of its other parts.

    `returns` are the tools' results in words, `types` the types that these name, a line each.
    """
    notation = _Notation(definitions_of(schema).get("$defs", {}), dict(line.split(" ", 1) for line in types))
    parts = properties_of(schema)
    form = ", ".join(f"{encode(name)}: {'[…]' if name == 'calls' else '…'}" for name in parts)
    lines = [f"{_FORM}{{{form}}}"]
    for name, part in parts.items():
        if name == "calls":
            calls = notation.calls(part.get("items") or {}, returns)
            lines += [f"{BLOCK_SIGIL}calls, {_CALLS}", *calls]
        else:
            lines.append(f"{BLOCK_SIGIL}{name} {notation.describe(part)}")
    return AnswerForm("\n".join(lines), notation.types())


class _Notation:
    """Describes schemas that share definitions; `known` are the types that were described before, by name."""

    def __init__(self, definitions: JsonObject, known: Mapping[str, str]) -> None:
        self._definitions = definitions
        self._known = known
        self._names: dict[str, str] = {}
        self._common: dict[str, None] = {}
        self._open: set[str] = set()

    def types(self) -> tuple[str, ...]:
        """A line for each type that was named and isn't known."""
        bodies: dict[str, str] = {}
        while waiting := [name for name in self._names if name not in bodies]:
            bodies |= {name: self.describe(self._definitions[name]) for name in waiting}
        return tuple(f"{self._names[name]} {body}" for name, body in bodies.items())

    def calls(self, items: JsonObject, returns: Mapping[str, str]) -> list[str]:
        """A line for each call, and for each element that isn't a call."""
        lines: list[str] = []
        for item in items.get("anyOf", [items]):
            group = self._definitions.get(_name_of(item), item)
            lines += [
                self._call(call, returns) if _TOOL in properties_of(call) else f"or {self.describe(call)}"
                for call in group.get("anyOf", [group])
            ]
        return [*dict.fromkeys(lines), *self._common]

    def _call(self, call: JsonObject, returns: Mapping[str, str]) -> str:
        parameters, needed = dict(properties_of(call)), required_of(call)
        tool = str(parameters.pop(_TOOL).get("const"))
        if common := {name: parameters.pop(name) for name in _COMMON if name in parameters and name not in needed}:
            path = {name: common.pop(name) for name in ("_outputPath",) if name in common}
            members = [_TOOL, *self._fields(common), "…", *self._fields(path)]
            self._common[f"or {{{', '.join(members)}}}"] = None
        gives, description = returns.get(tool, ""), _line(call.get("description", ""))
        if gives:  # said before the description, as in Python
            description = " ".join(description.replace(f"Returns {gives}.", "").split())
        arrow, about = f" -> {gives}" if gives else "", f": {description}" if description else ""
        return f"{tool}({', '.join(self._fields(parameters, needed))}){arrow}{about}"

    def describe(self, schema: Any) -> str:
        """A schema's shape, followed in brackets by its description and its other constraints."""
        node = self._plain(schema)
        if not is_object(node):
            return "any"
        options: list[Any] = node.get("anyOf") or node.get("oneOf") or []
        shape = "|".join(dict.fromkeys(map(self.describe, self._values(options)))) if options else self._shape(node)
        return shape + _remark(node)

    def _plain(self, schema: Any) -> Any:
        """A schema without the alternative of a reference in its place."""
        while is_object(schema) and "anyOf" in schema and len(values := self._values(schema["anyOf"])) == 1:
            schema = values[0]
        return schema

    def _values(self, options: Sequence[Any]) -> list[Any]:
        """The alternatives that aren't references; the first one if all are."""
        values = [option for option in options if not self._is_reference(option)]
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
            return "|".join(quoted(value) if isinstance(value, str) else encode(value) for value in values)
        kind: Any = node.get("type")
        if is_list(kind):
            return "|".join(self._shape({**node, "type": name}) for name in kind)
        if kind == "array":
            first: list[Any] = node.get("prefixItems") or [node.get("items", True)]
            return f"[{', '.join(map(self.describe, first))}]"
        if kind == "object":
            return self._object(node)
        return FORMATS.get(node.get("format", ""), _TYPES.get(str(kind), "any"))

    def _object(self, node: JsonObject) -> str:
        rest = node.get("additionalProperties", True)
        if not (properties := properties_of(node)):
            return f"{MAP}{self.describe(rest)}}}" if rest is not False else "{}"
        tail = "" if rest is False else f", *: {self.describe(rest)}"
        return f"{{{', '.join(self._fields(properties, required_of(node)))}{tail}}}"

    def _fields(self, properties: JsonObject, required: Sequence[str] = ()) -> list[str]:
        return [
            f"{spelled(name, None)}{'' if name in required else '?'}{_typed(self.describe(part))}"
            for name, part in properties.items()
        ]

    def _named(self, name: str) -> str:
        definition = self._definitions.get(name, {})
        calls = [properties_of(option) for option in definition.get("anyOf", [definition])]
        if any(_TOOL in call for call in calls):
            return " or ".join(f"{call[_TOOL].get('const')}(…)" for call in calls) if len(calls) < 4 else "a call"
        if "properties" not in definition and name not in self._open:
            self._open.add(name)
            shape = self.describe(definition)
            self._open.discard(name)
            return shape
        if name not in self._names:
            self._names[name] = free_name(name, {**self._known, **dict.fromkeys(self._names.values(), "")})
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
    bounds = [f"{key}: {encode(node[key])}" for key in _BOUNDS if key in node and not _is_shown(key, node)]
    description = _line(node.get("description", ""))
    words = "; ".join([*([description] if description else []), *bounds])
    return f" {words}" if not bounds and words[:1] == "(" else f" ({words})" if words else ""


def _is_shown(key: str, node: JsonObject) -> bool:
    return (key == "format" and node[key] in FORMATS) or (key == "pattern" and _refers(node))


def _line(text: Any) -> str:
    return " ".join(str(text).split())
