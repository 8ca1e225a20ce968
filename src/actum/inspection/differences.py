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
"""The marks that are different in runs that are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing in a run's record.

    `kind` says what `value` is: an `input` message; the digest of a `request`, of which `number` counts from 1 and
    `at` is how many messages it was made of; a `call` or an `output` as the model wrote it; a message that a call has
    `left`; or, at the `end`, the output of the run.
    """

    kind: EntryKind
    value: Any
    number: int = 0
    at: int = 0

    @property
    def key(self) -> str:
        """What two entries are compared by: not when they were, nor of how much of the context a request was made."""
        value = self.value
        if self.kind == "left":
            value = {key: member for key, member in value.items() if key not in _OF_ITS_TIME}
        return f"{self.kind} {encode(value, sort_keys=True)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is in both runs at one position; None if one of them has nothing there."""

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
    """Both sides row by row: what only one of them has is alone in its row."""
    keys = ([entry.key for entry in left], [entry.key for entry in right])
    for _, start, end, begin, stop in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        for one, other in zip_longest(left[start:end], right[begin:stop]):
            yield Row(left=one, right=other)


def _sections(run: IdeaText, name: str) -> Iterator[list[Entry]]:
    """The entries before the first request, of each request, and at the end."""
    known = about_of(run.meta, name)
    ticks = ticks_of(known, name)
    given = run.context[: ticks[0].at] if ticks else run.context
    yield [Entry(kind="input", value=message) for message in given if message["type"] == "input"]
    for number, tick, end in spans(ticks, len(run.context)):
        asked = Entry(kind="request", value=tick.request, number=number, at=tick.at)
        yield [asked, *_said(tick), *_left(run.context[tick.at : end])]
    yield [Entry(kind="end", value=known.get("output"))]


def _said(tick: Tick) -> Iterator[Entry]:
    for call in tick.calls:
        yield Entry(kind="call", value=call)
    if tick.output is not None:
        yield Entry(kind="output", value=tick.output)


def _left(messages: Sequence[JsonObject]) -> Iterator[Entry]:
    """What calls have left, in the order of their calls: which of them was done first is not a difference."""
    kept = [message for message in messages if "_call" in message or message["type"] == "error"]
    for message in sorted(kept, key=lambda one: encode(one.get("_call"), sort_keys=True)):
        yield Entry(kind="left", value=message)
