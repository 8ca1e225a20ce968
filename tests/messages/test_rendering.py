"""Rendering is a function of the context: the same bytes, each kind once, sorted by volatility (M7)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum import Agent, Context, Tools
from actum.schema.json import JsonObject as Json

from ..effort import trials

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.integers(-2, 2) | st.text(max_size=3).filter(lambda text: "¶" not in text and text.isprintable()),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)


def _data(kind: str, data: Json, instance: Json) -> Json:
    return {"type": "data", "kind": kind, "data": data, **instance}


DATA = st.builds(
    _data,
    st.sampled_from(["state", "input", "profile"]),
    st.dictionaries(KEYS, VALUES, min_size=1, max_size=2),
    st.sampled_from([{}, {"_instance": "①"}, {"_instance": "②"}]),
)
WORDS = st.sampled_from(
    [
        {"type": "text", "text": "some words"},
        {"type": "system", "message": "an instruction"},
        {"type": "error", "call": None, "error": "a failure"},
    ]
)
CONTEXTS = st.lists(DATA | WORDS, max_size=8)
AGENT = Agent(None, tools=Tools())


def contents(context: list[Json]) -> list[str]:
    return [message["content"] for message in AGENT.render(context)]


@pytest.mark.rule("M7")
@settings(max_examples=trials(200))
@given(CONTEXTS)
def test_each_kind_is_shown_once_and_the_same_way_each_time(context: list[Json]) -> None:
    texts = contents(context)
    assert contents(json.loads(json.dumps(context))) == texts
    for kind in {message["kind"] for message in context if "kind" in message}:
        assert len([text for text in texts if text.startswith(f"¶{kind}\n")]) <= 1
        folded = Context(context).data.get(kind)
        if folded is not None and any("_instance" not in message for message in context if message.get("kind") == kind):
            text = next(text for text in texts if text.startswith(f"¶{kind}\n"))
            assert json.loads(text.split("\n", 1)[1]) == folded


@pytest.mark.rule("M7")
@settings(max_examples=trials(200))
@given(CONTEXTS, st.lists(WORDS.filter(lambda message: message["type"] == "error"), max_size=3))
def test_what_is_appended_leaves_the_prefix_as_it_is(context: list[Json], more: list[Json]) -> None:
    before = contents(context)
    after = contents([*context, *more])
    stable = [text for text in before if not text.startswith(("¶state", "¶profile"))]
    assert after[: len(stable)] == stable


@pytest.mark.rule("M7")
@settings(max_examples=trials(100))
@given(CONTEXTS)
def test_frozen_goes_before_appended_and_appended_before_derived(context: list[Json]) -> None:
    def rank(text: str) -> int:
        if text.startswith(("¶state", "¶profile")):
            return 2
        return 1 if text.startswith("¶error") else 0

    ranks = [rank(text) for text in contents(context)]
    assert ranks == sorted(ranks)
