"""Two kept runs side by side: request by request, what was said and what came of it (X5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from ..ideas.file import IdeaText
from ..ideas.ticks import Tick, about_of, spans, ticks_of
from ..schema.json import JsonObject, encode
from .lines import printable, short

_WIDTH = 58
_SAME, _OTHER = "  ", "≠ "

Row = tuple[str, str]
"""What stands on the left and on the right of one line."""
Part = tuple[str, str]
"""What is shown of something, and what it is compared by."""
_NOTHING: list[Part] = []


def side_by_side(one: IdeaText, one_name: str, other: IdeaText, other_name: str) -> Iterator[str]:
    """The lines that show both runs; what differs is marked.

    Raises:
        IdeaError: where one of them doesn't note its ticks as runs do.
    """
    yield _line((one_name, other_name), is_same=True)
    pairs = zip_longest(_parts(one, one_name), _parts(other, other_name), fillvalue=_NOTHING)
    for left, right in pairs:
        for (said, mine), (heard, theirs) in _aligned(left, right):
            yield _line((said, heard), is_same=mine == theirs)


def _aligned(left: list[Part], right: list[Part]) -> Iterator[tuple[Part, Part]]:
    """Both sides line by line: what only one of them has stands alone."""
    keys = ([key for _, key in left], [key for _, key in right])
    for _, start, end, begin, stop in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        yield from zip_longest(left[start:end], right[begin:stop], fillvalue=("", ""))


def _parts(run: IdeaText, name: str) -> Iterator[list[Part]]:
    """For each tick, and for the end, the lines that are shown, and what each is compared by."""
    known = about_of(run.meta, name)
    ticks = ticks_of(known, name)
    messages = run.context
    given = messages[: ticks[0].at] if ticks else messages
    yield [(short(message), encode(message, sort_keys=True)) for message in given if message["type"] == "input"]
    for number, tick, end in spans(ticks, len(messages)):
        yield [(f"request {number}, {tick.at} messages", tick.request), *_said(tick), *_left(messages[tick.at : end])]
    yield [(f"came to {short(known.get('output'))}", encode(known.get("output"), sort_keys=True))]


def _said(tick: Tick) -> Iterator[Part]:
    for call in tick.calls:
        yield f"  call {short(call)}", encode(call, sort_keys=True)
    if tick.output is not None:
        yield f"  output {short(tick.output)}", encode(tick.output, sort_keys=True)


def _left(messages: Sequence[JsonObject]) -> Iterator[Part]:
    """What calls have left, in the order of their calls, since which was done first is no difference."""
    own = ({key: value for key, value in message.items() if key != "_date"} for message in messages)
    kept = [message for message in own if "_call" in message or message["type"] == "error"]
    for message in sorted(kept, key=lambda one: encode(one.get("_call"), sort_keys=True)):
        tool = message.get("_call", {}).get("_tool", "")
        shown = short(message.get(message["type"]))
        yield f"  {message['type']} {tool}: {shown}", encode(message, sort_keys=True)


def _line(row: Row, *, is_same: bool) -> str:
    left, right = (printable(text) for text in row)
    cut = left if len(left) <= _WIDTH else left[: _WIDTH - 1] + "…"
    return f"{_SAME if is_same else _OTHER}{cut:<{_WIDTH}} │ {right}".rstrip()
