"""The definitions of several schemas under one roof (T5), with every reference following its definition."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .json import JsonObject, encode, is_list, is_object, sha256_of
from .walk import (
    DEFINITIONS,
    IN_PLACE,
    OF_DOCUMENT,
    OPTIONS,
    REFERRING,
    Schema,
    Slot,
    pointer,
    reference_to,
    references,
    retargeted,
    rooted_in,
    slots_of,
    subschemas,
    target_of,
    unused,
    with_ordered_required,
)

_SAYS_OTHERWISE = {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
_BY_BRANCH = IN_PLACE.union(REFERRING) - {"not"}
_NAMED = {"properties", *DEFINITIONS}
_ALONE = {"items", "additionalProperties", "prefixItems"}


def closed(schema: Schema) -> Schema:
    """A schema in which objects that list their properties and don't say otherwise take no others.

    An object that lists none is meant as a map; one that several schemas judge together (`allOf`, `properties` beside
    `anyOf` or a `$ref`) can't be closed by any of them. Both stay as they are.
    """
    together = _judged_together(schema)
    root: dict[str, Any] = {"": schema}
    # Beside each slot: whether nothing else judges the properties of the same object.
    waiting = [(slot, True) for slot in rooted_in(root)]
    while waiting:
        slot, alone = waiting.pop()
        part = slot.unshared()
        if alone and "properties" in part and not (_SAYS_OTHERWISE | _BY_BRANCH) & part.keys():
            part["additionalProperties"] = False
        for inner in slots_of(part):
            if inner.keyword in _NAMED:
                waiting.append((inner, f"#{pointer(inner.steps)}" not in together))
            elif inner.keyword in OPTIONS:
                waiting.append((inner, alone and not _judges_properties(part)))
            elif inner.keyword in _ALONE:
                waiting.append((inner, True))
    return root[""]


def _judges_properties(schema: JsonObject) -> bool:
    """Whether a schema judges an object's properties by more than one `anyOf` or `oneOf`."""
    judging = _SAYS_OTHERWISE | _BY_BRANCH | {"properties", "required"}
    return not judging.isdisjoint(schema.keys() - OPTIONS) or schema.keys() >= {*OPTIONS}


def _judged_together(root: object) -> set[str]:
    """The references to definitions that judge an object's properties together with other schemas."""
    if not is_object(root):
        return set()
    together: set[str] = set()
    waiting = [(root, False)]
    while waiting:
        schema, is_together = waiting.pop()
        shares = is_together or _judges_properties({key: value for key, value in schema.items() if key != "$ref"})
        reference = schema.get("$ref")
        if shares and isinstance(reference, str) and reference not in together:
            together.add(reference)
            target = target_of(reference, root)
            waiting.extend([(target, True)] if is_object(target) else [])
        waiting += [
            (slot.schema, slot.keyword in IN_PLACE and (shares or slot.keyword not in OPTIONS))
            for slot in slots_of(schema)
        ]
    return together


REFERENCE_SCHEMA: JsonObject = {"type": "string", "pattern": "^†"}
"""The schema of a reference, as the protocol writes it."""
TEMPLATE_SCHEMA: JsonObject = {"type": "string", "pattern": "^[†{]"}
"""The schema of a reference or a template (E1)."""

_SHORTEST_REFERENCE = 2
"""The † and a kind of one letter."""


def takes_references(schema: Any) -> bool:
    """Whether a schema already takes references: it takes strings without restricting them."""
    if not is_object(schema):
        return schema is True
    if {"const", "enum", "pattern", "format", "maxLength", "$ref", "allOf", "not", "if"} & schema.keys():
        return False
    if schema.get("minLength", 0) > _SHORTEST_REFERENCE:
        return False
    for keyword in OPTIONS:
        if keyword in schema:
            return any(takes_references(option) for option in schema[keyword])
    kind = schema.get("type")
    return kind is None or kind == "string" or (is_list(kind) and "string" in kind)


def or_reference(schema: Any, reference: JsonObject = REFERENCE_SCHEMA) -> Any:
    """A schema that takes a reference in place of its value."""
    if takes_references(schema):
        return schema
    if is_object(schema) and schema.keys() == {"anyOf"}:
        return {"anyOf": [*schema["anyOf"], dict(reference)]}
    return {"anyOf": [schema, dict(reference)]}


