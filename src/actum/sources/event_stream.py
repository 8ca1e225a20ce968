"""Server-Sent Events as they arrive: each put together from its lines, and none larger than it may be."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator

_MOST = 8 * 2**20
_LINE = 1_024
"""What a line counts at least where a library reads the events: each has few, and libraries copy what they hold."""
_ENDS = (b"\n\n", b"\r\r", b"\r\n\r\n")


class TooLarge(ValueError):
    """An event is larger than it may be: who reads it holds it whole, and its end is the host's to send."""


class EventSize:
    """Counts the bytes of the event that is arriving, each of its lines as `_LINE` at least."""

    def __init__(self) -> None:
        self._size = 0
        self._last = b""

    def take(self, chunk: bytes) -> None:
        """Count some bytes more.

        Raises:
            TooLarge: the event that they belong to is larger than any that is meant.
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
    """Splits bytes into the data of events; every byte is looked at once, however they arrive.

    As the standard has it, a line ends with LF, CR LF or CR, and the first may begin with a byte-order mark.
    """

    def __init__(self) -> None:
        self._size = EventSize()
        self._start: bytes | None = b""
        """What has come of the first three bytes, None once they have."""
        self._is_after_return = False
        self._line: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterable[bytes]:
        """The data of the events that are whole now.

        Raises:
            TooLarge: an event has no end.
        """
        chunk = self._plain(chunk)
        if not self._line and not self._data and chunk.endswith(b"\n\n"):
            events = chunk[:-2].split(b"\n\n")
            if all(event.startswith(b"data:") and b"\n" not in event for event in events):
                return [event[5:].strip() for event in events]
        return self._events(chunk)

    def rest(self) -> bytes:
        """The data of an event that the end of the stream has cut."""
        last = b"".join(self._line)
        return b"\n".join([*self._data, last[5:].strip()] if last.startswith(b"data:") else self._data)

    def _plain(self, chunk: bytes) -> bytes:
        """The bytes with LF alone at the end of lines, and without a mark at their beginning."""
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
        first, *more = chunk.split(b"\n")
        if first:
            self._line.append(first)
        if not more:
            return
        lines = [b"".join(self._line), *more]
        self._line = [last] if (last := lines.pop()) else []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[5:].strip())
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data.clear()
