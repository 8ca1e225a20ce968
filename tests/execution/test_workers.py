"""Tasks that take one piece of work after the other: order, context variables, cancellation."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.execution.calls.workers import Workers
from actum.execution.undoing import Threads

BOUND = 10
MARK: ContextVar[str] = ContextVar("MARK", default="none")
Work = Callable[[int], Awaitable[int]]


async def carried(work: Work, pieces: int) -> tuple[list[int], set[asyncio.Task[None]]]:
    """Have so many pieces carried out; what they came to in the order of their ends, and the tasks that did it."""
    ended: list[int] = []
    members: set[asyncio.Task[None]] = set()

    async def carry(piece: int) -> int:
        task = asyncio.current_task()
        assert task is not None
        members.add(task)
        return await work(piece)

    async with asyncio.TaskGroup() as tasks:
        workers = Workers(carry, lambda _, result: ended.append(result))
        workers.bind(tasks)
        for piece in range(pieces):
            workers.add(piece)
    return ended, members


async def test_what_never_waits_shares_few_tasks() -> None:
    async def work(piece: int) -> int:
        return piece

    ended, members = await carried(work, 1_000)
    assert ended == list(range(1_000))
    assert len(members) < 30


async def test_what_waits_holds_nothing_up() -> None:
    """All pieces are under way at once: each waits for the last."""
    last = asyncio.Event()

    async def work(piece: int) -> int:
        if piece == 99:
            last.set()
        await last.wait()
        return piece

    ended, members = await carried(work, 100)
    assert sorted(ended) == list(range(100))
    assert len(members) == 100


@given(waits=st.lists(st.integers(0, 3), max_size=30))
def test_each_piece_is_carried_out_once_and_begun_in_order(waits: list[int]) -> None:
    begun: list[int] = []

    async def work(piece: int) -> int:
        begun.append(piece)
        for _ in range(waits[piece]):
            await asyncio.sleep(0)
        return piece

    ended, _ = asyncio.run(carried(work, len(waits)))
    assert begun == list(range(len(waits)))
    assert sorted(ended) == begun


async def test_a_piece_that_is_added_at_the_end_of_another_is_taken_by_the_same_task() -> None:
    members: list[asyncio.Task[None] | None] = []

    async def carry(piece: int) -> int:
        members.append(asyncio.current_task())
        return piece + 1

    async with asyncio.TaskGroup() as tasks:
        workers: Workers[int, int] = Workers(
            carry, lambda _, following: workers.add(following) if following < 250 else None
        )
        workers.bind(tasks)
        workers.add(0)
    assert len(members) == 250
    assert len(set(members)) == 3, "what else waits for the loop comes between"


@pytest.mark.parametrize("waits", [0, 1])
async def test_context_variables_are_those_of_the_run_for_every_piece(waits: int) -> None:
    marks: list[str] = []

    async def work(piece: int) -> int:
        marks.append(MARK.get())
        MARK.set(f"piece {piece}")
        for _ in range(waits):
            await asyncio.sleep(0)
        return piece

    token = MARK.set("run")
    await carried(work, 20)
    assert marks == ["run"] * 20
    assert MARK.get() == "run"
    MARK.reset(token)


async def test_what_a_piece_makes_ready_does_not_get_its_context_variables() -> None:
    marks: list[str] = []

    async def carry(piece: int) -> int:
        marks.append(MARK.get())
        MARK.set(f"piece {piece}")
        return piece

    async with asyncio.TaskGroup() as tasks:
        workers: Workers[int, int] = Workers(carry, lambda _, done: workers.add(done + 1) if done < 9 else None)
        workers.bind(tasks)
        workers.add(0)
    assert marks == ["none"] * 10


async def test_a_variable_that_is_changed_in_place_of_another_value_that_is_equal_is_not_handed_on() -> None:
    shared: ContextVar[list[str]] = ContextVar("shared")
    value: list[str] = []
    is_same: list[bool] = []

    async def work(piece: int) -> int:
        is_same.append(shared.get() is value)
        shared.set([])
        return piece

    shared.set(value)
    await carried(work, 5)
    assert is_same == [True] * 5


@pytest.mark.parametrize("heeds", [True, False], ids=["heeding it", "not heeding it"])
async def test_once_cancelled_nothing_more_begins_and_what_was_under_way_ends(heeds: bool) -> None:
    begun, ended = list[int](), list[int]()

    async def carry(piece: int) -> int:
        begun.append(piece)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if heeds:
                raise
        return piece

    async with asyncio.TaskGroup() as tasks:
        workers: Workers[int, int] = Workers(carry, lambda _, result: ended.append(result))
        workers.bind(tasks)
        for piece in range(50):
            workers.add(piece)
        await asyncio.sleep(0)
        before = len(begun)
        workers.cancel()
        workers.add(50)
    assert 0 < before < 50
    assert begun == list(range(before))
    assert sorted(ended) == ([] if heeds else begun)


async def test_a_task_that_a_piece_cancels_takes_no_other() -> None:
    """Else the cancellation would reach the next piece at its first wait."""

    async def work(piece: int) -> int:
        task = asyncio.current_task()
        assert task is not None
        if piece == 0:
            task.cancel()
        else:
            await asyncio.sleep(0)
        return piece

    ended, _ = await carried(work, 10)
    assert sorted(ended) == list(range(10))


async def test_what_ends_a_task_otherwise_ends_the_crew() -> None:
    begun: list[int] = []

    class Broken(BaseException):
        pass

    async def work(piece: int) -> int:
        begun.append(piece)
        if piece == 3:
            raise Broken
        return piece

    with pytest.raises(BaseExceptionGroup) as raised:
        await carried(work, 10)
    assert begun == [0, 1, 2, 3]
    assert [type(error) for error in raised.value.exceptions] == [Broken], (
        "those that had not begun have nothing to say"
    )


@pytest.mark.rule("L7")
def test_a_function_that_ends_when_its_loop_is_closed_ends_its_thread_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, finish, raised = threading.Event(), threading.Event(), list[object]()
    monkeypatch.setattr(threading, "excepthook", raised.append)

    def wait() -> None:
        begun.set()
        finish.wait(BOUND)

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)  # the task never ends
    task = loop.create_task(Threads().run(wait))
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert begun.wait(BOUND)
    task.get_coro().close()
    loop.close()
    finish.set()
    for thread in threading.enumerate():
        if thread.name == "actum":
            thread.join(BOUND)
    assert raised == []
