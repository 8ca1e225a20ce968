"""The order in which what calls have left applies: by the request that it was shown in, then by place (O8, L8)."""

from __future__ import annotations

from typing import Any

import pytest

from actum.protocol.applying import applied
from actum.protocol.approvals import approval
from actum.protocol.call import Call
from actum.protocol.message import is_left
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("O8", "L8")
CALL: Json = {"_tool": "put"}


def left(place: str, **marks: Any) -> Json:
    return {"type": "state", "state": {}, "_call": CALL, "_of": place, **marks}


def failed(place: str) -> Json:
    return {"type": "error", "call": CALL, "error": "no", "_of": place}


ORDERS: list[tuple[list[Json], list[int]]] = [
    ([left("0.1"), left("0.0")], [1, 0]),
    ([left("1.0"), left("0.7")], [1, 0]),
    ([left("0.1.0"), left("0.1"), left("0.0.2"), left("0.0.1")], [3, 2, 1, 0]),
    ([left("0.0", _shown=1), left("1.0", _shown=0)], [1, 0]),
    ([left("1.0", _shown=0), left("0.0", _shown=1)], [0, 1]),
    ([left("0.0"), left("1.0", _shown=3)], [1, 0]),
    ([left("0.0", _shown=0, _again=1), left("0.1", _shown=0)], [1, 0]),
    ([left("0.0", _shown=0, _again=1), left("0.1", _shown=1)], [0, 1]),
    ([left("0.0", _rank="1.2"), left("1.1")], [1, 0]),
    ([{"type": "plan", "plan": [], "_places": {"5": "0.0"}, "_of": "1"}, left("0.0"), left("1.2")], [0, 2, 1]),
    (
        [
            {"type": "plan", "plan": [], "_places": {"5": "0.0"}, "_of": "1"},
            left("0.0.3"),
            left("0.0.1"),
            left("1.2"),
        ],
        [0, 3, 2, 1],
    ),
    ([left("0.1"), {"type": "state", "a": 1}, left("0.0")], [0, 1, 2]),
    ([left("0.1"), {"type": "suspended", "_of": "0.2", "of": "0.2", "context": []}, left("0.0")], [1, 2, 0]),
    ([left("0.1"), approval("0.0", Call(CALL), "held"), left("0.0")], [1, 2, 0]),
    ([left("0.1"), approval("0.0", Call(CALL), "approve"), left("0.0")], [1, 2, 0]),
    (
        [approval("0.0", Call(CALL), "held"), left("0.1"), approval("0.0", Call(CALL), "approve"), left("0.0")],
        [0, 1, 2, 3],
    ),
    ([left("0.1"), failed("0.2"), left("0.0")], [2, 0, 1]),
    ([left("0.1"), {"type": "error", "error": "no"}, left("0.0")], [1, 2, 0]),
    ([failed("0.1"), {"type": "text", "text": "x"}, failed("0.0")], [0, 1, 2]),
]


@pytest.mark.parametrize(("messages", "order"), ORDERS, ids=str)
def test_what_calls_have_left_applies_in_the_order_of_their_places(messages: list[Json], order: list[int]) -> None:
    assert [index for index, _ in applied(messages)] == order


@pytest.mark.rule("C9")
@pytest.mark.parametrize(
    ("message", "left_by_a_call"),
    [
        (left("0.0"), True),
        ({"type": "state", "a": 1, "_call": CALL}, True),
        (failed("0.0"), True),
        ({"type": "error", "error": "no"}, False),
        ({"type": "output", "output": 1, "_of": "0"}, False),
        ({"type": "plan", "plan": [], "_of": "0"}, False),
        ({"type": "state", "a": 1}, False),
    ],
    ids=str,
)
def test_which_messages_calls_have_left(message: Json, left_by_a_call: bool) -> None:
    assert is_left(message) is left_by_a_call
