"""What is kept of the question whether a call may be made: the call, what crosses, and what it was made of (L6)."""

from __future__ import annotations

from typing import Any

import pytest

from actum.protocol.approvals import Asked
from actum.protocol.call import Call
from actum.schema.json import JsonObject as Json

pytestmark = pytest.mark.rule("L6")
CALL: Json = {"_tool": "pay", "n": 5}
STATE: Json = {"type": "state", "a": 1}


@pytest.mark.parametrize(
    ("authored", "derived", "seal", "more"),
    [
        (CALL, (), "", {}),
        (CALL, (), "abc", {"tool": "abc"}),
        ({**CALL, "n": "†state.a"}, (), "", {"from": {"n": "†state.a"}}),
        ({**CALL, "n": "{†state.a + 4}"}, ("n",), "", {"from": {"n": "{†state.a + 4}"}, "derived": ["n"]}),
        ({**CALL, "_when": "{†state.a > 0}"}, (), "", {}),
    ],
    ids=str,
)
def test_what_is_kept_of_a_question_says_what_it_is_about_and_nothing_empty(
    authored: Json, derived: tuple[str, ...], seal: str, more: Json
) -> None:
    question = Asked.about(Call(CALL), Call(authored), derived)
    kept: dict[str, Any] = question.shown([STATE], seal)
    when = {key: value for key, value in authored.items() if key == "_when"}
    assert kept == {"call": {**CALL, **when}, "context": [STATE], **more}
