"""Calls that a run of its own carries out: the saved request that a `_delegate` names, or an empty one (D1-D15)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import ActumError, DelegateError, Fenced, LimitExceeded
from ...generation.compile import scope_hint
from ...ideas.file import identified, plan_of
from ...protocol import lineage
from ...protocol.call import Call
from ...protocol.context import Context, carried_over, marked, redacted
from ...protocol.contract import merge_contract
from ...protocol.declaration import tool_names
from ...protocol.lineage import BROUGHT, Marks
from ...protocol.marks import without_run
from ...protocol.message import instance_of, kind_of
from ...protocol.scopes import notes_of
from ...protocol.solution import Result
from ...protocol.tool import ANONYMOUS, Tool
from ...schema.infer import shape_of
from ...schema.json import JsonObject, is_object
from ...schema.validator import Validator
from ..calls.invoking import invoke
from ..isolated import Delegate, Suspended, Suspension
from ..loop import Loop
from ..setup import Setup
from .caller import Ancestor, Caller, SavedRequest, crossed, unusable


@dataclass(frozen=True, slots=True)
class ByRun:
    """Has runs carry calls out; `delegate` makes what carries out the delegated calls of these."""

    caller: Caller
    delegate: Callable[[Caller], Delegate]

    def takes(self, _name: str, _tool: Tool) -> bool:
        """All that nobody else does."""
        return True

    async def carry(self, name: str, call: Call, tool: Tool, context: Context, kept: Suspension) -> Any:
        """The output of the run, which sees of its parent only the scoped context (D4, D7)."""
        if name == ANONYMOUS:
            return await self.latent(call, tool, context, kept)
        own = self.caller
        found = await own.found(name, tool)
        kept.maker = found.digest
        serving = own.runtime.registry.serving(tool)
        if serving is None:
            return await self._run(name, call, tool, found, context, kept)
        if own.record.settled is not None:  # what was found may have taken long to find
            await own.record.settled()
        messages = _handed(found, context, call)
        seen = Context.checked(messages, found.context.data_kinds, found.context.origin)
        kept.has_effects = tool.effects != "none"
        seen = seen.keyed(context.key, context.lease)
        budget, runtime = own.budget, own.runtime
        return await invoke(
            call, tool, seen, serving.of(call), budget, doings=runtime.doings, deps=runtime.deps, at=kept
        )

    async def latent(self, call: Call, tool: Tool, context: Context, kept: Suspension, hint: Sequence[str] = ()) -> Any:
        """What a model makes of one call by itself: one request whose schema is the tool's `_output` (D9).

        `hint` are scopes that it is to be made from, where more is seen of the context (S4).
        """
        words = [_described(tool), *([scope_hint({tool.name: hint})] if hint else [])]
        prompt = Context([{"type": "system", "message": text} for text in words])
        found = SavedRequest(context=prompt, schema=tool.output or {})
        return await self._run(ANONYMOUS, call, tool, found, context, kept)

    async def contract(self, name: str, tool: Tool) -> Tool:
        """The tool with what the saved request says that it takes and gives."""
        found = await self.caller.found(name, tool)
        declared = declared_input(found.context)
        takes = notes_of(declared, "input", declared.data_kinds).get("schema")
        try:
            if takes is not None:
                Validator(takes, at="schema")
            gives = None if found.schema is None else shape_of(found.schema).schema
        except ActumError as error:
            raise unusable(name, tool, found, error) from error
        defaults = declared.get("†input")
        return merge_contract(tool, takes, gives, defaults if is_object(defaults) else {})

    async def _run(
        self, name: str, call: Call, tool: Tool, found: SavedRequest, scoped: Context, kept: Suspension
    ) -> Any:
        own = self.caller
        try:
            setup, inner = self._setup(call, found, scoped, kept)
            is_apart = kept.context is None and own.spreads(tool)
            loop = None if is_apart else Loop(setup, own.budget, inner.emit)
        except DelegateError as error:
            raise error.of(redacted(name), tool.name) from error
        except ActumError as error:
            raise unusable(name, tool, found, error) from error
        try:
            if loop is None:
                kept.has_effects = tool.effects != "none"
                return await inner.apart(own.record.at, setup.context, setup.shape.schema, tool, kept)
            result = await _kept(loop, kept)
            if result.output is None and result.errors:
                # Without a model a run ends without an output; to its caller, that is a failure like any other.
                raise result.errors[0]
            return result.output
        except LimitExceeded as error:
            raise LimitExceeded(error.message, limit=error.limit) from error
        except Fenced:
            raise
        except ActumError as error:
            # The message of an error inside may quote the delegate's private context: only its kind crosses (D11).
            inner_error = error if isinstance(error, DelegateError) else crossed(error.code, error.data, tool)
            failure = inner_error.of(redacted(name), tool.name)
            failure.outcome = "unknown" if kept.has_effects else "failed"  # what it has begun stays done (C15)
            raise failure from error

    def _setup(self, call: Call, found: SavedRequest, scoped: Context, kept: Suspension) -> tuple[Setup, Caller]:
        """What a delegate's run is made of, and what carries out its own delegates."""
        tools = dict.fromkeys(_tools_in(found.context), True) | dict.fromkeys(_tools_in(scoped), False)
        ancestor = Ancestor(str(call.get("_delegate", call.tool)), found, tools)
        emit = self.caller.emit.below(call, kept.place)
        record = self.caller.record.below(kept.place, dict(kept.call))
        inner = replace(self.caller.below([ancestor]), emit=emit, record=record)
        runtime = inner.runtime
        messages = kept.context
        if messages is None:
            own = found if runtime.config.meta is False else _with_meta(found)
            saved = plan_of(found.solution, found.meta) if runtime.model is None else []
            # A run of its own: what the saved request was once part of has other calls, with other keys (C9).
            crossed = _handed(own, scoped, call, kept.sources)
            messages = [*without_run(crossed), *saved]
        if runtime.model is None and not any(message.get("type") == "plan" for message in messages):
            raise DelegateError("it needs a model, and none is set")
        context = Context.checked(messages, runtime.data_kinds, found.context.origin)
        setup = Setup(
            runtime=runtime,
            context=context,
            shape=shape_of(found.schema),
            delegate=self.delegate(inner),
            record=inner.record,
        )
        return setup, inner


