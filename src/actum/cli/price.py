"""What a plan will take before anything of it runs: its calls by who carries them out, its steps, what is left (P4)."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from ..errors import ActumError
from ..generation.offer import Toolset
from ..protocol.call import Call
from ..protocol.config import Limits
from ..protocol.context import Context
from ..protocol.provenance import CODE, MODEL
from ..protocol.usage import Usage
from .graph import graph_of


def price_of(context: Context, toolset: Toolset, limits: Limits, usage: Usage) -> str:
    """In words: how many calls, of whom, in how many steps, how many requests at least, and what planning has cost.

    How much a delegate will spend nobody knows before it has; that it asks a model at least once is known.
    """
    plans = [message["plan"] for message in context if message.get("type") == "plan"]
    calls = [Call(call) for plan in plans for call in cast("list[Any]", plan)]
    makers = Counter(_maker(call, toolset) for call in calls)
    graph = graph_of(context)
    steps = sum(any(graph.vertices[index].is_call for index in layer) for layer in graph.layers())
    said = ", ".join(f"{count} by {maker}" for maker, count in makers.items())
    requests = sum(count for maker, count in makers.items() if maker not in (CODE, MODEL, _NOBODY))
    requests += sum(_is_owed(call, toolset) for call in calls)
    lines = [f"{len(calls)} calls in {steps} steps: {said or 'none'}"]
    lines.append(f"requests to a model: {'none' if not requests else f'at least {requests}'}{_of(limits.requests)}")
    if limits.calls is not None and len(calls) > limits.calls:
        lines.append(f"more calls than its limit of {limits.calls}: it will end there")
    if usage.requests:
        tokens = f", {usage.tokens} tokens" if usage.tokens is not None else ""
        money = f", {usage.usd:.4f} USD" if usage.usd is not None else ""
        lines.append(f"planning took {usage.requests} requests{tokens}{money}")
    return "\n".join(lines)


_NOBODY = "nobody: no such tool is offered"


def _maker(call: Call, toolset: Toolset) -> str:
    try:
        tool = toolset.find(call.tool)
    except ActumError:
        return _NOBODY
    if tool.is_delegated:
        return f"the delegate {call.get('_delegate', tool.fixed('_delegate'))}"
    return MODEL if toolset.is_latent(tool) else CODE


def _is_owed(call: Call, toolset: Toolset) -> bool:
    """Whether a call waits for a result that a model has yet to write (C4)."""
    return _maker(call, toolset) == MODEL and call.output is None and toolset.find(call.tool).output is not None


def _of(most: int | None) -> str:
    return "" if most is None else f" of the {most} that it may make"
