"""What a plan will take, known before anything of it runs: its calls by maker, its steps, its requests (P4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..errors import ActumError
from ..generation.offer import Toolset
from ..protocol.call import Call
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.provenance import CODE, MODEL
from ..protocol.usage import Usage
from .plan_graph import graph_of

NOBODY = "nobody"
"""Who carries out the calls of a tool that is not offered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a plan will take.

    `makers` counts its calls by who carries them out: `code`, `model`, `the delegate NAME`, or `nobody` where no such
    tool is offered. `steps` is the length of its longest chain of calls. `requests` is the least number of requests to
    a model: how many a delegate will make is not known before, but that it makes one is. `planning` is what making the
    plan has cost.
    """

    calls: int
    steps: int
    makers: Mapping[str, int]
    requests: int
    limits: Limits = field(default_factory=Limits)
    planning: Usage = field(default_factory=Usage)

    @property
    def is_over_calls(self) -> bool:
        """Whether the plan has more calls than its limit, so that it will end there."""
        return self.limits.calls is not None and self.calls > self.limits.calls


def price(context: Context, toolset: Toolset, limits: Limits | None = None, planning: Usage | None = None) -> Price:
    """The price of the plans in a context, whose calls the tools of this set carry out."""
    calls = [Call(call) for message in context if message.get("type") == "plan" for call in message["plan"]]
    makers = Counter(_maker(call, toolset) for call in calls)
    graph = graph_of(context)
    delegated = sum(count for maker, count in makers.items() if maker not in {CODE, MODEL, NOBODY})
    return Price(
        calls=len(calls),
        steps=sum(any(graph.vertices[index].kind == "call" for index in layer) for layer in graph.layers()),
        makers=makers,
        requests=delegated + sum(_is_owed(call, toolset) for call in calls),
        limits=limits or Limits(),
        planning=planning or Usage(),
    )


def _maker(call: Call, toolset: Toolset) -> str:
    try:
        tool = toolset.find(call.tool)
    except ActumError:
        return NOBODY
    if tool.is_delegated:
        return f"the delegate {call.get('_delegate', tool.fixed('_delegate'))}"
    return MODEL if toolset.is_latent(tool) else CODE


def _is_owed(call: Call, toolset: Toolset) -> bool:
    """Whether a call waits for a result that a model has yet to write (C4)."""
    return _maker(call, toolset) == MODEL and call.output is None and toolset.find(call.tool).output is not None
