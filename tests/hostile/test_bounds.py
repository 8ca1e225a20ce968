"""Every run is bounded, whatever is asked of it: what it holds, how long it takes, what one step may take (L5)."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Limits, Tools, errors, models
from actum.execution import budget
from actum.ideas.file import read_idea
from actum.schema.json import JsonObject as Json
from actum.schema.validator import Validator, judgements, unsatisfiable

from .. import warm
from ..effort import EFFORT, spread
from . import bombs

BYTES = 256 * 2**20 if EFFORT == "all" else 16 * 2**20
TEXT: Json = {"type": "string"}


def answer(*calls: Json, output: Any = None) -> Json:
    return {"calls": list(calls), "output": output}


def running(tools: Tools, *answers: Any, limits: Limits | None = None, context: Any = "go", schema: Any = None) -> Any:
    return Agent(models.Scripted(list(answers)), tools=tools, limits=limits or Limits()).run_sync(context, schema)


@pytest.fixture
def tools() -> Tools:
    registry = Tools()

    @registry.tool
    async def same(value: Any) -> Any:
        """Give back."""
        return value

    assert same.name == "same"
    return registry


@pytest.mark.rule("L5")
@pytest.mark.parametrize("name", spread(list(bombs.BOMBS), least=8))
def test_what_is_small_to_say_and_large_to_hold_ends_at_the_limit_with_what_was_done(name: str) -> None:
    command = [sys.executable, bombs.__file__, name, str(BYTES)]
    ended = warm.run(command, cwd=Path(__file__).parent, timeout=110)
    report = json.loads(ended.stdout or json.dumps({"ended": ended.stderr[-500:], "peak": 0}))
    assert report["ended"] == {"limit": "bytes", "partial": True}
    assert report["peak"] < 700


@pytest.mark.rule("L5")
def test_bytes_are_those_of_the_values_written_out_and_delegates_spend_from_them(tools: Tools) -> None:
    def outcome(bytes: int, context: Any) -> Any:
        inner: Json = {"context": [{"type": "plan", "plan": [], "output": "x" * 10_000}], "schema": {}}
        agent = Agent(None, tools=tools, delegates={"D": inner}, limits=Limits(bytes=bytes))
        return agent.run_sync(context).output

    doubled = [{"_tool": "same", "value": "x" * 1_000}, {"_tool": "same", "value": ["†calls.0", "†calls.0"]}]
    delegated: list[Json] = [{"type": "tool", "tool": {"go": {"_delegate": "D"}}}]
    for context in (
        [{"type": "plan", "plan": doubled, "output": "†calls.1"}],
        [*delegated, {"type": "plan", "plan": [{"_tool": "go"}], "output": "†calls.0"}],
    ):
        assert outcome(40_000, context)
        with pytest.raises(errors.LimitExceeded) as caught:
            outcome(5_000, context)
        assert (caught.value.limit, caught.value.result is not None) == ("bytes", True)


@pytest.mark.rule("L5", "L8")
def test_a_run_that_passed_its_bytes_goes_on_where_there_is_more(tools: Tools) -> None:
    calls = [{"_tool": "same", "value": "x" * 1_000}, {"_tool": "same", "value": ["†calls.0"] * 50}]
    agent = Agent(None, tools=tools, limits=Limits(bytes=20_000))
    with pytest.raises(errors.LimitExceeded) as caught:
        agent.run_sync([{"type": "plan", "plan": calls, "output": "†calls.1[49]"}])
    assert Agent(None, tools=tools).run_sync(caught.value.result.context).output == "x" * 1_000


@pytest.mark.rule("L5")
def test_bytes_bound_nothing_where_they_are_none(tools: Tools) -> None:
    calls = [{"_tool": "same", "value": "x" * 1_000}, {"_tool": "same", "value": ["†calls.0"] * 1_000}]
    assert running(tools, answer(*calls, output="†calls.1[999]"), limits=Limits(bytes=None)).output == "x" * 1_000


class _Clock:
    """A clock on which each look takes a second."""

    def __init__(self) -> None:
        self.began, self.looks = time.monotonic(), 0

    def monotonic(self) -> float:
        self.looks += 1
        return self.began + self.looks


@pytest.mark.rule("L5")
@pytest.mark.parametrize(
    "calls",
    [
        [{"_tool": "same", "_each": [0] * 8_000, "value": "†each"}],
        [{"_tool": "nobody"}] * 8_000,
        [{"_tool": "same", "_when": False, "value": 1}] * 8_000,
        [{"_value": 1}] * 8_000,
        [{"_value": "{†calls.9}" * 8_000}],
        [{"_value": ("{" * 50 + "† ") * 8_000}],
        [{"_value": 900}, {"_value": "{sum(x for x in range(†calls.0) for y in range(†calls.0))}"}],
    ],
    ids=["items", "refused", "skipped", "computed", "groups", "braces", "an expression"],
)
def test_no_step_works_on_without_looking_at_the_clock(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, calls: list[Json]
) -> None:
    clock = _Clock()
    monkeypatch.setattr(budget, "time", clock)
    with pytest.raises(errors.LimitExceeded) as caught:
        running(tools, answer(*calls, output=1), limits=Limits(seconds=30, bytes=None))
    assert caught.value.limit == "seconds"
    assert clock.looks < 100


@pytest.mark.rule("L3")
def test_a_call_that_names_itself_beside_what_is_there_is_worked_out_once() -> None:
    tools = Tools()
    tools.register("t", {"properties": {"x": TEXT}, "_output": TEXT})

    @tools.activity("t")
    async def give_back(x: str) -> str:
        return x

    assert give_back.name == "t"
    call = {"_tool": "t", "x": "†state.k <|> †calls.0"}
    state = [{"type": "state", "k": "a"}]
    result = running(tools, answer(call, output=5), answer(call, output="b"), context=state, schema=TEXT)
    assert result.output == "b"


@pytest.mark.rule("O1", "O3")
@pytest.mark.parametrize("steps", [130, 900, 32_000])
def test_a_path_deeper_than_any_value_is_an_error_of_its_call(tools: Tools, steps: int) -> None:
    path = "†state" + ".a" * steps
    calls = [{"_tool": "same", "value": path}, {"_tool": "same", "value": 1, "_outputPath": path}]
    result = running(tools, answer(*calls), answer(output=1))
    assert result.output == 1
    assert ["more than 128 steps" in error.message for error in result.errors] == [True, True]
    assert max(len(error.message) for error in result.errors) < 200


@pytest.mark.rule("A2", "L7")
def test_what_a_plain_tool_raises_ends_its_call_whatever_it_is() -> None:
    tools = Tools()

    @tools.tool
    def ends() -> int:
        """Raise what a future can't hold."""
        raise StopIteration

    assert ends.name == "ends"
    result = running(tools, answer({"_tool": "ends"}), answer(output=1))
    assert [error.message for error in result.errors] == ["tool 'ends': RuntimeError: it raised StopIteration"]


