"""A text that is no Idea is refused in one line that names the place (X1)."""

from __future__ import annotations

import pytest

from actum import errors
from actum.ideas.file import read_idea

pytestmark = pytest.mark.rule("X1")


@pytest.mark.parametrize(
    ("text", "message", "path"),
    [
        ('{\n  "context": [],\n  "other": 1\n}', "i.json:3:12: an Idea has no 'other'", "other"),
        ('{\n  "context": 5\n}', "i.json:2:14: 'context' must be a list", "context"),
        (
            '{"context": [\n {"type": "text", "text": "a"},\n {"type": "no"}\n]}',
            "i.json:3:2: message 1: the type",
            "context.1",
        ),
        ('{"context": [],\n "schema": {"type": "strin"}}', "i.json:2:21: ", "schema.type"),
        ('{"context": [],\n "solution": {"calls":\n 5}}', "i.json:3:2: 'solution' is not an answer", "solution.calls"),
        ('{"context": [], "meta": 5}', "i.json:1:25: 'meta' must be an object", "meta"),
        ("[1]", "i.json:1:1: an Idea must be a JSON object", None),
        ('{"context": [],\n "context": []}', "i.json: ", None),
        ('{"context": [\n', "i.json: ", None),
    ],
)
def test_the_place_of_what_is_wrong_is_named(text: str, message: str, path: str | None) -> None:
    with pytest.raises(errors.IdeaError) as caught:
        read_idea(text, "i.json")
    assert caught.value.message.startswith(message)
    assert caught.value.path == path
    assert "\n" not in caught.value.message


def test_a_broken_text_is_named_by_line_too() -> None:
    with pytest.raises(errors.IdeaError, match="line 2"):
        read_idea('{"context": [\n  {,}]}', "i.json")
