"""The live events of a worker's runs, which no record holds: pieces of text, progress, what has begun.

They are sent in batches, and only for runs that somebody follows. The current ones of each run are remembered for late
followers: the texts so far, and the last event of every other kind.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ... import events
from ...events import AnyEvent, as_json
from ...schema.json import JsonObject, encode
from .channel import Channel

PATIENCE = 15.0
"""Seconds for which a run counts as followed after somebody asked."""
_PAUSE = 0.05
"""Seconds in which events are gathered into a batch."""
_MOST_FOLLOWED = 10_000
"""How many runs may be followed at once."""
_MOST_BESIDE = 400
"""How many bytes of a message its items can't use."""
_MOST_OF_SIGN = 6
"""How many bytes a character of a text may take in JSON."""
Key: TypeAlias = tuple[Any, ...]


@dataclass(slots=True)
class _Current:
    """A current event; for a text, all of it so far and how much of that was sent."""

    event: AnyEvent
    number: int
    seq: int
    parts: list[str] | None = None
    length: int = 0
    sent: int = 0


@dataclass(slots=True)
class LiveRun:
    """The live events of one run under one lease.

    `at` returns the number of the last entry of its record; `most` is how many bytes a message may have.
    """

    run: str
    lease: int
    at: Callable[[], int]
    wake: Callable[[LiveRun], None]
    most: int
    _number: int = 0
    _stands: dict[Key, _Current] = field(default_factory=dict[Key, _Current])
    _new: set[Key] = field(default_factory=set[Key])
    _over: list[str] = field(default_factory=list[str])
    """Items still to be sent of events that are no longer current."""
    _streams: dict[int, tuple[int, object]] = field(default_factory=dict[int, tuple[int, object]])
    """The numbers of its delegates' runs, by the identity of their events' paths."""
    _epochs: dict[int, int] = field(default_factory=dict[int, int])
    """How often the texts of each run have begun anew."""

    def __call__(self, event: AnyEvent) -> None:
        """Take an event."""
        stream = self._stream(event.path)
        match event:
            case events.TextDelta():
                self._text((stream, "text", event.member, event.provisional), event, event.text)
            case events.ReasoningDelta():
                self._text((stream, "reasoning"), event, event.text)
            case events.RequestStarted():
                self._begin_anew(stream)
                bare = replace(event, context=[], messages=[], schema={}, waiting=(), owed=(), notices=())
                self._put((stream, "request"), bare)
            case events.Retried():
                self._begin_anew(stream)
                self._put((stream, "retried"), event)
            case events.OutputDelta():
                self._put((stream, "output"), event)
            case events.CallStarted() | events.CallProgress() | events.CallRetried() | events.CallWaiting():
                self._put(("call", event.place, type(event)), event)
            case events.CallFinished() | events.CallFailed() | events.CallSkipped():
                for kind in (events.CallStarted, events.CallProgress, events.CallRetried, events.CallWaiting):
                    self._drop(("call", event.place, kind))
            case events.RequestFinished():
                self._drop((stream, "request"))
            case events.RunFinished():
                self._begin_anew(stream)
                self._streams.pop(id(event.path), None)
            case events.RepairStarted():
                self._put((stream, "repair"), event)
            case events.CallReady() | events.PlanPassed():
                pass  # the record has the call

    def _stream(self, path: tuple[Any, ...]) -> int:
        # Delegates reached by the same calls are told apart by their paths' identities.
        if not path:
            return 0
        numbered = self._streams.get(id(path))
        if numbered is None:
            self._number += 1
            numbered = self._streams[id(path)] = (self._number, path)
        return numbered[0]

    def _begin_anew(self, stream: int) -> None:
        for key in [key for key in self._stands if key[0] == stream]:
            self._drop(key)
        self._epochs[stream] = self._epochs.get(stream, 0) + 1

    def _put(self, key: Key, event: AnyEvent) -> None:
        self._number += 1
        self._stands[key] = _Current(event, self._number, self.at())
        self._wake(key)

    def _text(self, key: Key, event: AnyEvent, text: str) -> None:
        self._number += 1
        current = self._stands.setdefault(key, _Current(event, self._number, 0, parts=[]))
        assert current.parts is not None
        current.parts.append(text)
        current.length += len(text)
        current.event, current.number, current.seq = event, self._number, self.at()
        self._wake(key)

    def _wake(self, key: Key) -> None:
        self._new.add(key)
        self.wake(self)

    def _drop(self, key: Key) -> None:
        current = self._stands.pop(key, None)
        if current is not None and key in self._new:
            self._over += self._items(key, current)
        self._new.discard(key)

    def repeat(self) -> None:
        """Send all current events again."""
        for current in self._stands.values():
            current.sent = 0
        self._new = set(self._stands)

    def rest(self) -> None:
        """Drop what is new, since nobody follows; a later follower gets the current events."""
        self._new.clear()
        self._over.clear()

    def messages(self) -> list[str]:
        """The new events as messages."""
        news = sorted(((key, self._stands[key]) for key in self._new), key=lambda item: item[1].number)
        items = [*self._over, *(item for key, current in news for item in self._items(key, current))]
        self._new.clear()
        self._over.clear()
        self._stands = {key: current for key, current in self._stands.items() if key[1] != "retried"}
        room = self.most - len(self._message([]))
        messages, batch, size = list[str](), list[str](), 0
        for item in items:
            length = len(item.encode()) + 1
            if batch and size + length > room:
                messages.append(self._message(batch))
                batch, size = [], 0
            batch.append(item)
            size += length
        return [*messages, self._message(batch)] if batch else messages

    def _message(self, items: list[str]) -> str:
        return f'{{"run":{encode(self.run)},"lease":{self.lease},"items":[{",".join(items)}]}}'

    def _items(self, key: Key, current: _Current) -> Iterator[str]:
        """The items of an event: a long text in pieces, none for any other event that is too long."""
        about: JsonObject = {"n": current.number, "seq": current.seq, "key": [str(part) for part in key]}
        about["epoch"] = self._epochs.get(key[0], 0)
        event, room = current.event, self.most - _MOST_BESIDE
        if current.parts is None or not isinstance(event, events.TextDelta | events.ReasoningDelta):
            item = encode({**about, "event": as_json(event)})
            if len(item.encode()) < room:
                yield item
            return
        text = "".join(current.parts)
        current.parts = [text]
        beside = len(encode({**about, "from": current.length, "event": as_json(replace(event, text=""))}).encode())
        step = (room - beside) // _MOST_OF_SIGN
        for start in range(current.sent, current.length, step) if step > 0 else ():
            piece = as_json(replace(event, text=text[start : start + step]))
            yield encode({**about, "from": start, "event": piece})
        current.sent = current.length


