"""The scripted model: every kind of answer, its chunks, and what it is when the script has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from actum import models
from actum.errors import ModelError
from actum.models import ModelRequest, Reasoning, Scripted, Usage


def request(text: str = "Go.") -> ModelRequest:
    return ModelRequest(messages=({"role": "user", "content": text},), schema={"type": "object"})


async def ask(model: Scripted, text: str = "Go.") -> list[str | Reasoning | Usage]:
    return [item async for item in model.stream(request(text))]


async def test_a_dict_is_sent_as_json_and_a_string_as_it_is() -> None:
    model = Scripted([{"calls": [], "output": "†ü"}, "not JSON", {}])
    assert await ask(model) == ['{"calls":[],"output":"†ü"}', Usage(requests=1)]
    assert await ask(model) == ["not JSON", Usage(requests=1)]
    assert await ask(model) == ["{}", Usage(requests=1)]


async def test_an_exception_is_raised_as_it_is() -> None:
    error = ModelError("down", code="model_server")
    with pytest.raises(ModelError) as caught:
        await ask(Scripted([error]))
    assert caught.value is error


async def test_callables_see_the_request_and_give_any_answer() -> None:
    async def later(request: ModelRequest) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"echo": request.messages[0]["content"]}

    async def deltas(request: ModelRequest) -> AsyncGenerator[str]:
        yield "a"
        yield request.messages[0]["content"]

    def failing(_: ModelRequest) -> Exception:
        return ModelError("no")

    model = Scripted([lambda request: request.messages[0]["content"], later, deltas, failing])
    assert await ask(model, "one") == ["one", Usage(requests=1)]
    assert await ask(model, "two") == ['{"echo":"two"}', Usage(requests=1)]
    assert await ask(model, "three") == ["a", "three", Usage(requests=1)]
    with pytest.raises(ModelError, match="no"):
        await ask(model, "four")


async def test_chunks_are_characters() -> None:
    usage = Usage(requests=1, input_tokens=3)
    assert await ask(Scripted(["ab†de"], chunk=2, usage=usage)) == ["ab", "†d", "e", usage]


async def test_deltas_give_up_control_between_them() -> None:
    order: list[str] = []

    async def read(name: str) -> None:
        async for item in model.stream(request()):
            order.append(f"{name}{item}" if isinstance(item, str) else name)  # noqa: PERF401  two write to it

    model = Scripted(["123", "123"], chunk=1)
    await asyncio.gather(read("a"), read("b"))
    assert order == ["a1", "b1", "a2", "b2", "a3", "a", "b3", "b"]


async def test_a_test_holds_every_delta() -> None:
    gate = asyncio.Event()
    closed: list[bool] = []

    async def held(_: ModelRequest) -> AsyncGenerator[str]:
        try:
            yield "first"
            await gate.wait()
            yield "second"
        finally:
            closed.append(True)

    model = Scripted([held, held])
    stream = model.stream(request())
    assert await anext(stream) == "first"
    waiting = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.set()
    assert await asyncio.wait_for(waiting, 5) == "second"
    await stream.aclose()
    assert closed == [True]


async def test_an_iterator_may_give_its_own_usage() -> None:
    usage = Usage(requests=1, output_tokens=9)

    async def deltas(_: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        yield "{}"
        yield usage

    assert await ask(Scripted([deltas])) == ["{}", usage]


async def test_the_end_of_the_script_is_an_error_that_counts() -> None:
    model = Scripted(["{}"], name="judge")
    await ask(model)
    with pytest.raises(ModelError, match="judge: request number 2 has no answer") as caught:
        await ask(model)
    assert caught.value.code == "model_script_exhausted"
    assert len(model.requests) == 2


async def test_the_last_answer_can_serve_the_rest() -> None:
    model = Scripted(["1", "2"], repeat_last=True)
    assert [(await ask(model))[0] for _ in range(4)] == ["1", "2", "2", "2"]


async def test_concurrent_requests_are_answered_in_the_order_they_were_sent() -> None:
    model = Scripted([{"n": n} for n in range(50)], chunk=1)
    results = await asyncio.gather(*(ask(model, str(n)) for n in range(50)))
    for n, items in enumerate(results):
        assert "".join(item for item in items if isinstance(item, str)) == f'{{"n":{n}}}'
        assert model.requests[n].messages[0]["content"] == str(n)


@pytest.mark.parametrize("answer", [3, ["a"], None, {"a": object()}, {"a": {1}}])
def test_what_is_no_answer_is_refused_at_once(answer: Any) -> None:
    with pytest.raises(TypeError, match="answer 2 of the script"):
        Scripted(["{}", answer])


@pytest.mark.parametrize(("slip", "meant"), [("call", "calls"), ("outputs", "output"), ("Meta", "meta")])
def test_a_slip_in_the_name_of_a_part_is_told_at_once(slip: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"answer 1 of the script: {slip!r} is not part of an answer: .*{meant!r}"):
        Scripted([{slip: []}])
    Scripted([{"of its own": 1}, {"tool_calls": []}, f'{{"{slip}": []}}'])


def test_a_delta_has_at_least_one_character() -> None:
    with pytest.raises(ValueError, match="chunk"):
        Scripted([], chunk=0)


def test_it_is_a_model() -> None:
    assert isinstance(Scripted([]), models.Model)
