"""`Tools`: the registry, and calls of its tools outside a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, Generic, Unpack

from typing_extensions import TypedDict

from ..errors import CallError
from ..execution.approver import Approve, check_approver
from ..execution.budget import Budget
from ..execution.delegation.delegation import Delegation
from ..execution.ground import Ground, within_call
from ..execution.patterns import Pattern, run_calls
from ..execution.undoing import Doings
from ..generation.model import Model
from ..generation.offer import Toolset, offered
from ..protocol.activity import Activity, Deps
from ..protocol.call import Call
from ..protocol.config import Config, Limits
from ..protocol.context import Context
from ..protocol.message import instance_of
from ..protocol.registry import Backoff, Catalog, Registry
from ..protocol.scopes import scopes_of
from ..protocol.tool import Tool, is_upfront
from ..schema.drawn import Drawn
from ..sources.roots import folders
from ..tracing.trace import Trace
from .assembly import Assembly, Reach, declared_deps
from .coercion import Given, as_context, as_model
from .delegate_resolver import AnyDelegate

_CALL = "{'_tool': 'name', …}"


class CallOptions(TypedDict, Generic[Deps], total=False):
    """Options for calls outside a run.

    `context` is what their references and scopes read; it is never changed. A latent call without `_output`, and a
    delegated one, need a `model`. `approve` decides on every call. `delegates`, `roots`, `config` and `trace` are as
    for an `Agent`; `deps` is passed to functions that take a `Ctx`.
    """

    context: Given
    model: Model | str | None
    approve: Approve | None
    limits: Limits | None
    delegates: Mapping[str, AnyDelegate] | None
    roots: Iterable[str | Path] | str | Path
    config: Config | None
    trace: Trace | bool | None
    deps: Deps | None


class Tools(Registry, Drawn, Generic[Deps]):
    """Interfaces and implementations by name; `await tools(call)` carries out one call, with `CallOptions`."""

    def __init__(self, *, backoff: Backoff | None = None) -> None:
        super().__init__(backoff=backoff)
        self._loading = RLock()

    def loaded(self, load: Callable[[], str]) -> Registry:
        """What the code of a module registers here as it is loaded, for those who name the module only.

        Modules are loaded one at a time, so that threads don't take each other's Activities.
        """
        with self._loading:
            return super().loaded(load)

    async def __call__(self, call: Mapping[str, Any], **options: Unpack[CallOptions[Deps]]) -> Any:
        """Carry out one call and return its value.

        Raises:
            ActumError: why it was refused, or how it failed.
        """
        return (await self._group([call], "all", **options))[0]

    async def all(self, calls: Iterable[Mapping[str, Any]], **options: Unpack[CallOptions[Deps]]) -> list[Any]:
        """Carry out all calls or none: if one fails, the rest are cancelled and the finished ones undone.

        Returns:
            The values in call order.
        """
        group = _as_list(calls)
        return await self._group(group, "all", **options) if group else []

    async def any(self, calls: Iterable[Mapping[str, Any]], **options: Unpack[CallOptions[Deps]]) -> Any:
        """The value of the first call that succeeds; the rest are cancelled.

        Raises:
            AllCallsFailed: holding every cause.
            ValueError: there are no calls.
        """
        return (await self._group(_nonempty_list(calls, "any"), "any", **options))[0]

    async def race(self, calls: Iterable[Mapping[str, Any]], **options: Unpack[CallOptions[Deps]]) -> Any:
        """The value or the error of the first call to end; the rest are cancelled.

        Raises:
            ValueError: there are no calls.
        """
        return (await self._group(_nonempty_list(calls, "race"), "race", **options))[0]

    async def _group(
        self,
        calls: Sequence[Mapping[str, Any]],
        pattern: Pattern,
        *,
        context: Given = (),
        model: Model | str | None = None,
        approve: Approve | None = None,
        limits: Limits | None = None,
        delegates: Mapping[str, AnyDelegate] | None = None,
        roots: Iterable[str | Path] | str | Path = (),
        config: Config | None = None,
        trace: Trace | bool | None = None,
        deps: Deps | None = None,
    ) -> list[Any]:
        if wrong := [call for call in calls if not isinstance(call, Mapping)]:  # pyright: ignore[reportUnnecessaryIsInstance] -- as below
            raise CallError(f"a call is an object, {_CALL}, not {wrong[0]!r}")
        check_approver(approve)
        within = within_call()
        if within is not None and within.answer is not None:
            return [await within.answer(call) for call in calls]
        context, config = as_context(context), config or Config()
        outer = None if within is None else within.ground
        chosen = as_model(model) or (None if outer is None else outer.runtime.model)
        deps = outer.runtime.deps if deps is None and outer is not None else deps
        assembly = Assembly(
            model=chosen,
            tools=self._catalog_for(calls, outer),
            config=config,
            limits=limits or Limits(),
            approve=approve,
            delegates=dict(delegates or {}),
            roots=folders(roots),
            trace=trace,
            reach=Reach.of(config, DEFAULT),
            deps=deps,
            needs=declared_deps(self) if outer is None else None,
        )
        assembly.check_deps(str(call.get("_tool")) for call in calls)
        shared = outer.budget if outer is not None and limits is None else None
        budget, emit = shared or Budget(assembly.limits), assembly.emitter()
        doings = Doings() if pattern == "all" else None
        delegation = assembly.delegation(context, budget, emit, doings)
        group = [Call(call) for call in calls]
        toolset = _with_model(await _offered(context, assembly, delegation, group), delegation, context)
        run = "" if within is None else within.run_of(calls)
        runtime = delegation.caller.runtime
        return await run_calls(group, pattern, context, toolset, runtime, budget, delegation, trace=emit.trace, run=run)

    def _catalog_for(self, calls: Sequence[Mapping[str, Any]], run: Ground | None) -> Catalog:
        """The catalog that has the tools of the calls: this registry, or that of the run whose call makes them."""
        catalog = None if run is None else run.toolset.registry
        if catalog is None or all(call.get("_tool") in self for call in calls):
            return self
        return catalog if any(call.get("_tool") in catalog for call in calls) else self


async def _offered(context: Context, assembly: Assembly, delegation: Delegation, calls: Sequence[Call]) -> Toolset:
    """The tools; those that are called are resolved upfront if they or the config ask for it (D8)."""
    registry, config = assembly.tools, assembly.config
    toolset = replace(_unheld(offered(context, registry, config.tools)), is_upfront=config.upfront)
    called = [toolset.tools[name] for name in {call.tool for call in calls} & toolset.tools.keys()]
    contracts = {tool.name: await delegation.contract(tool) for tool in called if is_upfront(tool, config.upfront)}
    resolved = _unheld(offered(context, registry, config.tools, contracts)) if contracts else toolset
    return replace(resolved, is_upfront=config.upfront)


def _as_list(calls: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if not isinstance(calls, Iterable) or isinstance(calls, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is whatever a caller gives
        raise CallError(f"calls are a list, [{_CALL}, …], not {calls!r}")
    return list(calls)


def _nonempty_list(calls: Iterable[Mapping[str, Any]], pattern: str) -> list[Mapping[str, Any]]:
    group = _as_list(calls)
    if not group:
        raise ValueError(f"{pattern} needs at least one call")
    return group


def _unheld(toolset: Toolset) -> Toolset:
    """The tools without holds: code that makes a call has decided on it."""
    held = {name: replace(tool, is_held=False) for name, tool in toolset.tools.items() if tool.is_held}
    return replace(toolset, tools={**toolset.tools, **held}, holds=False)


def _with_model(toolset: Toolset, delegation: Delegation, context: Context) -> Toolset:
    """The tools, where a model carries out the calls that have no code, with one request for each."""

    async def carry_out(call: Call, tool: Tool) -> Any:
        if call.output is not None or tool.output is None:
            return call.output
        visible = _visible_to(context, call.instance)
        return await delegation.latent(call, tool, visible, hint=scopes_of(tool, call))

    latent = Activity(name="latent", function=carry_out)
    latent.undo(_undo_nothing)
    return replace(toolset, by_model=latent)


def _undo_nothing(_call: Call, _result: Any) -> None:
    """A call that a model carried out has no effects to undo."""


def _visible_to(context: Context, instance: str | None) -> Context:
    """What a call of an instance sees: shared messages, then those of its instance (I2)."""
    shared = [message for message in context if instance_of(message) is None]
    private = [message for message in context if instance is not None and instance_of(message) == instance]
    unmarked = [{key: value for key, value in message.items() if key != "_instance"} for message in private]
    return context.with_messages([*shared, *unmarked])


DEFAULT = Tools()
"""The one registry of the process, public as `actum.tools`."""
