"""What a delegate is handed: its own messages, what crosses to it, and the parameters of its call (D4, D5, S10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...protocol import lineage
from ...protocol.call import Call
from ...protocol.context import Context
from ...protocol.lineage import BROUGHT, Marks
from ...protocol.message import instance_of, kind_of
from ...protocol.scopes import notes_of
from ...schema.json import JsonObject, is_object


def handed(own: Context, scoped: Iterable[JsonObject], call: Call, sources: Marks | None = None) -> list[JsonObject]:
    """A delegate's context: its own messages, what crosses to it, and its Input message (D4)."""
    crossing = list(scoped)
    given = list(_input_message(own, crossing, call))
    if sources:
        given = [{**one, BROUGHT: lineage.lineage_mark(sources)} for one in given]
    replaced = {"meta"}.intersection(str(one.get("type")) for one in crossing)  # in place of its own (S11)
    kept = (one for one in own if not _is_input(one) and one.get("type") not in replaced)
    return [*kept, *crossing, *given]


def _input_message(own: Context, crossing: Iterable[JsonObject], call: Call) -> Iterable[JsonObject]:
    """The call's parameters over the delegate's own defaults, with its own schema (D5).

    A default stands back behind what crosses of its caller's input, too, which isn't said again: it is marked (S10).
    """
    declared = declared_input(own)
    if not declared and not call.parameters:
        return
    defaults: Any = declared.get("†input", {})
    crossed: Any = Context.checked([one for one in crossing if _is_input(one)], own.data_kinds).get("†input", {})
    value = defaults
    if is_object(defaults) and crossed != {}:
        value = _without(defaults, crossed) if is_object(crossed) else {}
    if call.parameters:
        given = [{"type": "input", "input": one} for one in (value, call.parameters)]
        value = Context.checked(given, own.data_kinds).get("†input", {})
    held = {"input": value} if value or is_object(crossed) else {}
    yield {"type": "input", **held, **notes_of(declared, "input", declared.data_kinds)}


def _without(defaults: JsonObject, crossed: JsonObject) -> JsonObject:
    """What of a delegate's defaults nothing that crosses takes the place of."""
    rest: JsonObject = {}
    for key, one in defaults.items():
        if key not in crossed:
            rest[key] = one
        elif is_object(one) and is_object(crossed[key]) and (inner := _without(one, crossed[key])):
            rest[key] = inner
    return rest


def declared_input(own: Context) -> Context:
    """What a saved request says of its own input: its schema, and its defaults."""
    return Context.checked([message for message in own if _is_input(message)], own.data_kinds)


def _is_input(message: JsonObject) -> bool:
    return kind_of(message) == "input" and instance_of(message) is None
