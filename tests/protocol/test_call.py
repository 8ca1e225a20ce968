"""A call is JSON that can't be changed."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

from actum import Call, errors
from actum.protocol.call import owed_key


def test_a_call_is_made_of_a_mapping_of_keywords_or_of_both() -> None:
    call = Call({"_tool": "it", "a": 1}, b=2)
    assert call == {"_tool": "it", "a": 1, "b": 2}
    assert Call(call, a=3) == {"_tool": "it", "a": 3, "b": 2}
    assert (call.tool, call.parameters, call.instance, call.output) == ("it", {"a": 1, "b": 2}, None, None)
    assert json.loads(json.dumps(call)) == call


def test_a_call_cannot_be_changed() -> None:
    call = Call(_tool="it", a=1)
    changes = [
        lambda: call.update(a=2),
        lambda: call.__setitem__("a", 2),
        lambda: call.__delitem__("a"),
        lambda: call.pop("a"),
        lambda: call.setdefault("b", 2),
        call.clear,
        lambda: call.__ior__({"a": 2}),
    ]
    for change in changes:
        with pytest.raises(TypeError, match=r"can't be changed; Call\(call, parameter=value\) makes another"):
            change()
    assert call == {"_tool": "it", "a": 1}


def test_a_call_owns_what_it_was_made_of() -> None:
    inner = [1]
    call = Call(_tool="it", a=inner)
    inner.append(2)
    assert call["a"] == [1]


def test_equal_calls_are_one_in_a_set_and_survive_copying() -> None:
    call = Call(_tool="it", a=[1])
    assert len({call, Call(_tool="it", a=[1])}) == 1
    assert copy.deepcopy(call) == call == pickle.loads(pickle.dumps(call))
    assert call.copy() == call


@pytest.mark.rule("T2")
def test_other_spellings_are_normalised_and_two_that_differ_refused() -> None:
    assert Call(_tool="it", _why="w", _module="m", _imports=["i"]) == {
        "_tool": "it",
        "_reasoningForCall": "w",
        "_delegate": "m",
        "_scopes": ["i"],
    }
    assert Call(_tool="it", _why="w", _reasoningForCall="w") == {"_tool": "it", "_reasoningForCall": "w"}
    with pytest.raises(errors.InvalidParameters):
        Call(_tool="it", _module="a", _delegate="b")


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800", object()], ids=lambda value: type(value).__name__)
def test_what_is_not_json_makes_no_call(value: object) -> None:
    with pytest.raises(errors.InvalidParameters):
        Call(_tool="it", a=value)


@pytest.mark.rule("C4")
def test_what_brings_a_result_that_is_owed_may_list_its_parameters_in_another_order() -> None:
    owed = {"_tool": "judge", "of": {"a": 1, "b": 2}, "_output": "good"}
    assert owed_key(owed) == owed_key({"of": {"b": 2, "a": 1}, "_tool": "judge"})
