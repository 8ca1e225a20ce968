"""A run as it goes on, as Server-Sent Events: the id of each change is the number of the last entry that it shows.

A client that reconnects sends the last id, and gets what is newer: nothing is lost, and nothing is sent twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from ..app.idea import Idea
from ..dataflow.reference import clip
from ..errors import ActumError
from ..inspection.account import account_of
from ..inspection.entry_lines import entry_line
from ..runs.following import LOOK, Entry
from ..runs.handle import Run
from ..runs.racing import cancel_and_wait
from ..schema.json import JsonObject
from ..schema.quoting import printable
from .pages import rendered
from .pictures import graph_with_values
from .secrets import masked, without_secrets
from .sse import EventStream, event_frame
from .timeline import timeline_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LEAST = 0.25
"""Seconds between two updates of the page; more if rendering takes long."""
_SHARE = 8
"""Rendering takes at most one part in so many of the time."""
_LONGEST = 300
_RETRY = b"retry: 500\n\n"


def stream(
    run: Run,
    after: int,
    link: Callable[[str], str],
    closing: asyncio.Event,
    secrets: Sequence[str] = (),
    *,
    stands: bool = False,
) -> EventStream:
    """The changes of a run after an entry, until it is over or waits, or the server closes.

    With `stands`, the page shows a run that waits: nothing is sent before that has changed.
    """
    return EventStream(_frames(run, after, _LivePage(run, link, secrets), secrets, stands=stands), closing)


async def _is_beyond(run: Run, after: int) -> bool:
    """Whether a run no longer waits, or has newer entries."""
    if (await run.refresh()).state != "waiting":
        return True
    async with aclosing(run.follow(after)) as newer:
        return await anext(newer, None) is not None


async def _frames(
    run: Run, after: int, page: _LivePage, secrets: Sequence[str], *, stands: bool
) -> AsyncGenerator[bytes]:
    yield _RETRY
    while stands and not await _is_beyond(run, after):
        await run.refresh(wait=LOOK)  # decisions may be made elsewhere
    following = run.follow(after, live=True)
    coming: asyncio.Future[Any] | None = None
    lines: list[JsonObject] = []
    last, due, is_new = after, 0.0, False
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(following, None))
            await asyncio.wait([coming], timeout=max(0.0, due - time.monotonic()) if is_new else None)
            if coming.done():
                item, coming = coming.result(), None
                if item is None:
                    break
                if isinstance(item, Entry):
                    last = item.seq
                    is_new = True
                    if (text := shown_line(item.data)) is not None:
                        lines.append({"seq": item.seq, "text": masked(text, secrets)})
                elif (piece := _text(item.data)) is not None:
                    yield event_frame({**piece, "text": masked(piece["text"], secrets)}, event="text")
            if is_new and time.monotonic() >= due:
                began = time.monotonic()
                yield event_frame(await page.change(lines), event="change", id=last)
                lines, is_new = [], False
                due = time.monotonic() + max(_LEAST, _SHARE * (time.monotonic() - began))
        yield event_frame(await page.change(lines), event="change", id=last)
        yield event_frame({"state": run.state}, event="end")
    finally:
        await cancel_and_wait(coming)
        await following.aclose()


class _LivePage:
    """The parts of the page that change."""

    def __init__(self, run: Run, link: Callable[[str], str], secrets: Sequence[str]) -> None:
        self._run, self._link, self._secrets = run, link, secrets

    async def change(self, lines: list[JsonObject]) -> JsonObject:
        """The new lines, and the changed parts of the page."""
        change: JsonObject = {"lines": lines, "state": self._run.state}
        with suppress(ActumError):
            idea = without_secrets(await self._run.idea())
            change["html"] = await asyncio.to_thread(self._html, idea)
        return change

    def _html(self, idea: Idea) -> str:
        account = account_of(idea, self._run.id, time.time() if self._run.row.is_under_way else None)
        last = account.answers[-1] if account.answers else None
        graph = None if last is None else graph_with_values(account, last, self._link)
        line = timeline_of(account, is_live=self._run.row.is_under_way)
        page = rendered("live.html", account=account, line=line, link=self._link, live=True, graph=graph)
        return masked(page, self._secrets)


def _text(event: JsonObject) -> JsonObject | None:
    """A piece of the streamed output, or a note that it starts again."""
    match event.get("event"):
        case "TextDelta" if not event.get("depth"):
            return {"text": str(event.get("text", "")), "member": str(event.get("member", ""))}
        case "Retried" | "RequestStarted" if not event.get("depth"):
            return {"text": "", "anew": True}
        case _:
            return None


def shown_line(entry: JsonObject) -> str | None:
    """An entry of a record as a line of text; None if people don't need to see it."""
    tick = entry.get("tick", {})
    line = f"request {tick['number']}" if "number" in tick and "answer" not in tick else entry_line(entry)
    return None if line is None else printable(clip(line, _LONGEST))
