"""A worker's log lines on stderr, as text or JSON, and the commands that it starts when runs reach a state."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Literal

from ..runs.event_log import FIELDS
from ..schema.json import JsonObject, encode
from .options import CommandError, pair_of
from .render.terminal import tell

_MOST = 8
"""How many commands run at once; more wait for them."""
_PATIENCE = 60.0
"""Seconds after which a command is ended."""
_STATES = ("failed", "waiting", "done")


class LogLines(logging.Handler):
    """Prints records on stderr: warnings as text, or all records as JSON."""

    def __init__(self, form: Literal["text", "json"]) -> None:
        super().__init__(logging.WARNING if form == "text" else logging.INFO)
        self._form = form

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record on stderr."""
        tell(f"actum: {record.getMessage()}" if self._form == "text" else encode(line_of(record)))


def line_of(record: logging.LogRecord) -> JsonObject:
    """A record as an object: its time, level, message and fields."""
    at = f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
    fields: Any = getattr(record, FIELDS, {})
    return {"time": at, "level": record.levelname.lower(), "message": record.getMessage(), "event": "log", **fields}


def log_to_stderr(form: Literal["text", "json"]) -> None:
    """Print a worker's log on stderr."""
    log = logging.getLogger("actum.worker")
    log.addHandler(LogLines(form))
    if form == "json":
        log.setLevel(logging.INFO)


def commands_of(pairs: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """The commands that `--on STATE=COMMAND` names, by state, split into words.

    Raises:
        CommandError: one can't be read.
    """
    commands: dict[str, Sequence[str]] = {}
    for pair in pairs:
        state, text = pair_of(pair, "--on takes")
        if state not in _STATES:
            raise CommandError(f"--on takes a command for {', '.join(_STATES)}, not for {state!r}")
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise CommandError(f"--on {state}: {text!r} is not a command: {error}") from None
        if not words:
            raise CommandError(f"--on {state}= takes a command")
        commands[state] = words
    return commands


class Started(logging.Handler):
    """Starts a command, without a shell, for each run that the worker brings to a state; its input is the event."""

    def __init__(self, commands: Mapping[str, Sequence[str]], worker: str) -> None:
        super().__init__(logging.INFO)
        self._commands = commands
        self._worker = worker
        self._loop = asyncio.get_running_loop()
        self._running = asyncio.TaskGroup()
        self._room = asyncio.Semaphore(_MOST)

    def emit(self, record: logging.LogRecord) -> None:
        """Start the command for an event, if there is one."""
        fields: Any = getattr(record, FIELDS, {})
        if fields.get("event") == "ended" and fields["worker"] == self._worker and fields["state"] in self._commands:
            self._loop.call_soon_threadsafe(self._begin, line_of(record))

    @asynccontextmanager
    async def begun(self) -> AsyncGenerator[None]:
        """Start commands during the block and wait for the last ones at its end."""
        log = logging.getLogger("actum.worker")
        log.addHandler(self)
        log.setLevel(logging.INFO)
        try:
            async with self._running:
                yield
        finally:
            log.removeHandler(self)

    def _begin(self, event: JsonObject) -> None:
        self._running.create_task(self._run(self._commands[event["state"]], event))

    async def _run(self, command: Sequence[str], event: JsonObject) -> None:
        async with self._room:
            pipe = asyncio.subprocess.PIPE
            try:
                env = {**os.environ, "ACTUM_RUN": event["run"], "ACTUM_STATE": event["state"]}
                process = await asyncio.create_subprocess_exec(*command, stdin=pipe, env=env)
            except OSError as error:
                tell(f"actum: --on {event['state']}: {command[0]} can't be started: {error.strerror or error}")
                return
            try:
                async with asyncio.timeout(_PATIENCE):
                    await process.communicate(f"{encode(event)}\n".encode())
            except TimeoutError:
                pass  # killed below
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            if process.returncode:
                tell(
                    f"actum: --on {event['state']}: {command[0]} ended with {process.returncode} for run {event['run']}"
                )
