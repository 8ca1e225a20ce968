"""What may stand in a group (E2), and that all else is refused before Python's parser or the evaluator sees it (E4)."""

from __future__ import annotations

import ast
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.dataflow.computing.evaluator import Allowance, ComputingError, computed_value
from actum.dataflow.computing.places import as_authored
from actum.dataflow.computing.text import Computed, read_group
from actum.dataflow.computing.tokens import ComputingSyntax
from actum.dataflow.reference import Reference

from ...effort import trials
from .given import fill


@pytest.mark.parametrize(
    ("source", "references", "tree"),
    [
        ("†calls.0.title.lower()", [Reference("calls", (0,))], "ref_0.title.lower()"),
        ("†calls[2].a", [Reference("calls", (2,))], "ref_0.a"),
        ("†results.10[0]", [Reference("results", (10,))], "ref_0[0]"),
        ("†each.user.name", [Reference("each")], "ref_0.user.name"),
        ("†state.a.b.lower()", [Reference("state", ("a", "b"))], "ref_0.lower()"),
        ("†state.a.0.b", [Reference("state", ("a",))], "ref_0[0].b"),
        ("†state['first name'].x", [Reference("state", ("first name", "x"))], "ref_0"),
        ("†state.get('x')", [Reference("state")], "ref_0.get('x')"),
        ("†calls.0.items.2.name", [Reference("calls", (0,))], "ref_0.items[2].name"),
        ("†calls.0.007", [Reference("calls", (0,))], "ref_0['007']"),
        ("†calls.0.from.class", [Reference("calls", (0,))], "ref_0['from']['class']"),
        ("†x + †y - †x", [Reference("x"), Reference("y")], "ref_0 + ref_1 - ref_0"),
        ("f'{†x}{{†y}}'", [Reference("x")], "f'{ref_0}{{†y}}'"),
        ("†x + .5", [Reference("x")], "ref_0 + 0.5"),
        ("†x and .5", [Reference("x")], "ref_0 and 0.5"),
        ("†x or not .5", [Reference("x")], "ref_0 or not 0.5"),
        ("†x in .5", [Reference("x")], "ref_0 in 0.5"),
        (".5 if .5 else .5 + †x", [Reference("x")], "0.5 if 0.5 else 0.5 + ref_0"),
    ],
)
def test_references_name_what_has_to_be_there(source: str, references: list[Reference], tree: str) -> None:
    computation = read_group(source)
    assert list(computation.references) == references
    assert ast.unparse(computation.tree) == tree


def test_a_format_is_told_apart() -> None:
    assert (read_group("†x :.2f").source, read_group("†x:.2f").format) == ("†x", ".2f")
    assert read_group("†x[1:2]").format == ""


def test_parts_are_spelled_as_they_were_authored() -> None:
    computation = read_group(" one( e for e in †calls.0 if f'{e.größe:>3}' == 'ä' and e.from )")
    parts = {as_authored(node) for node in ast.walk(computation.tree) if isinstance(node, ast.expr)}
    assert {"†calls.0", "e.größe", "e.from", "'ä'", "f'{e.größe:>3}'", "f'{e.größe:>3}' == 'ä'"} <= parts


