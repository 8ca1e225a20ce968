"""The fold of one kind against a model that folds naively (M6, O4)."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.dataflow.expression import MISSING
from actum.dataflow.fold import MOST_GAP, Fold, OutputMethod, UnfitWrite, exported
from actum.dataflow.reference import Path

from ..effort import trials
from .reference_model import METHOD, PATHS, VALUES, Refused, folded, is_list, is_object, read

WRITES = st.lists(st.tuples(METHOD, PATHS, VALUES), max_size=8)


@pytest.mark.rule("M6", "O4")
@settings(max_examples=trials(400))
@given(WRITES, st.lists(PATHS, max_size=4))
def test_any_writes_fold_as_the_naive_model_folds_them(
    writes: list[tuple[OutputMethod, Path, Any]], paths: list[Path]
) -> None:
    fold, model = Fold(), MISSING
    before = copy.deepcopy(writes)
    for method, path, value in writes:
        try:
            expected = folded(model, method, path, value)
        except Refused:
            with pytest.raises(UnfitWrite):
                fold.write(method, path, value)
        else:
            fold.write(method, path, value)
            model = expected
        assert fold.read() == model
    assert writes == before
    for path in [*paths, *(path for _, path, _ in writes)]:
        assert fold.read(path) == read(model, path)


@pytest.mark.rule("M6")
@settings(max_examples=trials(100))
@given(METHOD, PATHS, VALUES)
def test_a_fold_owns_its_values(method: OutputMethod, path: Path, value: Any) -> None:
    fold = Fold()
    given_value = copy.deepcopy(value)
    try:
        fold.write(method, path, given_value)
    except UnfitWrite:
        return
    before = exported(fold.read())
    _spoil(given_value)
    assert exported(fold.read()) == before


def _spoil(value: Any) -> None:
    if is_object(value):
        value.clear()
    elif is_list(value):
        value.append("spoiled")


@pytest.mark.rule("O4")
def test_an_ancestor_sees_a_write_patched_in_and_nothing_older_below_it() -> None:
    fold = Fold()
    fold.write("merge", (), {"a": {"b": {"old": 1}, "c": 1}})
    fold.write("set", ("a", "b"), {"new": 2})
    assert fold.read() == {"a": {"b": {"new": 2}, "c": 1}}
    assert fold.read(("a", "b", "old")) is MISSING


@pytest.mark.rule("O4", "O2")
@pytest.mark.parametrize("value", [None, 0, "", False, [], {}])
def test_empty_values_are_values(value: Any) -> None:
    fold = Fold()
    fold.write("set", ("a", "b"), value)
    assert fold.read(("a", "b")) == value


@pytest.mark.rule("O4")
def test_erasing_inside_a_list_moves_nothing() -> None:
    fold = Fold({"l": [1, 2, 3]})
    fold.write("erase", ("l", 1), None)
    assert (fold.read(("l", 1)), fold.read(("l", 2))) == (MISSING, 3)
    assert exported(fold.read()) == {"l": [1, None, 3]}
    fold.write("erase", ("l", 2), None)
    assert fold.read() == {"l": [1]}


@pytest.mark.rule("O4")
def test_an_index_far_behind_the_end_is_refused_before_anything_changes() -> None:
    fold = Fold({"l": [1]})
    with pytest.raises(UnfitWrite):
        fold.write("set", ("l", MOST_GAP + 2), 1)
    with pytest.raises(UnfitWrite):
        fold.write("set", ("new", "list", 10**8), 1)
    assert fold.read() == {"l": [1]}


@pytest.mark.rule("O4")
@pytest.mark.parametrize(
    ("held", "method", "path", "value", "complaint"),
    [
        ({"a": [1]}, "set", ("a", "b"), 1, ".a is a list: it has no key 'b'"),
        ([1], "set", ("b",), 1, "the value is a list: it has no key 'b'"),
        ({"a": {}}, "set", ("a", 0), 1, ".a is an object: it has no index [0]"),
        ({}, "set", (0,), 1, "the value is an object: it has no index [0]"),
        ({"a": []}, "set", ("a", 10_001), 1, "[10001] is more than 10000 items past the end of .a"),
        ([1], "set", (10_002,), 1, "[10002] is more than 10000 items past the end of the value"),
        ({"a": 1}, "push", ("a",), 1, ".a is not a list: nothing can be added to it"),
        (1, "push", (), 1, "the value is not a list: nothing can be added to it"),
        ({"a": "x"}, "concat", ("a",), [1], ".a is not a list: nothing can be added to it"),
        ({"a": [1]}, "concat", ("a",), "x", "concat joins two strings or two lists, at .a they are neither"),
        (1, "concat", (), 1, "concat joins two strings or two lists, at the value they are neither"),
    ],
)
def test_a_write_that_does_not_fit_says_where_and_why_and_changes_nothing(
    held: Any, method: OutputMethod, path: Path, value: Any, complaint: str
) -> None:
    fold = Fold(copy.deepcopy(held))
    with pytest.raises(UnfitWrite) as caught:
        fold.write(method, path, value)
    assert str(caught.value) == complaint
    assert fold.read() == held
