"""The lines of stdin, each for whoever waits for one: who is cancelled meanwhile takes none away from the next."""

from __future__ import annotations

import asyncio
import codecs
import io
import sys
from collections import deque
from contextlib import suppress
from threading import Thread
from typing import Any

_CHUNK = 65_536


class Typed:
    """Reads on a thread of its own, which nobody waits for: a read can't be stopped, and must keep nothing from ending.

    It reads past Python's buffer, whose lock such a thread would hold when the process ends.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._begun = ""
        """A line of which the end has not come."""
        self._has_ended = False
        self._is_reading = False
        self._change = asyncio.Event()
        encoding = sys.stdin.encoding if sys.stdin is not None else "utf-8"  # pyright: ignore[reportUnnecessaryComparison] -- it may be closed
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="backslashreplace")
        self._newlines = io.IncrementalNewlineDecoder(self._decoder, translate=True)

    async def line(self) -> str | None:
        """The next line without its end, None where there is none any more."""
        while not self._lines:
            if self._has_ended:
                return None
            if not self._is_reading:
                self._is_reading = True
                loop = asyncio.get_running_loop()
                Thread(target=self._read, args=(loop,), name="actum-typed", daemon=True).start()
            self._change.clear()
            await self._change.wait()
        return self._lines.popleft()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        data = b""
        with suppress(OSError, ValueError, AttributeError):  # it has been closed, or is no file: nothing comes any more
            raw: Any = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
            data = raw.read(_CHUNK) or b""
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(self._take, data)

    def _take(self, data: bytes) -> None:
        self._is_reading = False
        self._has_ended = not data
        first, *more = self._newlines.decode(data, final=not data).split("\n")
        self._begun += first
        for line in more:
            self._lines.append(self._begun)
            self._begun = line
        if self._has_ended and self._begun:
            self._lines.append(self._begun)
            self._begun = ""
        self._change.set()
