"""From a schema, a value and its problems to the fields of a form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...schema.json import JsonObject, encode, is_list, is_object, text_or_json
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
"""How many fields a form has at most; the rest is shown as JSON."""


def form_of(
    schema: Any, value: Any = fields.ABSENT, problems: Mapping[str, Sequence[str]] | None = None
) -> fields.FormField:
    """The form of a schema with a value; `problems` are its errors, by JSON pointer."""
    schemas, problems_at = fields.Schemas(schema), dict(problems or {})
    form = _Building(schemas, problems_at).field(schema, value, (), "Input", is_required=True)
    names = {field.name for field in _all_fields(form)}
    if problems_at.keys() <= names:
        return form
    near: dict[str, list[str]] = {}
    for at, messages in problems_at.items():
        near.setdefault(_nearest(at, names), []).extend(messages)
    return _Building(schemas, near).field(schema, value, (), "Input", is_required=True)


def _all_fields(form: fields.FormField) -> Iterator[fields.FormField]:
    waiting = [form]
    while waiting:
        field = waiting.pop()
        yield field
        waiting += field.children


def _nearest(at: str, names: set[str]) -> str:
    """The field for a JSON pointer, or else the nearest one around it."""
    while at and at not in names:
        at = at.rpartition("/")[0]
    return at


def problems_of(schema: Any, value: Any) -> dict[str, list[str]]:
    """The errors of a value, by JSON pointer, in the words of the command line.

    A missing member is reported at its own pointer.
    """
    problems: dict[str, list[str]] = {}
    for path, message, missing in Validator(schema).problems(value):
        at = (*path, missing) if missing is not None else tuple(path)
        problems.setdefault(pointer(at), []).append(message)
    return problems


class _Building:
    def __init__(self, schemas: fields.Schemas, problems: Mapping[str, Sequence[str]]) -> None:
        self._schemas = schemas
        self._problems = problems
        self._left = _MOST_FIELDS

    def field(self, schema: Any, value: Any, path: fields.Path, label: str, *, is_required: bool) -> fields.FormField:
        schema = self._schemas.of(schema)
        variants = self._schemas.variants(schema)
        self._left -= 1
        is_deep = len(path) > fields.MOST_DEPTH or self._left < 0
        kind: fields.Kind = "json" if is_deep else "union" if variants else fields.field_kind(schema)
        common: dict[str, Any] = {
            "path": path,
            "label": str(schema.get("title") or label),
            "value": value,
            "about": str(schema.get("description") or ""),
            "is_required": is_required,
            "problems": tuple(self._problems.get(pointer(path), ())),
            "examples": schema["examples"] if is_list(schema.get("examples")) else (),
        }
        if kind in {"object", "list", "union"} and value is fields.ABSENT and not is_required:
            return fields.FormField(**common, kind=kind, is_there=False, can_go=True)
        return self._field_of(kind, schema, variants, common)

    def _field_of(
        self, kind: fields.Kind, schema: JsonObject, variants: list[JsonObject], common: dict[str, Any]
    ) -> fields.FormField:
        match kind:
            case "union":
                return self._union(variants, common)
            case "object":
                return self._object(schema, common)
            case "list":
                return self._list(schema, common)
            case "choice":
                return self._choice(schema, common)
            case "fixed":
                changed: dict[str, Any] = {**common, "value": schema.get("const")}
                return fields.FormField(**changed, kind="fixed", is_there=common["value"] is not fields.ABSENT)
            case _:
                return self._scalar(kind, schema, common)

    def _scalar(self, kind: fields.Kind, schema: JsonObject, common: dict[str, Any]) -> fields.FormField:
        value = common["value"]
        if kind == "text" and isinstance(value, str) and "\n" in value:
            kind = "lines"
        if kind in {"text", "lines"} and not (value is fields.ABSENT or _is_plain(value)):
            kind = "json"  # it has the wrong type, or characters that could mislead a reader
        is_text = schema.get("type") == "string"
        limits = {name: schema[key] for key, name in _LIMITS.items() if key in schema and is_text == ("ength" in key)}
        if schema.get("type") == "integer":
            limits["step"] = 1
        kind_of_input = "password" if schema.get("writeOnly") else _TYPES.get(str(schema.get("format")), "text")
        return fields.FormField(**common, kind=kind, limits=limits, input_type=kind_of_input)

    def _choice(self, schema: JsonObject, common: dict[str, Any]) -> fields.FormField:
        options = fields.choices_of(schema)
        encoded = [encode(option, sort_keys=True) for option in options]
        value = common["value"]
        at = encode(value, sort_keys=True) if value is not fields.ABSENT else None
        chosen = encoded.index(at) if at in encoded else None
        if chosen is None and value is not fields.ABSENT:
            return fields.FormField(**common, kind="json")
        names = ["yes" if option is True else "no" if option is False else _value_label(option) for option in options]
        return fields.FormField(**common, kind="choice", options=names, chosen=chosen)

    def _object(self, schema: JsonObject, common: dict[str, Any]) -> fields.FormField:
        value = common["value"]
        if value is not fields.ABSENT and not is_object(value):
            return fields.FormField(**common, kind="json")
        members: JsonObject = {} if value is fields.ABSENT else value
        required: Any = schema.get("required", [])
        names: JsonObject = schema["properties"]
        path: fields.Path = common["path"]
        children = [
            self.field(part, members.get(name, fields.ABSENT), (*path, name), name, is_required=name in required)
            for name, part in names.items()
        ]
        extra = {name: member for name, member in members.items() if name not in names}
        return fields.FormField(
            **common, kind="object", children=children, extra=extra, can_go=not common["is_required"]
        )

    def _list(self, schema: JsonObject, common: dict[str, Any]) -> fields.FormField:
        value = common["value"]
        if value is not fields.ABSENT and (not is_list(value) or len(value) > _MOST_ITEMS):
            return fields.FormField(**common, kind="json")
        items: list[Any] = [] if value is fields.ABSENT else value
        least = len(fields.prefix_of(schema))
        items = [*items, *([fields.ABSENT] * (least - len(items)))]
        path: fields.Path = common["path"]
        children = [
            self.field(fields.item_of(schema, at), item, (*path, at), f"{at + 1}", is_required=True)
            for at, item in enumerate(items)
        ]
        most: Any = schema.get("maxItems")
        can_grow = schema.get("items", True) is not False and not (isinstance(most, int) and len(items) >= most)
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
        names = [_variant_label(variant, at) for at, variant in enumerate(variants)]
        path: fields.Path = common["path"]
        child = self.field(variants[chosen], value, path, common["label"], is_required=True)
        return fields.FormField(
            **common, kind="union", options=names, chosen=chosen, children=[child], can_go=not common["is_required"]
        )

    def _variant_of(self, variants: list[JsonObject], value: Any) -> int:
        """The variant of a value: the first that accepts it, else the first that it resembles."""
        if value is fields.ABSENT:
            return fields.first_of(variants)
        for at, variant in enumerate(variants):
            if self._schemas.accepts(variant, value):
                return at
        return next((at for at, variant in enumerate(variants) if self._schemas.accepts(_outline(variant), value)), 0)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and all(line.isprintable() for line in value.split("\n"))


def _fixed(schema: JsonObject) -> JsonObject:
    """The constant members of a schema, which distinguish variants."""
    properties: Any = schema.get("properties")
    members = properties.items() if is_object(properties) else ()
    return {name: member["const"] for name, member in members if is_object(member) and "const" in member}


def _outline(schema: JsonObject) -> JsonObject:
    """The part of a schema that identifies a variant: its type and its constant members."""
    fixed = _fixed(schema)
    shape: JsonObject = {"properties": {name: {"const": item} for name, item in fixed.items()}, "required": list(fixed)}
    return {**shape, "type": schema["type"]} if "type" in schema else shape


def _variant_label(schema: JsonObject, at: int) -> str:
    """The label of a variant: its title, its constant members, or its type."""
    if schema.get("title"):
        return printable(str(schema["title"]))
    if "const" in schema:
        return _value_label(schema["const"])
    properties: Any = schema.get("properties")
    if is_object(properties):
        fixed = [f"{printable(name)}: {_value_label(constant)}" for name, constant in _fixed(schema).items()]
        return ", ".join(fixed or list(map(printable, list(properties)[:3]))) or f"form {at + 1}"
    return printable(str(schema.get("format") or schema.get("type") or f"form {at + 1}"))


def _value_label(value: Any) -> str:
    return printable(text_or_json(value))[:80]
