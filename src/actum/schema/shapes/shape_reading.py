"""Reading the notation of shapes back as a JSON Schema (T13, D18)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ..json import JsonObject
from ..quoting import unquoted
from ..walk import reference_to

_LONGEST = 4_000
_DEEPEST = 32
_TOKEN = re.compile(r"\s*(?:(?P<text>'(?:[^'\\\n]|\\[^\n])*')|(?P<word>\w+)|(?P<sign>[\[\]{}|?:,*…]))")
_REMARK = re.compile(r"\s*\([^()]*\)")
"""A remark on a field, for the reader only."""
WORDS: dict[str, JsonObject] = {
    "text": {"type": "string"},
    "num": {"type": "number"},
    "int": {"type": "integer"},
    "bool": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
    "null": {"type": "null"},
    "any": {},
}
"""The words of the notation, with what each means."""
FORMATS: dict[str, str] = {schema["format"]: word for word, schema in WORDS.items() if "format" in schema}
"""The words of texts that have a format, by that."""
_NULL = WORDS["null"]
_TYPES = ", ".join(WORDS)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def schema_of_shape(text: str, names: Mapping[str, str] | None = None) -> JsonObject:
    """The JSON Schema of a shape; `names` are the types that it may name, with their bodies.

    Raises:
        ValueError: naming the character at which something else is needed, and what.
    """
    bodies = names or {}
    schema, used = _Parser(text, bodies).whole()
    definitions: JsonObject = {}
    waiting = list(used)
    while waiting:
        name = waiting.pop()
        if name in definitions:
            continue
        definitions[name], inner = _Parser(bodies[name], bodies).whole()
        waiting += inner
    return {**schema, "$defs": definitions} if definitions else schema


class _Parser:
    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        if len(text) > _LONGEST:
            raise ValueError(f"a shape has at most {_LONGEST} characters, not {len(text)}")
        self._names = names
        self._tokens = _tokens(text)
        self._position = 0
        self._used: dict[str, None] = {}

    def whole(self) -> tuple[JsonObject, list[str]]:
        """The schema of the whole text, and the types that it names."""
        schema = self._union(0)
        if self._next.kind != "end":
            raise self._wrong("'|' or the end of the shape")
        return schema, list(self._used)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._position]

    def _take(self) -> _Token:
        self._position += 1
        return self._tokens[self._position - 1]

    def _accept(self, sign: str) -> bool:
        is_there = self._next.kind == "sign" and self._next.text == sign
        self._position += is_there
        return is_there

    def _need(self, sign: str, else_: str = "") -> None:
        if not self._accept(sign):
            raise self._wrong(f"'{sign}'{else_}")

    def _union(self, depth: int) -> JsonObject:
        if depth > _DEEPEST:
            raise ValueError(f"a shape nests at most {_DEEPEST} deep, more at character {self._next.start}")
        schemas: list[JsonObject] = []
        values: list[str] = []
        while True:
            if self._next.kind == "text":
                values.append(self._quoted())
            else:
                schemas.append(self._single(depth))
            if not self._accept("|"):
                break
        if values:
            schemas.insert(0, {"type": "string", "enum": list(dict.fromkeys(values))})
        return _any_of(schemas)

    def _single(self, depth: int) -> JsonObject:
        if self._accept("["):
            item = self._union(depth + 1)
            self._need("]", " or '|'")
            return {"type": "array", "items": item}
        if self._accept("{"):
            return self._map(depth) if self._accept("*") else self._object(depth)
        token = self._next
        if token.kind == "word" and token.text in WORDS:
            self._take()
            return dict(WORDS[token.text])
        if token.kind == "word" and token.text in self._names:
            self._take()
            self._used[token.text] = None
            return {"$ref": reference_to(token.text)}
        raise self._wrong(f"a type ({_TYPES}, a text in single quotes, […], {{…}})")

    def _map(self, depth: int) -> JsonObject:
        self._need(":")
        value = self._union(depth + 1)
        self._need("}", " or '|'")
        return {"type": "object", "additionalProperties": value}

    def _object(self, depth: int) -> JsonObject:
        properties: JsonObject = {}
        required: list[str] = []
        is_whole = True
        while not self._accept("}"):
            if self._accept("…"):
                is_whole = False
            else:
                self._field(properties, required, depth)
            if not self._accept(","):
                self._need("}", " or ','")
                break
        if not is_whole and not properties:
            return {"type": "object"}
        schema: JsonObject = {"type": "object", "properties": properties, "required": required}
        return {**schema, "additionalProperties": not is_whole}

    def _field(self, properties: JsonObject, required: list[str], depth: int) -> None:
        token = self._next
        if token.kind not in ("word", "text"):
            raise self._wrong("a key or '}'")
        key = self._quoted() if token.kind == "text" else self._take().text
        if key in properties:
            raise ValueError(f"the key at character {token.start} is there already")
        is_optional = self._accept("?")
        schema = self._union(depth + 1) if self._accept(":") else dict(WORDS["text"])
        if not is_optional:
            required.append(key)
        properties[key] = _any_of([schema, _NULL]) if is_optional else schema

    def _quoted(self) -> str:
        token = self._take()
        try:
            return unquoted(token.text)
        except ValueError as error:
            raise ValueError(f"{error}, in the quotes at character {token.start}") from None

    def _wrong(self, needed: str) -> ValueError:
        token = self._next
        actual = f"not {token.text!r}" if token.text else "not its end"
        return ValueError(f"at character {token.start} of the shape {needed} is needed, {actual}")


def _any_of(schemas: list[JsonObject]) -> JsonObject:
    """The schema of what is of one of some schemas; those that are unions themselves are spread."""
    if {} in schemas:
        return {}
    spread: list[JsonObject] = []
    for schema in schemas:
        spread += [option for option in schema.get("anyOf", [schema]) if option not in spread]
    return spread[0] if len(spread) == 1 else {"anyOf": spread}


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    stripped = text.rstrip()
    while position < len(stripped):
        if remark := _REMARK.match(stripped, position):
            position = remark.end()
            continue
        match = _TOKEN.match(stripped, position)
        if match is None:
            rest = stripped[position:].lstrip()
            raise ValueError(f"nothing can be read at character {len(stripped) - len(rest)} of the shape")
        kind = match.lastgroup or ""
        tokens.append(_Token(kind, match[kind], match.start(kind)))
        position = match.end()
    return [*tokens, _Token("end", "", len(text))]