_PLACES = {"properties", *_ALONE}
_AROUND = {*_PLACES, *OPTIONS, *DEFINITIONS}


def with_references(schema: Schema, reference: JsonObject) -> Schema:
    """A schema in which every place inside a value takes a reference; the value as a whole does not yet.

    What an author has fixed (a `const`, null) needs none. What several schemas judge together (`allOf`, `if`) stays
    as it is inside.
    """
    root: dict[str, Any] = {"": schema}
    waiting = rooted_in(root)
    places: list[Slot] = []
    while waiting:
        inner = slots_of(waiting.pop().unshared())
        places += [slot for slot in inner if slot.keyword in _PLACES]
        waiting += [slot for slot in inner if slot.keyword in _AROUND]
    for place in reversed(places):
        if "const" not in place.schema and place.schema.get("type") != "null":
            place.put(or_reference(place.schema, reference))
    return root[""]


def components(edges: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """The strongly connected component of each node (Tarjan); what a component leads to has lower numbers than it."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    component: dict[str, int] = {}
    stack: list[str] = []
    for start in edges:
        if start in order:
            continue
        work = [(start, iter(edges.get(start, ())))]
        order[start] = low[start] = len(order)
        stack.append(start)
        while work:
            node, targets = work[-1]
            following = next(targets, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    number = len(component)
                    while node not in component:
                        component[stack.pop()] = number
            elif following not in order:
                order[following] = low[following] = len(order)
                stack.append(following)
                work.append((following, iter(edges.get(following, ()))))
            elif following not in component:
                low[node] = min(low[node], order[following])
    return component


_DEFINED = tuple(f"#/{keyword}/" for keyword in DEFINITIONS)


def gathered(parts: Mapping[str, JsonObject]) -> tuple[dict[str, JsonObject], JsonObject]:
    """The parts of one schema with their definitions under one roof, and these; a name that clashes is changed."""
    shared = Gathering()
    return {name: shared.adopt(part) for name, part in parts.items()}, shared.found


def rooted(schema: JsonObject, name: str) -> JsonObject:
    """A schema whose references to its root lead to a definition instead, so that the root can be extended."""
    if not _refers_to_root(schema):
        return schema
    definitions: JsonObject = schema.get("$defs", {})
    free = unused(name, definitions)
    return _renamed({**schema, "$defs": {**definitions, free: _bare(schema)}}, {"#": free})


class Gathering:
    """The `$defs` of all parts; two become one if they, and all that they refer to, are the same."""

    def __init__(self) -> None:
        self.found: JsonObject = {}
        self._names: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def adopt(self, schema: JsonObject) -> JsonObject:
        """A copy of a part with the definitions that it uses moved here and its references following them."""
        part = _bare(schema)
        local: dict[str, tuple[str, Any]] = {
            reference_to(name, keyword): (name, definition)
            for keyword in DEFINITIONS
            for name, definition in schema.get(keyword, {}).items()
        }
        if any(map(_refers_to_root, (part, *(definition for _, definition in local.values())))):
            local["#"] = ("root", part)
        used = _used(part, local)
        identities = _identities(local)
        names = {address: self._name(name, identities[address]) for address, (name, _) in used.items()}
        for address, (_, definition) in used.items():
            self.found.setdefault(names[address], with_ordered_required(_renamed(definition, names)))
        return with_ordered_required(_renamed(part, names))

    def _name(self, name: str, identity: tuple[str, str]) -> str:
        if identity not in self._names:
            self._names[identity] = unused(name, self._taken)
            self._taken.add(self._names[identity])
        return self._names[identity]


def _bare(schema: JsonObject) -> JsonObject:
    """A schema without its definitions, and without what names it as a document."""
    return {key: value for key, value in schema.items() if key not in OF_DOCUMENT}


def _identities(local: dict[str, tuple[str, Any]]) -> dict[str, tuple[str, str]]:
    """The identity of each definition: its address, and a digest of everything that it reaches."""
    targets = {address: _targets(definition, local) for address, (_, definition) in local.items()}
    number_of = components(targets)
    members: dict[int, list[str]] = {}
    for address in sorted(local):
        members.setdefault(number_of[address], []).append(address)
    digests: dict[int, str] = {}
    for number in sorted(members):  # components that it leads to come first
        addresses = members[number]
        beyond = {number_of[target] for address in addresses for target in targets[address]} - {number}
        whole = [[[address, local[address][1]] for address in addresses], sorted(digests[inner] for inner in beyond)]
        digests[number] = sha256_of(whole)
    return {address: (address, digests[number_of[address]]) for address in local}


def _targets(schema: object, local: dict[str, tuple[str, Any]]) -> set[str]:
    """The definitions that a schema refers to."""
    heads = {_head(reference) for reference in references(schema)}
    return {head if head in local else "#" for head in heads} & local.keys()


def _reachable(address: str, local: dict[str, tuple[str, Any]]) -> set[str]:
    reached = {address}
    waiting = [address]
    while waiting:
        beyond = _targets(local[waiting.pop()][1], local) - reached
        reached |= beyond
        waiting += beyond
    return reached


def _used(part: JsonObject, local: dict[str, tuple[str, Any]]) -> dict[str, tuple[str, Any]]:
    """The definitions that a part refers to, and those that they refer to; all where a reference is by an anchor."""
    if not local or any(map(_refers_by_anchor, (part, *(definition for _, definition in local.values())))):
        return local
    reached = _reachable("", {**local, "": ("", part)})
    return {address: definition for address, definition in local.items() if address in reached}


def _refers_by_anchor(schema: object) -> bool:
    return any(
        "$dynamicRef" in sub or not (reference == "#" or str(reference).startswith("#/"))
        for sub, reference in ((sub.schema, sub.schema.get("$ref", "#")) for sub in subschemas(schema))
    )


def _head(reference: str) -> str:
    """The part of a reference that names a definition; what follows leads into it."""
    return "/".join(reference.split("/")[:3])


def _renamed(schema: Schema, names: dict[str, str]) -> Schema:
    return retargeted(schema, lambda reference: _followed(reference, names)) if names else schema


def _followed(reference: str, names: dict[str, str]) -> str:
    if reference in names:
        return reference_to(names[reference])
    head = _head(reference)
    if head in names:
        return reference_to(names[head]) + reference[len(head) :]
    if "#" in names and reference.startswith("#/") and not reference.startswith(_DEFINED):
        return reference_to(names["#"]) + reference[1:]
    return reference


def _refers_to_root(schema: object) -> bool:
    """Whether it refers to its whole document, or to a part of it that is not a definition."""
    return any(ref == "#" or (ref.startswith("#/") and not ref.startswith(_DEFINED)) for ref in references(schema))


_SCHEME = "idea:"


def links_of(schema: object) -> list[str]:
    """The addresses that a schema's references lead to, each once."""
    links = (reference.partition("#")[0] for reference in references(schema) if reference.startswith(_SCHEME))
    return list(dict.fromkeys(links))


def without_links(schema: Schema) -> Schema:
    """A schema that takes anything where it refers to another Idea, so that it can be judged by itself."""
    return retargeted(schema, lambda reference: None if reference.startswith(_SCHEME) else reference)


def with_links(schema: JsonObject, targets: Mapping[str, JsonObject]) -> JsonObject:
    """A schema with the schemas that it refers to among its `$defs`; `targets` lead nowhere else themselves."""
    parts, definitions = gathered({"": schema, **targets})
    names: dict[str, str] = {}
    names_by_text = {encode(definition): name for name, definition in definitions.items()}
    for address in targets:
        same = names_by_text.get(encode(parts[address]))
        if same is not None:  # it refers to its own root, or equals another
            names[address] = same
            continue
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", address.removeprefix(_SCHEME)).strip("_")
        names[address] = unused(stem, {*definitions, *names.values()})

    def followed(reference: str) -> str:
        address, _, inner = reference.partition("#")
        return f"#/$defs/{names[address]}{inner}" if address in names else reference

    definitions |= {names[address]: parts[address] for address in targets if names[address] not in definitions}
    return retargeted({**parts[""], "$defs": definitions}, followed)
