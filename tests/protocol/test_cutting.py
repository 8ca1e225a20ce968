"""Which messages of a conversation make room for its newest turn, each kind of message by itself (M9)."""

from __future__ import annotations

from typing import Any

import pytest

from actum import Context
from actum.protocol.marks import cut_to, to_cut, turn_starts, without_messages
from actum.schema.json import JsonObject as Json
from actum.schema.json import encode

pytestmark = pytest.mark.rule("M9")
CALL: Json = {"_tool": "put"}


def user(text: str) -> Json:
    return {"type": "user", "message": text}


def plan(place: str) -> Json:
    return {"type": "plan", "plan": [CALL], "_of": place, "_by": "model"}


def left(place: str, **marks: Any) -> Json:
    return {"type": "data", "kind": "result", "data": 1, "_call": CALL, "_of": place, **marks}


def output(place: str | None = None) -> Json:
    return {"type": "output", "output": 1} | ({} if place is None else {"_of": place})


NEWEST = [user("newest"), output()]
TOOL: Json = {"type": "tool", "tool": {"t": {}}}
SYSTEM: Json = {"type": "system", "message": "s"}


CUT: list[tuple[list[Json], set[int]]] = [
    ([SYSTEM, user("a"), output(), *NEWEST], {1, 2}),
    ([SYSTEM, TOOL, {"type": "state", "a": 1}, user("a"), output(), *NEWEST], {3, 4}),
    ([user("a"), {"type": "state", "a": 1}, output(), *NEWEST], {0, 2}),
    ([user("a"), {"type": "text", "text": "x", "role": "system"}, output(), *NEWEST], {0, 2}),
    ([user("a"), {"type": "text", "text": "x"}, output(), *NEWEST], {1, 2}),
    ([user("a"), {"type": "assistant", "message": "x"}, *NEWEST], {0, 1}),
    ([user("a"), {"type": "assistant", "message": "x"}, {"type": "assistant", "message": "y"}, *NEWEST], {0, 1, 2}),
    ([user("a"), {"type": "image", "url": "https://x.example/a.png"}, output(), *NEWEST], {0, 1, 2}),
    ([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, *NEWEST], {0, 1}),
    ([user("a"), plan("0"), left("0.0", _number=0), output("0"), *NEWEST], {0, 1, 3}),
    ([user("a"), plan("0"), left("0.0", _number=0), left("1.0", _number=1), output("0"), *NEWEST], {0, 1, 2, 4}),
    ([user("a"), plan("0"), left("0.0"), user("b"), {"type": "assistant", "message": "x"}, *NEWEST], set()),
    (
        [user("a"), plan("0"), {"type": "error", "call": CALL, "error": "e", "_of": "0.0"}, output("0"), *NEWEST],
        {0, 1, 2, 3},
    ),
    ([user("a"), {"type": "error", "error": "e"}, output(), *NEWEST], {0, 1, 2}),
    (
        [user("a"), {"type": "data", "kind": "record", "data": None, "_call": CALL, "_of": "0.1"}, output(), *NEWEST],
        {0, 1, 2},
    ),
    ([user("a"), {"type": "state", "a": 1, "_call": CALL, "_of": "0.0"}, output(), *NEWEST], {0, 2}),
    (NEWEST, set()),
    ([SYSTEM, user("a")], set()),
]


@pytest.mark.parametrize(("messages", "cut"), CUT, ids=str)
def test_what_was_said_goes_and_what_was_told_to_stay_stays(messages: list[Json], cut: set[int]) -> None:
    context = Context(messages)
    assert to_cut(context, 0) == cut
    assert to_cut(context, 10**6) == set()
    assert list(cut_to(context, 0)) == [message for at, message in enumerate(context) if at not in cut]


def test_no_more_turns_go_than_have_to() -> None:
    turns = [message for text in ("a", "b", "c", "d") for message in (user(text), output())]
    context = Context(turns)
    sizes = [len(encode(message)) for message in context]
    turn = sizes[0] + sizes[1]
    fits = [4 * turn, 4 * turn - 1, 3 * turn, 3 * turn - 1, 2 * turn, 2 * turn - 1, turn, 0]
    assert [len(to_cut(context, most)) for most in fits] == [0, 2, 2, 4, 4, 6, 6, 6]


def test_what_the_assistant_says_before_an_output_goes_with_it() -> None:
    context = Context([user("a"), {"type": "assistant", "message": "x"}, output(), user("b"), output(), *NEWEST])
    assert to_cut(context, sum(len(encode(message)) for message in context) - 1) == {0, 1, 2}


def test_something_else_may_stand_where_the_first_of_them_stood() -> None:
    context = Context([SYSTEM, user("a"), output(), *NEWEST])
    short = without_messages(context, {1, 2}, user("short"))
    assert [message["type"] for message in short] == ["system", "user", "user", "output"]
    assert list(without_messages(context, set(), user("short"))) == list(context)


STARTS: list[tuple[list[Json], list[int]]] = [
    ([user("a"), output("0"), user("b"), output("1"), user("c")], [2, 4]),
    ([user("a"), left("0.0"), {"type": "state", "a": 1}, user("b"), user("c")], [3]),
    ([user("a"), {"type": "assistant", "message": "x"}, user("b")], []),
    ([user("a"), plan("0"), {**user("by a call"), "_call": CALL, "_of": "0.0"}, user("b")], [3]),
    ([user("a"), {"type": "plan", "plan": []}, user("b")], []),
]


@pytest.mark.rule("M4")
@pytest.mark.parametrize(("messages", "starts"), STARTS, ids=str)
def test_a_turn_starts_with_words_behind_what_a_run_has_left(messages: list[Json], starts: list[int]) -> None:
    assert turn_starts(Context(messages).messages) == starts
