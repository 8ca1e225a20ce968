"""What the tests of connections share: servers in processes of their own, over stdio and HTTP, in both eras of MCP."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from actum import connections

from .. import warm

SERVING = Path(__file__).with_name("serving.py")
Era = Literal["auto", "legacy"]
ERAS: tuple[Era, Era] = ("auto", "legacy")


def command(*more: str) -> list[str]:
    return warm.command(SERVING, *more)


def stdio(*more: str, name: str = "s", **settings: Any) -> connections.Server:
    """A server that is started over stdio."""
    return connections.Server(name, command=command(*more), **settings)


class Hosted:
    """A server over HTTP on loopback, which can be killed and started again at the same port."""

    def __init__(self, *more: str) -> None:
        self.more = more
        self.port = 0
        self.process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(command(*self.more, "--http", str(self.port)), stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        self.port = int(process.stdout.readline())
        return process

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def again(self) -> None:
        self.process = self._started()

    def server(self, **settings: Any) -> connections.Server:
        return connections.Server("s", url=f"http://127.0.0.1:{self.port}/mcp", **settings)


@contextmanager
def hosted(*more: str) -> Generator[Hosted]:
    host = Hosted(*more)
    try:
        yield host
    finally:
        host.kill()
