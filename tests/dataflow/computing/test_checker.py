"""What expressions are refused for by the types of what they read, and what they are not (E5)."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from actum.dataflow.computing.checker import Checked, ComputingMismatch, check_types
from actum.dataflow.computing.evaluator import Allowance, ComputingError, computed_value
from actum.dataflow.computing.tokens import ComputingSyntax
from actum.schema.type_reading import misfit_between, type_of, type_of_value
from actum.schema.types import NULL, Type, in_words, union
from actum.schema.validator import Validator

from ...effort import trials
from .given import computed

TEXT: dict[str, Any] = {"type": "string"}
EVENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "title": TEXT,
        "price": {"type": "number"},
        "open": {"type": "boolean"},
        "status": {"enum": ["sent", "draft"]},
        "place": TEXT,
        "guests": {"type": "array", "items": TEXT},
        "seats": {"type": "object", "additionalProperties": {"type": "integer"}},
        "note": {"type": ["string", "null"]},
        "any": {},
    },
    "required": ["id", "title", "price", "open", "status", "guests", "seats", "note", "any"],
}
EVENTS: dict[str, Any] = {"type": "array", "items": EVENT}


def checked(text: str, schema: dict[str, Any] = EVENTS, *, skipped: bool = False) -> Checked:
    kind = union(type_of(schema), NULL) if skipped else type_of(schema)
    return check_types(computed(text), lambda _: kind)


def event_type(expression: str) -> Type:
    """The type of an expression over `e`, an event."""
    return checked(f"{{[{expression} for e in †calls.0][0]}}").type


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("e", "an object"),
        ("e.id", "a whole number"),
        ("e['title']", "a text"),
        ("e.place", "a text or null"),
        ("e.place or 'none'", "a text"),
        ("e.note", "a text or null"),
        ("e.any.what.ever", "anything"),
        ("e.guests[0]", "a text"),
        ("e.guests[1:]", "a list"),
        ("e.title[:4]", "a text"),
        ("e.seats.front", "a whole number"),
        ("e.seats['a' + e.title]", "a whole number"),
        ("e[e.title]", "anything"),
        ("e.id + 1", "a whole number"),
        ("e.id / 2", "a number"),
        ("e.id * e.price", "a number"),
        ("-e.price", "a number"),
        ("not e", "true or false"),
        ("e.guests + [1]", "a list"),
        ("e.any + 1", "a number"),
        ("e.id if e.open else e.title", "a whole number or a text"),
        ("e.id < 3 < e.price", "true or false"),
        ("f'{e.id:03d}: {e.note}'", "a text"),
        ("{'a': e.id, 'b': e.place}['b']", "a text or null"),
        ("{g: 1 for g in e.guests}", "an object"),
        ("[*e.guests, e.id][0]", "a text or a whole number"),
        ("[e.id, e.title][1]", "a text"),
        ("[e.id, e.title][-2]", "a whole number"),
        ("[(a, b) for a, b in e.seats.items()][0][1]", "a whole number"),
        ("[b for a, (b, c) in enumerate(zip(e.guests, e.guests))][0]", "a text"),
        ("one(e.guests)", "a text"),
        ("next(e.guests, None)", "a text or null"),
        ("len(e.guests)", "a whole number"),
        ("sum(e.seats.values())", "a whole number"),
        ("sum([e.id, e.price])", "a number"),
        ("max(e.guests, default=0)", "a text or a whole number"),
        ("max(e.id, e.price)", "a whole number or a number"),
        ("sorted(e.seats)[0]", "a text"),
        ("sorted([e], key=lambda x: x.price)[0].id", "a whole number"),
        ("round(e.price)", "a whole number"),
        ("round(e.price, 2)", "a number"),
        ("abs(e.id)", "a whole number"),
        ("int(e.title)", "a whole number"),
        ("e.title.split(',')[0].strip()", "a text"),
        ("e.title.find('x')", "a whole number"),
        ("e.guests.count('x')", "a whole number"),
        ("e.seats.get('x')", "a whole number or null"),
        ("e.get('id')", "a whole number"),
        ("e.get('place', 0)", "a text or a whole number"),
        ("e.get('nothing', 'x')", "a text"),
        ("', '.join(e.guests)", "a text"),
        ("shift(e.title, days=e.id)", "a text"),
    ],
)
def test_an_expression_has_a_type(expression: str, words: str) -> None:
    actual = in_words(event_type(expression))
    assert actual == words or (words == "a whole number or a number" and actual == "a number")


def test_a_text_with_groups_is_a_text_and_a_group_alone_is_not() -> None:
    assert in_words(checked("{†calls.0}").type) == "a list"
    assert in_words(checked("{len(†calls.0)}").type) == "a whole number"
    assert in_words(checked("{len(†calls.0):03d}").type) == "a text"
    assert in_words(checked("all {len(†calls.0)}, {†calls.0[0].note}").type) == "a text"


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (
            "e.titel",
            "no 'titel' (did you mean 'title'?), it has id, title, price, open, status, "
            "place, guests, seats, note, any",
        ),
        (
            "e['id_']",
            "no 'id_' (did you mean 'id'?), it has id, title, price, open, status, place, guests, seats, note, any",
        ),
        ("e.title.x", "a text has no 'x', at e.title.x"),
        ("e.guests.name", "a list has no 'name'; use one(x for x in … if …), an index or a comprehension"),
        ("e.id[0]", "a whole number has no 0"),
        ("e.seats['1A'].x", "a whole number has no 'x'"),
        ("e.seats[0]", "an object has no positions: name a key, as in ['0'], or take one(….values())"),
        ("[1, 2][2]", "no item 2, it has 2"),
        ("e.id[1:]", "a whole number can't be cut"),
        ("e.guests['x':]", "a slice takes whole numbers, not a text"),
        ("e.guests[e.title]", "a list has nothing at a text"),
        ("e.id + 'x'", "+ takes two texts, not a whole number and a text: write a template, or str(x) or float(x)"),
        ("e.title * 2", "arithmetic takes numbers, not a text and a whole number"),
        ("e.any * e.title", "arithmetic takes numbers, not anything and a text"),
        ("e.open + 1", "arithmetic takes numbers, not true or false and a whole number"),
        ("-e.title", "a sign takes numbers, not a text"),
        ("e.title < 3", "a text and a whole number can't be ordered"),
        ("e.seats < e.seats", "an object and an object can't be ordered"),
        ("e.status == 'done'", "never equal: it is one of 'sent', 'draft'"),
        ("'done' != e.status", "never equal: it is one of 'sent', 'draft'"),
        ("'sent' == 'done'", "never equal: 'sent' and 'done'"),
        ("e.id == '1'", "never equal: a whole number and a text"),
        ("e.id in e.guests", "never in: a whole number and a text"),
        ("e.status in ['done', 'cancelled']", "never in: it is one of 'done', 'cancelled'"),
        ("1 in e.title", "a whole number is never in a text"),
        ("'x' in e.id", "a text is never in a whole number"),
        ("[x for x in e.id]", "for … in takes a list, not a whole number"),
        ("[x for x, y in e.guests]", "2 names are bound to a text, at x, y"),
        ("[x for x, y, z in e.seats.items()]", "3 names are bound to a list of 2"),
        ("[*e.id]", "* takes a list, not a whole number"),
        ("{e.id: 1}", "an object takes texts as keys, not a whole number"),
        ("{e.id: 1 for x in e.guests}", "an object takes texts as keys, not a whole number"),
        ("f'{e.title:.2f}'", "the format .2f takes a number, not a text"),
        ("f'{e.guests:>4}'", "the format >4 takes a text or a number, not a list"),
        ("one(e.id)", "one() takes a list, not a whole number"),
        ("sum(e.guests)", "sum() takes numbers, not a text"),
        ("sum([e.open])", "sum() takes numbers, not true or false"),
        ("max([e])", "max() can't order an object: give it key=lambda x: x.…"),
        ("max([e], key=lambda x: x.seats)", "max() can't order an object: give it key=lambda x: x.…"),
        (
            "max([e], key=lambda x: x.pric)",
            "no 'pric' (did you mean 'price'?), it has id, title, price, open, status, place, guests, seats, note, any",
        ),
        ("min(e.id, e.title)", "a whole number and a text can't be ordered"),
        ("sorted([e])", "sorted() can't order an object: give it key=lambda x: x.…"),
        ("len(e.id)", "a whole number has no length"),
        ("round(e.title)", "round() takes a number, not a text"),
        ("abs(e.title)", "abs() takes a number, not a text"),
        ("int(e.guests)", "int() takes a text or a number, not a list"),
        ("range(e.title)", "range() takes whole numbers, not a text"),
        ("minutes(e.title, e.id)", "minutes() takes times, not a whole number"),
        ("shift(e.id, days=1)", "shift() takes a time, not a whole number"),
        ("shift(e.title, days='1')", "shift() takes a number to move by, not a text"),
        ("enumerate(e.id)", "enumerate() takes a list, not a whole number"),
        ("enumerate(e.guests, 'x')", "enumerate() takes a whole number to start with, not a text"),
        ("e.id.lower()", "a whole number has no .lower()"),
        ("e.guests.items()", "a list has no .items()"),
        ("e.title.startswith(1)", ".startswith() takes a text or a list of texts, not a whole number"),
        ("e.title.replace('x', 1)", ".replace() takes a text, not a whole number"),
        ("','.join(e.id)", ".join() takes a list, not a whole number"),
        ("e.title.split(1)", ".split() takes a text, not a whole number"),
        ("None.x", "null has no 'x'"),
    ],
)
def test_what_is_certain_to_fail_is_refused_and_says_why(expression: str, why: str) -> None:
    with pytest.raises(ComputingMismatch) as error:
        event_type(expression)
    assert str(error.value).removeprefix(why).startswith((", at ", ", in {"))
    assert "\n" not in str(error.value)


def test_a_refusal_names_the_place_and_the_expression() -> None:
    with pytest.raises(
        ComputingMismatch, match=r", at e\.titel, in \{one\(e for e in †calls\.0 if e\.titel == 'x'\)\}$"
    ):
        checked("{one(e for e in †calls.0 if e.titel == 'x')}")
    with pytest.raises(ComputingMismatch, match=r"an index or a comprehension, in \{†calls\.0\.title\}$"):
        checked("See {†calls.0.title}.")


@pytest.mark.parametrize(
    "expression",
    [
        "e.place != None and e.id != None and e.title != ''",
        "e.status == ''",
        "e.open == 1",
        "'what' in e",
        "e.get('what')",
        "e.place < 'x'",
        "e.note.lower()",
        "e.note + 'x'",
        "f'{e.note}'",
        "e.any == 3 or e.any < 'x' or e.any.x in e.any",
        "[x for x, y in e.any]",
        "(e.id if e.open else e.title) + 1",
        "(e.id if e.open else e.title).lower()",
        "max(e.any, 3)",
        "max(e, {'id': 1}, key=lambda x: x.id)",
        "e.any[e.any]",
        "e.id is None",
        "sorted([e], key=lambda x: x.note)",
        *("e.guests[None:2]", "e.guests[:None]", "e.guests[::None]", "e.title[None:]"),
        *("e.title.find('x', None)", "e.title.split(None)", "e.title.split(None, 1)", "e.title.count('x', None, 3)"),
        *("round(e.price, None)", "e.title.startswith(e.guests)", "e.title.endswith(('a', 'b'))"),
        *("e.guests.index('x')", "e.seats.get('x', None)", "next(e.guests, None)", "max(e.guests, default=None)"),
    ],
)
def test_what_may_work_is_not_refused(expression: str) -> None:
    event_type(expression)


def test_a_call_that_may_be_skipped_may_be_null() -> None:
    assert in_words(checked("{†calls.0}", skipped=True).type) == "a list or null"
    assert in_words(checked("{†calls.0[0].id}", skipped=True).type) == "a whole number"
    assert in_words(checked("{'yes' if †calls.0 else 'no'}", skipped=True).type) == "a text"
    with pytest.raises(ComputingMismatch):
        checked("{†calls.0.title}", skipped=True)


def test_nothing_is_refused_of_an_unknown_shape() -> None:
    assert in_words(checked("{[x.y.z + 1 for x in †calls.0 if x['a'].get('b')]}", {}).type) == "a list"


def test_optional_keys_are_told_by_their_nodes_and_read_as_null() -> None:
    text = computed("{[e.place or e['place'] or e.note or e.id for e in †calls.0]}")
    report = check_types(text, lambda _: type_of(EVENTS))
    assert sorted(ast.unparse(node) for node in report.optional) == ["e.place", "e['place']"]
    events = [{"note": None, "id": 7}, {"place": "Rome"}]
    assert computed_value(text, lambda _: events, Allowance(), optional=report.optional) == [7, "Rome"]


VALUE: list[dict[str, Any]] = [
    {
        "id": 1,
        "title": "a,b",
        "price": 2.5,
        "open": True,
        "status": "sent",
        "guests": ["Ann", "Bo"],
        "seats": {"front": 3, "back": 4},
        "note": None,
        "any": [1],
    },
    {
        "id": 2,
        "title": "c",
        "price": 1.0,
        "open": False,
        "status": "draft",
        "guests": ["Cy", "Di"],
        "seats": {"front": 1, "x": 2},
        "note": "n",
        "any": {"a": "b"},
        "place": "Rome",
    },
]

_FIELDS = (*EVENT["properties"], "front", "a", "nothing")
_ATOMS = st.sampled_from(
    ["†calls.0", "†calls.0[0]", "†calls.0[1]", "(1)", "(2.5)", "'a'", "True", "'2024-05-19T12:00'"]
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions none of whose branches is left out, over lists none of which is empty."""
    unary = ["{0}." + name for name in _FIELDS]
    unary += ["{0}['title']", "{0}[0]", "{0}[-1]", "{0}[:1]", "-{0}", "not {0}", "[{0}]", "[*{0}, 1]", "{{'a': {0}}}"]
    unary += ['f"{{{0}}}"', 'f"{{{0}:>4}}"', 'f"{{{0}:.1f}}"', "[x for x in {0}]", "[x.id for x in {0}]"]
    unary += ["[y for x, y in {0}.items()]", "[y for x, y in enumerate({0})]", "{{x: 1 for x in {0}}}", "one([{0}])"]
    unary += ["one({0})", "next({0})", "len({0})", "sum({0})", "any({0})", "list({0})", "unique({0})", "abs({0})"]
    unary += [
        "round({0})",
        "round({0}, 1)",
        "int({0})",
        "float({0})",
        "str({0})",
        "range(1, 3 + abs({0}))",
        "weekday({0})",
    ]
    unary += ["{0}.lower()", "{0}.split(',')", "{0}.items()", "{0}.values()", "{0}.get('place')", "{0}.get('a', 1)"]
    unary += ["{0}.count('a')", "','.join({0})", "{0}.find('a')", "shift({0}, days=1)", "[x + 1 for x in {0}]"]
    binary = ["({0} + {1})", "({0} * {1})", "({0} / {1})", "({0} < {1})", "[{0}, {1}]", "max({0}, {1})", "{0}[{1}]"]
    binary += ["sorted([{0}, {1}])", "min([{0}, {1}])", "[b for a, b in zip({0}, {1})]", "{0}.startswith({1})"]
    binary += ["{0}.replace('a', {1})", "minutes({0}, {1})", "[max(x, y) for x in {0} for y in {1}]"]
    binary += ["sorted([{0}, {0}], key=lambda x: {1})", "sum({0}, {1})", "{{{0}: {1}}}", "({0} if {0} else {0})"]
    return st.tuples(st.sampled_from([*unary, *binary]), inner, inner).map(_filled)


def _filled(drawn: tuple[str, str, str]) -> str:
    return drawn[0].format(*drawn[1:])


def test_the_value_is_one_of_the_schema() -> None:
    assert Validator(EVENTS).complaint(VALUE) is None


@given(st.recursive(_ATOMS, _compound, max_leaves=6))
@settings(max_examples=trials(6_000, least=300))
def test_what_evaluates_is_not_refused_and_is_of_its_type(expression: str) -> None:
    try:
        text = computed(f"{{[{expression}, †calls.0][0]}}")
    except ComputingSyntax:
        reject()
    try:
        report = check_types(text, lambda _: type_of(EVENTS))
    except ComputingMismatch:
        with pytest.raises(ComputingError):
            computed_value(text, lambda _: VALUE, Allowance())
        return
    try:
        value = computed_value(text, lambda _: VALUE, Allowance(), optional=report.optional)
    except ComputingError:
        return
    assert misfit_between(type_of_value(value), report.type) is None
