"""Reading JSON strictly, and copying Python's values into it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.schema.json import MAX_DEPTH, MOST_DIGITS, NotJson, copy, decode, encode, plain

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)


@given(VALUES)
def test_what_is_written_reads_back(value: Any) -> None:
    assert decode(encode(value)) == value
    assert decode(json.dumps(value, ensure_ascii=True, indent=1)) == value
    assert encode(decode(encode(value))) == encode(value)


@given(VALUES)
def test_copies_are_equal_and_share_nothing_that_can_change(value: Any) -> None:
    for copied in (copy(value), plain(value)):
        assert encode(copied) == encode(value)
        assert copied is not value or not isinstance(value, dict | list)


@given(st.dictionaries(TEXT, SCALARS, min_size=2))
def test_sorted_keys_give_the_same_bytes_for_any_order(value: dict[str, Any]) -> None:
    reversed_ = dict(reversed(value.items()))
    assert encode(value, sort_keys=True) == encode(reversed_, sort_keys=True)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"x":{"a":1,"b":2,"a":3}}',
        '{"a":1,"\\u0061":2}',
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e999",
        "-1e999",
        '{"x":1e400}',
        '"\\ud800"',
        '["\\udc00\\ud800"]',
        '{"\\ud83d":1}',
        "9" * (MOST_DIGITS + 1),
        "-" + "9" * 5000,
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        '{"a":' * 10_000 + "1" + "}" * 10_000,
        "[" * 100_000,
        "",
        " ",
        "[1,]",
        '{"a":1,}',
        "{'a':1}",
        "01",
        "+1",
        ".5",
        "0x1",
        "True",
        '"\t"',
        '"\\x41"',
        '"unterminated',
        "1 2",
        "[1]]",
        "\ufeff1",
        "// comment\n1",
        "\x00",
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_what_is_no_strict_json_is_refused_with_one_line(text: str) -> None:
    with pytest.raises(NotJson) as caught:
        decode(text)
    assert str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        "9" * MOST_DIGITS,
        "[" * MAX_DEPTH + "]" * MAX_DEPTH,
        json.dumps("[" * 1000 + "\\" * 7 + '"{{'),
        '["' + "{" * 500 + '","' + '\\"[' * 500 + '"]',
        '"\\ud83d\\ude00"',
        "1e308",
        "-0.0",
        " [ 1 , 2 ] ",
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_what_is_at_its_bounds_is_taken(text: str) -> None:
    assert decode(text) == json.loads(text)


@given(st.text())
def test_any_text_is_read_or_refused_and_never_anything_else(text: str) -> None:
    try:
        value = decode(text)
    except NotJson:
        return
    assert decode(encode(value)) == value


@given(st.text(alphabet='[]{}"\\,:1 a', max_size=60))
def test_any_brackets_and_quotes_are_read_as_the_standard_library_reads_them(text: str) -> None:
    try:
        expected: Any = json.loads(text)
    except ValueError:
        with pytest.raises(NotJson):
            decode(text)
        return
    try:
        assert decode(text) == expected
    except NotJson as error:
        assert "twice" in str(error)  # noqa: PT017 -- the one thing that it is stricter in here


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        {"a": float("-inf")},
        {1: 2},
        {None: 1},
        "\ud800",
        {"\udfff": 1},
        10**MOST_DIGITS,
        -(10**5000),
        b"bytes",
        {1, 2},
        object(),
        1j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_json_is_not_copied(value: Any) -> None:
    with pytest.raises(NotJson):
        plain([value])


def test_a_value_that_holds_itself_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = [circle]
    with pytest.raises(NotJson):
        plain(circle)
