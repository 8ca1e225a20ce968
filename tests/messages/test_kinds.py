"""A kind of message is one file: all that is known of a kind is computed from it (M1-M3, X1)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import actum
from actum import Agent, Context, Tools, errors
from actum.messages import KINDS, Key
from actum.schema.json import JsonObject as Json

NOTE = '''
"""`note` `{note, colour?}`: something to remember."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..schema.json import JsonObject
from .kind import Block, Key, Kind, View


@dataclass(frozen=True, slots=True)
class Note:
    note: str

    def to_dict(self) -> JsonObject:
        return {"type": "note", "note": self.note}


def _show(message: JsonObject, _: View) -> Iterable[Block]:
    yield Block("user", f"remember: {message['note']}")


KINDS = [
    Kind(
        type="note",
        about="Something to remember.",
        keys={
            "note": Key(types=("string",), is_required=True, about="What."),
            "colour": Key(choices=("red", "blue"), about="Of the paper."),
        },
        value=Note,
        show=_show,
    )
]
'''
USE = """
import json
from actum import Agent, Context, Tools, errors, messages, models
from actum.ideas.published import idea_schema
from actum.messages.note import Note

def refusal(message):
    try:
        Context([message])
    except errors.MessageError as error:
        return error.message

tools = Tools()

@tools.tool
def jot() -> dict:
    return Note("by code")

shapes = idea_schema()["$defs"]["message"]["anyOf"]
agent = Agent(models.Scripted([{"calls": [{"_tool": "jot"}], "output": 1, "meta": {}}]), tools=tools)
print(json.dumps({
    "refused": [refusal({"type": "note", **rest}) for rest in ({}, {"note": 5}, {"note": "x", "colour": "green"})],
    "known": refusal({"type": "nothing"}),
    "published": next(one for one in shapes if one["properties"]["type"]["const"] == "note"),
    "rendered": agent.render([{"type": "note", "note": "the milk"}]),
    "left": [dict(message) for message in agent.run_sync("go").context if message["type"] == "note"],
}))
"""


@pytest.mark.rule("M1", "X1", "A4")
def test_a_new_kind_is_a_new_file_and_edits_none(tmp_path: Path) -> None:
    shutil.copytree(Path(actum.__file__).parent, tmp_path / "actum", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "actum" / "messages" / "note.py").write_text(NOTE, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", USE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert ran.stderr == ""
    report: Json = json.loads(ran.stdout)
    assert report["refused"] == [
        "message 0: a note message needs 'note'",
        "message 0: 'note' of a note message must be a string, not 5",
        "message 0: 'colour' of a note message must be red or blue, not 'green'",
    ]
    assert "note" in report["known"]
    assert report["published"] == {
        "type": "object",
        "description": "Something to remember.",
        "properties": {
            "type": {"const": "note"},
            "note": {"type": "string", "description": "What."},
            "colour": {"enum": ["red", "blue"], "description": "Of the paper."},
        },
        "required": ["type", "note"],
        "patternProperties": {"^_": True},
        "additionalProperties": False,
    }
    assert {"role": "user", "content": "remember: the milk"} in report["rendered"]
    assert [{key: message[key] for key in ("type", "note")} for message in report["left"]] == [
        {"type": "note", "note": "by code"}
    ]


FORMS: list[tuple[Key, list[Any], list[Any], str]] = [
    (Key(about=""), [None, 1, "x", [], {}], [], ""),
    (Key(about="", types=("string",)), ["", "x"], [None, 1, [], {}], "a string"),
    (Key(about="", types=("object", "boolean")), [{}, True], ["x", 1, None], "an object or a boolean"),
    (Key(about="", types=("array",)), [[]], [{}, "x"], "a list"),
    (Key(about="", choices=("a",)), ["a"], ["b", None, ["a"], {}], "a"),
    (Key(about="", choices=("a", "b", "c")), ["a", "b", "c"], ["d"], "a, b or c"),
]


@pytest.mark.rule("M1")
@pytest.mark.parametrize(("key", "accepted", "refused", "wanted"), FORMS)
def test_a_key_takes_its_types_or_its_choices(key: Key, accepted: list[Any], refused: list[Any], wanted: str) -> None:
    assert all(key.takes(value) for value in accepted)
    assert not any(key.takes(value) for value in refused)
    assert key.wanted == wanted


@pytest.mark.rule("M1")
def test_an_error_about_a_long_value_is_short() -> None:
    with pytest.raises(errors.MessageError) as caught:
        Context([{"type": "text", "text": ["x"] * 1_000}])
    assert len(str(caught.value)) < 200


@pytest.mark.rule("M2")
@pytest.mark.parametrize("schema", ["x", 5, None, []])
@pytest.mark.parametrize("kind", ["state", "input", "profile"])
def test_the_schema_of_data_is_a_schema_in_the_short_form_too(kind: str, schema: Any) -> None:
    agent = Agent(None, tools=Tools(), message_types={"profile": dict})
    with pytest.raises(errors.MessageError, match=f"'schema' of an? {kind} message must be an object or a boolean"):
        agent.render([{"type": kind, "x": 1, "schema": schema}])


@pytest.mark.rule("L6")
def test_no_activity_can_leave_a_decision() -> None:
    assert [KINDS[kind].value for kind in ("approval", "suspended")] == [None, None]
