"""Keywords that put schemas together (`allOf`, `$ref` with company, `anyOf` with company), said as one schema each.

What a definition says is copied to where more is said than the reference, within a budget, so that the work stays
linear in the size of the schema.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from .definitions import Definitions
from .json import JsonObject
from .merging import judges, merged, weight

INLINED = 20_000
"""How many values of definitions may be copied into the places that refer to them."""

_CONDITIONS = {"if", "then", "else", "not", "description", "title", "$comment"}


class Combining:
    """Says as one schema what a composed schema says in parts; None where that is not simple or not cheap."""

    def __init__(self, document: JsonObject) -> None:
        self.definitions = Definitions(document)
        self._budget = INLINED
        self._open: list[str] = []

    def target(self, reference: Any) -> Any:
        """What a reference points at, None where at nothing."""
        name = self.definitions.name(reference)
        return None if name is None else self.definitions.target(name)

    def beside(self, name: str, others: JsonObject) -> JsonObject | None:
        """A definition together with what stands beside the reference to it."""
        target = self.definitions.target(name)
        if name in self._open or not isinstance(target, dict) or not self._afford(weight(target)):
            return None
        return merged(others, cast("JsonObject", target))

    @contextmanager
    def inside(self, name: str) -> Generator[None]:
        """While a definition's copy is lowered, references to it are not copied again."""
        self._open.append(name)
        yield
        self._open.pop()

    def all_of(self, schema: JsonObject) -> tuple[JsonObject | None, list[int]]:
        """A schema with its `allOf` merged into it, and the parts that only state conditions."""
        parts = cast("list[Any]", schema["allOf"])
        result: JsonObject | None = {key: value for key, value in schema.items() if key != "allOf"}
        left_out: list[int] = []
        for index, part in enumerate(parts):
            if not isinstance(part, dict) or part.keys() <= _CONDITIONS:
                left_out.append(index)
            elif result is not None:
                result = self._joined(result, cast("JsonObject", part), alone=len(parts) == 1)
        return result, left_out

    def distributed(self, base: JsonObject, options: list[Any]) -> list[Any] | None:
        """Options of a union, each with the assertions that stand beside them."""
        asserted = {key: value for key, value in base.items() if judges(key)}
        result: list[Any] = []
        for option in options:
            if not isinstance(option, dict) or "$ref" in option or not self._afford(weight(asserted)):
                return None
            part = merged(asserted, cast("JsonObject", option))
            if part is None:
                return None
            result.append(part)
        return result

    def _joined(self, schema: JsonObject, part: JsonObject, *, alone: bool) -> JsonObject | None:
        if "$ref" not in part or (alone and "$ref" not in schema):
            return merged(schema, part)
        name = self.definitions.name(part["$ref"])
        others = {key: value for key, value in part.items() if key != "$ref"}
        inlined = None if name is None else self.beside(name, others)
        return None if inlined is None else merged(schema, inlined)

    def _afford(self, cost: int) -> bool:
        if cost > self._budget:
            return False
        self._budget -= cost
        return True
