"""Judging values by a JSON Schema (draft 2020-12), offline and in linear time, with messages that name the path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from json import loads
from typing import Any, TypeAlias
from urllib.parse import urldefrag, urljoin

import jsonschema_rs
from jsonschema_rs import canonical

from ..errors import SchemaError
from .json import LEAST, Json, JsonObject, NotJson, encode, is_list, is_object, weight
from .walk import DEFINITIONS, IN_PLACE, REFERRING, slots_of, target_of

MOST_JUDGEMENTS = 100_000
"""How often the schemas of one document may judge a value and one part of each depth of it."""


def judgements(schema: Any) -> int:
    """How often a value, and one part of each depth of it, is judged at most, about.

    A schema that leads back to itself is counted once: a validator remembers what it has found of it.
    """
    if not is_object(schema):
        return 1
    targets = _Targets(schema)
    counts: dict[int, int] = {}
    under_way: set[int] = set()
    waiting = [schema]
    while waiting:
        node = waiting[-1]
        if id(node) in counts:
            waiting.pop()
            continue
        beside, below = _parts(node, targets)
        missing = [part for part in (*beside, *below) if id(part) not in counts and id(part) not in under_way]
        if missing:
            under_way.add(id(node))
            waiting += missing
            continue
        waiting.pop()
        under_way.discard(id(node))
        deepest = max((counts.get(id(part), 1) for part in below), default=0)
        counts[id(node)] = 1 + deepest + sum(counts.get(id(part), 1) for part in beside)
    return counts[id(schema)]


def _parts(schema: JsonObject, targets: _Targets) -> tuple[list[JsonObject], list[JsonObject]]:
    """The schemas that judge the same value as this one, and those that judge parts of it."""
    beside: list[JsonObject] = [*targets.of(schema)]
    below: list[JsonObject] = []
    for slot in slots_of(schema):
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
            part, base = waiting.pop()
            if isinstance(name := part.get("$id"), str):
                base = urljoin(base, name).removesuffix("#")
                self._named[base] = part
            self._bases[id(part)] = base
            for keyword in ("$anchor", "$dynamicAnchor"):
                if keyword in part:
                    self._named[f"{base}#{part[keyword]}"] = part
            waiting += [(slot.schema, base) for slot in slots_of(part)]

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


_LINEAR = jsonschema_rs.RegexOptions()
# Look-around has no linear-time engine; published tools use it, so it runs with a bound on its backtracking instead.
_BOUNDED = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)
_MOST_MESSAGES = 3
_MOST_TOLD = 100
_MOST_TEXT = 300
_FEW_JUDGEMENTS = 50
_MOST_WORK = 100_000_000
"""How often all the parts of a value may be judged together."""


class Validator:
    """A compiled schema.

    Raises:
        SchemaError: for an invalid schema, naming the path in it; for a reference that leaves it; for one that judges
            a value more often than can be waited for.
    """

    __slots__ = ("_compiled", "_is_costly", "_judgements", "_text")

    def __init__(self, schema: Json, *, tool: str | None = None, at: str = "") -> None:
        self._text = encode(schema)
        self._judgements = _judgements(self._text)
        if self._judgements > MOST_JUDGEMENTS:
            problem = f"its schemas would judge one value more than {MOST_JUDGEMENTS:,} times"
            raise SchemaError(f"not a usable JSON Schema: {problem}", tool=tool, path=at or None)
        self._is_costly = self._judgements > _FEW_JUDGEMENTS
        self._compiled = _compile(self._text, tool, at)

    def accepts(self, value: Json) -> bool:
        """Whether the value is valid."""
        if self._is_costly and self._is_too_much(value):
            return False
        try:
            return self._compiled.is_valid(value)
        except ValueError:
            return False

    def complaint(self, value: Json, *, quotes: bool = True) -> str | None:
        """What is wrong with a value and where, in one line; None if it is valid.

        Without `quotes` nothing of the value is quoted, nor a key that the schema doesn't name: others may have
        written it (E6).
        """
        if self._is_costly and self._is_too_much(value):
            return f"it is too large for a schema that judges each part of it up to {self._judgements:,} times"
        try:
            if self._compiled.is_valid(value):
                return None
            errors = islice(self._errors(value) if quotes else self._unquoted(value), _MOST_MESSAGES)
            problems = [f"{where}: {text}" if (where := json_path(path)) else text for path, text, _ in errors]
        except ValueError as error:
            problems = [str(error)] if quotes else []
        return "; ".join(problems) or "it is not valid"

    def problems(self, value: Json) -> list[_Problem]:
        """What is wrong with a value: where, in the words of `complaint`, and which member is missing."""
        if self._is_costly and self._is_too_much(value):
            return [((), str(self.complaint(value)), None)]
        return list(islice(self._errors(value), _MOST_TOLD))

    def _is_too_much(self, value: Json) -> bool:
        """Whether judging would take longer than can be waited for: nothing can cut it short (L5)."""
        most = _MOST_WORK // self._judgements * LEAST
        try:
            return weight(value, most) > most
        except NotJson:
            return True

    def _errors(self, value: Json) -> Iterator[_Problem]:
        try:
            for error in self._compiled.iter_errors(value):
                missing: Any = getattr(error.kind, "property", None)
                yield error.instance_path, _clipped(error.message), missing if isinstance(missing, str) else None
        except ValueError as error:
            yield (), str(error), None

    def _unquoted(self, value: Json) -> Iterator[_Problem]:
        declared: set[str] | None = None
        for error in _compiled(self._text, "it").iter_errors(value):  # whose messages say `it` in the place of values
            declared = names_in(loads(self._text)) if declared is None else declared
            path = [step if isinstance(step, int) or step in declared else "…" for step in error.instance_path]
            extra = getattr(error.kind, "unexpected", None)
            message = error.message if extra is None else f"{len(extra)} more than the schema takes"
            yield path, _clipped(message), None


_Problem: TypeAlias = tuple[Sequence[str | int], str, str | None]


def _clipped(message: str) -> str:
    return message if len(message) <= _MOST_TEXT else f"{message[:_MOST_TEXT]}…"


def names_in(schema: Json) -> set[str]:
    """The keys that a schema names for objects, at any depth."""
    names: set[str] = set()
    open_: list[Any] = [schema]
    while open_:
        part = open_.pop()
        if is_object(part):
            properties = part.get("properties")
            names.update(properties if is_object(properties) else ())
            open_ += part.values()
        elif is_list(part):
            open_ += part
    return names


def json_path(path: Sequence[Any]) -> str:
    """A path in a value as messages write it: `days[0].low`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _compile(text: str, tool: str | None, at: str) -> Any:
    try:
        return _compiled(text)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, RecursionError) as error:
        inner = json_path(error.instance_path) if isinstance(error, jsonschema_rs.ValidationError) else ""
        message = getattr(error, "message", None) or str(error).split("\n", 1)[0]
        path = ".".join(part for part in (at, inner) if part)
        if inner.endswith("type") and message.endswith("'anyOf' keyword"):
            keyword = message.partition(" is not ")[0]
            message = f"{keyword} is not one of array, boolean, integer, null, number, object and string"
        raise SchemaError(f"not a valid JSON Schema: {message[:_MOST_TEXT]}", tool=tool, path=path or None) from None


