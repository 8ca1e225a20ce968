"""Keywords that put schemas together (`allOf`, `$ref` with company, `anyOf` with company), said as one schema each.

What a definition says is copied to where more is said than the reference, within a budget, so that the work stays
linear in the size of the schema.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ..json import JsonObject, is_object
from .definitions import Definitions
from .merging import judges, merged, parts_in

INLINED = 20_000
"""How many values of definitions may be copied to where they are referred to."""

_DEEPEST = 32
"""How many steps from the root, and how many copies within copies, a definition may still be copied.

Definitions may form a chain of any length, which lowering would follow by recursion; a reference ends it.
"""

_CONDITIONS = {"if", "then", "else", "not", "description", "title", "$comment"}


class Combining:
    """Says as one schema what a composed schema says in parts; None if that is not simple or not cheap."""

    def __init__(self, document: JsonObject) -> None:
        self.definitions = Definitions(document)
        self._budget = INLINED
        self._open: list[str] = []

    def beside(self, name: str, others: JsonObject, path: str) -> JsonObject | None:
        """A definition joined with the keywords beside a reference to it."""
        target = self.definitions.target(name)
        if name in self._open or max(len(self._open), path.count("/")) > _DEEPEST:
            return None
        if not is_object(target) or not self._afford(parts_in(target)):
            return None
        return merged(others, target)

    @contextmanager
    def inside(self, name: str) -> Generator[None]:
        """While a definition's copy is lowered, references to it are not copied again."""
        self._open.append(name)
        yield
        self._open.pop()

    def all_of(self, schema: JsonObject, path: str) -> tuple[JsonObject | None, list[int]]:
        """A schema with its `allOf` merged into it, and the parts that only state conditions."""
        parts: list[Any] = schema["allOf"]
        result: JsonObject | None = {key: value for key, value in schema.items() if key != "allOf"}
        left_out: list[int] = []
        for index, part in enumerate(parts):
            if not is_object(part) or part.keys() <= _CONDITIONS:
                left_out.append(index)
            elif result is not None:
                result = self._joined(result, part, path, alone=len(parts) == 1)
        return result, left_out

    def distributed(self, base: JsonObject, options: list[Any]) -> list[Any] | None:
        """Options of a union, each joined with the assertions beside the union."""
        asserted = {key: value for key, value in base.items() if judges(key)}
        result: list[Any] = []
        for option in options:
            if not is_object(option) or "$ref" in option or not self._afford(parts_in(asserted)):
                return None
            part = merged(asserted, option)
            if part is None:
                return None
            result.append(part)
        return result

    def _joined(self, schema: JsonObject, part: JsonObject, path: str, *, alone: bool) -> JsonObject | None:
        if "$ref" not in part or (alone and "$ref" not in schema):
            return merged(schema, part)
        name = self.definitions.name(part["$ref"])
        others = {key: value for key, value in part.items() if key != "$ref"}
        inlined = None if name is None else self.beside(name, others, path)
        return None if inlined is None else merged(schema, inlined)

    def _afford(self, cost: int) -> bool:
        if cost > self._budget:
            return False
        self._budget -= cost
        return True
