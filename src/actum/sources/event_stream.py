"""Server-Sent Events as they arrive: each put together from its lines, and none larger than it may be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSent:
    """One event: its name, its data, and its id if it has one."""

    name: str
    data: str
    id: str | None = None


class TooLarge(ValueError):
    """An event is larger than it may be."""


async def server_sent(chunks: AsyncIterator[bytes], most: int) -> AsyncIterator[ServerSent | None]:
    """The events in a stream; None for each of the comments in between, which say that somebody is there.

    Raises:
        TooLarge: one has more than `most` bytes.
    """
    fields: dict[str, list[str]] = {}
    size = 0
    async for line in _lines(chunks, most):
        if not line:
            if "data" in fields:
                yield _event(fields)
            fields, size = {}, 0
        elif line.startswith(b":"):
            yield None
        else:
            size += len(line)
            if size > most:
                raise TooLarge(f"an event has more than {most} bytes")
            name, _, value = line.decode("utf-8", "replace").partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))


def _event(fields: dict[str, list[str]]) -> ServerSent:
    identity = fields.get("id")
    return ServerSent(
        name=fields.get("event", ["message"])[-1],
        data="\n".join(fields["data"]),
        id=identity[-1] if identity else None,
    )


async def _lines(chunks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """The lines of a stream, each ended by a line feed, with or without a carriage return before it."""
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*parts, line]).removesuffix(b"\r")
            parts, size = [], 0
        size += len(rest)
        if size > most:
            raise TooLarge(f"an event has more than {most} bytes")
        parts.append(rest)
