"""From what a form has posted back to its value. What doesn't read as its type stays text, and the validator says so.

A field posts under its JSON pointer behind a letter: `v` its text, `c` which choice, `u` which variant, `n` how many
items, `p` that it is there, `e` that an empty text is one, `x` what of an object has no field, `f` a file.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...schema.json import JsonObject, decoded, is_list, is_object
from ...schema.walk import pointer, steps_of
from ..numbers import index_in
from .field import ABSENT, MOST_DEPTH, Path, Schemas, choices_of, field_kind, initial, item_of

_MOST_ITEMS = 10_000


@dataclass(frozen=True, slots=True)
class Posted:
    """What was posted: texts by name, files by name with their media type and content."""

    texts: Mapping[str, str]
    files: Mapping[str, list[Upload]] = field(default_factory=dict[str, "list[Upload]"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file that was posted."""

    name: str
    media_type: str
    content: bytes


def posted_value(schema: Any, posted: Posted) -> Any:
    """The value of a form; ABSENT where nothing was filled in."""
    reading = _Reading(Schemas(schema), posted)
    return _changed(reading.read(schema, (), is_required=True), Schemas(schema), schema, posted.texts.get("do", ""))


class _Reading:
    def __init__(self, schemas: Schemas, posted: Posted) -> None:
        self._schemas, self._posted = schemas, posted

    def _text(self, letter: str, path: Path) -> str | None:
        return self._posted.texts.get(f"{letter}{pointer(path)}")

    def read(self, schema: Any, path: Path, *, is_required: bool) -> Any:
        own = self._schemas.of(schema)
        if (raw := self._text("j", path)) is not None or len(path) > MOST_DEPTH:
            return _json(raw or "")
        variants = self._schemas.variants(own)
        if variants:
            text, was = self._text("u", path), self._text("w", path)
            chosen = index_in(text, len(variants))
            if chosen is None:
                return ABSENT
            variant = variants[chosen]
            if was is not None and was != text:  # another one was chosen: it begins anew
                begun = initial(self._schemas, variant)
                return {} if begun is ABSENT and field_kind(variant) == "object" else begun
            return self.read(variant, path, is_required=True)
        match field_kind(own):
            case "object":
                return self._object(own, path, is_required=is_required)
            case "list":
                return self._list(own, path)
            case "choice":
                return self._choice(own, path)
            case "fixed":
                is_there = is_required or self._text("p", path) is not None
                return own.get("const") if is_there else ABSENT
            case "file":
                return self._file(path)
            case "number":
                return _number(self._text("v", path))
            case "json":
                return _json(self._text("v", path) or "")
            case _:
                return self._words(path)

    def _object(self, own: JsonObject, path: Path, *, is_required: bool) -> Any:
        if not is_required and self._text("p", path) is None:
            return ABSENT
        required: Any = own.get("required", [])
        extra = _json(self._text("x", path) or "{}")
        found: JsonObject = dict(extra) if is_object(extra) else {}
        for name, schema in own["properties"].items():
            value = self.read(schema, (*path, name), is_required=name in required)
            if value is not ABSENT:
                found[name] = value
        return found

    def _list(self, own: JsonObject, path: Path) -> Any:
        count = index_in(self._text("n", path), _MOST_ITEMS + 1)
        if count is None:
            return ABSENT
        found = [self.read(item_of(own, at), (*path, at), is_required=True) for at in range(count)]
        return [None if one is ABSENT else one for one in found]

    def _choice(self, own: JsonObject, path: Path) -> Any:
        options = choices_of(own)
        at = index_in(self._text("c", path), len(options))
        return ABSENT if at is None else options[at]

    def _words(self, path: Path) -> Any:
        text = self._text("v", path)
        if text is None or (not text and self._text("e", path) is None):
            return ABSENT
        return text.replace("\r\n", "\n")

    def _file(self, path: Path) -> Any:
        given = self._posted.files.get(f"f{pointer(path)}")
        if given and given[0].content:
            return base64.b64encode(given[0].content).decode()
        return self._text("v", path) or ABSENT


def _number(text: str | None) -> Any:
    if text is None or not text.strip():
        return ABSENT
    value = _json(text)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def _json(text: str) -> Any:
    """A JSON text as its value, else as a text: the validator says that it is none."""
    return decoded(text, text) if text.strip() else ABSENT


def _changed(value: Any, schemas: Schemas, schema: Any, what: str) -> Any:
    """The value after one item or member was added to it or taken away (`add:/tags`, `drop:/tags/0`)."""
    verb, _, where = what.partition(":")
    if verb not in {"add", "drop"} or not where.startswith("/"):
        return value
    steps = steps_of(where)
    holder, own = value, schemas.of(schema)
    for step in steps if verb == "add" else steps[:-1]:
        inner = _member(schemas, own, holder, step)
        own, holder = inner if inner is not None else ({}, None)
        if holder is ABSENT and verb == "add":
            holder = _begun(schemas, own)
            _put(value, steps, holder)
            if not is_list(holder):
                return value
    if verb == "add" and is_list(holder):
        begun = initial(schemas, own.get("items", {}))
        holder.append(_empty(schemas.of(own.get("items", {}))) if begun is ABSENT else begun)
    elif verb == "drop":
        _drop(holder, steps[-1])
    return value


def _member(schemas: Schemas, own: JsonObject, holder: Any, step: str) -> tuple[JsonObject, Any] | None:
    """The schema and the value of a member or an item; of a union, those of the variant that is there."""
    variants = schemas.variants(own)
    if variants:
        own = next((one for one in variants if schemas.accepts(one, holder)), variants[0])
    if is_list(holder) and (at := index_in(step, len(holder))) is not None:
        return schemas.of(item_of(own, at)), holder[at]
    properties: Any = own.get("properties")
    if is_object(holder) and is_object(properties) and step in properties:
        return schemas.of(properties[step]), holder.get(step, ABSENT)
    return None


def _begun(schemas: Schemas, own: JsonObject) -> Any:
    begun = initial(schemas, own)
    return _empty(own if not schemas.variants(own) else schemas.variants(own)[0]) if begun is ABSENT else begun


def _empty(schema: JsonObject) -> Any:
    """What a value of a schema is that nobody has filled in yet."""
    kind = field_kind(schema)
    return {} if kind == "object" else [] if kind == "list" else "" if kind in {"text", "lines"} else None


def _put(value: Any, steps: list[str], member: Any) -> None:
    for step in steps[:-1]:
        value = value[int(step)] if is_list(value) else value[step]
    if is_object(value):
        value[steps[-1]] = member


def _drop(holder: Any, step: str) -> None:
    if is_object(holder):
        holder.pop(step, None)
    elif is_list(holder) and (at := index_in(step, len(holder))) is not None:
        del holder[at]
