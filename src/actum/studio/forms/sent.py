"""From a posted form to its value. Text that can't be read as its type stays text, and the validator reports it.

A field posts under its JSON pointer after a letter: `v` its text, `c` the choice, `u` the variant, `n` the number of
items, `p` that it is there, `e` that an empty text is a value, `x` the members without a field, `f` a file.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...schema.json import JsonObject, decoded, is_list, is_object
from ...schema.walk import pointer
from ..numbers import index_in
from .field import ABSENT, MOST_DEPTH, Path, Schemas, choices_of, field_kind, initial, item_of

_MOST_ITEMS = 10_000


@dataclass(frozen=True, slots=True)
class Posted:
    """A posted form: texts by name, and files by name."""

    texts: Mapping[str, str]
    files: Mapping[str, list[Upload]] = field(default_factory=dict[str, "list[Upload]"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that was posted."""

    name: str
    media_type: str
    content: bytes


def posted_value(schema: Any, posted: Posted) -> Any:
    """The value of a form, with the item or member that its button adds or removes; ABSENT if nothing was
    filled in."""
    return _Reading(Schemas(schema), posted).read(schema, (), is_required=True)


class _Reading:
    def __init__(self, schemas: Schemas, posted: Posted) -> None:
        self._schemas, self._posted = schemas, posted
        self._do = posted.texts.get("do", "")
        """The button: `add:/tags` and `drop:/tags/0` name a field."""

    def _text(self, letter: str, path: Path) -> str | None:
        return self._posted.texts.get(f"{letter}{pointer(path)}")

    def read(self, schema: Any, path: Path, *, is_required: bool) -> Any:
        schema = self._schemas.of(schema)
        if path and self._do == f"drop:{pointer(path)}":
            return ABSENT
        value = self._read(schema, path, is_required=is_required)
        return self._with_item(schema, value) if path and self._do == f"add:{pointer(path)}" else value

    def _with_item(self, schema: JsonObject, value: Any) -> Any:
        """The value of a field after its add button: an initial value, or a list with one more item."""
        variants = self._schemas.variants(schema)
        if value is ABSENT and (value := initial(self._schemas, schema)) is ABSENT:
            value = _empty(variants[0] if variants else schema)
        if not is_list(value):
            return value
        schema = next((variant for variant in variants if self._schemas.accepts(variant, value)), schema)
        item = self._schemas.of(schema.get("items", {}))
        start = initial(self._schemas, item)
        return [*value, _empty(item) if start is ABSENT else start]

    def _read(self, schema: JsonObject, path: Path, *, is_required: bool) -> Any:
        if (raw := self._text("j", path)) is not None or len(path) > MOST_DEPTH:
            return _json(raw or "")
        variants = self._schemas.variants(schema)
        if variants:
            text, before = self._text("u", path), self._text("w", path)
            chosen = index_in(text, len(variants))
            if chosen is None:
                return ABSENT
            variant = variants[chosen]
            if before is not None and before != text:  # another variant was chosen
                start = initial(self._schemas, variant)
                return {} if start is ABSENT and field_kind(variant) == "object" else start
            return self._read(self._schemas.of(variant), path, is_required=True)
        match field_kind(schema):
            case "object":
                return self._object(schema, path, is_required=is_required)
            case "list":
                return self._list(schema, path)
            case "choice":
                return self._choice(schema, path)
            case "fixed":
                is_there = is_required or self._text("p", path) is not None
                return schema.get("const") if is_there else ABSENT
            case "file":
                return self._file(path)
            case "number":
                return _number(self._text("v", path))
            case "json":
                return _json(self._text("v", path) or "")
            case _:
                return self._plain_text(path)

    def _object(self, schema: JsonObject, path: Path, *, is_required: bool) -> Any:
        if not is_required and self._text("p", path) is None:
            return ABSENT
        required: Any = schema.get("required", [])
        extra = _json(self._text("x", path) or "{}")
        members: JsonObject = dict(extra) if is_object(extra) else {}
        for name, part in schema["properties"].items():
            value = self.read(part, (*path, name), is_required=name in required)
            if value is not ABSENT:
                members[name] = value
        return members

    def _list(self, schema: JsonObject, path: Path) -> Any:
        count = index_in(self._text("n", path), _MOST_ITEMS + 1)
        if count is None:
            return ABSENT
        kept = [at for at in range(count) if self._do != f"drop:{pointer((*path, at))}"]
        items = [self.read(item_of(schema, at), (*path, at), is_required=True) for at in kept]
        return [None if item is ABSENT else item for item in items]

    def _choice(self, schema: JsonObject, path: Path) -> Any:
        options = choices_of(schema)
        at = index_in(self._text("c", path), len(options))
        return ABSENT if at is None else options[at]

    def _plain_text(self, path: Path) -> Any:
        text = self._text("v", path)
        if text is None or (not text and self._text("e", path) is None):
            return ABSENT
        return text.replace("\r\n", "\n")

    def _file(self, path: Path) -> Any:
        uploads = self._posted.files.get(f"f{pointer(path)}")
        if uploads and uploads[0].content:
            return base64.b64encode(uploads[0].content).decode()
        return self._text("v", path) or ABSENT


def _number(text: str | None) -> Any:
    if text is None or not text.strip():
        return ABSENT
    value = _json(text)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def _json(text: str) -> Any:
    """The value of a JSON text, else the text itself, which the validator refuses."""
    return decoded(text, text) if text.strip() else ABSENT


def _empty(schema: JsonObject) -> Any:
    """The empty value of a schema."""
    kind = field_kind(schema)
    return {} if kind == "object" else [] if kind == "list" else "" if kind in {"text", "lines"} else None
