"""The catch-all Activity for tools with a `_delegate`: who carries out its calls (D1-D16)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...errors import (
    ActumError,
    DelegateDepthExceeded,
    DelegateError,
    DelegateForbidden,
    InvalidParameters,
    SchemaError,
)
from ...events import CallProgress
from ...ideas.store import parse_address
from ...messages.media import MEDIA
from ...protocol.activity import Activity, Choice
from ...protocol.call import Call, Place
from ...protocol.context import Context, is_url, told
from ...protocol.contract import merge_contract, merge_interface
from ...protocol.message import DATA_KINDS, kind_of
from ...protocol.reader import Reader
from ...protocol.tool import ANONYMOUS, Tool
from ...protocol.usage import Usage
from ...schema.json import JsonObject, is_object
from ...sources.actum_server import SCHEMES, Remote
from ..budget import Budget
from ..calls.invoking import invoke
from ..emitter import Emitter
from ..isolated import Suspension
from .by_reader import ByReader
from .by_run import ByRun
from .caller import CATCH_ALL, Caller, context_of_item


@dataclass(frozen=True, slots=True)
class ByCode:
    """Has code carry out the calls for which it was registered."""

    caller: Caller

    def takes(self, name: str, tool: Tool) -> bool:
        """Whether code was."""
        return self._serving(name, tool) is not None

    async def carry(self, name: str, call: Call, tool: Tool, context: Context, kept: Suspension) -> Any:
        """The result of that code, as if it had returned it itself."""
        serving = self._serving(name, tool)
        assert serving is not None  # else it isn't taken
        self._check_named(name, call, tool)
        activity = serving.of(call)
        activity.check(tool)
        kept.has_effects = tool.effects != "none"
        budget, own = self.caller.budget, self.caller.runtime
        return await invoke(call, tool, context, activity, budget, doings=own.doings, deps=own.deps, at=kept)

    async def contract(self, name: str, tool: Tool) -> Tool:
        """The tool with the whole interface of the one that is registered by this name."""
        named = self._named(name, tool)
        return tool if named is None else merge_interface(tool, named)

    def _serving(self, name: str, tool: Tool) -> Activity | Choice | None:
        """The Activity that a call goes to instead of any delegate (D9, D13, D16)."""
        registry = self.caller.runtime.registry
        if (replaced := registry.find_activity(CATCH_ALL)) is not None:
            return replaced
        if isinstance(tool, Reader):
            return None  # an Activity that happens to have its name is for other tools
        if name == ANONYMOUS:
            return registry.serving(tool, name)
        is_known = tool.bound is not None or name in self.caller.machine.delegates
        return None if is_known else registry.find_activity(name)

    def _named(self, name: str, tool: Tool) -> Tool | None:
        """The registered tool that a `_delegate` names, whose Activity takes its place: its whole interface (D13)."""
        registry = self.caller.runtime.registry
        if registry.find_activity(CATCH_ALL) is not None or isinstance(tool, Reader) or name == ANONYMOUS:
            return None
        return registry.find(name)

    def _check_named(self, name: str, call: Call, tool: Tool) -> None:
        """Judge parameters by the tool that a `_delegate` names: no model is there to bridge a gap (D6, D13)."""
        named = self._named(name, tool)
        if named is None or named is tool:
            return
        if (complaint := named.validator.complaint(call.parameters, quotes=False)) is not None:
            raise InvalidParameters(f"its delegate {told(name)!r} takes other parameters: {complaint}", tool=tool.name)


_CROSSES = frozenset({"text", "system", "user", "assistant", "data"}) | DATA_KINDS | MEDIA


@dataclass(frozen=True, slots=True)
class ByServer:
    """Has other servers carry calls out."""

    caller: Caller

    def takes(self, name: str, _tool: Tool) -> bool:
        """Whether a name is that of an Idea on another server."""
        return name.startswith(SCHEMES)

    async def carry(self, name: str, call: Call, tool: Tool, context: Context, kept: Suspension) -> Any:
        """What has come of the call there."""
        remote, own = self._remote(name, tool), self.caller
        kept.has_effects = tool.effects != "none"
        try:
            depth = own.deepest - len(own.lineage) - 1
            result = await carried_out(remote, call, context, kept.place, own.budget, own.emit, depth=depth)
        except DelegateError as error:
            raise error.of(told(name), tool.name) from error
        if (doings := own.runtime.doings) is not None and (doing := doings.begin(call, tool, None)) is not None:
            doings.done(doing, result)
        return result

    async def contract(self, name: str, tool: Tool) -> Tool:
        """The tool as the other server describes the Idea."""
        there = await self._remote(name, tool).interface()
        takes, gives = (one if is_object(one := there.get(key)) else None for key in ("input", "output"))
        return merge_contract(tool, takes, gives, {})

    def _remote(self, name: str, tool: Tool) -> Remote:
        """The Idea there; refused where what crosses may not leave this machine (D12, S10)."""
        config = self.caller.runtime.config
        if is_url(tool.origin) and name not in config.grants:
            raise DelegateForbidden(f"a delegate from outside can't reach {told(name)!r}", tool=tool.name)
        if config.sealed:
            raise DelegateForbidden(
                "a sealed run can't be carried out elsewhere: what is sealed is shown there", tool=tool.name
            )
        return self.caller.machine.remote(name, config)


async def carried_out(
    remote: Remote, call: Call, context: Context, place: Place, budget: Budget, emit: Emitter, *, depth: int
) -> Any:
    """The output of an Idea on another server, which sees nothing but the scoped context and the call's parameters.

    It is begun once for the key of the call, whoever asks again. `depth` is how many delegates may lie below it.

    Raises:
        DelegateError: it failed, or can't be reached; or what would cross can't.
    """
    messages = [_crossing(message) for message in context]
    if call.parameters:
        messages.append({"type": "input", "input": dict(call.parameters)})
    body: JsonObject = {"messages": messages, "limits": _left_of(budget, depth)}
    key = f"call-{hashlib.sha256(context.key.encode()).hexdigest()[:40]}"

    def waits(run: str) -> None:
        if emit.sink:
            emit(CallProgress(call=call, place=place, done=0.0, message=f"waits for a decision there: run {run}"))

    trace = "" if emit.trace is None else emit.trace.traceparent
    result = await remote.run(key, body, traceparent=trace, waits=waits)
    spent = Usage.of(result.usage)
    budget.requests += spent.requests
    budget.pay(spent)
    if result.failure is None:
        return result.output
    is_too_deep = result.failure == DelegateDepthExceeded.code  # which whoever has asked this server is told of, too
    # What had begun there by then, nobody here knows (C15).
    raise (DelegateDepthExceeded if is_too_deep else DelegateError)(result.failure, outcome="unknown")


def _left_of(budget: Budget, depth: int) -> JsonObject:
    """What is left of the limits that a delegate elsewhere has to keep, too."""
    left: JsonObject = {name: getattr(budget.left, name) for name in ("requests", "seconds", "tokens", "usd")}
    return {name: value for name, value in {**left, "depth": depth}.items() if value is not None}


def _crossing(message: JsonObject) -> JsonObject:
    """A message as it crosses: without marks, and without the gates of the run that it leaves (C7)."""
    if message.get("type") not in _CROSSES and kind_of(message) is None:
        raise DelegateForbidden(f"messages of the type {message.get('type')!r} can't cross to another server")
    own = {key: value for key, value in message.items() if not key.startswith("_")}
    if own.get("type") in MEDIA and "path" in own:
        raise DelegateForbidden("a file of this machine can't cross to another server by its path")
    if kind_of(message) == "state":
        own = {key: _ungated(value) for key, value in own.items() if key != "approvals"}
    return own


def _ungated(value: Any) -> Any:
    return {key: member for key, member in value.items() if key != "approvals"} if is_object(value) else value


Way: TypeAlias = ByCode | ByReader | ByServer | ByRun
"""Who carries a delegated call out: it says which calls it `takes`, makes one, and says what is known of the tool."""


class Delegation:
    """Carries out the delegated calls of one run; below it, of the runs that these lead to."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self._by_run = ByRun(caller, Delegation)
        self._ways: tuple[Way, ...] = (ByCode(caller), ByReader(caller, Delegation), ByServer(caller), self._by_run)

    async def __call__(self, call: Call, tool: Tool, context: Context, suspension: Suspension | None = None) -> Any:
        """What has come of a call, of the parent's context only the scoped one is seen (D4, D7).

        With a suspension a run continues from there, and leaves its context there if it is cut (L8).
        """
        name = str(call["_delegate"])
        self.caller.check_depth(name, tool)
        kept = suspension or Suspension(place=Place(0), call=call)
        return await self._way(name, tool).carry(name, call, tool, context, kept)

    def _way(self, name: str, tool: Tool) -> Way:
        return next(way for way in self._ways if way.takes(name, tool))

    async def contract(self, tool: Tool) -> Tool:
        """The tool as its delegate is, for one that is resolved beforehand (D8)."""
        if not tool.is_fixed("_delegate"):
            raise SchemaError(
                "it can't be resolved upfront, since each call chooses its delegate: fix one, make a tool for each, or "
                "let it say '_resolution': 'execution'",
                tool=tool.name,
                path="_delegate",
            )
        name: str = tool.fixed("_delegate")
        return await self._way(name, tool).contract(name, tool)

    async def digest(self, call: Call, tool: Tool) -> str:
        """What the delegate of a call is known by; empty for one of elsewhere, which is asked for nothing before."""
        name = str(call["_delegate"])
        is_far = "://" in name or is_url(tool.origin) or (name.startswith("idea:") and parse_address(name).url)
        if is_far or name == ANONYMOUS or self._way(name, tool) is not self._by_run:
            return ""
        try:
            return (await self.caller.resolve(name, tool)).digest
        except ActumError:  # which the call itself will say
            return ""

    async def latent(
        self, call: Call, tool: Tool, context: Context, kept: Suspension | None = None, *, hint: Sequence[str] = ()
    ) -> Any:
        """Let a model carry out one call by itself, made from the scopes in `hint` (D9, S4)."""
        return await self._by_run.latent(call, tool, context, kept or Suspension(place=Place(0), call=call), hint)

    def takes_item(self, tool: Tool) -> bool:
        """Whether the calls of a tool for the items of a list are runs of their own."""
        return self.caller.spreads(tool)

    async def item(
        self, call: Call, tool: Tool, context: Context, scopes: Sequence[str], suspension: Suspension
    ) -> Any:
        """The result of a call for an item of a list, which a run of its own makes."""
        caller = self.caller
        own = context_of_item(call, tool, context, scopes, caller.runtime.registry)
        return await caller.apart(caller.record.at, own, None, tool, suspension, is_item=True)
