"""Which objects of several schemas are one and the same, and what they may be called."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..json import JsonObject, encode, is_object
from ..types import Object
from ..walk import mapped

_LONGEST_NAME = 40


class Identity(NamedTuple):
    """What tells objects apart: what they are called in their schemas, and what these say."""

    title: str
    content: str


class Identities:
    """The identities of the objects of schemas that share their definitions."""

    def __init__(self, definitions: JsonObject) -> None:
        self._of: dict[int, tuple[Object, Identity]] = {}
        self._defined = {id(one): name for name, one in definitions.items()}
        self._called = {_content(one): name for name, one in reversed(list(definitions.items())) if is_object(one)}

    def of(self, one: Object) -> Identity:
        """The identity of an object; one without a title is called as the definition that says the same."""
        if id(one) not in self._of:
            content = _content(one.schema or {})
            title = one.title or self._defined.get(id(one.schema)) or self._called.get(content, "")
            self._of[id(one)] = one, Identity(title, content)
        return self._of[id(one)][1]


def free_name(title: str, taken: Mapping[str, Any]) -> str:
    """A name for a type that isn't taken: the title as one word, which no word of the notation is like."""
    word = re.sub(r"\W", "", title).lstrip("_0123456789")[:_LONGEST_NAME]
    word = word[:1].upper() + word[1:] if word.isidentifier() and word.isprintable() else "Type"
    name, number = word, 2
    while name in taken:
        name, number = f"{word}_{number}", number + 1
    return name


def _content(schema: JsonObject) -> str:
    return encode(mapped(schema, _bare), sort_keys=True)


def _bare(schema: JsonObject) -> JsonObject:
    return {
        key: value
        for key, value in schema.items()
        if key not in ("title", "description", "examples") or is_object(value)
    }
