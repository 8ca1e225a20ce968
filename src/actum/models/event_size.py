"""How large an event of a stream may become: who reads it holds it whole, and its end is the host's to send."""

from __future__ import annotations

_MOST = 8 * 2**20
_LINE = 1_024
"""What a line counts at least: an event has few, and libraries copy what they hold with each."""
_ENDS = (b"\n\n", b"\r\r", b"\r\n\r\n")


class EventSize:
    """Counts the bytes of server-sent events as they arrive."""

    def __init__(self) -> None:
        self._size = 0
        self._last = b""

    def take(self, chunk: bytes) -> None:
        """Count some bytes more.

        Raises:
            ValueError: the event that they belong to is larger than any that is meant.
        """
        chunk = self._last + chunk
        ends = [at + len(end) for end in _ENDS if (at := chunk.rfind(end)) >= 0]
        begin = max(ends, default=len(self._last))
        self._size = 0 if ends else self._size
        self._size += len(chunk) - begin + _LINE * (chunk.count(b"\n", begin) + chunk.count(b"\r", begin))
        self._last = chunk[-3:] if not ends else chunk[max(begin, len(chunk) - 3) :]
        if self._size > _MOST:
            raise ValueError(f"an event of more than {_MOST} bytes, or lines")
