"""Streams of events whose source breaks off: they end, so that who follows comes back, and nothing falls through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

from actum.errors import StoreUnavailable
from actum.studio.live import stream
from actum.studio.sse import kept_alive


async def test_a_stream_ends_where_its_store_goes_away() -> None:
    async def frames() -> AsyncGenerator[bytes]:
        yield b"first"
        raise StoreUnavailable("away")

    assert [frame async for frame in kept_alive(frames(), asyncio.Event(), 15)] == [b"first"]


async def test_a_page_that_is_followed_comes_back_where_its_store_goes_away() -> None:
    async def follow(_after: int, *, live: bool) -> AsyncGenerator[Any]:
        assert live
        raise StoreUnavailable("away")
        yield

    run: Any = SimpleNamespace(id="one", state="running", follow=follow)
    answer = stream(run, 0, str, asyncio.Event())
    assert [frame async for frame in answer.body_iterator] == [b"retry: 500\n\n"]  # and no end: so it comes back
