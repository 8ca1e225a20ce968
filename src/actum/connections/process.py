"""A server as a child process that speaks lines of JSON: started without a shell, bounded, ended with its children.

The SDK's own transport reads lines of any length, in quadratic time, and lets a server's stderr
through to the terminal.
"""

from __future__ import annotations

import os
import signal
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from .server import Server
from .sifting import replacement_for

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

_PATIENCE = 2.0
"""How many seconds a process has to end by itself, and then again after SIGTERM."""
_LONGEST_TAIL = 4_000
_BROKEN = (ConnectionError, OSError, RuntimeError)
"""Errors of writing to a process that has ended, or whose pipe is closed."""


class Tail:
    """The last output of a process on stderr, for people."""

    def __init__(self) -> None:
        self._text = b""

    def add(self, text: bytes) -> None:
        """Append output."""
        self._text = (self._text + text)[-_LONGEST_TAIL:]

    def __str__(self) -> str:
        return self._text.decode(errors="replace").strip()


@asynccontextmanager
async def process_of(
    server: Server, environment: Mapping[str, str], tail: Tail, ended: Callable[[str], None]
) -> AsyncGenerator[TransportStreams]:
    """Start a server and exchange messages with it; `ended` is told why it sends no more.

    Raises:
        OSError: it can't be started.
    """
    import anyio

    process = await create_subprocess_exec(
        *server.command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        cwd=server.cwd,
        limit=server.most_bytes,
        start_new_session=True,  # Ctrl-C is the run's to handle
    )
    to_client, incoming = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
    outgoing, to_process = anyio.create_memory_object_stream["SessionMessage"](0)
    async with anyio.create_task_group() as tasks, to_client, incoming, outgoing, to_process:
        tasks.start_soon(_listen, process, to_client, ended)
        tasks.start_soon(_speak, process, to_process)
        tasks.start_soon(_note, process, tail)
        try:
            yield incoming, outgoing
        finally:
            # Even if everything is cancelled: every wait inside is bounded.
            with anyio.CancelScope(shield=True):
                incoming.close()
                outgoing.close()
                await _end(process)
            tasks.cancel_scope.cancel()


async def _listen(
    process: Process, to_client: MemoryObjectSendStream[SessionMessage | Exception], ended: Callable[[str], None]
) -> None:
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    assert process.stdout is not None
    async with to_client:
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:
                ended("has to_process a message that is too large")
                return
            if not line:
                ended("has ended")
                return
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                if (message := replacement_for(line)) is None:
                    continue  # output of a library, not a message
            try:
                await to_client.send(SessionMessage(message))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return


async def _speak(process: Process, to_process: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None
    with suppress(*_BROKEN):  # `_listen` notes that it has ended
        async with to_process:
            async for message in to_process:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
        process.stdin.close()


async def _note(process: Process, tail: Tail) -> None:
    assert process.stderr is not None
    while text := await process.stderr.read(_LONGEST_TAIL):
        tail.add(text)


async def _end(process: Process) -> None:
    """End a process, by force if needed, and then the processes that it has left behind."""
    import anyio

    assert process.stdin is not None
    with suppress(*_BROKEN):
        process.stdin.close()
    for sign in (None, signal.SIGTERM):
        if sign is not None and process.returncode is None:
            _signal(process, sign)
        with anyio.move_on_after(_PATIENCE):
            # Not `wait`, which also waits for pipes that other processes may hold.
            while process.returncode is None:  # noqa: ASYNC110 -- nothing tells of the end alone
                await anyio.sleep(0.01)
        if process.returncode is not None:
            break
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    # Unread output keeps its pipe open; nothing public closes it.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
    with anyio.move_on_after(_PATIENCE):
        await process.wait()


def _signal(process: Process, sign: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, sign)  # it leads a group of its own
        else:
            process.send_signal(sign)