@pytest.mark.rule("C6")
def test_a_hundred_plain_tools_that_wait_wait_together() -> None:
    tools, all_there = Tools(), threading.Barrier(100)

    @tools.tool
    def wait(n: int) -> int:
        """Wait for the others."""
        all_there.wait(60)
        return n

    assert wait.name == "wait"
    calls = [{"_tool": "wait", "n": n} for n in range(100)]
    assert running(tools, answer(*calls, output="†calls.99")).output == 99


@pytest.mark.rule("L2", "L5")
def test_what_an_exception_says_is_clipped_and_need_not_be_said() -> None:
    tools = Tools()

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even that")

    @tools.tool
    def long() -> int:
        """Say much."""
        raise ValueError("x" * 10_000_000)

    @tools.tool
    def mute() -> int:
        """Say nothing."""
        raise Mute

    assert (long.name, mute.name) == ("long", "mute")
    result = running(tools, answer({"_tool": "long"}, {"_tool": "mute"}), answer(output=1))
    assert len(json.dumps(result.context.messages)) < 10_000
    assert "tool 'mute': Mute" in [error.message for error in result.errors]


def doubling(keyword: str, levels: int, form: str = "#/$defs/a{}") -> Json:
    """Definitions each of which names the next twice."""
    last = {"type": "string", "$anchor": f"a{levels}"}
    named = {f"a{n}": {keyword: [{"$ref": form.format(n + 1)}] * 2, "$anchor": f"a{n}"} for n in range(levels)}
    return {"$defs": named | {f"a{levels}": last}, "$ref": form.format(0)}


@pytest.mark.rule("T3", "D12")
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
@pytest.mark.parametrize("form", ["#/$defs/a{}", "#a{}"], ids=["by pointer", "by anchor"])
def test_a_schema_that_judges_a_value_millions_of_times_is_refused_before_it_judges_any(
    keyword: str, form: str
) -> None:
    schema = doubling(keyword, 25, form)
    assert judgements(schema) > 2**25
    with pytest.raises(errors.SchemaError, match="would judge one value more than 100,000 times"):
        Validator(schema)
    assert unsatisfiable(schema) == set()
    with pytest.raises(errors.IdeaError, match="more than 100,000 times"):
        read_idea(json.dumps({"context": [], "schema": schema}), "an Idea")


@pytest.mark.rule("T3")
def test_schemas_that_are_shared_hold_themselves_or_offer_many_forms_are_usable() -> None:
    parts = {
        f"a{n}": {"properties": {"x": {"$ref": f"#/$defs/a{n + 1}"}, "y": {"$ref": f"#/$defs/a{n + 1}"}}}
        for n in range(40)
    }
    tree: Json = {"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    for schema in ({"$defs": parts | {"a40": {}}, "$ref": "#/$defs/a0"}, tree, doubling("anyOf", 10)):
        Validator(schema)


@pytest.mark.rule("L5")
def test_what_is_large_is_not_judged_by_what_judges_often() -> None:
    validator = Validator(doubling("oneOf", 14))
    assert validator.accepts("x") is False, "both of two say that it is one"
    many = Validator({"items": doubling("anyOf", 14) | {"$id": "urn:inner"}})
    assert "too large" in (many.complaint([1] * 100_000) or "")


@pytest.mark.rule("X1", "L5")
@pytest.mark.parametrize("text", ["{" * 100_000, "[" * 100_000, "- " * 100_000, "? " * 100_000])
def test_yaml_is_read_no_deeper_than_json(text: str) -> None:
    with pytest.raises(errors.IdeaError, match="nests deeper than 128"):
        read_idea(text, "deep.yaml")
