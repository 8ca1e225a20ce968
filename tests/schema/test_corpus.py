"""Every tool of some twenty published MCP servers, lowered for every provider (T9)."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from actum.schema.lowering import ANTHROPIC, COMPATIBLE, GOOGLE, GRAMMAR, OPENAI, Lowered, choose

from ..effort import EFFORT
from .composing import accepts, composer
from .provider_rules import violations

Tool = tuple[str, dict[str, Any]]

SUITE = Path(__file__).parents[1] / "suites" / "mcp_tools.json"
DIALECTS = {dialect.name: dialect for dialect in (OPENAI, ANTHROPIC, GOOGLE, GRAMMAR, COMPATIBLE)}


@cache
def tools() -> tuple[Tool, ...]:
    servers = json.loads(SUITE.read_text(encoding="utf-8"))
    listed = [(tool["name"], tool["inputSchema"]) for server in servers for tool in server["tools"]]
    return tuple((f"{name}_{number}", schema) for number, (name, schema) in enumerate(listed))


@cache
def lowered(name: str, size: int) -> tuple[tuple[list[Tool], Lowered], ...]:
    groups = [list(tools()[start : start + size]) for start in range(0, len(tools()), size)]
    return tuple((group, choose(composer(group), DIALECTS[name])) for group in groups)


def test_the_corpus_is_of_free_licences_and_large() -> None:
    servers = json.loads(SUITE.read_text(encoding="utf-8"))
    assert {server["license"] for server in servers} <= {"MIT", "Apache-2.0", "BSD-3-Clause", "ISC"}
    assert len(tools()) >= 250
    assert SUITE.stat().st_size < 1_500_000


# The least that must land on each rung: lowering may get better at it, not worse.
LEAST: list[tuple[str, int, dict[str, int]]] = [
    ("openai", 1, {"strict": 340}),
    ("openai", 10, {"strict": 26}),
    ("openai", 50, {"strict": 2}),
    ("anthropic", 1, {"strict": 337}),
    ("anthropic", 10, {"strict": 14, "aside": 1}),
    ("anthropic", 50, {}),
    ("google", 1, {"strict": 380}),
    ("google", 10, {"strict": 36}),
    ("google", 50, {"strict": 5}),
    ("grammar", 1, {"strict": 384}),
    ("grammar", 10, {"strict": 39}),
    ("grammar", 50, {"strict": 8}),
    ("compatible", 1, {"strict": 340}),
    ("compatible", 10, {"strict": 26}),
    ("compatible", 50, {"strict": 2}),
]


SIZES = [1, 10, 50] if EFFORT != "little" else [10]
"""How many tools one request offers."""


@pytest.mark.parametrize(("name", "size", "least"), [row for row in LEAST if row[1] in SIZES])
def test_a_rung_is_found_for_every_group_and_most_are_firm(name: str, size: int, least: dict[str, int]) -> None:
    rungs = Counter(choice.rung.name for _, choice in lowered(name, size) if choice.rung)
    assert sum(rungs.values()) == -(-len(tools()) // size)
    assert {rung: rungs[rung] for rung in least if rungs[rung] < least[rung]} == {}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", DIALECTS)
def test_what_is_sent_strictly_keeps_the_providers_rules(name: str, size: int) -> None:
    for group, choice in lowered(name, size):
        assert choice.problems == ()
        if choice.rung and choice.rung.mode == "strict":
            assert violations(choice.schema, name) == [], [tool for tool, _ in group]


@pytest.mark.parametrize("name", DIALECTS)
def test_the_smallest_call_that_a_tool_takes_comes_back_from_the_wire(name: str) -> None:
    for group, choice in lowered(name, 1):
        tool, schema = group[0]
        if schema.get("required") or schema.get("minProperties"):
            continue
        wire = choice.schema["properties"]["calls"]["items"]
        absent: dict[str, Any] = {key: [] if key == "_with" else None for key in wire["required"] if key != "_tool"}
        written = {"_tool": tool, **absent}
        assert accepts(wire, written, choice.schema.get("$defs")), written
        restored = choice.restore_call(written)
        # What may be null is kept as null; nothing else is made up.
        assert {key: value for key, value in restored.items() if value is not None} == {"_tool": tool}
