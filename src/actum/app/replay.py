"""A kept run gone through again from its record: no model is asked and no call is carried out (X5)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from ..generation.compile import Frame
from ..ideas.ticks import Tick, request_digest, spans
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.tool import Tool
from ..schema.infer import jsonable
from ..schema.json import JsonObject, encode
from .agent import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """One tick: whether its request comes out byte for byte as it was sent, and what its calls had left."""

    number: int
    tick: Tick
    is_same: bool
    left: Sequence[JsonObject]


async def replayed(agent: Agent, context: Context, schema: Any, ticks: Sequence[Tick]) -> AsyncGenerator[Replayed]:
    """Make each request of a run anew, from what stood in its context then.

    Raises:
        ActumError: where the agent isn't what it was so much that a request can't be made at all.
    """
    messages = context.messages
    frame: Frame | None = None
    for number, tick, end in spans(ticks, len(messages)):
        then = Context.checked(messages[: tick.at], context.data_kinds, context.origin)
        found = _made_again(frame, then, tick) or _made_again(await agent.frame(then, schema), then, tick)
        frame = found or frame
        yield Replayed(number=number, tick=tick, is_same=found is not None, left=messages[tick.at : end])


def _made_again(frame: Frame | None, context: Context, tick: Tick) -> Frame | None:
    """The form of a frame in which a request comes out as it was sent: a host may have refused the first ones."""
    while frame is not None:
        request = frame.request(context, waiting=tick.waiting, owed=tick.owed, notices=tick.notices)
        if request_digest(request.messages, request.schema) == tick.request:
            return frame
        frame = frame.lower()
    return None


async def replayed_output(agent: Agent, context: Context, schema: Any, ticks: Sequence[Tick]) -> Any:
    """The output that the last answer comes to with the results that stand in the context; None where it has none.

    Raises:
        ActumError: where it comes to none any more.
    """
    last = ticks[-1] if ticks else None
    if last is not None and last.output is not None:
        messages = context.messages
        plan: JsonObject = {"type": "plan", "plan": last.calls, "output": last.output}
        stands = len(messages) > last.at and messages[last.at].get("type") == "plan"
        whole = [*messages[: last.at], plan, *messages[last.at + stands :]]
        context = Context.checked(whole, context.data_kinds, context.origin)
    elif last is not None:
        return None
    silent = Agent(None, tools=agent.tools, config=agent.config, approve=_refuse)
    return jsonable((await silent.run(context, schema)).output)


async def _refuse(_call: Call, _tool: Tool, _context: Context) -> str:
    return "a replay carries nothing out"


def is_alike(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON."""
    return encode(one, sort_keys=True) == encode(other, sort_keys=True)
