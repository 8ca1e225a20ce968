"""What a follower makes of what a run tells while it happens: in order, nothing twice, and corrected where it must be.

Messages may be lost, come twice, and come late from a worker that has lost the run. Of a text each piece says where it
begins: what was told is cut off, and where a piece is missing, all of the text so far is asked for.
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
"""How many events may wait for a follower that is slow; older ones are dropped, and texts asked for again."""
_OWN = "0"
"""The run itself among those that are told apart: its delegates have other numbers."""


class Hearing:
    """One follower's ear. Each call gives what is to be shown at that point, as JSON of events."""

    def __init__(self, channel: Channel, run: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._channel = channel
        self._run = run
        self._clock = clock
        self._waiting = deque[JsonObject](maxlen=_MOST_WAITING)
        self._arrived = asyncio.get_running_loop().create_future()
        self._lease = 0
        self._number = 0
        """The number of the last event that was shown, but for texts."""
        self._epochs: dict[str, int] = {}
        self._lengths: dict[tuple[str, ...], int] = {}
        """How many characters of each text have been shown."""
        self._is_complete = False
        """Whether the record has told the output: what is heard of the run's answers after that is older."""
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
            return  # whoever has sent that, it was no worker of ours
        if not self._arrived.done():
            self._arrived.set_result(None)

    async def _ask(self, *, anew: bool) -> None:
        self._asked = self._clock()
        self._is_behind = False
        await self._channel.ask(self._run, anew=anew)

    async def keep(self) -> None:
        """Say now and then that somebody still listens, and ask for what was missed."""
        if self._is_behind or self._clock() - self._asked > PATIENCE / 3:
            await self._ask(anew=self._is_behind)

    def arrived(self) -> asyncio.Future[None]:
        """Done once something has been heard that nobody has asked for yet."""
        return self._arrived

    def owned(self, lease: int) -> None:
        """Take in under which lease the run is carried out now: what was told under an older one counts no more."""
        if lease > self._lease:
            self._lease = lease
            self._number = 0
            self._epochs.clear()
            self._is_behind = True  # its owner may not know that somebody listens

    def before(self, seq: int) -> Iterator[JsonObject]:
        """What was told before the entry of this number."""
        if self._arrived.done():
            self._arrived = asyncio.get_running_loop().create_future()
        later = deque[JsonObject](maxlen=_MOST_WAITING)
        while self._waiting:
            item = self._waiting.popleft()
            if item["lease"] == self._lease and item["seq"] < seq:
                yield from self._shown(item)
            elif item["lease"] >= self._lease:
                later.append(item)  # what is older is of one who has lost the run
        self._waiting.extend(later)

    def entry(self, entry: JsonObject) -> Iterator[JsonObject]:
        """What is to be shown before an entry, since it completes what was told."""
        if (output := _output_of(entry)) is not None:
            self._is_complete = True
            yield from self._rest(output)

    def corrected(self, entry: JsonObject) -> Iterator[JsonObject]:
        """What is to be shown after an entry, since it takes back what was told."""
        if entry.get("at") or "began" not in entry or _output_of(entry) is not None:
            return
        self._is_complete = False
        if any(self._lengths.values()):
            error = Fenced("another worker goes on with the run from what was recorded")
            yield as_json(Retried(error=error, at=time.time()))
        self._lengths.clear()

    def _rest(self, output: Json) -> Iterator[JsonObject]:
        """The characters of a delivered output that have not been shown."""
        for path, text in strings_in(output):
            member = print_path(path).removeprefix(".")
            key = (_OWN, "text", member, "False")
            if rest := text[self._lengths.get(key, 0) :]:
                self._lengths[key] = len(text)
                yield as_json(TextDelta(member=member, text=rest, at=time.time()))

    def _shown(self, item: JsonObject) -> Iterator[JsonObject]:
        event: Any = item["event"]
        stream, epoch = item["key"][0], item["epoch"]
        if stream == _OWN and self._is_complete:
            return
        if epoch < self._epochs.get(stream, 0):
            return  # of a text that has begun anew by now
        is_new = epoch > self._epochs.get(stream, 0)
        if is_new:
            self._epochs[stream] = epoch
            self._forget(stream)
        if "from" in item:
            if is_new:  # that it begins was lost
                yield as_json(_begun(event))
            yield from self._grown(tuple(item["key"]), item["from"], event)
        elif item["n"] > self._number:
            self._number = item["n"]
            yield event

    def _grown(self, key: tuple[str, ...], start: int, event: JsonObject) -> Iterator[JsonObject]:
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
    """The output that stands at the end of a run by this entry; None if none does."""
    began: Any = entry.get("began")
    last: Any = entry.get("message") if began is None else began[-1] if began else None
    if entry.get("at") or not is_object(last) or last.get("type") != "output" or OF not in last:
        return None
    return last.get("output")


def _begun(event: JsonObject) -> RequestStarted:
    return RequestStarted(context=[], messages=[], schema={}, at=event["at"], depth=event["depth"])
