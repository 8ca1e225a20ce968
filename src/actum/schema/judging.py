"""How often schemas judge one value: bounded before any value is judged, as nothing can cut a validator short (T3, L5).

A schema judges a value once for every way that leads to it: 25 levels of `anyOf` that each name the next twice are a
kilobyte, and 33 million judgements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urldefrag, urljoin

from .json import JsonObject, is_object
from .walk import DEFINITIONS, IN_PLACE, REFERRING, held, target_of

MOST_JUDGEMENTS = 100_000
"""How often the schemas of one document may judge a value and one part of each depth of it."""


def judgements(schema: Any) -> int:
    """How often a value, and one part of each depth of it, is judged at most, about.

    A schema that leads back to itself is counted once: a validator remembers what it has found of it.
    """
    if not is_object(schema):
        return 1
    targets = _Targets(schema)
    found: dict[int, int] = {}
    under_way: set[int] = set()
    waiting = [schema]
    while waiting:
        one = waiting[-1]
        if id(one) in found:
            waiting.pop()
            continue
        beside, below = _parts(one, targets)
        missing = [part for part in (*beside, *below) if id(part) not in found and id(part) not in under_way]
        if missing:
            under_way.add(id(one))
            waiting += missing
            continue
        waiting.pop()
        under_way.discard(id(one))
        deepest = max((found.get(id(part), 1) for part in below), default=0)
        found[id(one)] = 1 + deepest + sum(found.get(id(part), 1) for part in beside)
    return found[id(schema)]


def _parts(schema: JsonObject, targets: _Targets) -> tuple[list[JsonObject], list[JsonObject]]:
    """The schemas that judge the same value as this one, and those that judge parts of it."""
    beside: list[JsonObject] = [*targets.of(schema)]
    below: list[JsonObject] = []
    for slot in held(schema):
        if slot.keyword in IN_PLACE:
            beside.append(slot.schema)
        elif slot.keyword not in DEFINITIONS:
            below.append(slot.schema)
    return beside, below


class _Targets:
    """Where the references of a document lead: by pointer, by anchor, by `$id`."""

    def __init__(self, root: JsonObject) -> None:
        self._bases: dict[int, str] = {}
        self._named: dict[str, Any] = {"": root}
        waiting: list[tuple[JsonObject, str]] = [(root, "")]
        while waiting:
            one, base = waiting.pop()
            if isinstance(own := one.get("$id"), str):
                base = urljoin(base, own).removesuffix("#")
                self._named[base] = one
            self._bases[id(one)] = base
            for keyword in ("$anchor", "$dynamicAnchor"):
                if keyword in one:
                    self._named[f"{base}#{one[keyword]}"] = one
            waiting += [(slot.schema, base) for slot in held(one)]

    def of(self, schema: JsonObject) -> Iterator[JsonObject]:
        """The schemas that a schema refers to."""
        for keyword in REFERRING:
            if isinstance(reference := schema.get(keyword), str):
                base = self._bases.get(id(schema), "")
                # A URN is no base for `urljoin`, not even of its own parts.
                target = self._target(base + reference if reference[:1] == "#" else urljoin(base, reference))
                if is_object(target):
                    yield target

    def _target(self, reference: str) -> Any:
        base, fragment = urldefrag(reference)
        if fragment and not fragment.startswith("/"):
            return self._named.get(reference)
        return target_of(f"#{fragment}", self._named.get(base))
