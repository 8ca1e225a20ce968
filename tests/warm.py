"""Real processes that begin at once: forked from one that has imported what they need, instead of started anew.

A test of the command line starts a process for each command, and a process of Python needs most of a second to import
the command line: so most of the time of all tests went. `run` takes the place of `subprocess.run`, and `command` gives
a command that others start. Where nothing can be forked (no Linux), both start Python as usual.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

SERVER = Path(__file__).with_name("warm_server.py")
LAUNCHER = Path(__file__).with_name("warm_launcher.py")
CLI = (
    *(f"actum.cli.commands.{name}" for name in ("check", "diff", "resume", "replay", "run", "save", "show", "why")),
    *("actum.cli.dispatch", "asyncio", "cyclopts.help", "docstring_parser", "http.client"),
    *("markdown_it", "pydantic.json_schema", "pydantic.main", "pydantic.type_adapter", "rich.live", "rich.markdown"),
    *("rich.panel", "rich.syntax", "rich.table", "sqlite3", "uuid", "xml.sax.saxutils", "zoneinfo"),
)
MCP = ("mcp.server.lowlevel", "mcp.server.stdio", "mcp_types", "uvicorn", "starlette.applications")
READ_AT_START = ("PYTHON", "LC_", "LANG", "COVERAGE")
"""What begins so in the environment, an interpreter reads before anything runs: another value needs a fresh one, but
for the path, which can be read late."""


def run(
    command: Sequence[str],
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    input: str = "",
    timeout: float = 60,
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run(capture_output=True, text=True)` gives for a command of this Python."""
    environment = dict(os.environ if env is None else env)
    if not can_fork() or _is_fresh(environment):
        return subprocess.run(
            command, cwd=cwd, env=environment, input=input, capture_output=True, text=True, timeout=timeout, check=False
        )
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(input.encode())
        given.seek(0)
        with _Forked(command, [given.fileno(), out.fileno(), err.fileno()], cwd, environment, CLI) as process:
            code = process.wait(timeout)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(command, code, out.read().decode(), err.read().decode())


class Process(Protocol):
    """The part of `subprocess.Popen` that tests use."""

    pid: int

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int, /) -> None: ...
    def kill(self) -> None: ...


def popen(
    command: Sequence[str],
    *,
    streams: tuple[int, int, int] | None = None,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    imported: tuple[str, ...] = (),
) -> Process:
    """What `subprocess.Popen(start_new_session=True)` gives for a command of this Python; no streams are empty ones."""
    environment = dict(os.environ if env is None else env)
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        stdin, stdout, stderr = streams or (nothing, nothing, nothing)
        if can_fork() and not _is_fresh(environment):
            return _Forked(command, [stdin, stdout, stderr], cwd, environment, imported or CLI)
        return subprocess.Popen(
            command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=environment, start_new_session=True
        )
    finally:
        os.close(nothing)


def command(script: Path, *arguments: str) -> list[str]:
    """A command that runs a script of an MCP server, whoever starts it, wherever and with whatever environment."""
    if not can_fork():
        return [sys.executable, str(script), *arguments]
    return [sys.executable, "-I", "-S", str(LAUNCHER), _server(MCP), str(script), *arguments]


def can_fork() -> bool:
    """Whether processes can be forked, and watched without taking their parent's place."""
    return hasattr(os, "fork") and hasattr(os, "pidfd_open")


class _Forked:
    """A process that was forked; it is killed with the block."""

    def __init__(
        self,
        command: Sequence[str],
        streams: Sequence[int],
        cwd: Path | str | None,
        env: Mapping[str, str],
        imported: tuple[str, ...],
    ) -> None:
        python, what, *rest = command
        assert python == sys.executable
        name, argv = (rest[0], rest[1:]) if what in {"-m", "-c"} else (what, rest)
        request: dict[str, Any] = {
            "what": what,
            "name": name,
            "argv": ["-c" if what == "-c" else name, *argv],
            "cwd": str(cwd or Path.cwd()),
            "env": dict(env),
        }
        self._command = command
        self._code: int | None = None
        self._connection = socket.socket(socket.AF_UNIX)
        try:
            self._connection.connect(_server(imported))
            socket.send_fds(self._connection, [json.dumps(request).encode() + b"\n"], list(streams))
            self.pid = _line(self._connection)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> _Forked:
        return self

    def __exit__(self, *details: object) -> None:
        self._connection.close()

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self._command, timeout or 0)
        return code

    def _ended(self, seconds: float | None) -> int | None:
        if self._code is None and select.select([self._connection], [], [], seconds)[0]:
            self._code = _line(self._connection)
            self._connection.close()
        return self._code

    def send_signal(self, sig: int, /) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _line(connection: socket.socket) -> int:
    text = b""
    while not text.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            raise ConnectionError("what forks processes is gone")
        text += byte
    return int(text)


def _is_fresh(env: Mapping[str, str]) -> bool:
    names = {name for name in (*env, *os.environ) if name.startswith(READ_AT_START) and name != "PYTHONPATH"}
    return any(env.get(name) != os.environ.get(name) for name in names)


@cache
def _server(imported: tuple[str, ...]) -> str:
    """The address of what forks, started when it is first asked for; it ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="actum-warm-")
    path = str(Path(folder.name) / "socket")
    server = subprocess.Popen(
        [sys.executable, str(SERVER), path, *imported], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    atexit.register(_ended, server, folder)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return path


def _ended(server: subprocess.Popen[bytes], folder: tempfile.TemporaryDirectory[str]) -> None:
    server.communicate()  # that its input ends, tells it
    folder.cleanup()
