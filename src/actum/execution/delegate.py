"""The catch-all Activity for tools with a `_delegate`: each call is a run of its own (D1-D11)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ..errors import ActumError, DelegateDepthExceeded, DelegateError, DelegateForbidden, IdeaError, LimitExceeded
from ..ideas.file import plan_of
from ..protocol.call import Call
from ..protocol.config import Config
from ..protocol.context import Context
from ..protocol.contract import merge_contract
from ..protocol.declaration import tools_of
from ..protocol.marks import without_run
from ..protocol.message import instance_of, kind_of
from ..protocol.place import Place
from ..protocol.scopes import notes_of
from ..protocol.solution import Result
from ..protocol.tool import ANONYMOUS, Tool
from ..schema.infer import shape_of
from ..schema.json import JsonObject
from .calls.carrying import Suspended, Suspension
from .calls.invoking import invoke
from .delegated import Delegated, Resolver
from .emitter import Emitter
from .limits import Budget
from .linking import Linking
from .loop import Loop
from .record.recorder import Recorder
from .setup import Runtime, Setup

_OWN_CONFIG = frozenset(
    {"meta", "reasoning", "upfront", "retries", "instanced_output", "mode", "settings", "tool_budget", "references"}
    | {"each", "tools"}
)
"""What a delegate may say of how it is run; what bounds it is its caller's."""
FOREIGN_CONFIG = frozenset({"meta", "reasoning", "each", "instanced_output", "tools"})
"""What of that counts where the delegate is from outside (D12)."""


