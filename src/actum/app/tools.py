"""`Tools`: the registry, and calls of its tools outside a run (C5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..execution.calls.approval import Approve
from ..execution.delegate import Delegation
from ..execution.emitter import Emitter
from ..execution.groups import Pattern, Surroundings, run_calls
from ..execution.limits import Budget, Limits
from ..execution.record.journal import Journal
from ..execution.setup import Runtime
from ..generation.model import Model
from ..generation.offer import Toolset, offered
from ..protocol.activity import Activity
from ..protocol.call import Call
from ..protocol.config import Config
from ..protocol.context import Context
from ..protocol.registry import Registry
from ..protocol.tool import Tool
from ..sources.fetch import Fetcher
from .delegates import Delegates
from .given import Given, context_of, model_of


class Tools(Registry):
    """Interfaces and implementations by name; `await tools(call)` carries out one call.

    `context` is what the calls' references and scopes read; it is never changed. A latent call without `_output`, and a
    delegated one, need a `model`. `approve` holds every call for a decision (L6).
    """

    async def __call__(
        self,
        call: Mapping[str, Any],
        *,
        context: Given = (),
        model: Model | str | None = None,
        approve: Approve | None = None,
        limits: Limits | None = None,
    ) -> Any:
        """Carry out one call and return its value.

        Raises:
            ActumError: why it was refused, or how it failed.
        """
        return (await self._group([call], "all", context, model, approve, limits))[0]

    async def all(
        self,
        calls: Iterable[Mapping[str, Any]],
        *,
        context: Given = (),
        model: Model | str | None = None,
        approve: Approve | None = None,
        limits: Limits | None = None,
    ) -> list[Any]:
        """Carry out all calls or none: where one fails, the rest are cancelled and the finished ones undone (C5).

        Returns:
            The values in call order.
        """
        group = list(calls)
        return await self._group(group, "all", context, model, approve, limits) if group else []

    async def any(
        self,
        calls: Iterable[Mapping[str, Any]],
        *,
        context: Given = (),
        model: Model | str | None = None,
        approve: Approve | None = None,
        limits: Limits | None = None,
    ) -> Any:
        """The value of the first call that succeeds; the rest are cancelled (C5).

        Raises:
            AllCallsFailed: holding every cause.
            ValueError: there are no calls.
        """
        return (await self._group(_some(calls, "any"), "any", context, model, approve, limits))[0]

    async def race(
        self,
        calls: Iterable[Mapping[str, Any]],
        *,
        context: Given = (),
        model: Model | str | None = None,
        approve: Approve | None = None,
        limits: Limits | None = None,
    ) -> Any:
        """What the first call to settle came to, success or failure; the rest are cancelled (C5).

        Raises:
            ValueError: there are no calls.
        """
        return (await self._group(_some(calls, "race"), "race", context, model, approve, limits))[0]

    async def _group(
        self,
        calls: Sequence[Mapping[str, Any]],
        pattern: Pattern,
        context: Given,
        model: Model | str | None,
        approve: Approve | None,
        limits: Limits | None,
    ) -> list[Any]:
        own = context_of(context)
        budget = Budget(limits or Limits())
        config = Config()
        runtime = Runtime(model=model_of(model), registry=self, config=config, data_kinds=own.data_kinds)
        delegates = Delegates(named={}, roots=(), config=config, fetcher=Fetcher())
        delegation = Delegation(runtime, delegates, budget, Emitter())
        toolset = _with_model(offered(own, self), delegation, own)
        around = Surroundings(
            journal=Journal(own), toolset=toolset, budget=budget, delegate=delegation, approve=approve
        )
        return await run_calls([Call(call) for call in calls], around, pattern)


def _some(calls: Iterable[Mapping[str, Any]], pattern: str) -> list[Mapping[str, Any]]:
    group = list(calls)
    if not group:
        raise ValueError(f"{pattern} of no calls has no value")
    return group


def _with_model(toolset: Toolset, delegation: Delegation, context: Context) -> Toolset:
    """The tools with an Activity for those that a model carries out by itself: one request for each call."""

    async def carry_out(call: Call, tool: Tool) -> Any:
        if call.output is not None or tool.output is None:
            return call.output
        return await delegation.latent(call, tool, context)

    latent = Activity(name="latent", function=carry_out)
    served = {
        name: latent if toolset.is_latent(tool) else toolset.activities[name] for name, tool in toolset.tools.items()
    }
    return replace(toolset, activities=served)


DEFAULT = Tools()
"""The one registry of the process, public as `actum.tools`."""
