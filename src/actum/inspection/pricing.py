"""What a plan will take, known before it runs: its calls by maker, its steps, its requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ActumError
from ..generation.offer import Toolset
from ..protocol.call import EACH, VALUE, WHEN, Call
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.provenance import CODE, MODEL
from ..protocol.reader import READER
from ..protocol.usage import Usage
from ..schema.json import is_list
from .plan_graph import graph_of

NOBODY = "nobody"
"""Who carries out the calls of a tool that is not offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a plan will take.

    `makers` counts its calls by who carries them out: `code`, `model`, `the delegate NAME`, or `nobody` if no such tool
    is offered. Elements that only compute or order are not calls. `conditional` are the calls that may be skipped,
    `repeated` those that are made for each item of a list that isn't known before: each counts once. `steps` is the
    length of its longest chain of calls. `requests` is the least number of requests to a model: each delegate makes at
    least one. `planning` is what making the plan has cost.
    """

    calls: int
    steps: int
    makers: Mapping[str, int]
    requests: int
    limits: Limits = field(default_factory=Limits)
    planning: Usage = field(default_factory=Usage)
    conditional: int = 0
    repeated: int = 0

    @property
    def is_over_calls(self) -> bool:
        """Whether the plan will certainly make more calls than its limit, so that it will end there."""
        return self.limits.calls is not None and self.calls - self.conditional - self.repeated > self.limits.calls


def price(context: Context, toolset: Toolset, limits: Limits | None = None, planning: Usage | None = None) -> Price:
    """The price of the plans in a context, whose calls the tools of this `toolset` carry out.

    `limits` are the limits to compare it with, `planning` is what making the plan has cost.
    """
    elements = [Call(element) for message in context if message.get("type") == "plan" for element in message["plan"]]
    planned = [(call, _count(call), _maker(call, toolset)) for call in elements if call.has_value and VALUE not in call]
    makers: Counter[str] = Counter()
    for _, count, maker in planned:
        makers[maker] += 1 if count is None else count
    graph = graph_of(context, toolset=toolset)
    return Price(
        calls=makers.total(),
        steps=sum(any(graph.vertices[index].kind == "call" for index in layer) for layer in graph.layers()),
        makers=makers,
        requests=sum(count or 0 for call, count, maker in planned if WHEN not in call and _asks(call, maker, toolset)),
        limits=limits or Limits(),
        planning=planning or Usage(),
        conditional=sum(1 if count is None else count for call, count, _ in planned if WHEN in call),
        repeated=sum(count is None for call, count, _ in planned if WHEN not in call),
    )


def _count(call: Call) -> int | None:
    """How often a call is made, None if that depends on a list that isn't known yet (C12)."""
    if EACH not in call:
        return 1
    items: Any = call[EACH]
    return len(items) if is_list(items) else None


def _asks(call: Call, maker: str, toolset: Toolset) -> bool:
    """Whether a call takes a request to a model: its delegate's, or one for a result that is still to be written."""
    if maker == MODEL:  # the plan may already hold the result (C4)
        return call.output is None and toolset.find(call.tool, READER).output is not None
    return maker not in {CODE, NOBODY}


def _maker(call: Call, toolset: Toolset) -> str:
    try:
        tool = toolset.find(call.tool, READER)
    except ActumError:
        return NOBODY
    if tool is READER:
        return "the reader"
    if tool.is_delegated:
        return f"the delegate {call.get('_delegate', tool.fixed('_delegate'))}"
    return MODEL if toolset.is_latent(tool) else CODE