@dataclass(frozen=True, slots=True)
class Delegation:
    """Carries out the delegated calls of one run; below it, of the runs that these lead to."""

    runtime: Runtime
    resolve: Resolver
    budget: Budget
    emit: Emitter
    record: Recorder = field(default_factory=Recorder)

    async def __call__(self, call: Call, tool: Tool, context: Context, suspension: Suspension | None = None) -> Any:
        """The output of the delegate's own run, which sees of its parent only the scoped context (D4, D7).

        With a suspension it goes on from there, and says there what it has come to when it is cut (L8).
        """
        name = str(call["_delegate"])
        self._check_depth(name, tool)
        kept = suspension or Suspension(place=Place(0), call=call)
        if name == ANONYMOUS:
            return await self._anonymous(call, tool, context, kept)
        return await self._run(name, call, tool, await self._found(name, tool), context, kept)

    async def contract(self, tool: Tool) -> Tool:
        """The tool as its delegate is, for one that is resolved beforehand (D8)."""
        found = await self._found(tool.fixed("_delegate"), tool)
        declared = _declared(found.context)
        takes = notes_of(declared, "input", declared.data_kinds).get("schema")
        gives = None if found.schema is None else shape_of(found.schema).schema
        defaults: Any = declared.get("†input", {})
        return merge_contract(tool, takes, gives, cast("JsonObject", defaults) if isinstance(defaults, dict) else {})

    async def latent(self, call: Call, tool: Tool, context: Context, kept: Suspension | None = None) -> Any:
        """Let a model carry out one call by itself: one request whose schema is the tool's `_output` (D9)."""
        described = [{"type": "system", "message": tool.description}] if tool.description else []
        found = Delegated(context=Context(described), schema=tool.output or {})
        return await self._run(ANONYMOUS, call, tool, found, context, kept or Suspension(place=Place(0), call=call))

    async def _anonymous(self, call: Call, tool: Tool, context: Context, kept: Suspension) -> Any:
        serving = self.runtime.registry.serving(tool)
        if serving is None:
            return await self.latent(call, tool, context, kept)
        result = await invoke(call, tool, context, serving.of(call))
        return list(result.messages) if result.messages else result.value

    def _check_depth(self, name: str, tool: Tool) -> None:
        limit = self.budget.limits.depth
        most = self.runtime.config.max_depth if limit is None else min(limit, self.runtime.config.max_depth)
        if self.emit.depth >= most:
            chain = [*(str(one.get("_delegate", one.tool)) for one in self.emit.path), name]
            raise DelegateDepthExceeded(f"delegates nest deeper than {most}: {' → '.join(chain)}", tool=tool.name)

    async def _found(self, name: str, tool: Tool) -> Delegated:
        try:
            found = await self.resolve(name, tool)
        except ActumError:
            raise
        except Exception as error:
            raise DelegateError(f"{name!r} could not be resolved: {type(error).__name__}", tool=tool.name) from error
        if found.is_foreign:
            self._check_foreign(name, tool, found)
        try:
            return await Linking(self.resolve, self.runtime.config.max_depth)(found)
        except IdeaError as error:
            # The words of one from outside are not for its caller's model.
            reason = f"what {name!r} refers to can't be had" if found.is_foreign else error.message
            raise DelegateError(reason, tool=tool.name) from error

    def _check_foreign(self, name: str, tool: Tool, found: Delegated) -> None:
        """Refuse a delegate from outside that asks for what was not granted to it (D12)."""
        asked = [str(one) for one in cast("Sequence[Any]", found.config.get("tools") or ())]
        for index, message in enumerate(found.context):
            if message.get("type") == "tool":
                for one in tools_of(message, index):
                    asked += one.choices("_activity") or [one.fixed("_activity") or ""]
        for one in filter(None, asked):
            if one not in self.runtime.config.grants:
                raise DelegateForbidden(
                    f"{name!r} comes from outside and asks for {one!r}, which is not granted: Config(grants=[…])",
                    tool=tool.name,
                )

    async def _run(self, name: str, call: Call, tool: Tool, found: Delegated, scoped: Context, kept: Suspension) -> Any:
        try:
            loop = self._loop(call, found, scoped, kept)
            result = await _kept(loop, kept)
            if result.output is None and result.errors:
                # Without a model a run ends where it stands; for who called it, that is a failure like any other.
                raise DelegateError(result.errors[0].code)
            return result.output
        except LimitExceeded as error:
            raise LimitExceeded(error.message, limit=error.limit) from error
        except DelegateError as error:
            raise error.of(name, tool.name) from error
        except ActumError as error:
            # The message of an error inside may quote the delegate's private context: only its kind crosses (D11).
            raise DelegateError(error.code, tool=tool.name, chain=[name]) from error

    def _loop(self, call: Call, found: Delegated, scoped: Context, kept: Suspension) -> Loop:
        runtime = self._runtime_of(found)
        emit, record = self.emit.below(call, kept.place), self.record.below(kept.place, dict(kept.call))
        inner = replace(self, runtime=runtime, emit=emit, record=record)
        messages = kept.context
        if messages is None:
            saved = plan_of(found.solution) if runtime.model is None else []
            # A run of its own: what the saved request was once part of has other calls, with other keys (C9).
            messages = [*without_run(context_of(found.context, scoped, call)), *saved]
        if runtime.model is None and not any(message.get("type") == "plan" for message in messages):
            raise DelegateError("it needs a model, and none is set")
        context = Context.checked(messages, runtime.data_kinds, found.context.origin)
        setup = Setup(
            runtime=runtime, context=context, shape=shape_of(found.schema), delegate=inner, record=inner.record
        )
        return Loop(setup, self.budget, inner.emit)

    def _runtime_of(self, found: Delegated) -> Runtime:
        """What a delegate runs in: no registered tools but those that its config names; from outside, only grants."""
        allowed = FOREIGN_CONFIG if found.is_foreign else _OWN_CONFIG
        own = {"tools": (), "instanced_output": False, "mode": "eager"}
        own |= {key: value for key, value in found.config.items() if key in allowed}
        config: Config = replace(self.runtime.config, **own)
        if not found.is_foreign:
            return replace(self.runtime, config=config)
        return replace(self.runtime, config=config, registry=self.runtime.registry.granted(config.grants))


async def _kept(loop: Loop, kept: Suspension) -> Result[Any]:
    """Run to the end; where it is cut or has to wait, keep what it has come to (L8)."""
    try:
        result = await loop.run()
    except (asyncio.CancelledError, LimitExceeded):
        kept.context = loop.result.context.messages
        raise
    if result.output is None and result.waiting:
        kept.context, kept.waiting = result.context.messages, tuple(result.waiting)
        raise Suspended
    return result


def context_of(own: Context, scoped: Iterable[JsonObject], call: Call) -> list[JsonObject]:
    """A delegate's context: its own messages, what crosses to it, and its Input message (D4)."""
    return [*(message for message in own if not _is_input(message)), *scoped, *_input_message(own, call)]


def _input_message(own: Context, call: Call) -> Iterable[JsonObject]:
    """The call's parameters over the delegate's own defaults, with its own schema (D5)."""
    declared = _declared(own)
    if not declared and not call.parameters:
        return
    given: list[JsonObject] = [{"type": "input", "input": call.parameters}] if call.parameters else []
    value = Context.checked([*declared, *given], declared.data_kinds).get("†input", {})
    yield {"type": "input", "input": value, **notes_of(declared, "input", declared.data_kinds)}


def _declared(own: Context) -> Context:
    return Context.checked([message for message in own if _is_input(message)], own.data_kinds)


def _is_input(message: JsonObject) -> bool:
    return kind_of(message) == "input" and instance_of(message) is None
