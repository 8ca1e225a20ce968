"""Where a text is computed, and what its groups become in it (E1)."""

from __future__ import annotations

import pytest

from actum.dataflow.computing.evaluator import ComputingError
from actum.dataflow.computing.source import ComputingSyntax
from actum.dataflow.computing.text import Computed, read_text
from actum.dataflow.reference import Reference

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
        assert read_text(text) == text.replace("††", "†")


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
    assert read_text("{of'{††x}'}") == "{of'{†x}'}"


def test_the_sign_itself() -> None:
    assert read_text("†† and ††calls.0, † and †1950, †other.x") == "† and †calls.0, † and †1950, †other.x"
    assert fill("††{†x}††calls", x=1) == "†1†calls"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Paid †calls.0.amount",
            "†calls.0.amount at character 5 stands in a text without braces: write {†calls.0.amount}, or ††calls",
        ),
        ("{†x} and †results.1", "†results.1 at character 9"),
        ("†each", "write {†each}, or ††each"),
        ("†calls.0.name.upper()", "stands in braces, as an expression: {†calls.0.name.upper()}"),
        ("of †state.", "†state at character 3"),
        ("a {'†calls.0'} b", "†calls"),
        ("{†x", "that opens at character 0 isn't closed"),
        ("a {one(†x}", "isn't closed"),
        ("a {†x + 'it's'}", "or a quote in it isn't"),
        ("{{†x}}", "one pair of braces is enough"),
        ("{'a': †x}", "an object is written as JSON, or {{'key': …}}"),
        ("{†}", "no name follows †"),
        ("{}{†x +}", "can't be read"),
    ],
)
def test_what_was_meant_as_a_reference_is_told(text: str, said: str) -> None:
    with pytest.raises(ComputingSyntax) as told:
        read_text(text, names={"state"})
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_an_object_is_a_group_of_its_own_braces() -> None:
    assert fill("{{'a': †x}}", x=1) == {"a": 1}


def test_references_of_all_groups_stand_once_each() -> None:
    text = read_text("{†calls.0.a} {†calls.0.b} {†state.x.y}")
    assert isinstance(text, Computed)
    assert text.references == (Reference("calls", (0,)), Reference("state", ("x", "y")))


def test_a_text_in_a_value_is_text() -> None:
    assert fill("{†x}", x="{†calls.0} †calls.1") == "{†calls.0} †calls.1"
    assert fill("<{†x}>", x="{†calls.0} ††") == "<{†calls.0} ††>"


def test_many_braces_are_read_in_linear_time() -> None:
    for text in ("{" * 50_000 + "†", "{'" * 30_000 + "†", "{}" * 50_000 + "†", ("{" * 59 + "(" * 900) * 50 + "†"):
        assert read_text(text) == text