def _handed(found: SavedRequest, scoped: Context, call: Call, sources: Marks | None = None) -> list[JsonObject]:
    """A delegate's context; with `sources`, what of it calls have brought is marked (S10)."""
    origin = found.context.origin
    crossed = scoped if sources is None else marked(scoped)
    return handed(found.context, (carried_over(one, scoped.origin, origin) for one in crossed), call, sources)


def _tools_in(context: Context) -> Iterator[str]:
    """The names of the tools that messages of a context define."""
    for message in context:
        if message.get("type") == "tool":
            yield from tool_names(message)


def _with_meta(found: SavedRequest) -> SavedRequest:
    """The request with its own identity shown, which its model is to raise (T5)."""
    own = found.context
    return replace(found, context=Context.checked(identified(own, found.meta), own.data_kinds, own.origin))


def _described(tool: Tool) -> str:
    """What a model is told that carries out one call by itself: the tool as its schema describes it (D14)."""
    said = f"Carry out one call of the tool {tool.name!r}"
    lines = [f"{said}: {tool.description}" if tool.description else f"{said}."]
    for name, schema in tool.parameters["properties"].items():
        if is_object(schema) and schema.get("description"):
            lines.append(f"- {name}: {schema['description']}")
    return "\n".join(lines)


async def _kept(loop: Loop, kept: Suspension) -> Result[Any]:
    """Run to the end; if it is cut or has to wait, keep its context (L8)."""
    try:
        result = await loop.run()
    except (asyncio.CancelledError, LimitExceeded):
        kept.context = loop.result.context.messages
        raise
    finally:
        kept.has_effects |= loop.has_effects
    if result.output is None and result.waiting:
        kept.context, kept.waiting = result.context.messages, tuple(result.waiting)
        raise Suspended
    return result


def handed(own: Context, scoped: Iterable[JsonObject], call: Call, sources: Marks | None = None) -> list[JsonObject]:
    """A delegate's context: its own messages, what crosses to it, and its Input message (D4)."""
    crossing = list(scoped)
    given = list(_input_message(own, crossing, call))
    if sources:
        given = [{**one, BROUGHT: lineage.lineage_mark(sources)} for one in given]
    replaced = {"meta"}.intersection(str(one.get("type")) for one in crossing)  # in place of its own (S11)
    kept = (one for one in own if not _is_input(one) and one.get("type") not in replaced)
    return [*kept, *crossing, *given]


def _input_message(own: Context, crossing: Iterable[JsonObject], call: Call) -> Iterable[JsonObject]:
    """The call's parameters over the delegate's own defaults, with its own schema (D5).

    A default stands back behind what crosses of its caller's input, too, which isn't said again: it is marked (S10).
    """
    declared = declared_input(own)
    if not declared and not call.parameters:
        return
    defaults: Any = declared.get("†input", {})
    crossed: Any = Context.checked([one for one in crossing if _is_input(one)], own.data_kinds).get("†input", {})
    value = defaults
    if is_object(defaults) and crossed != {}:
        value = _without(defaults, crossed) if is_object(crossed) else {}
    if call.parameters:
        given = [{"type": "input", "input": one} for one in (value, call.parameters)]
        value = Context.checked(given, own.data_kinds).get("†input", {})
    held = {"input": value} if value or is_object(crossed) else {}
    yield {"type": "input", **held, **notes_of(declared, "input", declared.data_kinds)}


def _without(defaults: JsonObject, crossed: JsonObject) -> JsonObject:
    """What of a delegate's defaults nothing that crosses takes the place of."""
    rest: JsonObject = {}
    for key, one in defaults.items():
        if key not in crossed:
            rest[key] = one
        elif is_object(one) and is_object(crossed[key]) and (inner := _without(one, crossed[key])):
            rest[key] = inner
    return rest


def declared_input(own: Context) -> Context:
    """What a saved request says of its own input: its schema, and its defaults."""
    return Context.checked([message for message in own if _is_input(message)], own.data_kinds)


def _is_input(message: JsonObject) -> bool:
    return kind_of(message) == "input" and instance_of(message) is None
