"""The published format: it takes what is read, refuses what is refused, and knows all that the code knows (X1)."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import Config, Limits, errors
from actum.ideas.file import read_idea
from actum.ideas.published import idea_schema
from actum.messages import KINDS
from actum.messages.role import RAW
from actum.schema.json import JsonObject as Json
from actum.schema.validator import Validator

from ..cli.test_commands import actum
from ..effort import trials

pytestmark = pytest.mark.rule("X1")
EXAMPLES = [
    path
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*/*.json"))
    if '"context"' in path.read_text(encoding="utf-8")
]
"""The Ideas among the files of the examples."""
PUBLISHED = Validator(idea_schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_of_the_format(path: Path) -> None:
    assert PUBLISHED.complaint(json.loads(path.read_text(encoding="utf-8"))) is None


def test_it_knows_every_type_and_every_setting() -> None:
    schema = idea_schema()
    types = [form["properties"].get("type", {}).get("const") for form in schema["$defs"]["message"]["anyOf"]]
    assert KINDS.keys() - {RAW} <= set(types)
    assert {field.name for field in dataclasses.fields(Config)} <= set(schema["properties"]["config"]["properties"])


def test_it_says_of_every_setting_what_it_is_for_and_its_default() -> None:
    config = idea_schema()["properties"]["config"]["properties"]
    limits = config["limits"]["properties"]
    for members, value in ((config, Config()), (limits, Limits())):
        for field in dataclasses.fields(value):
            assert members[field.name]["description"].endswith((".", ")")), field.name
            if field.default is not dataclasses.MISSING:
                assert members[field.name]["default"] == json.loads(json.dumps(field.default)), field.name
    assert all(member["description"] for member in [*config.values(), *limits.values()])
    for name, setting in config.items():
        for example in setting.get("examples", []):
            assert PUBLISHED.complaint({"context": [], "config": {name: example}}) is None


@pytest.mark.rule("X1")
@pytest.mark.parametrize(
    ("config", "is_right"),
    [
        ({"mode": "lazy", "references": "aside", "tools": None, "limits": {"usd": 0.5, "calls": None}}, True),
        ({"mode": "'lazy'"}, False),
        ({"references": "'aside'"}, False),
        ({"limits": {"request": 5}}, False),
        ({"retries": "often"}, False),
        ({"retries": -1}, False),
    ],
    ids=str,
)
def test_it_says_of_a_config_what_the_code_says(config: Json, is_right: bool) -> None:
    assert PUBLISHED.accepts({"context": [], "config": config}) is is_right


EMPTY: list[Any] = [[], {}, "x", [{"_tool": "t"}]]
CANDIDATES: list[Any] = [
    *({"type": "text", "text": text} for text in ("", "a", 5, None)),
    *({"type": "text", "text": "a", "role": role} for role in ("user", "robot", 1)),
    *({"type": kind, "message": "m"} for kind in ("system", "user", "assistant", "nobody", "text")),
    *({"type": "system", "message": message} for message in (5, ["m"])),
    *({"type": kind, key: 1} for kind in ("state", "input") for key in ("x", "state", "_mark")),
    *({"type": "plan", "plan": plan} for plan in EMPTY),
    *({"type": "plan", "plan": [], "mode": mode} for mode in ("eager", "later")),
    *({"type": "data", key: 1} for key in ("data", "x")),
    *({"type": "data", "data": 1, "kind": kind} for kind in ("k", 5)),
    *({"type": "tool", "tool": tool} for tool in EMPTY),
    *({"type": "meta", "meta": meta} for meta in EMPTY),
    *({"role": role, "content": "c"} for role in ("user", "robot")),
    *({"type": "approval", "of": "0.0", "call": {}, "decision": verdict} for verdict in ("held", "yes")),
    *({"type": "suspended", "of": "0.0", "call": {}, "context": context} for context in EMPTY),
    *({}, [], 5, {"type": 5}, {"type": "error", "error": "e"}, {"type": "text"}, {"type": "text", "text": "a", "b": 1}),
]
OTHER: dict[str, st.SearchStrategy[Any]] = {
    "meta": st.sampled_from([{}, {"version": "1"}, 5]),
    "config": st.sampled_from([{}, []]),
    "schema": st.sampled_from([True, {}, {"type": "string"}, 5]),
    "solution": st.sampled_from(
        [{"calls": []}, {"calls": 5}, None, [], [{"_tool": "t"}], [5], [{}], {"calls": [{}]}, {"output": 1}, 5]
    ),
    "$schema": st.just("x"),
    "other": st.just(1),
}
PARTS: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"context": st.lists(st.sampled_from(CANDIDATES), max_size=2)}, optional=OTHER
)


@settings(max_examples=trials(800))
@given(PARTS)
def test_it_takes_what_is_read_and_nothing_else(value: Json) -> None:
    is_read = True
    try:
        read_idea(json.dumps(value), "idea")
    except errors.IdeaError:
        is_read = False
    assert PUBLISHED.accepts(value) is is_read


def test_it_is_printed() -> None:
    printed = actum("schema", "idea", cwd=Path.cwd())
    assert json.loads(printed.stdout) == idea_schema()
