"""What holds of lowering for every schema (T9)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from actum.schema.gathering import REFERENCE_SCHEMA, TEMPLATE_SCHEMA
from actum.schema.lowering import (
    ANTHROPIC,
    ASIDE,
    COMPATIBLE,
    GOOGLE,
    GRAMMAR,
    LADDER,
    OPENAI,
    STRICT,
    Dialect,
    Lowered,
    Rung,
    lower,
)

from ..effort import trials
from .composing import accepts, closed, forms
from .json_values import is_list, is_object
from .provider_rules import violations
from .schemas import DEFINITIONS, Composed, Maker

Json = Any

DIALECTS = (OPENAI, ANTHROPIC, GOOGLE, GRAMMAR, COMPATIBLE)
EVERY = settings(max_examples=trials(150), suppress_health_check=[HealthCheck.filter_too_much])
seeds = st.integers(0, 2**32)

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
strictly = pytest.mark.parametrize("rung", [STRICT, ASIDE], ids=lambda rung: rung.name)


def text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def calls_of(schema: dict[str, Json]) -> list[dict[str, Json]]:
    items = schema["properties"]["calls"]["items"]
    return items.get("anyOf", [items])


def usable(sample: Composed, dialect: Dialect, rung: Rung) -> Lowered:
    lowered = lower(sample.schema, dialect, rung)
    # Limits of size are tested with schemas made for them; here they would leave little to look at.
    assume(not [problem for problem in lowered.problems if "limit" not in problem])
    return lowered


@every_dialect
@strictly
@EVERY
@given(seed=seeds)
def test_every_valid_call_has_a_form_on_the_wire_that_is_restored_to_it(
    dialect: Dialect, rung: Rung, seed: int
) -> None:
    sample = Maker(seed).composed(rung.references)
    original = calls_of(sample.schema)[0]
    assume(accepts(original, sample.call, DEFINITIONS))
    assume(accepts(closed(original), sample.call, closed(DEFINITIONS)))
    lowered = usable(sample, dialect, rung)
    definitions = lowered.schema.get("$defs", {})
    wire = calls_of(lowered.schema)[0]
    written = [form for form in forms(sample.call, wire, definitions) if accepts(wire, form, definitions)]
    restored = [lowered.restore_call(form) for form in written]
    whole = relaxed({**original, "$defs": DEFINITIONS}, lowered)
    assert any(is_same(sample.call, call) and accepts(whole, call) for call in restored)


def is_same(value: Json, restored: Json) -> bool:
    """Equality, but for an optional property that may be null: then null is all that can say it is absent."""
    if is_object(value) and is_object(restored):
        added = [restored[name] for name in restored if name not in value]
        return all(member is None for member in added) and all(
            name in restored and is_same(inner, restored[name]) for name, inner in value.items()
        )
    if is_list(value) and is_list(restored):
        return len(value) == len(restored) and all(map(is_same, value, restored))
    return text(value) == text(restored)


@every_dialect
@strictly
@EVERY
@given(seed=seeds)
def test_what_a_decoder_may_write_is_valid_but_for_what_the_notes_name(dialect: Dialect, rung: Rung, seed: int) -> None:
    maker = Maker(seed)
    sample = maker.composed(rung.references)
    lowered = usable(sample, dialect, rung)
    definitions = lowered.schema.get("$defs", {})
    written = maker.written(calls_of(lowered.schema)[0], definitions)
    assert accepts(calls_of(lowered.schema)[0], written, definitions)
    original = relaxed({**calls_of(sample.schema)[0], "$defs": DEFINITIONS}, lowered)
    output = original["properties"].get("_output")
    if output is not None:
        original["properties"]["_output"] = {"anyOf": [output, {"type": "null"}]}
    assert accepts(original, lowered.restore_call(written))


@every_dialect
@EVERY
@given(seed=seeds)
def test_a_usable_schema_keeps_the_rules_that_its_provider_publishes(dialect: Dialect, seed: int) -> None:
    rung = (STRICT, ASIDE)[seed % 2]
    lowered = lower(Maker(seed).composed(rung.references).schema, dialect, rung)
    assume(not lowered.problems)
    assert violations(lowered.schema, dialect.name) == []


@every_dialect
@EVERY
@given(seed=seeds)
def test_the_input_stays_as_it_was_and_the_same_input_gives_the_same_bytes(dialect: Dialect, seed: int) -> None:
    rung = LADDER[seed % 4]
    schema = Maker(seed).composed(rung.references).schema
    before = text(schema)
    first, second = lower(schema, dialect, rung), lower(json.loads(before), dialect, rung)
    assert text(schema) == before
    assert text(first.schema) == text(second.schema)
    assert (first.problems, first.notes) == (second.problems, second.notes)


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just("tool0")
_KEYS = st.sampled_from(["_tool", "_with", "_output", "p", "q", "a", "key", "value", "children"])
_ANYTHING = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4), max_leaves=20
)


@every_dialect
@EVERY
@given(seed=seeds, value=_ANYTHING)
def test_restoring_takes_any_json_and_leaves_it_as_it_was(dialect: Dialect, seed: int, value: Json) -> None:
    rung = LADDER[seed % 4]
    lowered = lower(Maker(seed).composed(rung.references).schema, dialect, rung)
    before = text(value)
    for restore in (lowered.restore_call, lowered.restore_output, lowered.restore_meta):
        restore(value)
        restore({"_tool": "tool0", "p": value, "q": [value], "_output": value, "_with": value})
    assert text(value) == before


def relaxed(schema: Json, lowered: Lowered) -> Json:
    """A schema without the keywords that some note names."""
    named = {word for note in lowered.notes for word in note.change.split("`")[1::2]}
    if any("what a reference looks like" in note.change for note in lowered.notes):
        schema = _with_any_text(schema)
    return _without(schema, named, any("boolean" in note.change for note in lowered.notes))


def _with_any_text(value: Json) -> Json:
    """A schema in which a reference beside other values is any text."""
    if is_list(value):
        return [_with_any_text(item) for item in value]
    if not is_object(value):
        return value
    if value in (REFERENCE_SCHEMA, TEMPLATE_SCHEMA):
        return {"type": "string"}
    return {key: _with_any_text(inner) for key, inner in value.items()}


def _without(value: Json, named: set[str], booleans: bool) -> Json:
    if is_list(value):
        return [_without(item, named, booleans) for item in value]
    if not is_object(value):
        return value
    if booleans and (value.get("const") is True or False in value.get("enum", [])):
        return {"anyOf": [{"type": "boolean"}, {key: member for key, member in value.items() if key == "enum"}]}
    result: dict[str, Json] = {}
    for key, inner in value.items():
        if key == "oneOf" and key in named:
            result["anyOf"] = _without(inner, named, booleans)
        elif key == "patternProperties" and key in named:
            result["additionalProperties"] = _without(next(iter(inner.values())), named, booleans)
        elif not (key in named or (key == "items" and inner is False)):
            result[key] = _without(inner, named, booleans)
    return result
