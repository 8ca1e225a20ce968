"""A field of a form, and the reading of the schema that it is made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from ...errors import SchemaError
from ...schema.json import JsonObject, is_list, is_object
from ...schema.validator import Validator
from ...schema.walk import definitions_of, followed, pointer

Path: TypeAlias = tuple[str | int, ...]
Kind = Literal["text", "lines", "number", "choice", "fixed", "object", "list", "union", "json", "file"]


class Absent:
    """The type of `ABSENT`, for a missing value: null is a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
MOST_DEPTH = 12
"""How deep fields nest; deeper values are shown as JSON."""
_MOST_VARIANTS = 200
_MOST_INITIAL = 500
"""How many parts an initial value has at most."""
_DATA = {"base64", "base64url"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A field of a form. It is posted under its `name`, after a letter (see `sent`).

    `options` are those of a choice or a union, `chosen` the index of the current one; `children` are the fields within.
    `is_there` is false for an optional object or list without a value; `can_go` says whether it may be left out.
    """

    kind: Kind
    path: Path
    label: str
    value: Any = ABSENT
    about: str = ""
    is_required: bool = False
    is_there: bool = True
    input_type: str = "text"
    limits: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Sequence[str] = ()
    chosen: int | None = None
    children: Sequence[FormField] = ()
    extra: JsonObject = field(default_factory=dict[str, Any])
    problems: Sequence[str] = ()
    can_grow: bool = False
    can_go: bool = False
    examples: Sequence[Any] = ()

    @property
    def name(self) -> str:
        """Its path as a JSON pointer."""
        return pointer(self.path)

    @property
    def id(self) -> str:
        """The id that labels refer to."""
        return "f" + "".join(character if character.isalnum() else f"_{ord(character):x}_" for character in self.name)

    @property
    def is_absent(self) -> bool:
        """Whether it has no value."""
        return self.value is ABSENT


class Schemas:
    """The schemas of one document, with references followed and variants listed."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def of(self, schema: Any) -> JsonObject:
        """A schema with its reference followed and its `allOf` merged, as far as fields can show that."""
        schema = followed(schema, self._root)
        parts: Any = schema.get("allOf")
        if not is_list(parts) or not parts:
            return schema
        whole: JsonObject = {key: value for key, value in schema.items() if key != "allOf"}
        for part in parts:
            whole = _merged(whole, followed(part, self._root))
        return whole

    def accepts(self, schema: JsonObject, value: Any) -> bool:
        """Whether a schema of the document accepts a value."""
        root: JsonObject = self._root if is_object(self._root) else {}
        try:
            return Validator({**definitions_of(root), **schema}).accepts(value)
        except SchemaError:
            return False

    def variants(self, schema: JsonObject) -> list[JsonObject]:
        """The alternatives of a schema, with nested unions flattened; empty if it has none."""
        variants, waiting = list[JsonObject](), self._options(schema)[::-1]
        for _ in range(_MOST_VARIANTS):
            if not waiting:
                return variants
            variant = waiting.pop()
            inner = self._options(variant)
            waiting += inner[::-1]
            variants += [] if inner else [variant]
        return []  # it is recursive, or has too many: it is shown as JSON

    def _options(self, schema: JsonObject) -> list[JsonObject]:
        """The alternatives of a schema itself, each merged with the rest of it."""
        for key in ("anyOf", "oneOf"):
            options: Any = schema.get(key)
            if is_list(options) and options:
                rest = {name: value for name, value in schema.items() if name not in {key, "title", "default"}}
                return [_merged(rest, self.of(option)) for option in options]
        types: Any = schema.get("type")
        if is_list(types) and len(types) > 1:
            return [{**schema, "type": name} for name in types]
        return []


def _merged(first: JsonObject, second: JsonObject) -> JsonObject:
    """One schema for two that both hold."""
    whole = {**first, **second}
    for key in ("properties", "$defs"):
        if is_object(mine := first.get(key)) and is_object(theirs := second.get(key)):
            whole[key] = {**mine, **theirs}
    if is_list(mine := first.get("required")) and is_list(theirs := second.get("required")):
        whole["required"] = list(dict.fromkeys([*mine, *theirs]))
    return whole


def field_kind(schema: JsonObject) -> Kind:
    """The kind of field for a schema without variants."""
    if "const" in schema:
        return "fixed"
    if is_list(schema.get("enum")):
        return "choice"
    type_name: Any = schema.get("type")
    if is_list(type_name):
        type_name = type_name[0] if len(type_name) == 1 else None
    if type_name == "object" or (type_name is None and is_object(schema.get("properties"))):
        return "object" if is_object(schema.get("properties")) and schema["properties"] else "json"
    if type_name == "array":
        return "list" if is_object(schema.get("items")) or is_list(schema.get("prefixItems")) else "json"
    if type_name == "string":
        return _string_kind(schema)
    if type_name == "null":
        return "fixed"
    return {"integer": "number", "number": "number", "boolean": "choice"}.get(str(type_name), "json")  # pyright: ignore[reportReturnType] -- all are kinds


def _string_kind(schema: JsonObject) -> Kind:
    if schema.get("contentEncoding") in _DATA or schema.get("format") == "binary":
        return "file"
    most: Any = schema.get("maxLength")
    is_long = isinstance(most, int) and most > 200
    return "lines" if is_long or "contentMediaType" in schema or schema.get("format") == "textarea" else "text"


def choices_of(schema: JsonObject) -> list[Any]:
    """The values of a choice."""
    values: Any = schema.get("enum")
    return list(values) if is_list(values) else [True, False]


def prefix_of(schema: JsonObject) -> list[Any]:
    """The schemas of the first items of a list, if they have their own."""
    prefix: Any = schema.get("prefixItems")
    return prefix if is_list(prefix) else []


def item_of(schema: JsonObject, at: int) -> Any:
    """The schema of an item of a list."""
    prefix = prefix_of(schema)
    return prefix[at] if at < len(prefix) else schema.get("items", {})


def first_of(variants: Sequence[JsonObject]) -> int:
    """The variant of a new value: the first, but null before an object or a list, which may be recursive."""
    if field_kind(variants[0]) in {"object", "list"}:
        return next((at for at, variant in enumerate(variants) if variant.get("type") == "null"), 0)
    return 0


def initial(schemas: Schemas, schema: Any, depth: int = 0, left: Iterator[int] | None = None) -> Any:
    """The initial value of a schema: its default, else its fixed and required parts; ABSENT if there are none."""
    schema = schemas.of(schema)
    left = iter(range(_MOST_INITIAL)) if left is None else left
    if "default" in schema:
        return schema["default"]
    if depth >= MOST_DEPTH or next(left, None) is None:
        return ABSENT
    variants = schemas.variants(schema)
    if variants:
        return initial(schemas, variants[first_of(variants)], depth + 1, left)
    kind = field_kind(schema)
    if kind == "fixed":
        return schema.get("const")
    if kind == "object":
        required: Any = schema.get("required", [])
        properties = {name: schemas.of(part) for name, part in schema["properties"].items()}
        filled = {name: part for name, part in properties.items() if name in required or "default" in part}
        parts = {name: initial(schemas, part, depth + 1, left) for name, part in filled.items()}
        return {name: value for name, value in parts.items() if value is not ABSENT}
    if kind == "list":
        least: Any = schema.get("minItems", 0)
        count = min(least, 20) if isinstance(least, int) else 0
        items = [initial(schemas, schema.get("items", {}), depth + 1, left) for _ in range(count)]
        return [None if item is ABSENT else item for item in items]
    return ABSENT
