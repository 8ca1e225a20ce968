"""What is known of where the parts of a value come from, and its marks in a message (S10)."""

from __future__ import annotations

from typing import Any

import pytest

from actum.dataflow.fold import OutputMethod
from actum.dataflow.reference import Path
from actum.protocol.lineage import (
    AUTHORED,
    BROUGHT,
    DERIVED_WHOLE,
    NONE,
    WHOLE,
    Marks,
    Source,
    Trail,
    is_named,
    lineage_mark,
    marks_in,
)

pytestmark = pytest.mark.rule("S10")
BY_CALLS = Source(is_brought=True)


@pytest.mark.parametrize(
    "marks",
    [
        NONE,
        WHOLE,
        DERIVED_WHOLE,
        {("a",): BY_CALLS},
        {(): BY_CALLS, ("a",): AUTHORED},
        {(): BY_CALLS, ("a", 0): Source(is_brought=True, is_derived=True)},
        {("a", "b"): Source(is_brought=True, named=1)},
    ],
)
def test_what_a_message_is_marked_with_is_read_back(marks: Marks) -> None:
    assert marks_in({BROUGHT: lineage_mark(marks)}, {}) == marks


def test_what_is_wholly_brought_or_wholly_authored_is_marked_in_one_word() -> None:
    assert [lineage_mark(marks) for marks in (NONE, {(): AUTHORED}, WHOLE)] == [False, False, True]


@pytest.mark.parametrize("mark", [[1], [{"at": "a"}], [{"at": [-1]}], [{"at": [True]}], [{}]])
def test_what_is_no_such_mark_says_that_calls_brought_all_of_it(mark: object) -> None:
    assert marks_in({BROUGHT: mark}, {}) == DERIVED_WHOLE


COMPUTED = Source(is_brought=True, is_derived=True)


@pytest.mark.parametrize(
    ("path", "marks"),
    [
        ((), {("a",): BY_CALLS, ("a", "b", "c"): COMPUTED, ("l", 0): BY_CALLS}),
        (("a",), {(): BY_CALLS, ("b", "c"): COMPUTED}),
        (("a", "x"), {(): BY_CALLS}),
        (("a", "x", "y"), {(): BY_CALLS}),
        (("a", "b"), {(): BY_CALLS, ("c",): COMPUTED}),
        (("a", "b", "c"), {(): COMPUTED}),
        (("a", "b", "c", "d"), {(): COMPUTED}),
        (("l", 0, "x"), {(): BY_CALLS}),
        (("l", 1), NONE),
        (("l", "0"), NONE),
        (("z",), NONE),
    ],
    ids=str,
)
def test_what_stands_in_a_value_has_its_marks_unless_it_has_some_of_its_own(path: Path, marks: Marks) -> None:
    trail = Trail()
    trail.write(("a",), {(): BY_CALLS, ("b", "c"): COMPUTED}, None)
    trail.write(("l", 0), {(): BY_CALLS}, None)
    read = trail.read(path, None)
    assert {path: source for path, source in read.items() if source != AUTHORED} == marks


def test_marks_are_those_of_the_instance_where_it_has_written() -> None:
    trail = Trail()
    trail.write(("a",), {(): BY_CALLS}, None)
    trail.write(("a", "b"), {(): COMPUTED}, "①")
    assert [trail.read(("a", "b"), instance) for instance in (None, "①", "②")] == [
        {(): BY_CALLS},
        {(): COMPUTED},
        {(): BY_CALLS},
    ]
    assert trail.read(("a", "c"), "①") == {(): BY_CALLS}


@pytest.mark.parametrize(
    ("method", "value", "steps"),
    [
        ("set", {"b": 1}, [(("a",), WHOLE)]),
        ("erase", None, [(("a",), NONE)]),
        ("merge", 1, [(("a",), WHOLE)]),
        ("push", 1, [(("a",), WHOLE)]),
        ("concat", [1], [(("a",), WHOLE)]),
        ("assign", {"b": 1}, [(("a", "b"), {(): Source(is_brought=True, named=1)})]),
        ("merge", {"b": {"c": 1}}, [(("a", "b", "c"), {(): Source(is_brought=True, named=1)})]),
    ],
)
def test_a_write_marks_what_it_changes(method: OutputMethod, value: Any, steps: list[tuple[Path, Marks]]) -> None:
    trail = Trail()
    assert list(trail.steps(method, ("a",), value, WHOLE, None, {"b": {"d": 2}})) == steps


@pytest.mark.parametrize(
    ("marks", "depth", "named"),
    [
        (NONE, 0, True),
        (WHOLE, 0, False),
        ({("a",): BY_CALLS}, 0, True),
        ({("a",): Source(is_brought=True, named=0)}, 0, False),
        ({("a",): Source(is_brought=True, named=1)}, 0, True),
        ({("a",): Source(is_brought=True, named=1)}, 1, False),
        ({("a", "b"): BY_CALLS}, 0, True),
        ({("b",): BY_CALLS}, 0, True),
        ({(): BY_CALLS, ("a",): AUTHORED}, 0, True),
        ({(): BY_CALLS, ("b",): AUTHORED}, 0, False),
    ],
    ids=str,
)
def test_a_key_may_be_told_where_somebody_has_written_it(marks: Marks, depth: int, named: bool) -> None:
    assert is_named(marks, "a", depth) is named