class LiveRuns:
    """Sends the live events of a worker's runs to their followers."""

    def __init__(self, channel: Channel, clock: Callable[[], float] = time.monotonic) -> None:
        self._channel = channel
        self._clock = clock
        self._runs: dict[str, LiveRun] = {}
        self._followed: dict[str, float] = {}
        """Until when each run counts as followed."""
        self._new: set[str] = set()
        self._wake = asyncio.Event()

    def begin(self, run: str, lease: int, at: Callable[[], int]) -> LiveRun:
        """The live events of a run that was claimed."""
        live = self._runs[run] = LiveRun(run, lease, at, self._notify, self._channel.most)
        return live

    def end(self, live: LiveRun) -> None:
        """Forget a run; what hasn't been sent is dropped."""
        if self._runs.get(live.run) is live:
            del self._runs[live.run]

    def _notify(self, live: LiveRun) -> None:
        if self._followed.get(live.run, 0.0) < self._clock() or self._runs.get(live.run) is not live:
            live.rest()
        else:
            self._new.add(live.run)
            self._wake.set()

    def follow(self, run: str, anew: bool) -> None:
        """Note that somebody follows a run; `anew` asks for its current events again."""
        now = self._clock()
        if run not in self._followed and len(self._followed) >= _MOST_FOLLOWED:
            self._followed = {followed: until for followed, until in self._followed.items() if until > now}
            if len(self._followed) >= _MOST_FOLLOWED:
                return
        is_new = self._followed.get(run, 0.0) < now
        self._followed[run] = now + PATIENCE
        if (live := self._runs.get(run)) is not None and (anew or is_new):
            live.repeat()
            self._new.add(run)
            self._wake.set()

    async def send(self) -> None:
        """Send until cancelled."""
        async with self._channel.follows(self.follow):
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self.flush()
                await asyncio.sleep(_PAUSE)

    async def flush(self, run: str | None = None) -> None:
        """Send the new events, of all runs or of one."""
        new = self._new if run is None else self._new & {run}
        self._new = self._new - new
        for run_id in new:
            if (live := self._runs.get(run_id)) is not None and (messages := live.messages()):
                await self._channel.tell(run_id, messages)
