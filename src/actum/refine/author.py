"""What the author of an Idea wrote: the words, and what schemas declare (R12)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..protocol.tool import Tool
from ..schema.json import JsonObject, is_list, is_object, leaves_of
from ..schema.walk import followed
from .terms import value_key

_TEXTS = frozenset({"text", "system", "user"})
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w|\.\d)")


@dataclass(frozen=True, kw_only=True)
class Author:
    """What the author of the Idea wrote: the words, the numbers among them, and the schemas."""

    words: str
    tools: Mapping[str, Tool]
    schema: Any = None
    """Of the output."""
    given: Any = None
    """The schema of the input."""
    texts: Sequence[str] = ()
    """What the author has asked for, text by text."""
    _written: dict[str, bool] = field(default_factory=dict[str, bool])

    @classmethod
    def of(cls, messages: Sequence[JsonObject], tools: Mapping[str, Tool], schema: Any = None) -> Author:
        """The author of these messages; inputs and results are not the author's."""
        authored = [message for message in messages if message.get("type") not in {"input", "tool", "meta"}]
        words = "\n".join(str(value) for message in authored for _, value in leaves_of(message))
        given = next((message.get("schema") for message in messages if message.get("type") == "input"), None)
        return cls(words=words, tools=tools, schema=schema, given=given, texts=texts_in(authored))

    @cached_property
    def numbers(self) -> list[float]:
        """The numbers that the author wrote."""
        texts = dict.fromkeys(_NUMBER.findall(self.words))
        return [float(text) if "." in text else int(text) for text in texts]

    @cached_property
    def _number_keys(self) -> frozenset[str]:
        return frozenset(map(value_key, self.numbers))

    def has_said(self, value: Any) -> bool:
        """Whether the author wrote a text or a number as a word of its own."""
        if not isinstance(value, str) or not value:
            return value_key(value) in self._number_keys
        if value not in self._written:
            self._written[value] = (
                value in self.words and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", self.words) is not None
            )
        return self._written[value]

    def schema_of(self, path: Sequence[str | int], tool: str | None = None) -> JsonObject:
        """What is declared of a value: of the output, or of a parameter of a tool."""
        root: Any = self.schema if tool is None else self.tools[tool].parameters if tool in self.tools else None
        return declared_at(root, path)

    def declares(self, value: Any, schema: JsonObject) -> bool:
        """Whether a value is the only one that its schema allows, or the default."""
        values: list[Any] = [schema[key] for key in ("const", "default") if key in schema]
        options: Any = schema.get("enum")
        values += options if is_list(options) and len(options) == 1 else []
        return any(value_key(known) == value_key(value) for known in values)

    def secrets_of(self, inputs: Sequence[Any]) -> frozenset[str]:
        """The texts of the inputs that their schema declares secret."""
        texts = [
            (path, text) for values in inputs for path, text in leaves_of(values) if isinstance(text, str) and text
        ]
        return frozenset(text for path, text in texts if is_secret(declared_at(self.given, path)))


def texts_in(messages: Sequence[JsonObject]) -> list[str]:
    """What was asked for, text by text."""
    requests = [message for message in messages if message.get("type") in _TEXTS]
    texts = [str(message.get("text") or message.get("content") or "") for message in requests]
    return [text for text in texts if text.strip()]


def is_secret(schema: JsonObject) -> bool:
    """Whether a value is declared to be a secret."""
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def declared_at(root: Any, path: Sequence[str | int]) -> JsonObject:
    """The schema of what lies at a path, empty where none is declared."""
    schema: Any = followed(root, root)
    for key in path:
        inner: Any = schema.get("items" if isinstance(key, int) else "properties")
        schema = followed(inner.get(key) if isinstance(key, str) and is_object(inner) else inner, root)
    return schema


def is_judged(value: Any, schema: JsonObject) -> bool:
    """Whether a value may have been judged: it is null, a boolean, or one of several declared values."""
    options: Any = schema.get("enum")
    return value is None or isinstance(value, bool) or (is_list(options) and len(options) > 1)
