"""What values would be written out (L5)."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.schema.json import LEAST, NotJson, is_list, is_object, weight, weight_of_text

ENOUGH = 2**40
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def counted(value: Any) -> int:
    """The same by recursion."""
    if is_object(value):
        return LEAST + sum(len(key) + counted(item) for key, item in value.items())
    if is_list(value):
        return LEAST + sum(map(counted, value))
    if isinstance(value, str):
        return max(LEAST, len(value.encode()))
    return max(LEAST, value.bit_length() // 3) if isinstance(value, int) and abs(value) >= 10**LEAST else LEAST


@given(VALUES)
def test_a_value_weighs_what_its_parts_do(value: Any) -> None:
    assert weight(value, ENOUGH) == counted(value)
    assert weight_of_text(json.dumps(value)) >= LEAST
    assert weight_of_text(json.dumps(value)) + sum(map(len, json.dumps(value))) >= weight([value], ENOUGH) - LEAST


def test_shared_parts_count_wherever_they_are() -> None:
    shared: list[Any] = [1]
    for _ in range(20):
        shared = [shared, shared]
    assert weight(shared, ENOUGH) == LEAST * (2**21 - 1 + 2**20)


def test_counting_stops_soon_beyond_what_is_asked() -> None:
    shared: list[Any] = [1]
    for _ in range(100):
        shared = [shared, shared]
    assert 1_000 < weight(shared, 1_000) < 10_000


def test_what_nests_too_deep_or_holds_itself_is_no_json() -> None:
    deep: list[Any] = []
    for _ in range(127):
        deep = [deep]
    assert weight(deep, ENOUGH) == LEAST * 128
    itself: list[Any] = []
    itself.append(itself)
    for value in ([deep], itself):
        with pytest.raises(NotJson):
            weight(value, ENOUGH)


def test_mappings_and_tuples_count_as_what_they_become() -> None:
    assert weight((1, MappingProxyType({"a": ("x",)})), ENOUGH) == weight([1, {"a": ["x"]}], ENOUGH)


def test_commas_in_texts_are_no_values() -> None:
    text = json.dumps(["a,b:[{" * 100_000])
    assert weight_of_text(text) == len(text)
