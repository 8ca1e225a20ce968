"""What is done by hand with a run that is kept in a file: looked at, decided on, forked; from code that isn't async."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from actum import Run, Runs, kept
from actum.app.coercion import blocking
from actum.protocol.approvals import Pending
from actum.runs.runs import run_in_file

T = TypeVar("T")


def do(file: str | Path, act: Callable[[Run], Awaitable[T]]) -> T:
    async def done() -> T:
        async with run_in_file(file) as run:
            return await act(run)

    return blocking(done())


def waiting(run: str | Path) -> list[Pending]:
    return list(do(run, Run.pending))


def approve(run: str | Path, of: str | None = None, *, parameters: Mapping[str, Any] | None = None) -> list[Pending]:
    places = None if of is None else [of]
    return list(do(run, lambda one: one.decide_all(places, "approve", parameters=parameters)))


def deny(run: str | Path, of: str | None = None, *, reason: str = "denied") -> list[Pending]:
    return list(do(run, lambda one: one.decide_all(None if of is None else [of], "deny", reason=reason)))


def open_gate(run: str | Path, gate: str, value: Any = True) -> None:
    do(run, lambda one: one.signal(gate, value))


def fork(run: str | Path, new: str | Path, *, at: int, input: Mapping[str, Any] | None = None) -> None:
    async def forked(one: Run) -> None:
        kept.keep(await one.fork(at, input=input), new)

    do(run, forked)


def listed(folder: str | Path) -> list[Run]:
    """The runs of a folder, by their ids."""

    async def found() -> list[Run]:
        async with Runs(folder) as runs:
            return sorted(await runs.list(), key=lambda run: run.id)

    return blocking(found())
