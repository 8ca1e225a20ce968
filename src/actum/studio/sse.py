"""Server-Sent Events: their encoding, and a stream that sends pings and ends when the server stops."""

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
"""Seconds of silence after which a ping is sent, so that no proxy takes the connection for dead."""

_GRACE = 1.0
"""How many seconds frames that are ready may take once the server closes."""


def event_frame(data: Json, *, event: str | None = None, id: int | str | None = None) -> bytes:
    """An event as bytes. A client sends `id` as `Last-Event-ID` when it reconnects."""
    head = "" if id is None else f"id: {id}\n"
    head += "" if event is None else f"event: {event}\n"
    return f"{head}data: {encode(data)}\n\n".encode(errors="backslashreplace")


class EventStream(StreamingResponse):
    """A response that is a stream of events. Once `closing` is set, it ends after an event."""

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[bytes], closing: asyncio.Event, *, pause: float = PAUSE) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(kept_alive(frames, closing, pause), headers=headers)


async def kept_alive(frames: AsyncGenerator[bytes], closing: asyncio.Event, pause: float) -> AsyncGenerator[bytes]:
    """The frames as they come, with pings between; once `closing` is set, only those that are ready."""
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
                except ActumError as error:  # a client that reconnects resumes here, or gets the error
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
