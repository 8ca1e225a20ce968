"""From a schema, a value and what is wrong with that to the fields of a form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...schema.json import JsonObject, encode, is_list, is_object
from ...schema.quoting import printable
from ...schema.validator import Validator
from ...schema.walk import pointer
from . import field as fields

_TYPES: Mapping[str, str] = {
    "date": "date", "email": "email", "uri": "url", "idn-email": "email", "iri": "url", "color": "color",
}  # fmt: skip
_LIMITS = {"minLength": "minlength", "maxLength": "maxlength", "minimum": "min", "maximum": "max"}
_MOST_ITEMS = 200
_MOST_FIELDS = 2_000
"""So many fields at most has a form; what is left is shown as JSON."""


def form_of(
    schema: Any, value: Any = fields.ABSENT, problems: Mapping[str, Sequence[str]] | None = None
) -> fields.FormField:
    """The form of a schema with a value; `problems` are what is wrong, by JSON pointer."""
    schemas, told = fields.Schemas(schema), dict(problems or {})
    form = _Building(schemas, told).field(schema, value, (), "Input", is_required=True)
    names = {field.name for field in _all(form)}
    if told.keys() <= names:
        return form
    near: dict[str, list[str]] = {}
    for at, messages in told.items():
        near.setdefault(_nearest(at, names), []).extend(messages)
    return _Building(schemas, near).field(schema, value, (), "Input", is_required=True)


def _all(form: fields.FormField) -> Iterator[fields.FormField]:
    waiting = [form]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += one.children


def _nearest(at: str, names: set[str]) -> str:
    """The field that shows what is at a pointer: where that has none of its own, the one around it."""
    while at and at not in names:
        at = at.rpartition("/")[0]
    return at


def problems_of(schema: Any, value: Any) -> dict[str, list[str]]:
    """What is wrong with a value, by the JSON pointer of where, in the words of the command line.

    What is missing is told at the member that is missing.
    """
    found: dict[str, list[str]] = {}
    for path, message, missing in Validator(schema).problems(value):
        at = (*path, missing) if missing is not None else tuple(path)
        found.setdefault(pointer(at), []).append(message)
    return found


class _Building:
    def __init__(self, schemas: fields.Schemas, problems: Mapping[str, Sequence[str]]) -> None:
        self._schemas = schemas
        self._problems = problems
        self._left = _MOST_FIELDS

    def field(self, schema: Any, value: Any, path: fields.Path, label: str, *, is_required: bool) -> fields.FormField:
        own = self._schemas.of(schema)
        variants = self._schemas.variants(own)
        self._left -= 1
        is_deep = len(path) > fields.MOST_DEPTH or self._left < 0
        kind: fields.Kind = "json" if is_deep else "union" if variants else fields.field_kind(own)
        common: dict[str, Any] = {
            "path": path,
            "label": str(own.get("title") or label),
            "value": value,
            "about": str(own.get("description") or ""),
            "is_required": is_required,
            "problems": tuple(self._problems.get(pointer(path), ())),
            "examples": own["examples"] if is_list(own.get("examples")) else (),
        }
        if kind in {"object", "list", "union"} and value is fields.ABSENT and not is_required:
            return fields.FormField(**common, kind=kind, is_there=False, can_go=True)
        return self._made(kind, own, variants, common)

    def _made(
        self, kind: fields.Kind, own: JsonObject, variants: list[JsonObject], common: dict[str, Any]
    ) -> fields.FormField:
        match kind:
            case "union":
                return self._union(variants, common)
            case "object":
                return self._object(own, common)
            case "list":
                return self._list(own, common)
            case "choice":
                return self._choice(own, common)
            case "fixed":
                changed: dict[str, Any] = {**common, "value": own.get("const")}
                return fields.FormField(**changed, kind="fixed", is_there=common["value"] is not fields.ABSENT)
            case _:
                return self._scalar(kind, own, common)

    def _scalar(self, kind: fields.Kind, own: JsonObject, common: dict[str, Any]) -> fields.FormField:
        value = common["value"]
        if kind == "text" and isinstance(value, str) and "\n" in value:
            kind = "lines"
        if kind in {"text", "lines"} and not (value is fields.ABSENT or _is_plain(value)):
            kind = "json"  # it is shown as what it is, with what is wrong with it, or would steer who reads it
        is_text = own.get("type") == "string"
        limits = {name: own[key] for key, name in _LIMITS.items() if key in own and (is_text == ("ength" in key))}
        if own.get("type") == "integer":
            limits["step"] = 1
        kind_of_input = "password" if own.get("writeOnly") else _TYPES.get(str(own.get("format")), "text")
        return fields.FormField(**common, kind=kind, limits=limits, input_type=kind_of_input)

    def _choice(self, own: JsonObject, common: dict[str, Any]) -> fields.FormField:
        options = fields.choices_of(own)
        written = [encode(one, sort_keys=True) for one in options]
        value = common["value"]
        at = encode(value, sort_keys=True) if value is not fields.ABSENT else None
        chosen = written.index(at) if at in written else None
        if chosen is None and value is not fields.ABSENT:
            return fields.FormField(**common, kind="json")
        names = ["yes" if one is True else "no" if one is False else _named(one) for one in options]
        return fields.FormField(**common, kind="choice", options=names, chosen=chosen)

    def _object(self, own: JsonObject, common: dict[str, Any]) -> fields.FormField:
        value = common["value"]
        if value is not fields.ABSENT and not is_object(value):
            return fields.FormField(**common, kind="json")
        held: JsonObject = {} if value is fields.ABSENT else value
        required: Any = own.get("required", [])
        names: JsonObject = own["properties"]
        path: fields.Path = common["path"]
        children = [
            self.field(schema, held.get(name, fields.ABSENT), (*path, name), name, is_required=name in required)
            for name, schema in names.items()
        ]
        extra = {name: one for name, one in held.items() if name not in names}
        return fields.FormField(
            **common, kind="object", children=children, extra=extra, can_go=not common["is_required"]
        )

    def _list(self, own: JsonObject, common: dict[str, Any]) -> fields.FormField:
        value = common["value"]
        if value is not fields.ABSENT and (not is_list(value) or len(value) > _MOST_ITEMS):
            return fields.FormField(**common, kind="json")
        items: list[Any] = [] if value is fields.ABSENT else value
        least = len(fields.prefix_of(own))
        items = [*items, *([fields.ABSENT] * (least - len(items)))]
        path: fields.Path = common["path"]
        children = [
            self.field(fields.item_of(own, at), one, (*path, at), f"{at + 1}", is_required=True)
            for at, one in enumerate(items)
        ]
        most: Any = own.get("maxItems")
        can_grow = own.get("items", True) is not False and not (isinstance(most, int) and len(items) >= most)
        changed: dict[str, Any] = {**common, "value": items}
        return fields.FormField(
            **changed,
            kind="list",
            children=children,
            can_grow=can_grow,
            can_go=not common["is_required"],
            limits={"fixed": least},
        )

    def _union(self, variants: list[JsonObject], common: dict[str, Any]) -> fields.FormField:
        value = common["value"]
        chosen = self._variant_of(variants, value)
        names = [_name_of(one, at) for at, one in enumerate(variants)]
        path: fields.Path = common["path"]
        child = self.field(variants[chosen], value, path, common["label"], is_required=True)
        return fields.FormField(
            **common, kind="union", options=names, chosen=chosen, children=[child], can_go=not common["is_required"]
        )

    def _variant_of(self, variants: list[JsonObject], value: Any) -> int:
        """The variant that a value is of: the first that takes it, else the first that is like it."""
        if value is fields.ABSENT:
            return fields.first_of(variants)
        for at, one in enumerate(variants):
            if self._schemas.accepts(one, value):
                return at
        return next((at for at, one in enumerate(variants) if self._schemas.accepts(_outline(one), value)), 0)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and all(line.isprintable() for line in value.split("\n"))


def _fixed(schema: JsonObject) -> JsonObject:
    """The members that a schema fixes, by which its variants are told apart."""
    properties: Any = schema.get("properties")
    members = properties.items() if is_object(properties) else ()
    return {name: one["const"] for name, one in members if is_object(one) and "const" in one}


def _outline(schema: JsonObject) -> JsonObject:
    """What of a schema says which variant it is: its type, and its fixed members."""
    fixed = _fixed(schema)
    own: JsonObject = {"properties": {name: {"const": one} for name, one in fixed.items()}, "required": list(fixed)}
    return {**own, "type": schema["type"]} if "type" in schema else own


def _name_of(schema: JsonObject, at: int) -> str:
    """What a variant is called: its title, its fixed members, its type."""
    if schema.get("title"):
        return printable(str(schema["title"]))
    if "const" in schema:
        return _named(schema["const"])
    properties: Any = schema.get("properties")
    if is_object(properties):
        fixed = [f"{printable(name)}: {_named(one)}" for name, one in _fixed(schema).items()]
        return ", ".join(fixed or list(map(printable, list(properties)[:3]))) or f"form {at + 1}"
    return printable(str(schema.get("format") or schema.get("type") or f"form {at + 1}"))


def _named(value: Any) -> str:
    return printable(value if isinstance(value, str) else encode(value))[:80]