@lru_cache(maxsize=4096)
def _judgements(text: str) -> int:
    return judgements(loads(text))


@lru_cache(maxsize=4096)
def _compiled(text: str, mask: str | None = None) -> Any:
    # Keyed by the text: the same schema is compiled once, whoever holds it and however often it is rebuilt.
    schema = loads(text)
    try:
        return jsonschema_rs.Draft202012Validator(schema, offline=True, pattern_options=_LINEAR, mask=mask)
    except jsonschema_rs.ValidationError:
        return jsonschema_rs.Draft202012Validator(schema, offline=True, pattern_options=_BOUNDED, mask=mask)


def is_schema(schema: object) -> bool:
    """Whether this is an object that any of these keywords shows to be a JSON Schema, and not a map of tools."""
    keywords = {"type", "properties", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "items"}
    return is_object(schema) and not keywords.isdisjoint(schema)


def unsatisfiable(schema: JsonObject) -> set[str]:
    """The paths of the innermost schemas that provably no value satisfies; a literal `false` is meant, and left out."""
    if judgements(schema) > MOST_JUDGEMENTS:
        return set()
    try:
        reasons = canonical.find_unsatisfiable(schema, draft=jsonschema_rs.Draft202012, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return set()
    meant = canonical.UnsatisfiableReason.Literal
    pointers = {pointer for pointer, reason in reasons.items() if not isinstance(reason, meant)}
    parents = {pointer.rpartition("/")[0] for pointer in pointers}
    innermost = (pointer for pointer in pointers if not any(parent.startswith(pointer) for parent in parents))
    return {".".join(pointer.split("/")[1:]) for pointer in innermost}


def admits(wide: Json, narrow: Json) -> bool | None:
    """Whether every value that is valid under `narrow` is valid under `wide`; None if that can't be told.

    Only what is proven is answered; schemas with references to elsewhere, and what the canonical form doesn't model,
    are not.
    """
    if max(judgements(wide), judgements(narrow)) > MOST_JUDGEMENTS:
        return None
    try:
        outer, inner = _canonical(wide), _canonical(narrow)
        containment = outer.covers(inner)
        if containment == canonical.Containment.UNKNOWN:
            rest = inner.subtract(outer).satisfiability()
            return False if rest == canonical.Satisfiability.YES else None
    except (ValueError, TypeError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, RecursionError):
        return None
    return containment == canonical.Containment.YES


def _canonical(schema: Json) -> Any:
    whole: Any = schema
    return jsonschema_rs.canonicalize(whole, draft=jsonschema_rs.Draft202012, offline=True)
