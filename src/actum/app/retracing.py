"""A kept run made again from its record: no model is asked and no call is carried out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ActumError, IdeaError
from ..execution.emitter import Emitter
from ..generation.compile import Frame
from ..generation.model import ModelRequest, Usage
from ..generation.request_media import EVERYTHING
from ..ideas.course import COURSE, Course, Sums
from ..ideas.file import RUN
from ..ideas.ticks import Tick, about_of, answers_of, begun_with, request_digest, spans, ticks_of
from ..protocol.call import Call, Place
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.marks import plan_marks, plan_message, without_run
from ..protocol.tool import Tool
from ..schema.infer import jsonable
from ..schema.json import JsonObject, encode
from ..schema.lowering import DIALECTS, Dialect
from .agent import Agent, assembled
from .coercion import with_input
from .idea import Idea
from .loading import Code, ready


def forked(
    run: Idea,
    name: str,
    *,
    at: int,
    input: Mapping[str, Any] | None = None,
    changes: Mapping[int, JsonObject | None] | None = None,
) -> Idea:
    """The Idea of a run as it was before its request `at` (from 1).

    `input` gives new values of its input. `changes` replaces messages of its context by index, for example what its
    user said or what a call left; None removes a message. `name` is what the run is called in errors.

    Raises:
        IdeaError: the run made no such request, or had no such message before it.
        MessageError: a message is malformed, or the input doesn't fit its schema.
    """
    ticks = ticks_of(about_of(run.meta, name), name)
    if not 1 <= at <= len(ticks):
        raise IdeaError(f"{name} made {len(ticks)} requests: there is no request {at} to fork before")
    messages: list[JsonObject | None] = [*run.context.messages[: ticks[at - 1].at]]
    for index, message in (changes or {}).items():
        if not 0 <= index < len(messages):
            raise IdeaError(f"{name} had {len(messages)} messages before request {at}: there is no message {index}")
        messages[index] = message
    left = without_run(message for message in messages if message is not None)
    context = run.context.with_messages(left)
    context = Context(context.messages, origin=run.context.origin) if changes else context
    about = begun_with(run.meta) | _known_before(run, ticks[:at], context, min(changes) if changes else None)
    meta = {**run.meta, RUN: about, "from": {"run": name, "request": at}}
    return replace(run, context=with_input(context, input or None), meta=meta, solution=None)


def _known_before(run: Idea, ticks: Sequence[Tick], context: Context, first: int | None) -> JsonObject:
    """What is known of a run up to the last of these requests, or up to the first message that was changed."""
    about: Any = run.meta[RUN]
    unchanged = [tick for tick in ticks[:-1] if first is None or tick.at <= first]
    course, last = Course.of(about), ticks[len(unchanged)]
    rows = [row.to_dict() for row in course.requests if not row.within and row.request < last.at]
    calls = course.calls.values()
    rows += [row.to_dict() for row in calls if last.number is None or Place.parse(row.call).answer < last.number]
    called = {message["_call"].get("_tool") for message in context if "_call" in message}
    makers = {tool: maker for tool, maker in Sums.of(about).makers.items() if tool in called}
    facts: JsonObject = {"ticks": [tick.to_dict() for tick in unchanged], "makers": makers}
    return facts | ({COURSE: rows} if rows else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One request, made again: whether it has the same bytes as before, and what the calls of its answer had left."""

    number: int
    tick: Tick
    is_same: bool
    left: Sequence[JsonObject]
    sent: ModelRequest | None = None
    """What the model was sent, if the request is the same."""


def retracer(run: Idea, name: str, code: Code) -> tuple[Agent, Sequence[Tick]]:
    """The agent that makes the requests of a kept run again, and its ticks; no model is asked and no code is run.

    Raises:
        IdeaError: no run is kept there.
    """
    about = about_of(run.meta, name)
    model = Unasked(DIALECTS.get(str(about.get("dialect"))))
    return ready(run, name, model=model, code=code).agent(), ticks_of(about, name)


class Unasked:
    """Stands in for the model of a run: requests are made for it, but never sent."""

    name = "unasked"

    def __init__(self, dialect: Dialect | None) -> None:
        self.dialect = dialect
        self.takes = EVERYTHING

    def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Refuse to be asked."""
        raise ActumError("a replay asks no model")


async def replayed(agent: Agent, context: Context, schema: Any, ticks: Sequence[Tick]) -> AsyncGenerator[Replayed]:
    """Make each request of a run again, from its context as it was then.

    Raises:
        ActumError: the agent has changed so much that a request can't be made at all.
    """
    messages = context.messages
    frame: Frame | None = None
    for number, tick, end in spans(ticks, len(messages)):
        then = context.with_messages(messages[: tick.at])
        retraced = _retraced(frame, then, tick) or _retraced(await assembled(agent).frame(then, schema), then, tick)
        frame, sent = retraced or (frame, None)
        yield Replayed(number=number, tick=tick, is_same=sent is not None, left=messages[tick.at : end], sent=sent)


async def requests_again(agent: Agent, run: Idea, name: str) -> bool:
    """Whether an agent, whatever its model, makes all requests of a kept run with the same bytes.

    Raises:
        IdeaError: no run is kept there.
    """
    about, clone = about_of(run.meta, name), copy(agent)
    ticks = ticks_of(about, name)
    clone.model = Unasked(DIALECTS.get(str(about.get("dialect"))))
    try:
        return all([request.is_same async for request in replayed(clone, run.context, run.schema, ticks)])
    except ActumError:
        return False


def _retraced(frame: Frame | None, context: Context, tick: Tick) -> tuple[Frame, ModelRequest] | None:
    """The form of a frame that gives a request as it was sent: a host may have refused the first forms, and the last
    request of a run takes only an output (L5)."""
    while frame is not None:
        for form in (frame, frame.last()):
            request = form.request(context, waiting=tick.waiting, owed=tick.owed, notices=tick.notices)
            if request_digest(request.messages, request.schema_text) == tick.request:
                return frame, request
        frame = frame.lower()
    return None


async def replayed_output(agent: Agent, context: Context, schema: Any, ticks: Sequence[Tick]) -> Any:
    """The output of the last answer, made again from the results in the context; None if it has none.

    Raises:
        ActumError: it can no longer be made.
    """
    messages = context.messages if not ticks else _last_turn(context.messages, ticks[-1])
    if messages is None:
        return None
    start = context.with_messages(messages)
    bare = assembled(agent)
    bare = replace(bare, model=None, limits=Limits(), approve=_refuse, delegates={}, roots=(), store=None, ring=None)
    loop = await bare.loop(start, schema, None, Emitter())
    return jsonable((await loop.run()).output)


def _last_turn(messages: Sequence[JsonObject], last: Tick) -> list[JsonObject] | None:
    """A context with its last answer as a plan and without the resulting output; None if the answer had no output."""
    before, after = messages[: last.at], [message for message in messages[last.at :] if message["type"] != "output"]
    plan = after.pop(0) if after and after[0]["type"] == "plan" else None
    if last.answer is not None:  # else the run was cut before it was noted: only the plan is known
        (answer,) = answers_of([last])
        plan = plan_message(answer.calls, answer.output) | plan_marks(answer.number, "", answer.places)
    return None if plan is None or plan.get("output") is None else [*before, plan, *after]


async def _refuse(_call: Call, _tool: Tool, _context: Context) -> str:
    return "a replay carries nothing out"


def is_alike(value: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    return encode(value, sort_keys=True) == encode(other, sort_keys=True)
