"""The definitions that a schema refers to, gathered flat, and the keywords that put schemas together, said as one."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from ..gathering import components
from ..json import JsonObject, is_object
from ..walk import target_of
from .merging import judges, merged, parts_in


class Definitions:
    """Finds what local references point at and gives it a name of its own; keeps who refers to whom."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._targets: dict[str, Any] = {}
        self._taken: set[str] = set()
        self._edges: dict[str, dict[str, bool]] = {}
        self._reached: set[str] = set()
        self._waiting: deque[str] = deque()

    def name(self, reference: object) -> str | None:
        """The name under `$defs` of what a reference points at; None if it points at nothing in the document."""
        if not isinstance(reference, str):
            return None
        if reference not in self._names:
            target = target_of(reference, self._document)
            if target is None:
                return None
            name = self._free(reference)
            self._names[reference] = name
            self._targets[name] = target
        return self._names[reference]

    def at(self, reference: object) -> Any:
        """What a reference points at in the document, None if it points at nothing."""
        name = self.name(reference)
        return None if name is None else self._targets[name]

    def next(self) -> tuple[str, Any] | None:
        """The next definition that was referred to and not yet taken from here."""
        if not self._waiting:
            return None
        name = self._waiting.popleft()
        return name, self._targets[name]

    def target(self, name: str) -> Any:
        """The definition as the document has it."""
        return self._targets[name]

    def refer(self, source: str, name: str, *, firm: bool) -> None:
        """Note that one definition refers to another; `firm` unless it may be left out (an optional property)."""
        if name not in self._reached:
            self._reached.add(name)
            self._waiting.append(name)
        for end in (source, name):
            self._edges.setdefault(end, {})
        self._edges[source][name] = self._edges[source].get(name, False) or firm

    def cycles(self, *, firm: bool) -> tuple[str, ...]:
        """The definitions that reach themselves; with `firm` only those that do so by a reference not left out."""
        number_of = components(self._edges)
        within = {
            source: [is_firm for name, is_firm in targets.items() if number_of[name] == number_of[source]]
            for source, targets in self._edges.items()
        }
        return tuple(source for source, inner in within.items() if any(inner) or (inner and not firm))

    def _free(self, reference: str) -> str:
        last = unquote(reference).rsplit("/", 1)[-1].lstrip("#") or "root"
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", last)
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        return name


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
