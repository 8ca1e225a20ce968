"""Server-Sent Events as they arrive: assembled from their lines, each bounded in size."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator

_MOST = 8 * 2**20
_LINE = 1_024
"""The least bytes that a line counts: events have few lines, and libraries copy the ones that they hold."""
_ENDS = (b"\n\n", b"\r\r", b"\r\n\r\n")


class TooLarge(ValueError):
    """An event is too large to be held in memory."""


class EventSize:
    """Counts the bytes of the current event, each of its lines as at least `_LINE`."""

    def __init__(self) -> None:
        self._size = 0
        self._last = b""

    def take(self, chunk: bytes) -> None:
        """Count more bytes.

        Raises:
            TooLarge: the event that they belong to is too large.
        """
        chunk = self._last + chunk
        ends = [at + len(end) for end in _ENDS if (at := chunk.rfind(end)) >= 0]
        begin = max(ends, default=len(self._last))
        self._size = 0 if ends else self._size
        self._size += len(chunk) - begin + _LINE * (chunk.count(b"\n", begin) + chunk.count(b"\r", begin))
        self._last = chunk[-3:] if not ends else chunk[max(begin, len(chunk) - 3) :]
        if self._size > _MOST:
            raise TooLarge(f"an event of more than {_MOST} bytes, or lines")


class EventReader:
    """Splits bytes into the data of events; every byte is read once, however they arrive.

    By the standard, a line ends with LF, CR LF or CR, and the first may begin with a byte-order mark.
    """

    def __init__(self) -> None:
        self._size = EventSize()
        self._start: bytes | None = b""
        """The first bytes while fewer than three have arrived, then None."""
        self._is_after_return = False
        self._line: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterable[bytes]:
        """The data of the events that are complete now.

        Raises:
            TooLarge: an event is too large.
        """
        chunk = self._plain(chunk)
        if not self._line and not self._data and chunk.endswith(b"\n\n"):
            events = chunk[:-2].split(b"\n\n")
            if all(event.startswith(b"data:") and b"\n" not in event for event in events):
                return [event[5:].strip() for event in events]
        return self._events(chunk)

    def rest(self) -> bytes:
        """The data of an event that the end of the stream cut."""
        last = b"".join(self._line)
        return b"\n".join([*self._data, last[5:].strip()] if last.startswith(b"data:") else self._data)

    def _plain(self, chunk: bytes) -> bytes:
        """The bytes with all line ends as LF, and without a byte-order mark at the beginning."""
        if self._start is not None:
            chunk = self._start + chunk
            if len(chunk) < len(BOM_UTF8) and BOM_UTF8.startswith(chunk):
                self._start = chunk
                return b""
            self._start, chunk = None, chunk.removeprefix(BOM_UTF8)
        if self._is_after_return and chunk:
            self._is_after_return, chunk = False, chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._is_after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _events(self, chunk: bytes) -> Iterator[bytes]:
        self._size.take(chunk)
        first, *following = chunk.split(b"\n")
        if first:
            self._line.append(first)
        if not following:
            return
        lines = [b"".join(self._line), *following]
        self._line = [last] if (last := lines.pop()) else []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].strip())
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data.clear()
