"""The definitions that a schema refers to, gathered flat under `$defs`, each once; and which of them form cycles."""

from __future__ import annotations

import re
from collections import deque
from typing import Any
from urllib.parse import unquote

from ..components import components
from ..json import JsonObject
from ..walk import target_of


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
