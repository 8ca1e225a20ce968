"""The one composed schema of a request: `{calls, output, meta}` (T5, T9, T10). Knows call schemas, not tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Literal, TypeAlias, cast

from .json import JsonObject, copy, encode

References: TypeAlias = Literal["wide", "aside"]

REFERENCE: JsonObject = {"type": "string", "pattern": "^†"}
"""The schema of a reference, as the protocol writes it."""

META: JsonObject = {
    "type": "object",
    # The wording of the Tool document's worked example, which T5 asks for exactly.
    "description": (
        "Метаданные об идее, включая версию и идентификацию. Ожидается, что LLM обновит это, например, увеличив версию."
    ),
    "properties": {"path": {"type": "string"}, "version": {"type": "string"}},
}


def compose(output: JsonObject, calls: Sequence[JsonObject], *, meta: bool = True) -> JsonObject:
    """Compose an output schema and the schemas of the offered calls into the schema of an answer (T5).

    Definitions of all parts move to one `$defs`, under other names where two differ, and object schemas that stand
    in it more than once are stated once where that is shorter (T10).
    """
    shared = _Definitions()
    items = [shared.adopt(call) for call in calls]
    answer = nullable(shared.adopt(closed(output)))
    properties: JsonObject = {"calls": _calls(items), "output": answer}
    if meta:
        properties["meta"] = copy(META)
    composed: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    definitions = shared.found
    _state_once(composed, definitions)
    if definitions:
        composed["$defs"] = definitions
    return composed


def _calls(items: list[JsonObject]) -> JsonObject:
    if not items:
        return {"type": "array", "maxItems": 0}
    return {"type": "array", "items": items[0] if len(items) == 1 else {"anyOf": items}}


def nullable(schema: JsonObject) -> JsonObject:
    """A schema that takes null as well."""
    kind = schema.get("type")
    if kind is None and not schema:
        return schema
    if kind is None or {"const", "anyOf", "oneOf", "allOf", "$ref", "not", "if"} & schema.keys():
        return {"anyOf": [schema, {"type": "null"}]}
    kinds = cast("list[str]", kind) if isinstance(kind, list) else [cast("str", kind)]
    changed = {**schema, "type": kinds if "null" in kinds else [*kinds, "null"]}
    if "enum" in schema and None not in schema["enum"]:
        changed["enum"] = [*schema["enum"], None]
    return changed


_SAYS_OTHERWISE = {"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"}
_BY_BRANCH = {"allOf", "anyOf", "oneOf", "if", "$ref", "$dynamicRef", "dependentSchemas"}
_SEVERAL = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
_MAPS = ("properties", "$defs", "definitions")
_ONE = ("items", "additionalProperties")


def closed(schema: JsonObject) -> JsonObject:
    """A schema in which objects that list their properties and don't say otherwise take no others (T5).

    An object that lists none is meant as a map, and one that several schemas judge together (`allOf`, `properties`
    beside `anyOf` or a `$ref`) can't be closed by any of them: both stay as they are.
    """
    return _closed(schema, _judged_together(schema), alone=True)


def _closed(schema: Any, together: set[str], *, alone: bool) -> Any:
    """`alone`: nothing else judges the properties of the same object; `together` are definitions that never do."""
    if not isinstance(schema, dict):
        return schema
    members = cast("JsonObject", schema)
    result = dict(members)
    for keyword in _MAPS:
        for name, member in cast("JsonObject", members.get(keyword) or {}).items():
            is_alone = f"#/{keyword}/{_pointer(name)}" not in together
            result[keyword] = {**result[keyword], name: _closed(member, together, alone=is_alone)}
    for keyword in _ONE:
        if keyword in members:
            result[keyword] = _closed(members[keyword], together, alone=True)
    if "prefixItems" in members:
        result["prefixItems"] = [_closed(item, together, alone=True) for item in members["prefixItems"]]
    branches_alone = alone and not _judges_properties(members)
    for keyword in ("anyOf", "oneOf"):
        if keyword in members:
            result[keyword] = [_closed(item, together, alone=branches_alone) for item in members[keyword]]
    if alone and "properties" in members and not (_SAYS_OTHERWISE | _BY_BRANCH) & members.keys():
        result["additionalProperties"] = False
    return result


def _judges_properties(schema: JsonObject) -> bool:
    """Whether a schema says of an object's properties more than its `anyOf` or its `oneOf` does."""
    own = _SAYS_OTHERWISE | _BY_BRANCH | {"properties", "required"}
    return len(own & schema.keys() - {"anyOf", "oneOf"}) > 0 or {"anyOf", "oneOf"} <= schema.keys()


