"""A text that arrives in pieces shows exactly what is literal of it, however it is cut (E1, O1)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.dataflow.arriving import ArrivingText, shown_so_far
from actum.dataflow.computing.text import Computed, read_computed
from actum.dataflow.computing.tokens import ComputingSyntax
from actum.dataflow.expression import is_expression

TEXTS = st.lists(st.sampled_from([*"ab ({})'\"\\f.", "†", "††", "{†calls.0}", "{a", "calls.0", "é"])).map("".join)


def read(text: str, cuts: list[int]) -> tuple[str, bool]:
    arriving, literal = ArrivingText(), ""
    marks = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    for start, end in pairwise(marks):
        literal += arriving.add(text[start:end])
    literal += arriving.end()
    return literal, arriving.is_filled


@pytest.mark.rule("E1", "O1")
@given(TEXTS, st.lists(st.integers(0, 200)))
def test_what_is_shown_is_the_literal_text_up_to_the_first_group(text: str, cuts: list[int]) -> None:
    try:
        whole = read_computed(text)
    except ComputingSyntax:
        return
    literal, is_filled = read(text, cuts)
    if is_expression(text):
        assert (literal, is_filled) == ("", True)
    elif isinstance(whole, Computed):
        first = whole.parts[0]
        assert (literal, is_filled) == (first if isinstance(first, str) else "", True)
    else:
        assert (literal, is_filled) == (whole, False)


@pytest.mark.rule("E1")
def test_literal_text_is_shown_with_the_piece_that_brings_it() -> None:
    arriving = ArrivingText()
    assert [arriving.add(piece) for piece in ("Pa", "id ", "{†ca", "lls.0}", " now")] == ["Pa", "id ", "", "", ""]
    assert (arriving.end(), arriving.is_filled) == ("", True)
    braces = ArrivingText()
    assert [braces.add(piece) for piece in ("a {b", "} c", " d")] == ["a ", "{b} c", " d"]


@pytest.mark.parametrize("text", ["(", "( ", "a (", "a††", "{", "a {"])
def test_what_may_have_begun_a_reference_is_shown_once_the_text_is_whole(text: str) -> None:
    assert read(text, []) == (text.replace("††", "†"), False)


@pytest.mark.rule("E1", "O9")
@pytest.mark.parametrize(
    ("output", "so_far", "whole"),
    [
        ({"a": "Hello", "b": ["††"]}, {"a": "Hello", "b": ["†"]}, {"a": "Hello", "b": ["†"]}),
        ({"a": "It is {†calls.0}"}, {"a": "It is "}, {"a": "It is "}),
        (["{†calls.0}", 1, "†calls.0"], [None, 1, None], [None, 1, None]),
        ("open {", "open ", "open {"),
    ],
)
def test_an_output_is_shown_as_far_as_its_texts_are_literal(output: Any, so_far: Any, whole: Any) -> None:
    assert shown_so_far(output, is_whole=False) == so_far
    assert shown_so_far(output, is_whole=True) == whole
