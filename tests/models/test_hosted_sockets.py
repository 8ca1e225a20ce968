"""Connections: closed when the reader leaves, shared, used again, and none left behind (L7)."""

from __future__ import annotations

import asyncio
import gc

import pytest

from .asking import BOUND, REQUEST, collect, every_wire
from .server import Reply, Server
from .wires import WIRES, Wire


@every_wire
async def test_leaving_the_stream_early_reaches_the_socket(server: Server, wire: Wire) -> None:
    reply = wire.answer('{"a":', asyncio.Event(), "1}")
    server.reply(reply)
    stream = wire.hosted(server).stream(REQUEST)
    assert await asyncio.wait_for(anext(stream), BOUND) == '{"a":'
    await asyncio.wait_for(stream.aclose(), BOUND)
    await asyncio.wait_for(reply.hung_up.wait(), BOUND)


@every_wire
@pytest.mark.parametrize("is_answering", [True, False], ids=["within an answer", "before it"])
async def test_cancelling_reaches_the_socket(server: Server, wire: Wire, is_answering: bool) -> None:
    waiting = asyncio.Event()
    reply = wire.answer('{"a":', asyncio.Event()) if is_answering else Reply(parts=[asyncio.Event()])
    server.reply(reply)

    async def read() -> None:
        async for _ in wire.hosted(server).stream(REQUEST):
            waiting.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for((waiting if is_answering else reply.arrived).wait(), BOUND)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)
    await asyncio.wait_for(reply.hung_up.wait(), BOUND)


@every_wire
async def test_twenty_requests_run_at_once(server: Server, wire: Wire) -> None:
    gate = asyncio.Event()
    replies = [wire.answer(f'{{"n": {n}', gate, "}") for n in range(20)]
    server.reply(*replies)
    model = wire.hosted(server)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        tasks = [group.create_task(collect(model)) for _ in range(20)]
        for reply in replies:
            await reply.arrived.wait()
        gate.set()
    texts = sorted("".join(item for item in task.result() if isinstance(item, str)) for task in tasks)
    assert texts == sorted(f'{{"n": {n}}}' for n in range(20))
    await model.aclose()


@every_wire
async def test_a_connection_is_used_again_and_shared(server: Server, wire: Wire) -> None:
    server.reply(wire.answer("{}"))
    first, second = wire.hosted(server), wire.hosted(server)
    for model in (first, second, first):
        await collect(model)
    assert server.connections == 1
    await first.aclose()
    await collect(second)
    assert server.connections == 1, "who shares it still uses it"
    await second.aclose()
    await collect(first)
    assert server.connections == 2, "closed with its last user, opened again when asked again"


async def test_a_connection_whose_stream_ends_after_its_last_event_is_used_again(server: Server) -> None:
    wire = WIRES["openai"]
    gate = asyncio.Event()
    whole = "".join(part for part in wire.answer("{}").parts if isinstance(part, str))
    server.reply(Reply(parts=[whole, gate]))
    model = wire.hosted(server)
    async for _ in model.stream(REQUEST):
        gate.set()  # what ends the stream is sent only now
    await collect(model)
    assert server.connections == 1
    await model.aclose()


def test_a_model_works_on_one_loop_after_another_and_leaves_nothing_open() -> None:
    counts: list[int] = []
    wire = WIRES["openai"]

    async def ask() -> None:
        async with Server().running() as server:
            server.reply(wire.answer("{}"))
            await collect(wire.hosted(server))
            counts.append(server.connections)

    for _ in range(2):
        asyncio.run(ask())
    # An unclosed transport warns when it is collected, and a warning is an error here.
    gc.collect()
    assert counts == [1, 1]
