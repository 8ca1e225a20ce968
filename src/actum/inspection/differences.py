"""Two Ideas compared: what a change means to their users, or two kept runs request by request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Literal

from ..ideas.file import IdeaText
from ..ideas.library import Change, change_between
from ..ideas.ticks import RUN, Tick, about_of, spans, ticks_of
from ..protocol.message import CALLER, TRACE
from ..schema.json import JsonObject, encode

EntryKind = Literal["input", "request", "call", "output", "left", "end"]

_OF_ITS_TIME = frozenset({"_date", TRACE, CALLER})
"""Marks that differ between equal runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One item of a run's record.

    `kind` says what `value` is: an `input` message; the digest of a `request`, with its `number` from 1 and the number
    of messages that it was made of in `at`; a `call` or an `output` as the model wrote it; a message that a call has
    `left`; or, at the `end`, the output of the run.
    """

    kind: EntryKind
    value: Any
    number: int = 0
    at: int = 0

    @property
    def key(self) -> str:
        """What two entries are compared by: neither their dates nor how many messages a request was made of."""
        value = self.value
        if self.kind == "left":
            value = {key: member for key, member in value.items() if key not in _OF_ITS_TIME}
        return f"{self.kind} {encode(value, sort_keys=True)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The entries of both runs at one position; None if a run has nothing there."""

    left: Entry | None
    right: Entry | None

    @property
    def is_same(self) -> bool:
        """Whether both sides are the same."""
        return self.left is not None and self.right is not None and self.left.key == self.right.key


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs row by row, in the order of their requests."""

    rows: tuple[Row, ...]

    @property
    def is_same(self) -> bool:
        """Whether the runs differ in nothing but dates."""
        return all(row.is_same for row in self.rows)


def compare(old: IdeaText, new: IdeaText, names: tuple[str, str] = ("the first", "the second")) -> Change | Comparison:
    """A `Comparison` of two kept runs; for other Ideas the `Change` between them, and whom it breaks.

    `old` and `new` are their texts; `names` are what the two are called in errors. An `Idea` has its
    `IdeaText` as `idea.text`.

    Raises:
        IdeaError: the file of a run doesn't note its requests as runs do.
    """
    if RUN not in old.meta or RUN not in new.meta:
        return change_between(old, new)
    pairs = zip_longest(_sections(old, names[0]), _sections(new, names[1]), fillvalue=_NOTHING)
    return Comparison(rows=tuple(row for left, right in pairs for row in _aligned(left, right)))


_NOTHING: list[Entry] = []


def _aligned(left: list[Entry], right: list[Entry]) -> Iterator[Row]:
    """Both sides row by row; an entry that only one of them has is alone in its row."""
    keys = ([entry.key for entry in left], [entry.key for entry in right])
    for _, start, end, begin, stop in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        for old, new in zip_longest(left[start:end], right[begin:stop]):
            yield Row(left=old, right=new)


def _sections(run: IdeaText, name: str) -> Iterator[list[Entry]]:
    """The entries before the first request, of each request, and at the end."""
    about = about_of(run.meta, name)
    ticks = ticks_of(about, name)
    given = run.context[: ticks[0].at] if ticks else run.context
    yield [Entry(kind="input", value=message) for message in given if message["type"] == "input"]
    for number, tick, end in spans(ticks, len(run.context)):
        request = Entry(kind="request", value=tick.request, number=number, at=tick.at)
        yield [request, *_answered(tick), *_left(run.context[tick.at : end])]
    yield [Entry(kind="end", value=about.get("output"))]


def _answered(tick: Tick) -> Iterator[Entry]:
    for call in tick.calls:
        yield Entry(kind="call", value=call)
    if tick.output is not None:
        yield Entry(kind="output", value=tick.output)


def _left(messages: Sequence[JsonObject]) -> Iterator[Entry]:
    """The messages that calls have left, sorted by call, so that the order in which calls ended makes no difference."""
    results = [message for message in messages if "_call" in message or message["type"] == "error"]
    for message in sorted(results, key=lambda message: encode(message.get("_call"), sort_keys=True)):
        yield Entry(kind="left", value=message)
