"""What may stand in a group (E2), and that all else is refused before Python's parser or the evaluator sees it (E4)."""

from __future__ import annotations

import ast
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.dataflow.computing.evaluator import Allowance, ComputingError, value_of
from actum.dataflow.computing.places import spelled
from actum.dataflow.computing.source import read_group
from actum.dataflow.computing.text import Computed
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
    parts = {spelled(node) for node in ast.walk(computation.tree) if isinstance(node, ast.expr)}
    assert {"†calls.0", "e.größe", "e.from", "'ä'", "f'{e.größe:>3}'", "f'{e.größe:>3}' == 'ä'"} <= parts


REFUSED = [
    ("†x ** 2", "** isn't part of the language (write a product), at character 3"),
    ("†x << 2", "<<"),
    ("†x | 2", "| isn't part of the language (write or)"),
    ("†x && †y", "write and"),
    ("†x ? 1 : 2", "write a if c else b"),
    ("†calls.0 <|> †calls.1", "without braces"),
    ("(y := †x)", "bind a name by for name in [value]"),
    ("lambda x: †x", "lambda stands behind key= only"),
    ("[lambda x: †x]", "lambda stands behind key= only"),
    ("sorted(†x, key=len)", "key= takes a lambda of one name"),
    ("sorted(†x, key=lambda a, b: a)", "key= takes a lambda of one name"),
    ("len(*†x)", "* isn't part of the language here"),
    ("shift(†x, **†y)", "**"),
    ("{†x, 1}", "a list without doubles is unique([…])"),
    ("{x for x in †x}", "a list without doubles is unique([…])"),
    ("{†x}", "one pair of braces is enough: {†x}"),
    ("await †x", "await"),
    ("[x async for x in †x]", "async"),
    ("(yield †x)", "yield"),
    ("†calls.0.__class__", "must be written as ['__class__']"),
    ("__import__", "can't be a name"),
    ("ref_0", "can't be a name"),
    ("ｌｅｎ(†x)", "would be read as another name"),
    ("†calls.0.ｃlass", "['ｃlass']"),
    ("x + †x", "nothing here is named x: a text needs quotes"),
    ("true and †x", "nothing here is named true: write True"),
    ("len and †x", "len is a function: write len(…)"),
    ("eval(†x)", "there is no function eval(); there are one, next"),
    ("†x.format(1)", "there is no method .format(); write a template"),
    ("†x(1)", "only functions"),
    ("one(†x, 1)", "one() takes 1 arguments, not 2"),
    ("sorted(†x, by=1)", "sorted() takes no by=; it takes key, reverse"),
    ("[len for len in †x]", "len is the name of something else"),
    ("[x for x.a in †x]", "a loop binds plain names"),
    ("x for x in †x", "a loop stands inside of brackets"),
    ("†x is 'a'", "is takes None, True or False: write =="),
    ("†x[1, 2]", "a subscript is one key"),
    ("†calls.x", "†calls needs a number: †calls.0"),
    ("†calls", "†calls needs a number"),
    ("f'{†x!r}'", "! isn't part of the language"),
    ("f'{†x:{†y}}'", "no format such as .2f"),
    ("f'{†x['a']}'", "use the other quote"),
    ("f'}{†x}'", "} stands alone in an f-string"),
    ("f'''{†x}'''", "triple quotes"),
    ("rb'a' + †x", "rb isn't part"),
    ("r'a' + †x", "r isn't part"),
    ("'\\N{BULLET}' + †x", "an escape that isn't part"),
    ("'\\ud800' + †x", "half of a letter"),
    ("1if †x else 2", "isn't part of the language"),
    ("1j + †x", "isn't part of the language"),
    ("1e999 + †x", "the number is too large"),
    ("†x # why", "#"),
    ("†x; 1", ";"),
    ("†x +", "can't be read as an expression"),
    ("†x:q", "no format such as .2f"),
    ("†x:%Y", "no format"),
    ("(†x", "( isn't closed, at character 0"),
    ("[†x)", ") closes nothing, at character 3"),
    ("'a + †x", "the quote isn't closed"),
    ("“a” + †x", "write a straight quote"),
    ("f'\\\x00{†x}'", "an escape that isn't part of the language"),
    ("'\\\x00' + †x", "an escape that isn't part of the language"),
    ("f'\ud800{†x}'", "a text in an f-string can't be read"),
    ("†calls.٠", "†calls needs a number"),
    ("†calls[٠]", "†calls needs a number"),
    ("†results.²", "†results needs a number"),
    ("†x.٠", "isn't part of the language"),
    ("†x + ٣", "٣ isn't part of the language"),
    ("f'{†x:٣d}'", "no format"),
    ("isinstance(†x, int)", "write a condition on the value itself"),
    ("print(†x)", "write the value alone"),
    ("pow(†x, 2)", "write a product"),
    ("†x.isupper()", "write x == x.upper()"),
    ("†x.a ? 1 : 2", "write a if c else b"),
    ("†x.a?1:2", "write a if c else b"),
    ("†x[0]?", "? stands behind a key"),
    ("ref_x + †x", "doesn't begin with ref_"),
    ("ref_٠ + †x", "doesn't begin with ref_"),
    ("", "an expression is missing"),
    ("f'{}' + †x", "an expression is missing"),
    ("†x" + " " * 4_000, "at most 4,000 characters, not 4,002"),
    ("(" * 61 + "†x" + ")" * 61, "nests deeper than 60"),
    ("-" * 61 + "†x", "nests deeper than 60"),
    ("not " * 61 + "†x", "nests deeper than 60"),
    ("†calls.0" + ".a" * 61, "nests deeper than 60"),
    ("†x" + "+1" * 61, "nests deeper than 60"),
    ("[1 " + "for a in †x " * 61 + "]", "nests deeper than 60"),
]


@pytest.mark.parametrize(("source", "said"), REFUSED)
def test_what_isnt_listed_is_refused_and_told(source: str, said: str) -> None:
    with pytest.raises(ComputingSyntax) as told:
        read_group(source)
    assert said in str(told.value)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 500


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
        value_of(Computed(source, (computation,), computation.references), lambda _: [1, "a"], Allowance())


def test_json_line_breaks_stand_in_quotes() -> None:
    assert fill("{†x + '\n\t'}", x="a") == "a\n\t"
    assert fill("{'\n'.join(†x)}", x=["a", "b"]) == "a\nb"
    assert fill("{f'{\"\n\".join(†x)}'}", x=["a", "b"]) == "a\nb"
    assert fill("{†x\n  + 1}", x=1) == 2
    assert fill(r"{'\d\\\'' + †x}", x="") == "\\d\\'"
