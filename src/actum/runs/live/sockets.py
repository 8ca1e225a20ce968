"""Live events between the processes of one machine, by sockets in a folder of the user's own."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from secrets import token_hex

from .channel import Kind, SharedChannel

_MOST_WAITING = 4 << 20
"""How many bytes may wait for a follower that doesn't read; what comes then is dropped."""
_LONGEST_PATH = 100
"""How many bytes the path of a socket may have; systems take 103 or 107."""


class MachineChannel(SharedChannel):
    """Carries messages between a user's processes that use one store: listeners have sockets, senders write to each.

    Where there can be no such sockets, it reaches only this process.
    """

    def __init__(self, store: Path) -> None:
        digest = hashlib.sha256(os.fsencode(os.path.realpath(store))).hexdigest()[:16]
        super().__init__(lambda kind, on_message: _SocketStation(digest, kind, on_message))


class _SocketStation:
    """The sockets of one kind: this process's own while it listens, and connections to those of others."""

    def __init__(self, store: str, kind: Kind, on_message: Callable[[str], None]) -> None:
        self._store = store
        self._kind: Kind = kind
        self._on_message = on_message
        self._own = f"{kind}-{token_hex(4)}"
        self._listening = 0
        self._server: asyncio.Server | None = None
        self._lines: dict[str, asyncio.StreamWriter] = {}
        self._ears: set[asyncio.StreamWriter] = set()
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Listen as long as the block lasts."""
        self._listening += 1
        try:
            async with self._lock:
                if self._server is None and (folder := await asyncio.to_thread(_folder, self._store)) is not None:
                    with suppress(OSError, NotImplementedError):
                        path, longest = folder / self._own, 2 * MachineChannel.most
                        self._server = await asyncio.start_unix_server(self._listen, path, limit=longest)
            yield
        finally:
            self._listening -= 1
            if not self._listening:
                self._end()

    async def _listen(self, lines: asyncio.StreamReader, line: asyncio.StreamWriter) -> None:
        """Take the lines of a sender; hang up if one is too long."""
        self._ears.add(line)
        try:
            async for text in lines:
                self._on_message(text.removesuffix(b"\n").decode(errors="replace"))
        except (ValueError, ConnectionError):
            pass
        finally:
            self._ears.discard(line)
            line.close()

    async def send(self, messages: Sequence[str]) -> None:
        """Send lines to all who listen; what can't be sent is dropped."""
        for message in messages:
            self._on_message(message)
        text = "".join(f"{message}\n" for message in messages).encode(errors="backslashreplace")
        async with self._lock:
            paths = await asyncio.to_thread(_sockets, self._store, self._kind)
            for stale in self._lines.keys() - paths:
                self._lines.pop(stale).close()
            for path in paths:
                if path.rpartition("/")[2] == self._own:
                    continue
                line = self._lines.get(path)
                line = await self._connect(path) if line is None or line.is_closing() else line
                if line is not None and line.transport.get_write_buffer_size() < _MOST_WAITING:
                    line.write(text)

    async def _connect(self, path: str) -> asyncio.StreamWriter | None:
        """A connection to a socket. One that nobody serves any more is deleted."""
        try:
            _, line = await asyncio.open_unix_connection(path)
        except ConnectionRefusedError:
            with suppress(OSError):
                os.unlink(path)
            return None
        except OSError:
            return None
        self._lines[path] = line
        return line

    def _end(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None
            for ear in list(self._ears):
                ear.close()
            with suppress(OSError):
                folder = _path(self._store)
                (folder / self._own).unlink(missing_ok=True)
                folder.rmdir()  # fails if others are there

    async def aclose(self) -> None:
        """Close all connections."""
        self._end()
        for line in list(self._lines.values()):
            line.close()
        self._lines.clear()


def _path(store: str) -> Path:
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base) / f"actum-{os.getuid()}" / store


def _folder(store: str) -> Path | None:
    """The folder of a store's sockets, made if missing; None if it can't be, or if others can see into it."""
    if not hasattr(os, "getuid"):
        return None
    folder = _path(store)
    if len(os.fsencode(folder)) + len("/asked-01234567") > _LONGEST_PATH:
        return None
    try:
        for path in (folder.parent, folder):
            path.mkdir(mode=0o700, exist_ok=True)
            about = path.lstat()
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
                return None
    except OSError:
        return None
    return folder


def _sockets(store: str, kind: Kind) -> list[str]:
    """The sockets of a kind in a store's folder, if that is this user's own."""
    if not hasattr(os, "getuid") or not _path(store).exists() or (folder := _folder(store)) is None:
        return []
    with suppress(OSError):
        return [entry.path for entry in os.scandir(folder) if entry.name.startswith(f"{kind}-")]
    return []
