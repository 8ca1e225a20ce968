"""What is known of where the parts of a value come from, and its marks in a message (S10)."""

from __future__ import annotations

import pytest

from actum.protocol.lineage import AUTHORED, BROUGHT, DERIVED_WHOLE, NONE, WHOLE, Marks, Source, lineage_mark, marks_in

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
    assert [lineage_mark(one) for one in (NONE, {(): AUTHORED}, WHOLE)] == [False, False, True]


@pytest.mark.parametrize("mark", [[1], [{"at": "a"}], [{"at": [-1]}], [{"at": [True]}], [{}]])
def test_what_is_no_such_mark_says_that_calls_brought_all_of_it(mark: object) -> None:
    assert marks_in({BROUGHT: mark}, {}) == DERIVED_WHOLE
