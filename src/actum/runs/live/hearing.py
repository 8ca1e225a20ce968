"""Live events as one follower gets them: in order, nothing twice, and corrected where necessary.

Messages may be lost, come twice, or come late from a worker that has lost the run. Each piece of a text says where it
begins: what was shown already is cut off, and if a piece is missing, the whole text so far is asked for.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from ...dataflow.arriving import strings_in
from ...dataflow.reference import print_path
from ...errors import Fenced
from ...events import RequestStarted, Retried, TextDelta, as_json
from ...protocol.message import OF
from ...schema.json import Json, JsonObject, decode, is_object
from .broadcasting import PATIENCE
from .channel import Channel

_MOST_WAITING = 1_000
"""How many events may wait for a slow follower; older ones are dropped, and texts are asked for again."""
_OWN = "0"
"""The number of the run itself; its delegates have others."""


class Hearing:
    """One follower of a run. Its methods yield the events to show at that point, as JSON."""

    def __init__(self, channel: Channel, run: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._channel = channel
        self._run = run
        self._clock = clock
        self._waiting = deque[JsonObject](maxlen=_MOST_WAITING)
        self._arrived = asyncio.get_running_loop().create_future()
        self._lease = 0
        self._number = 0
        """The number of the last event that was shown, texts aside."""
        self._epochs: dict[str, int] = {}
        self._lengths: dict[tuple[str, ...], int] = {}
        """How many characters of each text were shown."""
        self._is_complete = False
        """Whether the record has the output: events of the run's answers that come after that are older."""
        self._is_behind = False
        self._asked = -PATIENCE

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Hearing]:
        """Listen as long as the block lasts."""
        async with self._channel.hear(self._run, self.hear):
            await self._ask(anew=True)
            yield self

    def hear(self, message: str) -> None:
        """Take a message."""
        try:
            content: Any = decode(message)
            self._waiting += [{**item, "lease": content["lease"]} for item in content["items"]]
        except (ValueError, TypeError, KeyError):
            return  # no worker of ours sent that
        if not self._arrived.done():
            self._arrived.set_result(None)

    async def _ask(self, *, anew: bool) -> None:
        self._asked = self._clock()
        self._is_behind = False
        await self._channel.ask(self._run, anew=anew)

    async def keep(self) -> None:
        """Say now and then that the run is still followed, and ask for what was missed."""
        if self._is_behind or self._clock() - self._asked > PATIENCE / 3:
            await self._ask(anew=self._is_behind)

    def arrived(self) -> asyncio.Future[None]:
        """A future that is done once there are events that weren't yielded."""
        return self._arrived

    def owned(self, lease: int) -> None:
        """Note the current lease of the run: events under an older one no longer count."""
        if lease > self._lease:
            self._lease = lease
            self._number = 0
            self._epochs.clear()
            self._is_behind = True  # the new owner may not know that it is followed

    def before(self, seq: int) -> Iterator[JsonObject]:
        """The events before the entry of this number."""
        if self._arrived.done():
            self._arrived = asyncio.get_running_loop().create_future()
        later = deque[JsonObject](maxlen=_MOST_WAITING)
        while self._waiting:
            item = self._waiting.popleft()
            if item["lease"] == self._lease and item["seq"] < seq:
                yield from self._events_of(item)
            elif item["lease"] >= self._lease:
                later.append(item)  # one of an older lease is dropped
        self._waiting.extend(later)

    def entry(self, entry: JsonObject) -> Iterator[JsonObject]:
        """The events to show before an entry, since it completes texts."""
        if (output := _output_of(entry)) is not None:
            self._is_complete = True
            yield from self._rest(output)

    def corrected(self, entry: JsonObject) -> Iterator[JsonObject]:
        """The events to show after an entry, since it revokes texts."""
        if entry.get("at") or "began" not in entry or _output_of(entry) is not None:
            return
        self._is_complete = False
        if any(self._lengths.values()):
            error = Fenced("another worker goes on with the run from what was recorded")
            yield as_json(Retried(error=error, at=time.time()))
        self._lengths.clear()

    def _rest(self, output: Json) -> Iterator[JsonObject]:
        """The text of a delivered output that wasn't shown."""
        for path, text in strings_in(output):
            member = print_path(path).removeprefix(".")
            key = (_OWN, "text", member, "False")
            if rest := text[self._lengths.get(key, 0) :]:
                self._lengths[key] = len(text)
                yield as_json(TextDelta(member=member, text=rest, at=time.time()))

    def _events_of(self, item: JsonObject) -> Iterator[JsonObject]:
        event: Any = item["event"]
        stream, epoch = item["key"][0], item["epoch"]
        if stream == _OWN and self._is_complete:
            return
        if epoch < self._epochs.get(stream, 0):
            return  # its text has begun anew since
        is_new = epoch > self._epochs.get(stream, 0)
        if is_new:
            self._epochs[stream] = epoch
            self._forget(stream)
        if "from" in item:
            if is_new:  # the event of its beginning was lost
                begun = RequestStarted(context=[], messages=[], schema={}, at=event["at"], depth=event["depth"])
                yield as_json(begun)
            yield from self._new_text(tuple(item["key"]), item["from"], event)
        elif item["n"] > self._number:
            self._number = item["n"]
            yield event

    def _new_text(self, key: tuple[str, ...], start: int, event: JsonObject) -> Iterator[JsonObject]:
        length, text = self._lengths.get(key, 0), event["text"]
        if start > length:
            self._is_behind = True  # a message was lost
        elif rest := text[length - start :]:
            self._lengths[key] = length + len(rest)
            yield {**event, "text": rest}

    def _forget(self, stream: str) -> None:
        for key in [key for key in self._lengths if key[0] == stream]:
            del self._lengths[key]


def _output_of(entry: JsonObject) -> Json:
    """The output that an entry puts at the end of a run; None if it puts none there."""
    began: Any = entry.get("began")
    last: Any = entry.get("message") if began is None else began[-1] if began else None
    if entry.get("at") or not is_object(last) or last.get("type") != "output" or OF not in last:
        return None
    return last.get("output")
