"""What runs tell while it happens, between processes of one machine: to this user's alone, and to none that is gone."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from actum.runs.live.sockets import MachineChannel

from .desks import until

pytestmark = [pytest.mark.rule("L8"), pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no such sockets here")]

TOLD = json.dumps({"run": "r", "lease": 1, "items": ["⚡\n" * 10]})


@pytest.fixture(autouse=True)
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the folders of sockets are: in a place that is short enough for their names."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="s") as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        yield Path(short)


@asynccontextmanager
async def channels(store: Path, count: int) -> AsyncGenerator[list[MachineChannel]]:
    """The channels of so many processes."""
    opened = [MachineChannel(store) for _ in range(count)]
    try:
        yield opened
    finally:
        for channel in opened:
            await channel.aclose()


def sockets(base: Path) -> list[Path]:
    """The sockets that are there."""
    return [path for path in base.rglob("*") if path.is_socket()]


async def holds(held: Callable[[], bool]) -> None:
    async def is_so() -> bool:
        return held()

    await until(is_so)


async def test_all_who_listen_hear_what_is_told_and_who_tells_hears_what_is_asked(tmp_path: Path, base: Path) -> None:
    received: list[list[str]] = [[], [], []]
    questions: list[tuple[str, bool]] = []
    ours, theirs = channels(tmp_path / "runs.db", 4), channels(tmp_path / "other.db", 1)
    async with ours as (teller, *others), theirs as (stranger,):
        async with (
            teller.follows(lambda run, anew: questions.append((run, anew))),
            others[0].hear("r", received[0].append),
            others[1].hear("r", received[1].append),
            others[2].hear("another", received[2].append),
            stranger.hear("r", received[2].append),
        ):
            await others[0].ask("r", anew=True)
            await others[1].ask("no\nline", anew=False)
            await holds(lambda: len(questions) == 2)
            await teller.tell("r", [TOLD] * 3)
            await holds(lambda: len(received[0]) == len(received[1]) == 3)
        await teller.tell("r", [TOLD])
        assert (sorted(questions), received) == ([("no\nline", False), ("r", True)], [[TOLD] * 3, [TOLD] * 3, []])
    assert not sockets(base), "nothing is left of them"


async def test_who_tells_and_listens_hears_it_once(tmp_path: Path) -> None:
    received: list[str] = []
    async with channels(tmp_path / "runs.db", 2) as (both, other), both.hear("r", received.append):
        await both.tell("r", [TOLD])
        last = json.dumps({"run": "r", "lease": 2, "items": []})
        await other.tell("r", [last])
        await holds(lambda: last in received)  # what it had sent to itself would be there before
        assert received == [TOLD, last]


async def test_who_is_gone_is_forgotten_and_what_it_has_left_is_taken_away(tmp_path: Path, base: Path) -> None:
    received: list[str] = []
    async with channels(tmp_path / "runs.db", 3) as (teller, first, second), second.hear("r", received.append):
        async with first.hear("r", received.append):
            await teller.tell("r", [TOLD])
            await holds(lambda: len(received) == 2)
        left = sockets(base)[0].with_name("live-left")
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(str(left))
        await teller.tell("r", [TOLD])
        await holds(lambda: len(received) == 3)
        assert left not in sockets(base)


@pytest.mark.parametrize("how", ["open to others", "a link", "no folder", "too long"])
async def test_where_others_could_read_it_nothing_leaves_the_process(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    folder = base / f"actum-{os.getuid()}"
    match how:
        case "open to others":
            folder.mkdir(mode=0o755)
        case "a link":
            (base / "theirs").mkdir(mode=0o700)
            folder.symlink_to(base / "theirs")
        case "no folder":
            folder.write_text("")
        case _:
            (long := base / ("x" * 90)).mkdir()
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    here, elsewhere = list[str](), list[str]()
    async with channels(tmp_path / "runs.db", 2) as (teller, other):
        async with teller.hear("r", here.append), other.hear("r", elsewhere.append):
            await teller.tell("r", [TOLD])
            await other.ask("r", anew=True)
            assert not sockets(base)
        assert (here, elsewhere) == ([TOLD], [])


async def test_what_no_worker_tells_is_passed_over_and_who_never_ends_a_line_is_cut(tmp_path: Path, base: Path) -> None:
    received: list[str] = []
    async with channels(tmp_path / "runs.db", 1) as (channel,), channel.hear("r", received.append):
        path = str(sockets(base)[0])
        _, line = await asyncio.open_unix_connection(path)
        line.write(b'\n{\n[]\n\xff\n{"run": 3}\n' + TOLD.encode() + b"\n")
        await holds(lambda: received == [TOLD])
        line.close()
        reader, line = await asyncio.open_unix_connection(path)
        with suppress(ConnectionError):
            line.write(b"x" * (3 * MachineChannel.most))
            assert await reader.read() == b"", "it hung up"
        line.close()
