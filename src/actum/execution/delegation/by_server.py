"""Calls that an Idea on another server carries out (D12, S10)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from ...errors import DelegateDepthExceeded, DelegateError, DelegateForbidden
from ...events import CallProgress
from ...messages.media import MEDIA
from ...protocol.call import Call, Place
from ...protocol.context import Context, is_url, redacted
from ...protocol.contract import merge_contract
from ...protocol.message import DATA_KINDS, kind_of
from ...protocol.tool import Tool
from ...protocol.usage import Usage
from ...schema.json import JsonObject, is_object
from ...sources.actum_server import SCHEMES, Remote
from ..budget import Budget
from ..emitter import Emitter
from ..isolated import Suspension
from .caller import Caller

_CROSSES = frozenset({"text", "system", "user", "assistant", "data"}) | DATA_KINDS | MEDIA


@dataclass(frozen=True, slots=True)
class ByServer:
    """Carries calls out on other servers."""

    caller: Caller

    def takes(self, name: str, _tool: Tool) -> bool:
        """Whether a name is that of an Idea on another server."""
        return name.startswith(SCHEMES)

    async def carry(self, name: str, call: Call, tool: Tool, context: Context, kept: Suspension) -> Any:
        """The output of the Idea there."""
        remote, caller = self._remote(name, tool), self.caller
        kept.has_effects = tool.effects != "none"
        try:
            depth = caller.deepest - len(caller.lineage) - 1
            result = await run_remote(remote, call, context, kept.place, caller.budget, caller.emit, depth=depth)
        except DelegateError as error:
            raise error.of(redacted(name), tool.name) from error
        if (doings := caller.runtime.doings) is not None and (doing := doings.begin(call, tool, None)) is not None:
            doings.done(doing, result)
        return result

    async def contract(self, name: str, tool: Tool) -> Tool:
        """The tool as the other server describes the Idea."""
        interface = await self._remote(name, tool).interface()
        takes, gives = (schema if is_object(schema := interface.get(key)) else None for key in ("input", "output"))
        return merge_contract(tool, takes, gives, {})

    def _remote(self, name: str, tool: Tool) -> Remote:
        """The Idea there; refused where what crosses may not leave this machine (D12, S10)."""
        config = self.caller.runtime.config
        if is_url(tool.origin) and name not in config.grants:
            raise DelegateForbidden(f"a delegate from outside can't reach {redacted(name)!r}", tool=tool.name)
        if config.sealed:
            raise DelegateForbidden(
                "a sealed run can't be carried out elsewhere: what is sealed is shown there", tool=tool.name
            )
        return self.caller.machine.remote(name, config)


async def run_remote(
    remote: Remote, call: Call, context: Context, place: Place, budget: Budget, emit: Emitter, *, depth: int
) -> Any:
    """The output of an Idea on another server, which sees nothing but the scoped context and the call's parameters.

    It is begun once for the key of the call, whoever asks again. `depth` is how many delegates may lie below it.

    Raises:
        DelegateError: it failed, or can't be reached; or what would cross can't.
    """
    messages = [_as_crossing(message) for message in context]
    if call.parameters:
        messages.append({"type": "input", "input": dict(call.parameters)})
    body: JsonObject = {"messages": messages, "limits": _limits_left(budget, depth)}
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


def _limits_left(budget: Budget, depth: int) -> JsonObject:
    """What is left of the limits that a delegate elsewhere has to keep, too."""
    left: JsonObject = {name: getattr(budget.left, name) for name in ("requests", "seconds", "tokens", "usd")}
    return {name: value for name, value in {**left, "depth": depth}.items() if value is not None}


def _as_crossing(message: JsonObject) -> JsonObject:
    """A message as it crosses: without marks, and without the gates of the run that it leaves (C7)."""
    if message.get("type") not in _CROSSES and kind_of(message) is None:
        raise DelegateForbidden(f"messages of the type {message.get('type')!r} can't cross to another server")
    crossed = {key: value for key, value in message.items() if not key.startswith("_")}
    if crossed.get("type") in MEDIA and "path" in crossed:
        raise DelegateForbidden("a file of this machine can't cross to another server by its path")
    if kind_of(message) == "state":
        crossed = {key: _without_gates(value) for key, value in crossed.items() if key != "approvals"}
    return crossed


def _without_gates(value: Any) -> Any:
    return {key: member for key, member in value.items() if key != "approvals"} if is_object(value) else value
