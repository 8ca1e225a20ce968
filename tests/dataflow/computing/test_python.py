"""Inside of the language an expression is worth what Python says it is (E2), on every version alike (E4)."""

from __future__ import annotations

import itertools
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from actum.dataflow.computing.evaluator import ComputingError
from actum.dataflow.computing.tokens import ComputingSyntax
from actum.schema.json import is_list, is_object

from ...effort import trials
from .given import fill

DATA: dict[str, Any] = {
    "rows": [
        {"id": n, "name": name, "amount": n * 1.5 - 3, "tags": [name[:1], "x"] * (n % 3), "on": n % 2 == 0}
        for n, name in enumerate(["Ann", "bob", "Cy d", "", "Ann", "éa"])
    ],
    "text": "The quick, brown fox\njumps",
    "numbers": [3, -1, 4, 1.5, 0, 9],
}


class _Keys(dict[str, Any]):
    """An object whose keys Python reads as attributes, for its own evaluation."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def _as_python(value: Any) -> Any:
    if is_object(value):
        return _Keys({key: _as_python(member) for key, member in value.items()})
    return [_as_python(item) for item in value] if is_list(value) else value


PYTHON = {f"ref_{name}": _as_python(value) for name, value in DATA.items()}
BUILTINS = {
    function.__name__: function
    for function in (
        len,
        next,
        min,
        max,
        sorted,
        any,
        all,
        abs,
        round,
        int,
        float,
        list,
        range,
        reversed,
        enumerate,
        bool,
        zip,
        sum,
    )
}

NUMBERS = st.sampled_from(["0", "1", "2", "-3", "2.5", "len(†text)", "†numbers[0]", "(†numbers[3])"])
TEXTS = st.sampled_from(["''", "'a'", "'Ann'", "'x, y'", "†text", "†rows[0]['name']", "'ä'"])
LISTS = st.sampled_from(
    ["†numbers", "[1, 2, 3]", "list(range(4))", "[r.id for r in †rows]", "[r.amount for r in †rows if r.on]"]
)
TEXT_LISTS = st.sampled_from(["['a', 'b']", "[r.name for r in †rows]", "†text.split()", "†text.split(', ', 1)"])


def _numbers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner),
        st.builds(
            "({} if {} {} {} else {})".format, inner, inner, st.sampled_from(["<", "<=", "==", "!="]), inner, inner
        ),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max", "round"]), inner, st.sampled_from(["1", "2"])),
        st.builds("abs(-{})".format, inner),
        st.builds("{}({})".format, st.sampled_from(["min", "max", "len"]), LISTS),
        st.builds("{}[{}]".format, LISTS, st.sampled_from(["0", "-1", "2", "1 + 1"])),
        st.builds("{}.{}({})".format, TEXTS, st.sampled_from(["find", "count"]), TEXTS),
        st.builds("(1 < {} <= 5)".format, inner),
    )


def _texts(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds(
            "{}.{}()".format,
            inner,
            st.sampled_from(["lower", "upper", "title", "strip", "capitalize", "isalpha", "splitlines"]),
        ),
        st.builds("{}[{}:{}]".format, inner, st.sampled_from(["", "1", "-3"]), st.sampled_from(["", "2", "-1", "9:2"])),
        st.builds("{}.replace({}, {})".format, inner, inner, TEXTS),
        st.builds("{}.join({})".format, inner, TEXT_LISTS),
        st.builds("f'<{{{}!s}}>'".replace("!s", "").format, st.sampled_from(["†text", "†rows[1].name"])),
        st.builds(
            "f'{{{}:{}}}'".format,
            NUMBERS.filter(lambda number: "(†" not in number),
            st.sampled_from([".2f", "08.1f", ",.0f", "<9.2f", ".1%"]),
        ),
        st.builds("({} or {})".format, inner, inner),
        st.builds(
            "{}.{}({})".format,
            inner,
            st.sampled_from(["startswith", "endswith", "removeprefix", "ljust"]),
            TEXTS | st.just("12"),
        ),
    )


def _lists(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("sorted({}, reverse={})".format, inner, st.sampled_from(["True", "False"])),
        st.builds(
            "[x * {} for x in {} if x {} {}]".format,
            NUMBERS,
            inner,
            st.sampled_from([">", "!=", "in [1, 2] or x <"]),
            NUMBERS,
        ),
        st.builds("[i + x for i, x in enumerate({})]".format, inner),
        st.builds("[*{}, {}]".format, inner, NUMBERS),
        st.builds("list(reversed({}))[{}:]".format, inner, st.sampled_from(["0", "1", "-2"])),
        st.builds("[a - b for a, b in zip({0}, sorted({0}))]".format, inner),
        st.builds("sorted({}, key=lambda x: (x > 1, -x))".format, inner),
        st.builds("[y for x in {} for y in [x, {}] if y]".format, inner, NUMBERS),
    )


ROWS = st.sampled_from(
    [
        "[(r.name, r.id) for r in sorted(†rows, key=lambda r: (not r.on, r.name, -r.id))]",
        "{r.name: r.amount for r in †rows if r.name}",
        "[r['id'] for r in †rows if 'x' in r.tags and not r.on]",
        "max(†rows, key=lambda r: r.amount).name",
        "[t for r in †rows for t in r.tags if t != 'x']",
        "any(r.on for r in †rows) and all(r.id >= 0 for r in †rows)",
        "[[a, b] for (a, (b, c)) in zip(list(range(6)), [(r.id, r.on) for r in †rows]) if c]",
        "[r.name.lower() for r in †rows][::-2]",
        "{'k': [r.id for r in †rows if r.on is True], **{}}".replace(", **{}", ""),
        "next(r.id for r in †rows if r.name == 'bob')",
        "min([], default='none')",
        "†rows[0].get('nothing', 3) + †rows[1].get('id')",
        "list(†rows[2].keys()) + [k for k, v in †rows[2].items() if v] + [k for k in †rows[2]]",
        "len([r for r in †rows if r.name in ['Ann', 'bob']]) / len(†rows)",
        "[r.tags.count('x') for r in †rows]",
        "None if †text is None else not †text",
        "sum(†numbers)",
    ]
)

EXPRESSIONS = st.one_of(
    st.recursive(NUMBERS, _numbers, max_leaves=6),
    st.recursive(TEXTS, _texts, max_leaves=6),
    st.recursive(LISTS, _lists, max_leaves=5),
    ROWS,
)


def _python(expression: str) -> Any:
    return eval(expression.replace("†", "ref_"), {"__builtins__": BUILTINS, **PYTHON}, {})  # the model


def _plain(value: Any) -> Any:
    if is_object(value):
        return {key: _plain(member) for key, member in value.items()}
    return [_plain(item) for item in cast("list[Any]", value)] if isinstance(value, list | tuple) else value


@settings(max_examples=trials(10_000), suppress_health_check=[HealthCheck.filter_too_much])
@given(EXPRESSIONS)
def test_an_expression_is_worth_what_python_says(expression: str) -> None:
    try:
        expected = _plain(_python(expression))
    except (ArithmeticError, AttributeError, TypeError, ValueError, LookupError):
        with pytest.raises((ComputingError, ComputingSyntax)):
            fill(f"{{[{expression}, †text]}}", **DATA)
        return
    assume(not _has_boolean_arithmetic(expression))
    actual = fill(f"{{[{expression}, †text]}}", **DATA)[0]
    assert actual == expected or str(actual) == str(expected)
    assert type(actual) is type(expected)


def _has_boolean_arithmetic(expression: str) -> bool:
    """Whether something is done with a boolean that Python takes for a number, and the language doesn't."""
    try:
        fill(f"{{[{expression}, †text]}}", **DATA)
    except ComputingError as error:
        return "a boolean" in str(error)
    return False


def test_a_sum_of_floats_is_the_same_in_any_order() -> None:
    sums = {fill("{sum(†x)}", x=list(order)) for order in itertools.permutations([0.1, 0.2, 0.3, 1e16, -1e16])}
    assert sums == {0.6}