def _judged_together(schema: JsonObject) -> set[str]:
    """The references to definitions that judge an object's properties together with other schemas."""
    found: set[str] = set()
    waiting: list[tuple[Any, bool]] = [(schema, False)]
    while waiting:
        one, is_together = waiting.pop()
        if not isinstance(one, dict):
            waiting.extend((item, is_together) for item in (cast("list[Any]", one) if isinstance(one, list) else ()))
            continue
        members = cast("JsonObject", one)
        shares = is_together or _judges_properties({key: one for key, one in members.items() if key != "$ref"})
        reference = members.get("$ref")
        if shares and isinstance(reference, str) and reference not in found:
            found.add(reference)
            waiting.append((_at(schema, reference), True))
        for keyword, member in members.items():
            if keyword in _SEVERAL:
                waiting.append((member, shares or keyword not in {"anyOf", "oneOf"}))
            elif keyword in _MAPS:
                waiting.extend((inner, False) for inner in cast("JsonObject", member).values())
            elif keyword in {*_ONE, "prefixItems"}:
                waiting.append((member, False))
    return found


def _at(schema: JsonObject, reference: str) -> Any:
    keyword, _, name = reference.removeprefix("#/").partition("/")
    definitions = {_pointer(key): value for key, value in cast("JsonObject", schema.get(keyword) or {}).items()}
    return definitions.get(name)


_SHORTEST_REFERENCE = 2


def takes_references(schema: Any) -> bool:
    """Whether a reference would be valid as it stands: the schema takes strings and asks nothing more of them."""
    if not isinstance(schema, dict):
        return schema is True
    members = cast("JsonObject", schema)
    if {"const", "enum", "pattern", "format", "maxLength", "$ref", "allOf", "not", "if"} & members.keys():
        return False
    if members.get("minLength", 0) > _SHORTEST_REFERENCE:
        return False
    for keyword in ("anyOf", "oneOf"):
        if keyword in members:
            return any(takes_references(option) for option in members[keyword])
    kind = members.get("type")
    return kind is None or kind == "string" or (isinstance(kind, list) and "string" in kind)


def or_reference(schema: Any) -> Any:
    """A parameter's schema in the *wide* form: it takes a reference in place of its value (T9)."""
    return schema if takes_references(schema) else {"anyOf": [schema, dict(REFERENCE)]}


class _Definitions:
    """The `$defs` of all parts under one roof; two are one where they and all that they refer to are the same."""

    def __init__(self) -> None:
        self.found: JsonObject = {}
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def adopt(self, schema: JsonObject) -> JsonObject:
        """A copy of a part with its definitions moved here and its references following them."""
        part = {key: value for key, value in schema.items() if key not in _LEFT_BEHIND}
        local = {
            f"#/{keyword}/{_pointer(name)}": (name, definition)
            for keyword in ("$defs", "definitions")
            for name, definition in cast("JsonObject", schema.get(keyword, {})).items()
        }
        if any(_refers_to_root(one) for one in (part, *(definition for _, definition in local.values()))):
            local["#"] = ("root", part)
        names = {pointer: self._name(name, pointer, local) for pointer, (name, _) in local.items()}
        for pointer, (_, definition) in local.items():
            self.found.setdefault(names[pointer], in_order(_renamed(definition, names)))
        return in_order(_renamed(part, names))

    def _name(self, name: str, pointer: str, local: dict[str, tuple[str, Any]]) -> str:
        identity = encode([pointer, {one: local[one][1] for one in _reachable(pointer, local)}], sort_keys=True)
        if identity not in self._names:
            self._names[identity] = _free(name, self._taken)
            self._taken.add(self._names[identity])
        return self._names[identity]


_LEFT_BEHIND = {"$defs", "definitions", "$schema", "$id"}


def _free(name: str, taken: Container[str]) -> str:
    return name if name not in taken else next(one for n in count(2) if (one := f"{name}_{n}") not in taken)


def _reachable(pointer: str, local: dict[str, tuple[str, Any]]) -> set[str]:
    found = {pointer}
    waiting = [pointer]
    while waiting:
        for reference in _references(local[waiting.pop()][1]):
            head = "/".join(reference.split("/")[:3])
            head = head if head in local else "#"
            if head in local and head not in found:
                found.add(head)
                waiting.append(head)
    return found


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _references(value: Any) -> set[str]:
    found: set[str] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            members = cast("JsonObject", one)
            if isinstance(members.get("$ref"), str):
                found.add(members["$ref"])
            waiting.extend(members.values())
        elif isinstance(one, list):
            waiting.extend(cast("list[Any]", one))
    return found


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _followed(member, names) if key == "$ref" and isinstance(member, str) else _renamed(member, names)
            for key, member in cast("JsonObject", value).items()
        }
    if isinstance(value, list):
        return [_renamed(item, names) for item in cast("list[Any]", value)]
    return value


