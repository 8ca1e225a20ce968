"""What the runtime may rely on in every model, whoever made it: the suite that each adapter passes.

A new adapter is a new entry in `ADAPTERS`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from tests.models.server import CUT, Reply, Server
from tests.models.wires import WIRES, Wire

from actum.errors import ModelError
from actum.generation.model import Model, ModelRequest, Reasoning, Usage
from actum.models import Recording, Replay, Scripted

pytestmark = pytest.mark.usefixtures("hosted_libraries")
BOUND = 20
REQUEST = ModelRequest(messages=({"role": "user", "content": "Go."},), schema={"type": "object"})


@dataclass(frozen=True, slots=True)
class Fails:
    """In place of an answer: the model breaks off after these deltas."""

    deltas: Sequence[str] = ()


Answer: TypeAlias = Sequence[str] | Fails
Adapter: TypeAlias = Callable[[Path, Sequence[Answer]], AbstractAsyncContextManager[Model]]


def scripted_model(answers: Sequence[Answer]) -> Scripted:
    def written(answer: Answer) -> Callable[[ModelRequest], AsyncGenerator[str]]:
        async def deltas(_: ModelRequest) -> AsyncGenerator[str]:
            for delta in answer.deltas if isinstance(answer, Fails) else answer:
                yield delta
            if isinstance(answer, Fails):
                raise ModelError("broken off", code="model_connection", retryable=True)

        return deltas

    return Scripted([written(answer) for answer in answers])


@asynccontextmanager
async def scripted(_: Path, answers: Sequence[Answer]) -> AsyncGenerator[Model]:
    yield scripted_model(answers)


@asynccontextmanager
async def recording(folder: Path, answers: Sequence[Answer]) -> AsyncGenerator[Model]:
    yield Recording(scripted_model(answers), folder / "recorded.jsonl")


@asynccontextmanager
async def replay(folder: Path, answers: Sequence[Answer]) -> AsyncGenerator[Model]:
    model = Recording(scripted_model(answers), folder / "recorded.jsonl")
    for answer in answers:
        if isinstance(answer, Fails):
            with pytest.raises(ModelError):
                await read(model)
        else:
            await read(model)
    yield Replay(folder / "recorded.jsonl")


def hosted(wire: Wire) -> Adapter:
    def reply(answer: Answer) -> Reply:
        if isinstance(answer, Fails):
            return wire.answer(*answer.deltas, CUT) if answer.deltas else Reply(parts=[CUT])
        return wire.answer(*answer)

    @asynccontextmanager
    async def serve(_: Path, answers: Sequence[Answer]) -> AsyncGenerator[Model]:
        async with Server().running() as server:
            server.reply(*map(reply, answers))
            model = wire.hosted(server)
            yield model
            await model.aclose()

    return serve


ADAPTERS: dict[str, Adapter] = {
    "scripted": scripted,
    "recording": recording,
    "replay": replay,
    **{name: hosted(wire) for name, wire in WIRES.items()},
}


@pytest.fixture(params=list(ADAPTERS))
def adapter(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for kind in ("http", "https", "all"):
        monkeypatch.delenv(f"{kind}_proxy", raising=False)
        monkeypatch.delenv(f"{kind}_proxy".upper(), raising=False)

    def adapted(*answers: Answer) -> AbstractAsyncContextManager[Model]:
        return ADAPTERS[request.param](tmp_path, answers)

    return adapted


async def read(model: Model) -> list[str | Reasoning | Usage]:
    async with asyncio.timeout(BOUND):
        return [item async for item in model.stream(REQUEST)]


def texts(items: list[str | Reasoning | Usage]) -> str:
    """The whole text, however the adapter cuts it: pieces that arrive together may be joined."""
    *pieces, _ = items
    return "".join(cast("list[str]", pieces))


async def leave(stream: AsyncIterator[str | Reasoning | Usage]) -> None:
    async with asyncio.timeout(BOUND):
        await cast("AsyncGenerator[str | Reasoning | Usage]", stream).aclose()


async def test_it_is_a_model_with_a_name(adapter: Any) -> None:
    async with adapter(["{}"]) as model:
        assert isinstance(model, Model)
        assert isinstance(model.name, str)
        assert model.name


async def test_it_yields_text_and_then_exactly_one_usage(adapter: Any) -> None:
    async with adapter(['{"a": ', '"†ü"', "}"]) as model:
        items = await read(model)
    assert texts(items) == '{"a": "†ü"}'
    assert isinstance(items[-1], Usage)
    assert items[-1].requests == 1


async def test_one_model_answers_request_after_request(adapter: Any) -> None:
    async with adapter(["1"], ["2"], ["3"]) as model:
        assert [(await read(model))[0] for _ in range(3)] == ["1", "2", "3"]


async def test_asking_is_what_streaming_starts(adapter: Any) -> None:
    """A stream that nobody reads sends nothing, and can be closed."""
    async with adapter(["1"]) as model:
        await leave(model.stream(REQUEST))
        assert (await read(model))[0] == "1"


async def test_it_can_be_left_early_and_asked_again(adapter: Any) -> None:
    async with adapter(["{", "}"], ["2"]) as model:
        stream = model.stream(REQUEST)
        assert await asyncio.wait_for(anext(stream), BOUND) in {"{", "{}"}
        await leave(stream)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        assert (await read(model))[0] == "2"


async def test_a_stream_may_be_left_by_another_task(adapter: Any) -> None:
    async with adapter(["{", "}"]) as model:
        stream = model.stream(REQUEST)
        assert await asyncio.wait_for(anext(stream), BOUND) in {"{", "{}"}
        await asyncio.create_task(leave(stream))


async def test_it_can_be_cancelled(adapter: Any) -> None:
    async with adapter(["{", "}"], ["2"]) as model:
        reached = asyncio.Event()

        async def hold() -> None:
            async for _ in model.stream(REQUEST):
                reached.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(hold())
        await asyncio.wait_for(reached.wait(), BOUND)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, BOUND)
        assert (await read(model))[0] == "2"


@pytest.mark.parametrize("deltas", [(), ('{"a":',)], ids=["before", "within"])
async def test_what_it_raises_is_a_model_error(adapter: Any, deltas: tuple[str, ...]) -> None:
    async with adapter(Fails(deltas), ["2"]) as model:
        items: list[str | Reasoning | Usage] = []
        with pytest.raises(ModelError) as caught:  # noqa: PT012  what came before the error is judged too
            async with asyncio.timeout(BOUND):
                async for item in model.stream(REQUEST):
                    items.append(item)  # noqa: PERF401  what came before the error is kept
        assert items == list(deltas)
        assert (caught.value.code, caught.value.retryable) == ("model_connection", True)
        assert "\n" not in str(caught.value)
        assert (await read(model))[0] == "2"


async def test_requests_run_at_once(adapter: Any) -> None:
    answers = [[f"{n} ", "and ", f"{n}"] for n in range(20)]
    async with adapter(*answers) as model:
        results = await asyncio.gather(*(read(model) for _ in answers))
    assert sorted(map(texts, results)) == sorted(map("".join, answers))
