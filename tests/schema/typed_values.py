"""Random schemas with values that they take, for the properties of types and shapes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

KEYS = st.sampled_from(["id", "title", "from", "first-name", "größe", "it's", "0", "a\nb", "†x", "…"])
TEXTS = st.text("ab'\\\n†…{}|", max_size=4)


def _scalars() -> st.SearchStrategy[tuple[dict[str, Any], Any]]:
    return st.one_of(
        TEXTS.map(lambda value: ({"type": "string"}, value)),
        st.integers(-5, 5).map(lambda value: ({"type": "integer"}, value)),
        st.floats(-5, 5).map(lambda value: ({"type": "number"}, value)),
        st.booleans().map(lambda value: ({"type": "boolean"}, value)),
        st.just(({"type": "null"}, None)),
        st.lists(TEXTS, min_size=1, max_size=3, unique=True).map(lambda values: ({"enum": values}, values[-1])),
        st.sampled_from([1, "x", None, {"a": [1]}, [2, "b"]]).map(lambda value: ({"const": value}, value)),
        st.sampled_from([1, "x", None, {"a": 1}, []]).map(lambda value: ({}, value)),
    )


@st.composite
def _lists(draw: st.DrawFn, inner: Any) -> tuple[dict[str, Any], Any]:
    schema, value = draw(inner)
    more = draw(st.booleans())
    if draw(st.booleans()):
        return {"type": "array", "items": schema}, [value] * draw(st.integers(0, 2))
    other, second = draw(inner)
    row = {"type": "array", "prefixItems": [schema, other], "minItems": 2}
    return (row, [value, second, 1]) if more else ({**row, "maxItems": 2}, [value, second])


@st.composite
def _objects(draw: st.DrawFn, inner: Any) -> tuple[dict[str, Any], Any]:
    fields = draw(st.dictionaries(KEYS, inner, max_size=3))
    required = [key for key in fields if draw(st.booleans())]
    value = {key: item for key, (_, item) in fields.items() if key in required or draw(st.booleans())}
    schema: dict[str, Any] = {"properties": {key: field for key, (field, _) in fields.items()}, "required": required}
    if draw(st.booleans()):
        schema["type"] = "object"
    if draw(st.booleans()):
        extra, other = draw(inner)
        schema["additionalProperties"] = extra
        if not fields:
            value["more"] = other
    return schema, value


@st.composite
def _combined(draw: st.DrawFn, inner: Any) -> tuple[dict[str, Any], Any]:
    """A schema that says the same in more words, or more than the value needs."""
    schema, value = draw(inner)
    other, _ = draw(inner)
    wrapped: list[dict[str, Any]] = [
        {"anyOf": [other, schema]},
        {"oneOf": [schema], "description": "one"},
        {"allOf": [schema]},
        {"allOf": [schema, {"title": "more"}]},
        {"$ref": "#/$defs/it", "$defs": {"it": schema}},
        {"if": other, "then": {}, "else": {}, "anyOf": [schema]},
        {**schema, "not": {"const": "never"}},
        {**schema, "anyOf": [{}, other]},
    ]
    return draw(st.sampled_from(wrapped)), value


def _without_definitions(pair: tuple[dict[str, Any], Any]) -> bool:
    return "$defs" not in str(pair[0])


_TREES: st.SearchStrategy[tuple[dict[str, Any], Any]] = st.recursive(
    _scalars(),
    lambda inner: st.one_of(_lists(inner), _objects(inner), _combined(inner.filter(_without_definitions))),
    max_leaves=8,
)


def schemas_with_values() -> st.SearchStrategy[tuple[dict[str, Any], Any]]:
    """A schema and a value that it takes; definitions stand at its root alone."""
    return st.one_of(_TREES.filter(_without_definitions), _combined(_TREES.filter(_without_definitions)))