def _followed(reference: str, names: dict[str, str]) -> str:
    if reference in names:
        return f"#/$defs/{_pointer(names[reference])}"
    head = "/".join(reference.split("/")[:3])
    if head in names:
        return f"#/$defs/{_pointer(names[head])}{reference[len(head) :]}"
    if "#" in names and reference.startswith("#/") and not reference.startswith(_DEFINED):
        return f"#/$defs/{_pointer(names['#'])}{reference[1:]}"
    return reference


_DEFINED = ("#/$defs/", "#/definitions/")


def _refers_to_root(schema: Any) -> bool:
    """Whether it refers to its whole document, or to a place in it that is no definition."""
    return any(one == "#" or (one.startswith("#/") and not one.startswith(_DEFINED)) for one in _references(schema))


def rooted(schema: JsonObject, name: str) -> JsonObject:
    """A schema whose references to its root go to a definition, so that the root can be added to."""
    if not _refers_to_root(schema):
        return schema
    definitions = cast("JsonObject", schema.get("$defs", {}))
    free = _free(name, definitions)
    part = {key: value for key, value in schema.items() if key not in _LEFT_BEHIND}
    whole = {**schema, "$defs": {**definitions, free: part}}
    return cast("JsonObject", _renamed(whole, {"#": free}))


def gathered(parts: Mapping[str, JsonObject]) -> tuple[dict[str, JsonObject], JsonObject]:
    """The parts of one schema with their definitions under one roof, and these; a name that clashes is changed."""
    shared = _Definitions()
    return {name: shared.adopt(part) for name, part in parts.items()}, shared.found


_VALUES = {"const", "enum", "default", "examples"}
_BY_NAME = {"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"}


def in_order(schema: Any, *, by_name: bool = False) -> Any:
    """A schema in which `required` stands in the order of `properties` everywhere (T5); `by_name`: a map of schemas."""
    if isinstance(schema, list):
        return [in_order(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("JsonObject", schema)
    result = {
        key: value if key in _VALUES and not by_name else in_order(value, by_name=not by_name and key in _BY_NAME)
        for key, value in members.items()
    }
    required, properties = members.get("required"), members.get("properties")
    if not by_name and isinstance(required, list) and isinstance(properties, dict):
        names = cast("list[str]", required)
        listed = [name for name in cast("JsonObject", properties) if name in names]
        result["required"] = listed + [name for name in names if name not in properties]
    return result


_SMALLEST_SHARED = 80


def _state_once(composed: JsonObject, definitions: JsonObject) -> None:
    """Move parameters' schemas that stand more than once to `$defs` where that saves text (T10)."""
    known = {encode(definition): name for name, definition in definitions.items()}
    for holder, key in _sharable(composed):
        holder[key] = _by_name(holder[key], known)
        if "anyOf" in holder[key]:
            holder[key]["anyOf"] = [_by_name(option, known) for option in holder[key]["anyOf"]]
    places = [(holder, key, encode(holder[key])) for holder, key in _sharable(composed)]
    counts = Counter(text for _, _, text in places)
    names: dict[str, str] = {}
    for text, times in counts.items():
        name = next(one for one in (f"shared{number}" for number in count(len(names) + 1)) if one not in definitions)
        if times > 1 and (times - 1) * len(text) > times * (len(name) + 19) + len(name) + 4:
            names[text] = name
    for holder, key, text in places:
        if text in names:
            definitions.setdefault(names[text], holder[key])
            holder[key] = {"$ref": f"#/$defs/{names[text]}"}


def _by_name(schema: Any, known: Mapping[str, str]) -> Any:
    name = known.get(encode(schema))
    return schema if name is None else {"$ref": f"#/$defs/{_pointer(name)}"}


_COMPOSITE = {"properties", "items", "enum", "anyOf"}


def _sharable(composed: JsonObject) -> Iterator[tuple[JsonObject, str]]:
    items = composed["properties"]["calls"].get("items", {})
    for call in cast("list[JsonObject]", items.get("anyOf", [items])):
        properties = cast("JsonObject", call.get("properties", {}))
        for key, schema in properties.items():
            is_composite = isinstance(schema, dict) and not _COMPOSITE.isdisjoint(cast("JsonObject", schema))
            if is_composite and len(encode(cast("JsonObject", schema))) > _SMALLEST_SHARED:
                yield properties, key