REFUSED: list[tuple[str, str, int | None]] = [
    ("†x ** 2", "** isn't part of the language (write a product)", 3),
    ("†x << 2", "<< isn't part of the language", 3),
    ("†x | 2", "| isn't part of the language (write or)", 3),
    ("†x && †y", "&& isn't part of the language (write and)", 3),
    (
        "†x ? 1 : 2",
        "? isn't part of the language (write a if c else b; a key that may be missing is .key?)",
        3,
    ),
    (
        "†calls.0 <|> †calls.1",
        "<|> isn't part of the language (a <|> b stands alone, without braces)",
        9,
    ),
    ("(y := †x)", ":= isn't part of the language (bind a name by for name in [value])", 3),
    ("lambda x: †x", "lambda stands behind key= only", 0),
    ("[lambda x: †x]", "lambda stands behind key= only", 1),
    ("sorted(†x, key=len)", "key= takes a lambda of one name, such as key=lambda x: x.date", 11),
    (
        "sorted(†x, key=lambda a, b: a)",
        "key= takes a lambda of one name, such as key=lambda x: x.date",
        11,
    ),
    ("len(*†x)", "* isn't part of the language here", 0),
    ("shift(†x, **†y)", "** isn't part of the language (write a product)", 10),
    ("{†x, 1}", "a list without doubles is unique([…])", 0),
    ("{x for x in †x}", "a list without doubles is unique([…])", 0),
    ("{†x}", "one pair of braces is enough: {†x}", 0),
    ("await †x", "await isn't part of the language (write one expression, without statements)", 0),
    (
        "[x async for x in †x]",
        "async isn't part of the language (write one expression, without statements)",
        3,
    ),
    ("(yield †x)", "yield isn't part of the language (write one expression, without statements)", 1),
    ("†calls.0.__class__", "the key __class__ must be written as ['__class__']", 9),
    ("'__class__' + †calls.0.__class__", "the key __class__ must be written as ['__class__']", 23),
    ("__import__", "__import__ can't be a name: choose one without __ that doesn't begin with ref_", 0),
    ("ref_0", "ref_0 can't be a name: choose one without __ that doesn't begin with ref_", 0),
    ("ｌｅｎ(†x)", "ｌｅｎ would be read as another name: write a key as ['ｌｅｎ']", 0),
    ("†calls.0.ｃlass", "ｃlass would be read as another name: write a key as ['ｃlass']", 9),
    ("x + †x", "nothing here is named x: a text needs quotes, a result its †", 0),
    ("true and †x", "nothing here is named true: write True", 0),
    ("len and †x", "len is a function: write len(…)", 0),
    ("†x.format(1)", "there is no method .format(); write a template: {x:.2f}", 0),
    ("†x(1)", "only functions and methods can be called", 0),
    ("one(†x, 1)", "one() takes 1 arguments, not 2", 0),
    ("sum(†x, 1, 2)", "sum() takes 1 to 2 arguments, not 3", 0),
    ("max() + †x", "max() takes 1 or more arguments, not 0", 0),
    ("sorted(†x, by=1)", "sorted() takes no by=; it takes key, reverse", 0),
    ("[len for len in †x]", "len is the name of something else: choose another", 9),
    ("[x for x.a in †x]", "a loop binds plain names", 7),
    ("x for x in †x", "a loop stands inside of brackets: [… for x in …], or one(… for x in … if …)", 2),
    ("†x is 'a'", "is takes None, True or False: write ==", 0),
    ("†x[1, 2]", "a subscript is one key, one position or one slice", 0),
    ("†calls.x", "†calls needs a number: †calls.0", 0),
    ("†calls", "†calls needs a number: †calls.0", 0),
    ("f'{†x!r}'", "! isn't part of the language (write not)", 5),
    (
        "f'{†x:{†y}}'",
        "what follows the colon is not a format like .2f; an object is written as JSON, or {{'key': …}}",
        5,
    ),
    ("f'{†x['a']}'", "a group of an f-string isn't closed: use the other quote inside of it", 10),
    ("f'}{†x}'", "} stands alone in an f-string: write }}", 2),
    ("f'''{†x}'''", "triple quotes aren't part of the language", 0),
    ("rb'a' + †x", "rb isn't part of the language", 0),
    ("r'a' + †x", "r isn't part of the language", 0),
    ("'\\N{BULLET}' + †x", "a text holds an escape that isn't part of the language", 0),
    ("'\\ud800' + †x", "a text holds half of a letter (a lone surrogate)", 0),
    ("1if †x else 2", "1 isn't part of the language", 0),
    ("1j + †x", "1 isn't part of the language", 0),
    ("1e999 + †x", "the number is too large", 0),
    ("†x # why", "# isn't part of the language", 3),
    ("†x; 1", "; isn't part of the language (write one expression)", 2),
    ("†x +", "this can't be read as an expression near '†x +'", 0),
    (
        "†x:q",
        "what follows the colon is not a format like .2f; an object is written as JSON, or {{'key': …}}",
        2,
    ),
    (
        "†x:%Y",
        "what follows the colon is not a format like .2f; an object is written as JSON, or {{'key': …}}",
        2,
    ),
    ("(†x", "( isn't closed", 0),
    ("[†x)", ") closes nothing", 3),
    (
        "'a + †x",
        "' isn't part of the language (the quote isn't closed, or stands in a text that it encloses)",
        0,
    ),
    ("“a” + †x", "“ isn't part of the language (write a straight quote)", 0),
    ("f'\\\x00{†x}'", "a text holds an escape that isn't part of the language", 2),
    ("'\\\x00' + †x", "a text holds an escape that isn't part of the language", 0),
    ("f'\ud800{†x}'", "a text in an f-string can't be read", 2),
    ("†calls.٠", "†calls needs a number: †calls.0", 0),
    ("†calls[٠]", "†calls needs a number: †calls.0", 0),
    ("†results.²", "†results needs a number: †results.0", 0),
    ("†x.٠", ". isn't part of the language", 2),
    ("†x + ٣", "٣ isn't part of the language", 5),
    (
        "f'{†x:٣d}'",
        "what follows the colon is not a format like .2f; an object is written as JSON, or {{'key': …}}",
        5,
    ),
    (
        "isinstance(†x, int)",
        "there is no function isinstance(); write a condition on the value itself: x is None, x == 'text'",
        0,
    ),
    ("print(†x)", "there is no function print(); write the value alone: it is what the group gives", 0),
    ("pow(†x, 2)", "there is no function pow(); write a product", 0),
    ("†x.isupper()", "there is no method .isupper(); write x == x.upper()", 0),
    (
        "†x.a ? 1 : 2",
        "? isn't part of the language (write a if c else b; a key that may be missing is .key?)",
        5,
    ),
    (
        "†x.a?1:2",
        "? isn't part of the language (write a if c else b; a key that may be missing is .key?)",
        4,
    ),
    ("†x[0]?", "? stands behind a key: .title?, or ['odd key']?", 0),
    ("ref_x + †x", "ref_x can't be a name: choose one without __ that doesn't begin with ref_", 0),
    ("ref_٠ + †x", "ref_٠ can't be a name: choose one without __ that doesn't begin with ref_", 0),
    ("", "an expression is missing", 0),
    ("f'{}' + †x", "an expression is missing", 3),
    ("†x" + " " * 4_000, "an expression has at most 4,000 characters, not 4,002", None),
    ("(" * 61 + "†x" + ")" * 61, "this nests deeper than 60", 60),
    ("-" * 61 + "†x", "this nests deeper than 60", 60),
    ("not " * 61 + "†x", "this nests deeper than 60", 240),
    ("†calls.0" + ".a" * 61, "this nests deeper than 60", None),
    ("†x" + "+1" * 61, "this nests deeper than 60", None),
    ("[1 " + "for a in †x " * 61 + "]", "this nests deeper than 60", None),
]


