"""Server-Sent Events: how one is written, and a stream of them that pings and ends when the server does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

from starlette.responses import StreamingResponse

from ..errors import ActumError
from ..runs.racing import cancel_and_wait
from ..schema.json import Json, encode

_LOG = logging.getLogger("actum.serving")
PING = b": ping\n\n"
PAUSE = 15.0
"""Seconds of silence after which a ping is sent, so that nobody between takes the connection for dead."""

_GRACE = 1.0
"""How many seconds what is there already may take to be told once the server closes."""


def event_frame(data: Json, *, event: str | None = None, id: int | str | None = None) -> bytes:
    """One event. `id` is what a client sends as `Last-Event-ID` when it comes back."""
    head = "" if id is None else f"id: {id}\n"
    head += "" if event is None else f"event: {event}\n"
    return f"{head}data: {encode(data)}\n\n".encode(errors="backslashreplace")


class EventStream(StreamingResponse):
    """An answer that is a stream of events, each a frame. It ends early, at an event's end, once `closing` is set."""

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[bytes], closing: asyncio.Event, *, pause: float = PAUSE) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(kept_alive(frames, closing, pause), headers=headers)


async def kept_alive(frames: AsyncGenerator[bytes], closing: asyncio.Event, pause: float) -> AsyncGenerator[bytes]:
    """The frames as they come, with pings between; once `closing` is set, those that are there still."""
    closed = asyncio.ensure_future(closing.wait())
    coming: asyncio.Future[bytes | None] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(frames, None))
            is_last = closing.is_set()
            if is_last:
                await asyncio.wait([coming], timeout=_GRACE)
            else:
                await asyncio.wait([coming, closed], timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                try:
                    frame, coming = coming.result(), None
                except ActumError as error:  # who comes back goes on where it broke off, or is told why it can't
                    _LOG.warning("a stream ends early: %s", error)
                    return
                if frame is None:
                    return
                yield frame
            elif is_last:
                return
            elif not closing.is_set():
                yield PING
    finally:
        await cancel_and_wait(closed, coming)
        await frames.aclose()
