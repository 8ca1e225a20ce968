"""Hostile answers: bounded work, a typed error, and what was done is kept."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from actum import Agent, Config, Tools, errors, models

from ..effort import trials

tools = Tools()


@tools.tool
async def size(text: str) -> int:
    """Measure."""
    return len(text)


@tools.tool
async def same(value: Any) -> Any:
    """Give back."""
    return value


tools.register(
    "bomb", {"properties": {"text": {"type": "string", "pattern": "^(a+)+$"}, "_output": {"type": "string"}}}
)
tools.register(
    "look", {"properties": {"text": {"type": "string", "pattern": "^(?=(a+)+$)"}, "_output": {"type": "string"}}}
)


def run(text: str, chunk: int = 65_536, then: str = '{"calls":[],"output":1}') -> Any:
    """Run one answer; `then` is the next, where a call of the first has failed and its output is withheld (O9)."""
    agent = Agent(models.Scripted([text, then], chunk=chunk), tools=tools, config=Config(retries=0))
    return agent.run_sync("go")


CALL_ERRORS: dict[str, str] = {
    "deep nesting": '{"_tool":"same","value":' + "[" * 10_000 + "]" * 10_000 + "}",
    "a key twice": '{"_tool":"size","text":"a","text":"b"}',
    "NaN": '{"_tool":"same","value":NaN}',
    "infinity by size": '{"_tool":"same","value":1e999}',
    "a lone surrogate": '{"_tool":"size","text":"\\ud83d"}',
    "a number of 5,000 digits": '{"_tool":"same","value":' + "9" * 5_000 + "}",
    "a raw line feed in a string": '{"_tool":"size","text":"a\nb"}',
    "an exploding pattern": '{"_tool":"bomb","_output":"x","text":"' + "a" * 50_000 + 'b"}',
    "an exploding look-around": '{"_tool":"look","_output":"x","text":"' + "a" * 5_000 + 'b"}',
    "an index far away": '{"_tool":"same","value":1,"_outputPath":"†state.a[999999999]"}',
    "an expression bomb": '{"_tool":"same","value":"†a' + " <|> †a" * 10_000 + '"}',
    "a write to †calls": '{"_tool":"same","value":1,"_outputPath":"†calls.0"}',
    "itself": '{"_tool":"same","value":"†calls.1"}',
    "a scope nobody gave": '{"_tool":"same","value":1,"_scopes":["state"]}',
    "a delegate of its own": '{"_tool":"same","value":1,"_delegate":"anonymous"}',
    "an Activity of its own": '{"_tool":"same","value":1,"_activity":"size"}',
    "an instance that isn't there": '{"_tool":"same","value":1,"_instance":"x"}',
    "a path that is no text": '{"_tool":"same","value":1,"_outputPath":5}',
    "a tool that is no text": '{"_tool":["same"],"value":1}',
}


@pytest.mark.rule("L3", "S2")
@pytest.mark.parametrize("call", CALL_ERRORS.values(), ids=CALL_ERRORS)
def test_a_hostile_call_is_an_error_of_its_own(call: str) -> None:
    result = run(
        '{"calls":[{"_tool":"size","text":"before"},' + call + ',{"_tool":"size","text":"after"}],"output":1,"meta":{}}'
    )
    assert result.output == 1
    assert [type(error).__mro__[1:3][-1] for error in result.errors] == [errors.CallError] or isinstance(
        result.errors[0], errors.CallError
    )
    assert len(result.errors) == 1
    assert [message["data"] for message in result.context if message.get("kind") == "result"] == [6, 5]


@pytest.mark.rule("L3")
@pytest.mark.parametrize("tail", ["[" * 200_000, "}", "]]]", '"open', "\x00", "1 2", '{"_tool":"size","text":"x"'])
def test_a_hostile_end_is_a_typed_error_that_keeps_what_was_done(tail: str) -> None:
    with pytest.raises(errors.SolutionError) as caught:
        run('{"calls":[{"_tool":"size","text":"before"},' + tail)
    assert [message["data"] for message in caught.value.result.context if message.get("kind") == "result"] in ([6], [])


def test_a_huge_string_costs_its_size() -> None:
    assert (
        run('{"calls":[{"_tool":"size","text":"' + "x" * 20_000_000 + '"}],"output":"†calls.0","meta":{}}').output
        == 20_000_000
    )


def test_memory_is_that_of_the_largest_call_not_of_the_answer() -> None:
    from actum.generation.answer_parser import AnswerParser

    call = '{"_tool":"size","text":"' + "x" * 10_000 + '"},'
    parser = AnswerParser()
    list(parser.feed('{"calls":['))
    tracemalloc.start()
    for _ in range(1_000):
        list(parser.feed(call))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * len(call)


def test_a_hundred_thousand_calls_are_judged_one_by_one() -> None:
    result = run(
        '{"calls":[' + '{"_tool":"none"},' * 20_000 + '{"_tool":"size","text":"x"}],"output":"†calls.20000","meta":{}}'
    )
    assert (result.output, len(result.errors)) == (1, 20_000)


@pytest.mark.rule("P1")
def test_thousands_of_calls_in_one_cycle_are_one_short_error_each() -> None:
    size_of_ring = trials(10_000, least=2_000)
    ring = ",".join(f'{{"_tool":"same","value":"†calls.{(n + 1) % size_of_ring}"}}' for n in range(size_of_ring))
    result = run('{"calls":[' + ring + '],"output":1,"meta":{}}')
    assert {type(error) for error in result.errors} == {errors.CyclicPlan}
    assert max(len(str(error)) for error in result.errors) < 400
