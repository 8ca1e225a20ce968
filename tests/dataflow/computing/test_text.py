"""Where a text is computed, and what its groups become in it (E1)."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.dataflow.computing.allowance import Allowance, Meter, RunAllowance
from actum.dataflow.computing.evaluator import ComputingError
from actum.dataflow.computing.group_reader import OPEN, REACH, Brace, braces, marked_parts
from actum.dataflow.computing.text import Computed, read_computed
from actum.dataflow.computing.tokens import ComputingSyntax
from actum.dataflow.reference import Reference

from ...effort import trials
from .given import fill


def test_a_group_alone_keeps_its_type() -> None:
    assert fill("{†x}", x=[1, {"a": None}]) == [1, {"a": None}]
    assert fill("{†x * 2}", x=21) == 42
    assert fill("{ †x }", x=None) is None


def test_a_group_alone_with_a_format_is_a_text() -> None:
    assert fill("{†x:.2f}", x=1) == "1.00"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("as it is", "as it is"),
        (50, "50"),
        (50.0, "50"),
        (-0.0, "0"),
        (10.89, "10.89"),
        (0.1 + 0.2, "0.3"),
        (1234567890123.5, "1234567890123.5"),
        (123456789012345.0, "123456789012345"),
        (1e300, "1e+300"),
        (10**30, "1" + "0" * 30),
        (True, "true"),
        ([1, "ä", None, 1.0], '[1,"ä",null,1.0]'),
        ({"a": [1]}, '{"a":[1]}'),
    ],
)
def test_what_stands_in_a_text(value: object, written: str) -> None:
    assert fill("<{†x}>", x=value) == f"<{written}>"


def test_null_in_a_text_is_an_error_that_says_what_to_write() -> None:
    with pytest.raises(ComputingError, match="say what to write instead"):
        fill("<{†x}>", x=None)
    assert fill("<{†x or 'none'}>", x=None) == "<none>"


def test_braces_without_a_reference_are_text() -> None:
    for text in ("{a}", "{}", "a { b", "} {", 'body {color: "†"}', "{'†calls'.x}".replace("calls", "x"), "{††calls.0}"):
        assert read_computed(text) == text.replace("††", "†")


def test_a_group_inside_of_json_is_found() -> None:
    assert fill('{"a": "{†x}", "b": {"c": 1}}', x=7) == '{"a": "7", "b": {"c": 1}}'


def test_quotes_outside_of_groups_mean_nothing() -> None:
    assert fill("It's {†x}'s \"turn", x="Ann") == "It's Ann's \"turn"
    assert fill("{it's {†x}", x=1) == "{it's 1"
    assert fill("f(x) { return {†x}", x=1) == "f(x) { return 1"


def test_braces_in_quotes_inside_a_group_end_nothing() -> None:
    assert fill("{†x + '}'}", x="{") == "{}"
    assert fill("{'\\'}' + †x}", x="a") == "'}a"


def test_a_reference_in_an_f_string_marks_its_group() -> None:
    assert fill("{f'{†x}!'}", x=1) == "1!"
    assert read_computed("{of'{††x}'}") == "{of'{†x}'}"


def test_the_sign_itself() -> None:
    assert read_computed("†† and ††calls.0, † and †1950, †other.x") == "† and †calls.0, † and †1950, †other.x"
    assert fill("††{†x}††calls", x=1) == "†1†calls"


UNBRACED = "{} at character {} stands in a text without braces: write {{{}}}, or †{} for the sign itself"
UNCLOSED = "the group that opens at character {} isn't closed within 4,000 characters, or a quote in it isn't: {!r}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Paid †calls.0.amount", UNBRACED.format("†calls.0.amount", 5, "†calls.0.amount", "†calls")),
        ("{†x} and †results.1", UNBRACED.format("†results.1", 9, "†results.1", "†results")),
        ("†each", UNBRACED.format("†each", 0, "†each", "†each")),
        ("†calls.0.name.upper()", "more than a reference stands in braces, as an expression: {†calls.0.name.upper()}"),
        ("of †state.", UNBRACED.format("†state", 3, "†state", "†state")),
        ("a {'†calls.0'} b", UNBRACED.format("†calls.0", 4, "†calls.0", "†calls")),
        ("{†x", UNCLOSED.format(0, "{†x")),
        ("a {one(†x}", "( isn't closed, at character 3 of {one(†x}"),
        ("a {†x + 'it's'}", UNCLOSED.format(2, "{†x + 'it's'}")),
        ("{{†x}}", "one pair of braces is enough: {†x}, at character 0 of {{†x}}"),
        (
            "{'a': †x}",
            "what follows the colon is not a format like .2f; an object is written as JSON, or {{'key': …}}, "
            "at character 3 of {'a': †x}",
        ),
        ("{†}", "no name follows †, at character 0 of {†}"),
        ("{}{†x +}", "this can't be read as an expression near '†x +', at character 0 of {†x +}"),
    ],
)
def test_what_was_meant_as_a_reference_is_told(text: str, complaint: str) -> None:
    with pytest.raises(ComputingSyntax) as caught:
        read_computed(text, names={"state"})
    assert complaint == str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_object_is_a_group_of_its_own_braces() -> None:
    assert fill("{{'a': †x}}", x=1) == {"a": 1}


def test_references_of_all_groups_stand_once_each() -> None:
    text = read_computed("{†calls.0.a} {†calls.0.b} {†state.x.y}")
    assert isinstance(text, Computed)
    assert text.references == (Reference("calls", (0,)), Reference("state", ("x", "y")))


def test_a_text_in_a_value_is_text() -> None:
    assert fill("{†x}", x="{†calls.0} †calls.1") == "{†calls.0} †calls.1"
    assert fill("<{†x}>", x="{†calls.0} ††") == "<{†calls.0} ††>"


def test_many_braces_mean_what_few_do() -> None:
    for text in ("{" * 50_000 + "†", "{'" * 30_000 + "†", "{}" * 50_000 + "†", ("{" * 59 + "(" * 900) * 50 + "†"):
        assert read_computed(text) == text


_PIECE = re.compile(r"""(?P<quoted>(?<!\w)[fF]'(?:[^'\\]|\\.)*+'|(?<!\w)[fF]"(?:[^"\\]|\\.)*+")
    |'(?:[^'\\]|\\.)*+' | "(?:[^"\\]|\\.)*+" | ['"] | †† | † | [{}]""", re.VERBOSE | re.DOTALL)  # fmt: skip