@pytest.mark.parametrize(("source", "complaint", "at"), REFUSED)
def test_what_isnt_listed_is_refused_and_told_with_its_place(source: str, complaint: str, at: int | None) -> None:
    with pytest.raises(ComputingSyntax) as caught:
        read_group(source)
    assert str(caught.value).startswith(f"{complaint}, {'in' if at is None else f'at character {at} of'} {{")
    assert str(caught.value).endswith("}")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_long_expression_is_told_by_its_beginning() -> None:
    source = "†x ** 2" + " + 'a'" * 100
    with pytest.raises(ComputingSyntax) as caught:
        read_group(source)
    assert str(caught.value).endswith(f"at character 3 of {{{source[:79]}…}}")


def test_a_function_that_is_unknown_is_told_with_those_there_are() -> None:
    with pytest.raises(ComputingSyntax, match=r"^there is no function eval\(\); there are one, next, len, .*, shift"):
        read_group("eval(†x)")


WORDS = st.sampled_from(
    (
        *".()[]{},:+-*/=<\"'\\#@\n;\x00äｘ🦜",
        "†x",
        "†calls.0",
        ".a",
        "'a'",
        "f'{",
        "}'",
        "f'",
        "**",
        "==",
        "and",
        "or",
        "not",
    )
) | st.sampled_from(
    ("in", "is", "if", "else", "for", "x", "lambda", "None", "1", "2.5", "one(", "sorted(", "key=", ".lower()", "await")
)


@settings(max_examples=trials(20_000))
@given(st.lists(WORDS, max_size=30).map(" ".join) | st.lists(WORDS, max_size=30).map("".join))
def test_any_source_can_be_run_or_is_a_typed_error(source: str) -> None:
    with suppress(ComputingError, ComputingSyntax):
        computation = read_group(source)
        computed_value(Computed(source, (computation,), computation.references), lambda _: [1, "a"], Allowance())


def test_json_line_breaks_stand_in_quotes() -> None:
    assert fill("{†x + '\n\t'}", x="a") == "a\n\t"
    assert fill("{'\n'.join(†x)}", x=["a", "b"]) == "a\nb"
    assert fill("{f'{\"\n\".join(†x)}'}", x=["a", "b"]) == "a\nb"
    assert fill("{†x\n  + 1}", x=1) == 2
    assert fill(r"{'\d\\\'' + †x}", x="") == "\\d\\'"
