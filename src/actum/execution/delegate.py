"""The catch-all Activity for tools with a `_delegate`: each call is a run of its own (D1, D4-D7, D9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..errors import ActumError, DelegateDepthExceeded, DelegateError, DelegateNotFound, LimitExceeded
from ..protocol.call import Call
from ..protocol.context import Context
from ..protocol.message import payload_of
from ..protocol.tool import Tool
from ..schema.infer import shape_of
from ..schema.json import JsonObject
from .emitter import Emitter
from .limits import Budget
from .loop import Loop, Setup
from .run_call import carry_out

ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegated:
    """What a `_delegate` points to: a saved request."""

    context: tuple[JsonObject, ...] = ()
    schema: Any = None


class Resolver(Protocol):
    """Finds what a `_delegate` points to (D2)."""

    def __call__(self, reference: str, tool: Tool) -> Delegated:
        """The saved request.

        Raises:
            DelegateError: where there is none, or it may not be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class Delegation:
    """Carries out delegated calls of one run; below it, of the runs that these lead to."""

    setup: Callable[[Delegation], Setup]
    resolve: Resolver
    budget: Budget
    emit: Emitter

    async def __call__(self, call: Call, tool: Tool, context: Context) -> Any:
        """The output of the delegate's own run, which sees of its parent only the scoped context (D4, D7)."""
        name = str(call.get("_delegate", ANONYMOUS))
        inner = replace(self, emit=self.emit.below(call))
        setup = self.setup(inner)
        chain = [*(str(one.get("_delegate", one.tool)) for one in self.emit.path), name]
        most = min(setup.config.max_depth, self.budget.limits.depth or setup.config.max_depth)
        if len(chain) > most:
            raise DelegateDepthExceeded(f"delegates nest deeper than {most}: {' → '.join(chain)}", tool=tool.name)
        if name == ANONYMOUS:
            return await self._anonymous(call, tool, context, setup)
        found = self.resolve(name, tool)
        own = list(found.context)
        messages = [message for message in own if message.get("type") != "input"]
        messages += [*context, *input_message(call, [one for one in own if one.get("type") == "input"])]
        return await self._run(name, tool, setup, inner, messages, found.schema)

    async def _anonymous(self, call: Call, tool: Tool, context: Context, setup: Setup) -> Any:
        activity = setup.registry.serving(tool)
        if activity is not None:
            result = await carry_out(call, tool, context, activity)
            return list(result.messages) if result.messages else result.value
        return await self.latent(call, tool, context)

    async def latent(self, call: Call, tool: Tool, context: Context) -> Any:
        """Let a model carry out one call by itself: one request whose schema is the tool's `_output` (D9)."""
        inner = replace(self, emit=self.emit.below(call))
        setup = self.setup(inner)
        described = [{"type": "system", "message": tool.description}] if tool.description else []
        messages = [*described, *context, *input_message(call, [])]
        return await self._run(ANONYMOUS, tool, setup, inner, messages, tool.output or {})

    async def _run(
        self, name: str, tool: Tool, setup: Setup, inner: Delegation, messages: list[JsonObject], schema: Any
    ) -> Any:
        if setup.model is None:
            raise DelegateError(f"the delegate {name!r} needs a model, and none is set", tool=tool.name)
        try:
            own = replace(setup, context=Context(messages), shape=shape_of(schema), delegate=inner)
            return (await Loop(own, self.budget, inner.emit).run()).output
        except LimitExceeded:
            raise
        except DelegateError as error:
            raise type(error)(f"in {name!r}: {error.message}", tool=tool.name) from error
        except ActumError as error:
            # The message of an error inside may quote the delegate's private context: only its kind crosses (D11).
            raise DelegateError(f"the delegate {name!r} failed: {error.code}", tool=tool.name) from error


def input_message(call: Call, declared: list[JsonObject]) -> list[JsonObject]:
    """The Input message of a delegate: the call's parameters over the declared defaults, with its schema (D5)."""
    values: JsonObject = {}
    notes: JsonObject = {}
    for message in declared:
        payload = payload_of(message, "input")
        values |= payload if isinstance(payload, Mapping) else {}
        notes |= {key: message[key] for key in ("description", "schema") if key in message}
    values |= call.parameters
    if not values and not declared:
        return []
    return [{"type": "input", "input": values, **notes}]


def registered(delegates: Mapping[str, Delegated]) -> Resolver:
    """A resolver that knows delegates by name only."""

    def resolve(reference: str, tool: Tool) -> Delegated:
        if reference not in delegates:
            known = ", ".join(sorted(delegates)) or "none"
            raise DelegateNotFound(f"no delegate {reference!r} is registered; there are: {known}", tool=tool.name)
        return delegates[reference]

    return resolve
