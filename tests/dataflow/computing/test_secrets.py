"""Errors name the expression, places, kinds and counts, never what came from data (E6)."""

from __future__ import annotations

import traceback
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.dataflow.computing.evaluator import ComputingError, Filter
from actum.dataflow.computing.functions import FUNCTIONS
from actum.dataflow.computing.methods import METHODS_BY_NAME

from ...effort import trials
from .given import fill

SECRET = "s3cr3t"
NUMBER = 715517155171

SCALARS = st.sampled_from(
    [SECRET, f"{SECRET} 2024-05-15T10:00", "2024-05-15T10:00Z", NUMBER, NUMBER + 0.25, True, None, ""]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([SECRET, "a", "b"]), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.lists(st.sampled_from(["†x", "†y", "†x.a", "†y[0]", "1", "''", "None"]), max_size=3).map(", ".join)
EXPRESSIONS = st.one_of(
    st.sampled_from(
        [
            "†x.b",
            "†x[†y]",
            "†x[0]",
            "†y[†x:]",
            "†x.a.b",
            "[a for a, b in †x]",
            "{k: 1 for k in †x}",
            "{†x: 1}",
            "-†x",
            "f'{†x:d}'",
        ]
        + [f"†x {sign} †y" for sign in ("+", "-", "*", "/", "//", "%", "<", ">=", "==", "in")]
        + [
            "sorted(†x, key=lambda e: e.a)",
            "[e.a + e.b for e in †x]",
            "f'{†x}{†y}'",
            "(†x, †y) < (†y, †x)",
            "[*†x, *†y]",
        ]
    ),
    st.builds("{}({})".format, st.sampled_from(sorted(FUNCTIONS)), ARGUMENTS),
    st.builds("†x.{}({})".format, st.sampled_from(sorted(METHODS_BY_NAME)), ARGUMENTS),
)


@settings(max_examples=trials(20_000))
@given(EXPRESSIONS, VALUES, VALUES)
def test_no_error_holds_what_came_from_data(expression: str, x: Any, y: Any) -> None:
    message = ""
    try:
        fill(f"<{{{expression}}}>" if "†" in expression else f"<{{[{expression}, †x]}}>", x=x, y=y)
    except ValueError as error:
        message = "".join(traceback.format_exception_only(error)) + str(getattr(error, "place", ""))
    assert SECRET not in message
    assert str(NUMBER) not in message
    assert f"{NUMBER:,}" not in message


WRONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "{†x[0].title}",
        {"x": [{"name": 1, "b": 2}]},
        "an object of 2 keys has no key title; where it may be missing, write .title?, in {†x[0].title}",
    ),
    (
        "{†calls.0.a.b}",
        {"calls": [{"a": 1}]},
        "a list has no key a: pick an item first, with one(…) or a loop, at †calls.0.a, in {†calls.0.a.b}",
    ),
    ("{[e.a.b for e in †x]}", {"x": [{"a": 1}]}, "a number has no key b, at e.a.b, in {[e.a.b for e in †x]}"),
    ("{†x[3]}", {"x": [1, 2]}, "a list of 2 has nothing at this position, in {†x[3]}"),
    (
        "{one(e for e in †x if e > 1)}",
        {"x": [1, 2, 3]},
        "one() found 2 items, not exactly one, in {one(e for e in †x if e > 1)}",
    ),
    ("{one(†x)}", {"x": []}, "one() found 0 items: nothing fits, in {one(†x)}"),
    (
        "{1 + (2 * †x)}",
        {"x": "3"},
        "* takes numbers, not a text; float(x) reads one from a text, at 2 * †x, in {1 + (2 * †x)}",
    ),
    ("{†x + 1}", {"x": "a"}, "+ takes two texts, not a text and a number: write f'…{x}…', or str(x), in {†x + 1}"),
    (
        "{†x - †y}",
        {"x": [1], "y": [1]},
        "- takes numbers, not lists: write [x for x in a if x not in b], in {†x - †y}",
    ),
    (
        "{sum(†x)}",
        {"x": [True]},
        "sum() takes numbers, not a boolean; count with sum(1 for x in … if …), in {sum(†x)}",
    ),
    ("{†x < 1}", {"x": None}, "null and a number can't be ordered, in {†x < 1}"),
    ("{sorted(†x)}", {"x": [1, "a"]}, "a number and a text can't be ordered, in {sorted(†x)}"),
    (
        "{[c for c in †x]}",
        {"x": "abc"},
        "a loop takes a list, not a text; cut it with .split() or [a:b], at †x, in {[c for c in †x]}",
    ),
    ("{zip(†x, [1])}", {"x": [1, 2]}, "zip() takes lists of one length, not 2 and 1, in {zip(†x, [1])}"),
    (
        "{[a for a, b in †x]}",
        {"x": [[1, 2, 3]]},
        "2 names can't be bound to a list of 3, at a, b, in {[a for a, b in †x]}",
    ),
    ("{†x.lower()}", {"x": 3}, "a number has no .lower(), in {†x.lower()}"),
    (
        "{int(†x)}",
        {"x": "12.5"},
        "a text is not a whole number, which int(x) reads; float(x) reads others: "
        "cut out the digits before, in {int(†x)}",
    ),
    (
        "{minutes(†x, †y)}",
        {"x": "2024-05-15T10:00", "y": "2024-05-15T10:00Z"},
        "some of the times have a zone, the others have none, in {minutes(†x, †y)}",
    ),
    ("{†x:.2f}", {"x": "a"}, "the format .2f takes a number, not a text, in {†x}"),
    ("{†x:d}", {"x": 1.5}, "the format d doesn't fit a number of this sort, in {†x}"),
    ("{†x[0:2:0]}", {"x": [1]}, "a slice takes a step other than 0, in {†x[0:2:0]}"),
    (
        "{†x[0.5]}",
        {"x": [1]},
        "the position in a list takes a whole number, not a number with a fraction, in {†x[0.5]}",
    ),
    (
        "{†x[1.5]}",
        {"x": [1, 2]},
        "the position in a list takes a whole number, not a number with a fraction, in {†x[1.5]}",
    ),
    ("{{†x: 1}}", {"x": 1}, "the key of an object is a text, not a number; str(x) makes one, in {{†x: 1}}"),
    ("{†x[†y]}", {"x": {"a": 1}, "y": 2}, "an object of 1 key doesn't have this one, in {†x[†y]}"),
    ("{†x[†y]}", {"x": [1], "y": "a"}, "the position in a list takes a whole number, not a text, in {†x[†y]}"),
    ("{†x[0]}", {"x": 5}, "a number has no parts, in {†x[0]}"),
    ("{†x[:1]}", {"x": 5}, "a number can't be cut, in {†x[:1]}"),
    ("{1 / †x}", {"x": 0}, "division by zero, in {1 / †x}"),
    ("{1 // †x}", {"x": 0}, "division by zero, in {1 // †x}"),
    ("{1 % †x}", {"x": 0}, "division by zero, in {1 % †x}"),
    ("{round(†x, †y)}", {"x": 1.5, "y": 400}, "round() takes up to 30 digits, in {round(†x, †y)}"),
    (
        "{round(†x, †y)}",
        {"x": 1.5, "y": 1.5},
        "round() takes a whole number, not a number with a fraction, in {round(†x, †y)}",
    ),
    ("{float(†x)}", {"x": []}, "float() takes a text or a number, not a list, in {float(†x)}"),
    ("{float(†x)}", {"x": "a"}, "a text is not a number: cut out the digits before, in {float(†x)}"),
    (
        "{float(†x)}",
        {"x": "1" * 500},
        "a text of 500 characters is not a number: at most 30 are read, in {float(†x)}",
    ),
    (
        "{int(†x)}",
        {"x": "1" * 500},
        "a text of 500 characters is not a whole number, which int(x) reads; float(x) reads others: "
        "at most 30 are read, in {int(†x)}",
    ),
    ("{int(†x)}", {"x": []}, "int() takes a text or a number, not a list, in {int(†x)}"),
    ("{range(0, 1, †x)}", {"x": 0}, "range() takes a step other than 0, in {range(0, 1, †x)}"),
    ("{range(†x)}", {"x": 10**9}, "range() has more numbers than a value may have, in {range(†x)}"),
    (
        "{unique(†x)}",
        {"x": [{}]},
        "unique() takes texts, numbers, booleans and null, not an object, in {unique(†x)}",
    ),
    ("{max(†x)}", {"x": []}, "max() of nothing: give it default=…, in {max(†x)}"),
    ("{min(†x)}", {"x": []}, "min() of nothing: give it default=…, in {min(†x)}"),
    (
        "{†x.partition(†y)}",
        {"x": "a", "y": ""},
        ".partition() takes a text of one character or more, in {†x.partition(†y)}",
    ),
    ("{†x.split(†y)}", {"x": "a", "y": ""}, ".split() takes a text of one character or more, in {†x.split(†y)}"),
    ("{†x.index(†y)}", {"x": [1], "y": 2}, ".index() found nothing equal among 1 items, in {†x.index(†y)}"),
    (
        "{†x.zfill(†y)}",
        {"x": "a", "y": 10**9},
        "a value may have 1,000,000 characters or items, not 1,000,000,000, in {†x.zfill(†y)}",
    ),
    ("{†x.ljust(4, †y)}", {"x": "a", "y": "ab"}, ".ljust() fills with one character, in {†x.ljust(4, †y)}"),
    (
        "{f'{†x}'}",
        {"x": None},
        "null can't stand in a text: say what to write instead, as in {x or 'none'}, at †x, in {f'{†x}'}",
    ),
    ("{†x}!", {"x": None}, "null can't stand in a text: say what to write instead, as in {x or 'none'}, in {†x}"),
    (
        "{minutes(†x, †y)}",
        {"x": 1, "y": 2},
        "minutes() takes a time such as 2024-05-15T12:00, not a number, in {minutes(†x, †y)}",
    ),
    (
        "{minutes(†x, †y)}",
        {"x": "a", "y": "b"},
        "minutes() takes a time, for example 2024-05-15T12:00; this text is not one, in {minutes(†x, †y)}",
    ),
    (
        "{shift(†x, days=†y)}",
        {"x": "2024-05-15T12:00", "y": 10**7},
        "the time is moved out of the calendar, in {shift(†x, days=†y)}",
    ),
    (
        "{†x.find('a', †y)}",
        {"x": "abc", "y": 0.5},
        ".find() takes a whole number, not a number with a fraction, in {†x.find('a', †y)}",
    ),
    (
        "{†x.startswith(†y)}",
        {"x": "a", "y": [1]},
        ".startswith() takes a text, not a number, in {†x.startswith(†y)}",
    ),
    ("{','.join(†x)}", {"x": 5}, ".join() takes a list, not a number, in {','.join(†x)}"),
    ("{†x.find(†y)}", {"x": "a", "y": 1}, ".find() takes a text, not a number, in {†x.find(†y)}"),
    ("{len(†x)}", {"x": 1}, "a number has no length, in {len(†x)}"),
    ("{-†x}", {"x": "a"}, "a sign takes numbers, not a text; float(x) reads one from a text, in {-†x}"),
    ("{†x * †y}", {"x": "a", "y": 3}, "* takes numbers, not a text; float(x) reads one from a text, in {†x * †y}"),
    ("{abs(†x)}", {"x": "a"}, "abs() takes numbers, not a text; float(x) reads one from a text, in {abs(†x)}"),
    ("{[*†x]}", {"x": 1}, "* takes a list, not a number, in {[*†x]}"),
    ("{sum(†x)}", {"x": ["a"]}, "sum() takes numbers, not a text; float(x) reads one from a text, in {sum(†x)}"),
    (
        "{enumerate(†x, †y)}",
        {"x": [1], "y": "a"},
        "enumerate() takes a whole number, not a text, in {enumerate(†x, †y)}",
    ),
    ("{list(†x)}", {"x": 5}, "list() takes a list, not a number, in {list(†x)}"),
    (
        "{sorted(†x, key=lambda a: a.b)}",
        {"x": [{"b": 1}, {"b": "x"}]},
        "a number and a text can't be ordered, in {sorted(†x, key=lambda a: a.b)}",
    ),
    (
        "{str(†x)}",
        {"x": None},
        "null can't stand in a text: say what to write instead, as in {x or 'none'}, in {str(†x)}",
    ),
    (
        "{'a' if †x > 1 else 2}",
        {"x": "b"},
        "a text and a number can't be ordered, at †x > 1, in {'a' if †x > 1 else 2}",
    ),
    (
        "{†x.replace(†y, 'a')}",
        {"x": "b", "y": 1},
        ".replace() takes a text, not a number, in {†x.replace(†y, 'a')}",
    ),
    ("{†x:%}", {"x": "a"}, "the format % takes a number, not a text, in {†x}"),
    ("{†x:,}", {"x": True}, "the format , takes a number, not a boolean, in {†x}"),
    ("{reversed(†x)}", {"x": 1}, "reversed() takes a list, not a number, in {reversed(†x)}"),
    ("{any(†x)}", {"x": 1}, "any() takes a list, not a number, in {any(†x)}"),
    (
        "{[e.length for e in †x]}",
        {"x": [[1]]},
        "a list has no key length: write len(…), at e.length, in {[e.length for e in †x]}",
    ),
    (
        "{[e.length for e in †x]}",
        {"x": ["a"]},
        "a text has no key length: write len(…), at e.length, in {[e.length for e in †x]}",
    ),
    (
        "{[e.length for e in †x]}",
        {"x": [{}]},
        "an object of 0 keys has no key length; where it may be missing, write .length?"
        ", at e.length, in {[e.length for e in †x]}",
    ),
    (
        "{[e[†y] for e in †x]}",
        {"x": [{}], "y": 1},
        "an object of 0 keys doesn't have this one, at e[†y], in {[e[†y] for e in †x]}",
    ),
    (
        "{[e[†y] for e in †x]}",
        {"x": [[]], "y": "a"},
        "the position in a list takes a whole number, not a text, at e[†y], in {[e[†y] for e in †x]}",
    ),
    (
        "{[e['k'] for e in †x]}",
        {"x": [{"a": 1}]},
        "an object of 1 key has no key k; where it may be missing, write .k?, at e['k'], in {[e['k'] for e in †x]}",
    ),
    ("{[e.k for e in †x]}", {"x": [None]}, "null has no key k, at e.k, in {[e.k for e in †x]}"),
    ("{†y.get(†x)}", {"x": 1, "y": [1]}, "a list has no .get(), in {†y.get(†x)}"),
]


