"""Values of instances over shared ones, against a model that folds both logs anew for each read (I2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.dataflow.expression import MISSING
from actum.dataflow.fold import OutputMethod, Overlay, UnfitWrite, exported
from actum.dataflow.reference import Path

from ..effort import trials
from .reference_model import KEYS, METHOD, PATHS, VALUES, Refused, folded, read

INSTANCE = st.sampled_from([None, "①", "②"])
SEGMENTS = st.lists(KEYS | st.integers(0, 2), max_size=2).map(tuple)
# What a run writes: data messages merge objects, calls write below a name.
NAMED = st.tuples(METHOD, st.tuples(KEYS, SEGMENTS).map(lambda pair: (pair[0], *pair[1])), VALUES, INSTANCE)
MERGED = st.tuples(st.just("merge"), st.just(()), st.dictionaries(KEYS, VALUES, max_size=3), INSTANCE)
Log = list[tuple[OutputMethod, Path, Any, "str | None"]]


def value_of(log: Log, instance: str | None) -> Any:
    """The shared log first, the instance's own writes on top."""
    value: Any = MISSING
    for layer in dict.fromkeys([None, instance]):
        for method, path, written, owner in log:
            if owner == layer:
                value = folded(value, method, path, written)
    return value


def fits(log: Log) -> bool:
    try:
        for instance in (None, "①", "②"):
            value_of(log, instance)
    except Refused:
        return False
    return True


@pytest.mark.rule("I2", "O4")
@settings(max_examples=trials(8000))
@given(st.lists(NAMED | MERGED, max_size=10), st.lists(PATHS, max_size=3))
def test_any_interleaving_reads_as_the_shared_log_with_the_instances_own_on_top(log: Log, paths: list[Path]) -> None:
    layers = Overlay()
    done: Log = []
    for write in log:
        if not fits([*done, write]):
            continue
        done.append(write)
        method, path, value, instance = write
        layers.write(method, path, value, instance)
        for reader in (None, "①", "②"):
            expected = value_of(done, reader)
            assert layers.read((), reader) == expected
            for target in [*paths, path, path[:1]]:
                assert layers.read(target, reader) == read(expected, target)


@pytest.mark.rule("I2")
@settings(max_examples=trials(4000))
@given(st.lists(st.tuples(METHOD, PATHS, VALUES, INSTANCE), max_size=8))
def test_writes_at_the_root_interleave_as_well(log: Log) -> None:
    layers = Overlay()
    done: Log = []
    for write in log:
        if not fits([*done, write]):
            continue
        done.append(write)
        layers.write(*write)
        for reader in (None, "①", "②"):
            expected = value_of(done, reader)
            assert layers.read((), reader) == expected
            assert layers.read(write[1], reader) == read(expected, write[1])


@pytest.mark.rule("I2")
@settings(max_examples=trials(4000))
@given(st.lists(NAMED | MERGED, max_size=10))
def test_any_writes_at_all_leave_every_layer_readable(log: Log) -> None:
    layers = Overlay()
    for method, path, value, instance in log:
        before, owned = exported(layers.read((), instance)), layers.own_members(str(instance))
        try:
            layers.write(method, path, value, instance)
        except UnfitWrite:
            assert exported(layers.read((), instance)) == before
            assert owned is MISSING or exported(layers.own_members(str(instance))) == exported(owned)
        for reader in (None, "①", "②"):
            whole = layers.read((), reader)
            assert layers.read(path, reader) == read(whole, path)


@pytest.mark.rule("I2")
def test_what_an_instance_wrote_at_the_root_stands_over_each_shared_value() -> None:
    overlay = Overlay()
    overlay.write("merge", (), {}, "①")
    for value in (1, 2, 3):
        overlay.write("set", ("a",), value)
        assert overlay.read((), "①") == {"a": value}


@pytest.mark.rule("I2")
def test_what_an_instance_wrote_stands_over_a_shared_value_that_is_set_whole() -> None:
    overlay = Overlay()
    overlay.write("set", ("a",), [1])
    overlay.write("push", ("a",), 2, "①")
    assert overlay.read(("a",), "①") == [1, 2]
    overlay.write("set", (), {"b": 1})
    assert (overlay.read(("a",), "①"), overlay.read((), "①")) == ([2], {"b": 1, "a": [2]})


def test_own_holds_only_what_an_instance_has_written() -> None:
    layers = Overlay()
    layers.write("merge", (), {"a": {"x": 1}, "b": 2})
    layers.write("set", ("a", "y"), 3, "①")
    assert layers.own_members("①") == {"a": {"x": 1, "y": 3}}
    assert layers.own_members("②") is MISSING


@pytest.mark.rule("I2")
def test_where_the_shared_value_no_longer_bears_an_instances_writes_they_win() -> None:
    layers = Overlay()
    layers.write("set", ("a",), [1])
    layers.write("push", ("a",), 2, "①")
    layers.write("set", ("a",), {"not": "a list"})
    assert layers.read(("a",), "①") == [2]
    assert layers.read(("a",)) == {"not": "a list"}
