"""L3, L5: a second model where the first is down or declines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from actum import Agent, Limits, Tools, errors, events, models
from actum.errors import ModelError
from actum.models import Fallback, ModelRequest, Scripted, Usage
from actum.schema.lowering import ANTHROPIC, OPENAI

from .scripts import answer, call

pytestmark = pytest.mark.rule("L3")

DOWN = ModelError("it is overloaded", code="model_server", retryable=True)
SPENT = Usage(requests=1, input_tokens=10, output_tokens=2)


def two(first: list[Any], second: list[Any], **more: Any) -> tuple[Scripted, Scripted, Fallback]:
    primary = Scripted(first, name="first", usage=SPENT, **more)
    secondary = Scripted(second, name="second", usage=SPENT)
    return primary, secondary, Fallback([primary, secondary])


@pytest.mark.rule("L5")
@pytest.mark.parametrize(
    "code", ["model_server", "model_rate_limit", "model_connection", "model_refused", "model_quota"]
)
async def test_the_second_answers_where_the_first_is_down_or_declines(code: str) -> None:
    first, second, model = two([ModelError("no", code=code)], [answer(output=1)])
    async with Agent(model, tools=Tools()).stream("go") as stream:
        received = [event async for event in stream]
    assert stream.result.output == 1
    assert (len(first.requests), len(second.requests)) == (1, 1)
    assert [event.error.code for event in received if isinstance(event, events.Retried)] == [code]
    assert [event.model for event in received if isinstance(event, events.RequestFinished)] == ["second"]
    assert (stream.result.usage.requests, stream.result.usage.fallbacks) == (2, 1)


@pytest.mark.parametrize("code", ["model_auth", "model_rejected", "model_truncated", "model"])
async def test_an_error_that_another_model_is_no_answer_to_is_seen(code: str) -> None:
    _, second, model = two([ModelError("no", code=code)], [answer(output=1)])
    with pytest.raises(ModelError) as caught:
        await Agent(model, tools=Tools()).run("go")
    assert caught.value.code == code
    assert second.requests == []


async def test_if_all_are_down_the_last_says_so() -> None:
    _, second, model = two([DOWN], [ModelError("so is this", code="model_quota")])
    with pytest.raises(ModelError, match="so is this"):
        await Agent(model, tools=Tools()).run("go")
    assert len(second.requests) == 1


async def test_a_run_stays_with_the_model_that_has_answered() -> None:
    tools = Tools()

    @tools.tool
    def look() -> int:
        return 5

    first, second, model = two([DOWN, answer(output=0)], [answer(call("look")), answer(output=1)])
    result = await Agent(model, tools=tools).run("go")
    assert result.output == 1
    assert (len(first.requests), len(second.requests)) == (1, 2)
    assert result.usage.fallbacks == 2


async def test_a_call_that_had_started_is_not_made_again_by_the_second() -> None:
    tools, payments = Tools(), list[int]()
    started = asyncio.Event()

    @tools.tool
    def pay(n: int) -> int:
        payments.append(n)
        started.set()
        return n

    async def cut(_: ModelRequest) -> AsyncGenerator[str]:
        yield '{"calls": [{"_tool": "pay", "n": 7}, '
        await started.wait()
        raise DOWN

    model = Fallback([Scripted([cut]), Scripted([answer(call("pay", n=7), output="†calls.0")])])
    assert (await Agent(model, tools=tools).run("go")).output == 7
    assert payments == [7]


async def test_each_model_is_sent_the_schema_in_the_form_that_its_provider_takes() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}
    first = Scripted([DOWN], dialect=OPENAI)
    second = Scripted([answer(output={"n": 1})], dialect=ANTHROPIC)
    alone = Scripted([answer(output={"n": 1})], dialect=ANTHROPIC)
    assert (await Agent(Fallback([first, second]), tools=Tools()).run("go", schema)).output == {"n": 1}
    await Agent(alone, tools=Tools()).run("go", schema)
    assert second.requests[0].schema_text == alone.requests[0].schema_text != first.requests[0].schema_text


async def test_requests_to_both_count_against_the_limit() -> None:
    _, second, model = two([DOWN], [answer(output=1)])
    with pytest.raises(errors.LimitExceeded):
        await Agent(model, tools=Tools(), limits=Limits(requests=1)).run("go")
    assert second.requests == []


async def test_a_fallback_within_a_fallback_is_one_chain_and_one_of_nothing_is_refused() -> None:
    first, second, inner = two([DOWN], [DOWN])
    third = Scripted([answer(output=3)], name="third")
    model = Fallback([inner, third])
    assert (model.name, len(model.chain)) == ("first or second or third", 3)
    assert (await Agent(model, tools=Tools()).run("go")).output == 3
    assert (len(first.requests), len(second.requests)) == (1, 1)
    with pytest.raises(ValueError, match="at least one"):
        Fallback([])


async def test_a_recording_of_it_holds_the_answer_of_the_second(tmp_path: Any) -> None:
    _, _, model = two([DOWN], [answer(output=1)])
    file = tmp_path / "recorded.jsonl"
    assert (await Agent(models.Recording(model, file), tools=Tools()).run("go")).output == 1
    assert (await Agent(models.load(f"replay:{file}"), tools=Tools()).run("go")).output == 1
