"""A run as it was before one of its requests, with something in it changed: where another run begins (X5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import IdeaError
from ..ideas.course import COURSE, Course, Sums
from ..ideas.file import RUN
from ..ideas.ticks import Tick, about_of, begun_with, ticks_of
from ..protocol.call import Place
from ..protocol.context import Context
from ..protocol.marks import without_run
from ..schema.json import JsonObject
from .coercion import with_input
from .idea import Idea


def forked(
    run: Idea,
    name: str,
    *,
    at: int,
    input: Mapping[str, Any] | None = None,
    changes: Mapping[int, JsonObject | None] | None = None,
) -> Idea:
    """The Idea of a run as it was before its request `at` (from 1).

    `input` are other values of its input; `changes` take the place of messages of its context, by index, None taking
    one away: what its user said, what a call had left. `name` is what the run is called in errors.

    Raises:
        IdeaError: the run made no such request, or had no such message before it.
        MessageError: a message is none, or the input doesn't fit its schema.
    """
    ticks = ticks_of(about_of(run.meta, name), name)
    if not 1 <= at <= len(ticks):
        raise IdeaError(f"{name} made {len(ticks)} requests: there is no request {at} to fork before")
    messages: list[JsonObject | None] = [*run.context.messages[: ticks[at - 1].at]]
    for index, message in (changes or {}).items():
        if not 0 <= index < len(messages):
            raise IdeaError(f"{name} had {len(messages)} messages before request {at}: there is no message {index}")
        messages[index] = message
    kept = without_run(one for one in messages if one is not None)
    context = Context.checked(kept, run.context.data_kinds, run.context.origin)
    context = Context(context.messages, origin=run.context.origin) if changes else context
    about = begun_with(run.meta) | _known_before(run, ticks[:at], context, min(changes) if changes else None)
    meta = {**run.meta, RUN: about, "from": {"run": name, "request": at}}
    return replace(run, context=with_input(context, input or None), meta=meta, solution=None)


def _known_before(run: Idea, ticks: Sequence[Tick], context: Context, first: int | None) -> JsonObject:
    """What is known of a run before the last of these requests, as far as no message before is changed."""
    about: Any = run.meta[RUN]
    stand = [one for one in ticks[:-1] if first is None or one.at <= first]
    course, last = Course.of(about), ticks[len(stand)]
    rows = [row.to_dict() for row in course.requests if not row.within and row.request < last.at]
    calls = course.calls.values()
    rows += [row.to_dict() for row in calls if last.number is None or Place.parse(row.call).answer < last.number]
    called = {message["_call"].get("_tool") for message in context if "_call" in message}
    makers = {tool: maker for tool, maker in Sums.of(about).makers.items() if tool in called}
    known: JsonObject = {"ticks": [one.to_dict() for one in stand], "makers": makers}
    return known | ({COURSE: rows} if rows else {})