@pytest.mark.parametrize(("text", "values", "complaint"), WRONG)
def test_an_error_says_what_was_wrong_and_where(text: str, values: dict[str, Any], complaint: str) -> None:
    if "†calls" in text:
        values = {"calls": values["calls"]}
    with pytest.raises(ComputingError) as caught:
        fill(text, **values)
    assert complaint == str(caught.value)


def test_filters_tell_what_they_kept() -> None:
    filters: list[Filter] = []
    fill(
        "{sum(1 for r in †x if r.on for t in r.tags if t == 'a') + len([t for t in [] if t])"
        " + (len([x for x in †x if x]) if False else 0)}",
        filters=filters,
        x=[{"on": True, "tags": ["a", "b"]}, {"on": True, "tags": ["a"]}, {"on": False, "tags": ["a"]}],
    )
    assert filters == [
        Filter("for r in †x if r.on", 2, 3),
        Filter("for t in r.tags if t == 'a'", 2, 3),
        Filter("for t in [] if t", 0, 0),
    ]


def test_filters_are_told_of_what_failed_too() -> None:
    filters: list[Filter] = []
    with pytest.raises(ComputingError):
        fill("{one(r for r in †x if r > 5)}", filters=filters, x=[1, 2])
    assert filters == [Filter("for r in †x if r > 5", 0, 2)]
