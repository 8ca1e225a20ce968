"""Each published function and method (E2): what it gives, and what it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest

from actum.dataflow.computing.evaluator import ComputingError
from actum.dataflow.computing.functions import FUNCTIONS
from actum.dataflow.computing.methods import METHODS_BY_NAME

from .given import compute

GIVEN: list[tuple[str, Any]] = [
    ("one([7])", 7),
    ("one(x for x in [1, 2] if x > 1)", 2),
    ("next([1, 2])", 1),
    ("next([])", None),
    ("next([], 0)", 0),
    ("len('abc') + len([1]) + len({'a': 1})", 5),
    ("sum([1, 2], 3)", 6),
    ("sum([1], start=1)", 2),
    ("sum([])", 0),
    ("min(3, 1, 2)", 1),
    ("max(['a', 'b'])", "b"),
    ("max([{'n': 1, 'k': 'a'}, {'n': 1, 'k': 'b'}], key=lambda x: x.n).k", "a"),
    ("min([], default='-')", "-"),
    ("sorted([2, 1.5, 3], reverse=True)", [3, 2, 1.5]),
    ("sorted(['b', 'a'])", ["a", "b"]),
    ("sorted([(1, 'b'), (0, 'z'), (1, 'a')])", [[0, "z"], [1, "a"], [1, "b"]]),
    ("sorted([(1,), (1, 2), ()])", [[], [1], [1, 2]]),
    ("sorted([(False, 'x'), (True, None), (False, 'a')])", [[False, "a"], [False, "x"], [True, None]]),
    ("sorted([(None, 2), (None, 1)])", [[None, 1], [None, 2]]),
    ("sorted({'b': 1, 'a': 2})", ["a", "b"]),
    ("any([0, '', 1])", True),
    ("all([])", True),
    ("abs(-2.5)", 2.5),
    ("round(2.5)", 2),
    ("round(2.675, 2)", 2.67),
    ("round(2.5, 30)", 2.5),
    ("round(1234, -2)", 1200),
    ("int('  -12 ')", -12),
    ("int(2.9)", 2),
    ("int(True)", 1),
    ("float('1.5e3')", 1500.0),
    ("float('.5')", 0.5),
    ("str(1.0)", "1"),
    ("str([1, 'a'])", '[1,"a"]'),
    ("bool('')", False),
    ("list({'a': 1})", ["a"]),
    ("range(3)", [0, 1, 2]),
    ("range(3, 0, -2)", [3, 1]),
    ("reversed([1, 2])", [2, 1]),
    ("zip([1, 2], ['a', 'b'])", [[1, "a"], [2, "b"]]),
    ("enumerate(['a'], 1)", [[1, "a"]]),
    ("enumerate(['a'], start=2)", [[2, "a"]]),
    ("unique([1, 'a', 1.0, True, None, 'a', None])", [1, "a", True, None]),
    ("set([2, 1, 2])", [2, 1]),
    ("minutes('2024-05-15T10:00', '2024-05-15 11:30:30')", 90.5),
    ("minutes('2024-05-15T10:00Z', '2024-05-15T12:00+02:00')", 0),
    ("minutes('2024-05-15', '2024-05-16')", 1440),
    ("shift('2024-02-28', days=2)", "2024-03-01"),
    ("shift('2024-02-28', hours=5)", "2024-02-28T05:00"),
    ("shift('2024-05-15 23:30', hours=1)", "2024-05-16 00:30"),
    ("shift('2024-05-15T23:30:00Z', minutes=-30)", "2024-05-15T23:00:00Z"),
    ("shift('2024-05-15T10:00:00.250+02:00', days=-1)", "2024-05-14T10:00:00.250+02:00"),
    ("shift('0999-12-31', days=1)", "1000-01-01"),
    ("weekday('2024-05-15T10:00')", "Wednesday"),
    ("'aB'.lower() + 'aB'.upper() + 'ab cd'.title() + 'ab'.capitalize() + 'ẞ'.casefold()", "abABAb CdAbss"),
    ("' a '.strip() + 'xax'.lstrip('x') + 'xax'.rstrip('x')", "aaxxa"),
    ("'a b  c'.split()", ["a", "b", "c"]),
    ("'a,b,c'.split(',', 1) + 'a,b,c'.rsplit(',', maxsplit=1)", ["a", "b,c", "a,b", "c"]),
    ("'a\\nb'.splitlines()", ["a", "b"]),
    ("'k: v'.partition(': ')", ["k", ": ", "v"]),
    ("', '.join(['a', 1, 2.0, True])", "a, 1, 2, true"),
    ("'aaa'.replace('a', 'b', 2)", "bba"),
    ("'abcb'.find('b') + 'abcb'.find('b', 2) + 'abcb'.count('b') + 'abc'.find('z')", 5),
    ("'abc'.startswith('ab') and 'abc'.endswith(('x', 'c'))", True),
    ("'abc'.removeprefix('a').removesuffix('c')", "b"),
    ("'7'.zfill(3) + 'a'.ljust(3, '.') + 'a'.rjust(2)", "007a.. a"),
    ("'12'.isdigit() and 'ab'.isalpha()", True),
    ("{'a': 1}.get('a') + {}.get('b', 2)", 3),
    ("{'a': None}.get('a', 1)", None),
    ("[{'17': 1}.get(17), {'17': 1}.get(18, 2), {'17': 1}.get(17.0), {'17': 1}[17]]", [1, 2, None, 1]),
    ("{'a': 1}.keys() + {'b': 2}.values() + {'c': 3}.items()", ["a", 2, ["c", 3]]),
    ("['a', 'b', 'a'].count('a') + ['a', 'b'].index('b')", 3),
    ("[[1], [2]].index([2]) + [{'a': 1}].count({'a': 1})", 2),
    ("{'1': 'a'}[1] + {'1': 'b'}['1']", "ab"),
    ("[1, 2, 3][-1] + [1, 2, 3][1:][0]", 5),
    ("(1, 2) == [1, 2] and [1, 2] + (3,) == [1, 2, 3]", True),
    ("True == 1 and 1 in [True]", True),
    ("1 == 'a' or 'a' in 5 or 1 in 'a1' or 'a' in None or None == 0", False),
    ("[key in {'1': 2} for key in ['1', 1, 2, True, 1.0, None]]", [True, True, False, False, False, False]),
    ("[1] in [[1]] and {'a': 1} in [{'a': 1.0}] and 'k' in {'k': None}", True),
    ("[x is None for x in [None, 0]] + [x is not True for x in [True, 1]]", [True, False, False, True]),
    ("[a + c for a, (b, c) in zip([1, 2], enumerate([10, 20]))]", [11, 22]),
    ("f'{1.5:06.2f}|{3:>4}|{\"ä\":<3}|{1234567:,}|{0.256:.1%}|{{}}'", "001.50|   3|ä  |1,234,567|25.6%|{}"),
    ("[x for x in [1, 2, 3] if x > 1 if x < 3]", [2]),
    ("{k: v for k, v in {'a': 1}.items()}", {"a": 1}),
    ("0 or '' or None", None),
]


@pytest.mark.parametrize(("expression", "value"), GIVEN)
def test_what_it_gives(expression: str, value: Any) -> None:
    actual = compute(expression)
    assert actual == value
    assert type(actual) is type(value)


def test_every_function_and_method_is_tested() -> None:
    called = {name for expression, _ in GIVEN for name in re.findall(r"(\w+)\(", expression)}
    assert called >= {*FUNCTIONS, *METHODS_BY_NAME}


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("one('a')", "one() takes a list, not a text; cut it with .split() or [a:b]"),
        ("len(1)", "a number has no length"),
        ("sum([True])", "sum() takes numbers, not a boolean; count with sum(1 for x in … if …)"),
        ("min([])", "min() of nothing: give it default=…"),
        ("max([1, 'a'])", "a number and a text can't be ordered"),
        ("max([None, None])", "null can't be ordered"),
        ("sorted([{}, {}])", "an object can't be ordered"),
        ("sorted([(1, 'a'), (1, 2)])", "a number and a text can't be ordered"),
        ("any('abc')", "any() takes a list, not a text; cut it with .split() or [a:b]"),
        ("round('1')", "round() takes numbers, not a text; float(x) reads one from a text"),
        ("round(1, 2.0)", "round() takes a whole number, not a number with a fraction"),
        (
            "int('1.5')",
            "a text is not a whole number, which int(x) reads; float(x) reads others: cut out the digits before",
        ),
        (
            "int('١')",
            "a text is not a whole number, which int(x) reads; float(x) reads others: cut out the digits before",
        ),
        (
            "int('1_0')",
            "a text is not a whole number, which int(x) reads; float(x) reads others: cut out the digits before",
        ),
        ("float('inf')", "a text is not a number: cut out the digits before"),
        ("float(None)", "float() takes a text or a number, not null"),
        ("str(None)", "null can't stand in a text: say what to write instead, as in {x or 'none'}"),
        ("range(2.5)", "range() takes a whole number, not a number with a fraction"),
        ("range(1, 2, 0)", "range() takes a step other than 0"),
        ("zip([1], [])", "zip() takes lists of one length, not 1 and 0"),
        ("unique([[1]])", "unique() takes texts, numbers, booleans and null, not a list"),
        (
            "minutes('2024-05-15T10:00', '10:00')",
            "minutes() takes a time, for example 2024-05-15T12:00; this text is not one",
        ),
        ("minutes('2024-05-15T10:00', '2024-05-15T10:00Z')", "some of the times have a zone, the others have none"),
        ("shift('2024-13-01', days=1)", "shift() takes a time, for example 2024-05-15T12:00; this text is not one"),
        ("shift('20240515', days=1)", "shift() takes a time, for example 2024-05-15T12:00; this text is not one"),
        ("shift('2024-05-15', days='1')", "shift() takes numbers, not a text; float(x) reads one from a text"),
        ("weekday('2024-05-15T24:00')", "weekday() takes a time, for example 2024-05-15T12:00; this text is not one"),
        ("weekday(5)", "weekday() takes a time such as 2024-05-15T12:00, not a number"),
        ("'a'.split('')", ".split() takes a text of one character or more"),
        ("'a'.join([None])", "null can't stand in a text: say what to write instead, as in {x or 'none'}"),
        ("'a'.count(1)", ".count() takes a text, not a number"),
        ("'a'.ljust(3, 'ab')", ".ljust() fills with one character"),
        ("'a'.zfill('3')", ".zfill() takes a whole number, not a text"),
        ("'a'.startswith([1])", ".startswith() takes a text, not a number"),
        ("'a'.replace('a', 1)", ".replace() takes a text, not a number"),
        ("[1].index(2)", ".index() found nothing equal among 1 items"),
        ("[1].count(1, 2)", ".count() of a list doesn't take 2 arguments"),
        ("[1].lower()", "a list has no .lower()"),
        ("{1: 2}", "the key of an object is a text, not a number; str(x) makes one"),
        ("[1][True]", "the position in a list takes a whole number, not a boolean"),
        ("[1]['0']", "a list has no key 0: pick an item first, with one(…) or a loop"),
        ("{'a': 1}[None]", "a key is a text, not null"),
        ("'abc'[3]", "a text of 3 has nothing at this position"),
        ("[1, 2]['a':]", "a slice takes a whole number, not a text"),
        ("[1, 2][::0]", "a slice takes a step other than 0"),
        ("1 % 0", "division by zero"),
        ("True + 1", "+ takes numbers, not a boolean; count with sum(1 for x in … if …)"),
        ("-True", "a sign takes numbers, not a boolean; count with sum(1 for x in … if …)"),
        ("'a' + 1", "+ takes two texts, not a text and a number: write f'…{x}…', or str(x)"),
        ("[1] * 2", "* takes numbers, not a list"),
        ("'a' % 1", "% takes numbers, not a text; float(x) reads one from a text"),
        ("f'{1.5:d}'", "the format d doesn't fit a number of this sort"),
        ("f'{None}'", "null can't stand in a text: say what to write instead, as in {x or 'none'}"),
        ("None < 1", "null and a number can't be ordered"),
        ("[x for x in 5]", "a loop takes a list, not a number"),
    ],
)
def test_what_it_refuses_is_told_with_what_is_taken(expression: str, complaint: str) -> None:
    with pytest.raises(ComputingError) as caught:
        compute(expression)
    assert str(caught.value).startswith(f"{complaint}, at ")


CUT_IT = "; cut it with .split() or [a:b]"
LISTS = {"5": "a number", "None": "null", "True": "a boolean", "'a'": f"a text{CUT_IT}"}
READ_IT = "; float(x) reads one from a text"
COUNT_IT = "; count with sum(1 for x in … if …)"
NUMBERS = {
    "[1]": "a list",
    "{'a': 1}": "an object",
    "None": "null",
    "'a'": f"a text{READ_IT}",
    "True": f"a boolean{COUNT_IT}",
}
WHOLE = {"[1]": "a list", "{'a': 1}": "an object", "None": "null", "'a'": "a text", "True": "a boolean"}
_BUT_NULL = {key: kind for key, kind in WHOLE.items() if key != "None"}
TIMES = {"[1]": "a list", "{'a': 1}": "an object", "None": "null", "5": "a number", "True": "a boolean"}
TEXTS = {"[1]": "a list", "{'a': 1}": "an object", "5": "a number", "True": "a boolean"}
TAKES: list[tuple[str, str, dict[str, str]]] = [
    *((f"{name}(…)", f"{name}() takes a list", LISTS) for name in ("one", "next", "sum", "min", "max", "sorted")),
    *((f"{name}(…)", f"{name}() takes a list", LISTS) for name in ("any", "all", "list", "reversed", "enumerate")),
    *((f"{name}(…)", "unique() takes a list", LISTS) for name in ("unique", "set")),
    *((call, "zip() takes a list", LISTS) for call in ("zip(…)", "zip([1], …)")),
    *((f"{name}(…)", f"{name}() takes numbers", NUMBERS) for name in ("abs", "round")),
    ("sum([1], …)", "sum() takes numbers", NUMBERS),
    ("sum([1, …])", "sum() takes numbers", NUMBERS),
    *((call, "range() takes a whole number", WHOLE) for call in ("range(…)", "range(1, …)", "range(1, 5, …)")),
    ("enumerate([1], …)", "enumerate() takes a whole number", WHOLE),
    ("round(1.5, …)", "round() takes a whole number", _BUT_NULL),
    *((f"{name}(…)", f"{name}() takes a time such as 2024-05-15T12:00", TIMES) for name in ("shift", "weekday")),
    ("minutes('2024-05-15', …)", "minutes() takes a time such as 2024-05-15T12:00", TIMES),
    ("minutes(…, '2024-05-15')", "minutes() takes a time such as 2024-05-15T12:00", TIMES),
    *(
        (f"'ab'.{name}(…)", f".{name}() takes a text", TEXTS)
        for name in ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "split", "rsplit", "partition")
    ),
    *((f"'ab'.{name}(…)", f".{name}() takes a text", TEXTS) for name in ("find", "count")),
    *((f"'ab'.{name}([…])", f".{name}() takes a text", TEXTS) for name in ("startswith", "endswith")),
    ("'ab'.replace(…, 'b')", ".replace() takes a text", TEXTS),
    ("'ab'.replace('a', …)", ".replace() takes a text", TEXTS),
    ("'ab'.join(…)", ".join() takes a list", LISTS),
    *((f"'ab'.{name}(3, …)", f".{name}() takes a text", TEXTS) for name in ("ljust", "rjust")),
    *((f"'ab'.{name}(…)", f".{name}() takes a whole number", WHOLE) for name in ("zfill", "ljust", "rjust")),
    *((f"'ab'.{name}('a', …)", f".{name}() takes a whole number", WHOLE) for name in ("split", "rsplit")),
    *((f"'ab'.{name}('a', …)", f".{name}() takes a whole number", _BUT_NULL) for name in ("find", "count")),
    ("'ab'.replace('a', 'b', …)", ".replace() takes a whole number", _BUT_NULL),
    *(
        (f"{name}(…)", f"{name}() takes a text or a number", {"[1]": "a list", "{'a': 1}": "an object", "None": "null"})
        for name in ("int", "float")
    ),
]


@pytest.mark.parametrize(
    ("written", "takes", "given"),
    [(written, takes, given) for written, takes, kinds in TAKES for given in kinds.items()],
)
def test_a_function_that_is_given_another_kind_names_itself_and_both(
    written: str, takes: str, given: tuple[str, str]
) -> None:
    expression = written.replace("…", given[0])
    with pytest.raises(ComputingError) as caught:
        compute(expression)
    assert str(caught.value) == f"{takes}, not {given[1]}, at {expression}, in {{[{expression}, †unused][0]}}"


def test_a_long_expression_is_told_by_its_beginning_and_the_place_in_it() -> None:
    expression = f"'a' + 1 + '{'b' * 200}'"
    with pytest.raises(ComputingError) as caught:
        compute(expression)
    message = "+ takes two texts, not a text and a number: write f'…{x}…', or str(x), at 'a' + 1, in "
    assert str(caught.value) == f"{message}{{{f'[{expression}'[:119]}…}}"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'2024-05-19T12:00:00' > '2024-05-19T12:00'", False),
        ("'2024-05-19T12:00:00' <= '2024-05-19 12:00'", True),
        ("'2024-05-19T12:00:00' == '2024-05-19T12:00'", False),
        ("'2024-05-19T12:00+02:00' < '2024-05-19T11:00Z'", True),
        ("'2024-05-19' < '2024-05-19T00:00'", True),
        ("'2024-05-19 09:00' < '2024-05-19T08:00'", False),
        ("max(['2024-05-19T09:00', '2024-05-19 09:30'])", "2024-05-19 09:30"),
        ("sorted(['2024-05-19T12:00:01', '2024-05-19T12:00'])", ["2024-05-19T12:00", "2024-05-19T12:00:01"]),
        ("sorted(['2024-05-19T12:00', '2024-05-19 11:00', ''])", ["", "2024-05-19 11:00", "2024-05-19T12:00"]),
        ("('2024-05-19T12:00', 1) < ('2024-05-19T12:00:00', 2)", True),
        ("'2024-02-30T12:00' < '2024-02-30T12:00:00'", True),
    ],
)
def test_times_are_compared_as_times_if_both_have_a_time_of_day(expression: str, value: Any) -> None:
    assert compute(expression) == value


def test_zones_mixed_is_an_error() -> None:
    with pytest.raises(ComputingError, match="some of the times have a zone"):
        compute("'2024-05-19T12:00' < '2024-05-19T12:00Z'")


def test_booleans_are_told_apart_and_are_no_numbers() -> None:
    assert compute("unique([True, False, True, 1, 0, 1.0])") == [True, False, 1, 0]