def group_end(text: str, start: int, *, is_whole: bool) -> int | None:
    """Where the group of one brace ends, as the rule says it: read from there on, word by word."""
    depth, is_marked, has_own = 0, False, False
    for piece in _PIECE.finditer(text, start, start + REACH):
        word = piece.group()
        if word in ("{", "}"):
            depth += 1 if word == "{" else -1
        elif word == "†":
            is_marked = True
            has_own = has_own or (depth == 1 and text[piece.end() : piece.end() + 1].isalpha())
        elif word in ("'", '"'):
            break
        elif piece["quoted"] and "†" in word.replace("††", ""):
            is_marked = True
        if depth == 0:
            return piece.end() if is_marked else 0
    if not is_whole and len(text) < start + REACH:
        return None
    return OPEN if has_own else 0


TEXTS = st.lists(st.sampled_from([*"{}{}''\"\\fF_a ", "†", "††", "†c", "f'", "{†", "}'", '{"', " " * 3_990])).map(
    "".join
)


@pytest.mark.rule("E1")
@settings(max_examples=trials(20_000))
@given(TEXTS, st.booleans())
def test_braces_that_are_read_together_mean_what_each_would_alone(text: str, is_whole: bool) -> None:
    pairs = list(braces(text, 0, len(text), Meter(Allowance()), is_whole=is_whole))
    assert pairs == [Brace(at, group_end(text, at, is_whole=is_whole)) for at, _ in pairs]
    inside = {at for start, end in pairs if end and end > 0 for at in range(start + 1, end)}
    assert [at for at, sign in enumerate(text) if sign == "{" and at not in inside] == [at for at, _ in pairs]
    whole = [brace for brace in pairs if brace.end]
    parts = list(marked_parts(text))
    assert all(a[1] < b[0] for a, b in pairwise(parts))
    if is_whole:
        near = [brace for start, stop in parts for brace in braces(text, start, stop, Meter(Allowance()))]
        assert [brace for brace in near if brace.end] == whole


@pytest.mark.rule("E4")
def test_reading_a_text_is_counted_in_steps_that_grow_with_it() -> None:
    def steps(text: str) -> int:
        run = RunAllowance()
        meter, before = Meter(Allowance(run)), run.left
        with suppress(ComputingSyntax):
            read_computed(text, meter=meter)
        meter.settle()
        return before - run.left

    for unit in ("{" * 50 + "† ", "{'" * 3 + "†x", "{†x} ", "f'{††", '{"†a', "}{†† "):
        few, many = steps(unit * 8), steps(unit * 80)
        assert few * 5 < many <= 11 * few + 1_000, unit
    with pytest.raises(ComputingError):
        read_computed("{†}" * 10, meter=Meter(Allowance(steps=20)))
