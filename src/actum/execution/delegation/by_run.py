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
from .caller import Ancestor, Caller, SavedRequest, crossed_error, unusable_error


@dataclass(frozen=True, slots=True)
class ByRun:
    """Carries calls out by runs of their own; `delegate` makes what carries out the delegated calls of these."""

    caller: Caller
    delegate: Callable[[Caller], Delegate]

    def takes(self, _name: str, _tool: Tool) -> bool:
        """Always: this one comes last."""
        return True

    async def carry(self, name: str, call: Call, tool: Tool, context: Context, kept: Suspension) -> Any:
        """The output of the run, which sees of its parent only the scoped context (D4, D7)."""
        if name == ANONYMOUS:
            return await self.latent(call, tool, context, kept)
        caller = self.caller
        request = await caller.find(name, tool)
        kept.maker = request.digest
        serving = caller.runtime.registry.serving(tool)
        if serving is None:
            return await self._run(name, call, tool, request, context, kept)
        if caller.record.settled is not None:  # what was found may have taken long to find
            await caller.record.settled()
        messages = _handed(request, context, call)
        view = request.context.with_messages(messages)
        kept.has_effects = tool.effects != "none"
        view = view.keyed(context.key, context.lease)
        return await invoke(call, tool, view, serving.of(call), caller.budget, caller.runtime, at=kept)

    async def latent(self, call: Call, tool: Tool, context: Context, kept: Suspension, hint: Sequence[str] = ()) -> Any:
        """What a model makes of one call by itself: one request whose schema is the tool's `_output` (D9).

        `hint` are scopes that it is to be made from, where more is seen of the context (S4).
        """
        texts = [_describe(tool), *([scope_hint({tool.name: hint})] if hint else [])]
        prompt = Context([{"type": "system", "message": text} for text in texts])
        request = SavedRequest(context=prompt, schema=tool.output or {})
        return await self._run(ANONYMOUS, call, tool, request, context, kept)

    async def contract(self, name: str, tool: Tool) -> Tool:
        """The tool with what the saved request says that it takes and gives."""
        request = await self.caller.find(name, tool)
        declared = declared_input(request.context)
        takes = notes_of(declared, "input", declared.data_kinds).get("schema")
        try:
            if takes is not None:
                Validator(takes, at="schema")
            gives = None if request.schema is None else shape_of(request.schema).schema
        except ActumError as error:
            raise unusable_error(name, tool, request, error) from error
        defaults = declared.get("†input")
        return merge_contract(tool, takes, gives, defaults if is_object(defaults) else {})

    async def _run(
        self, name: str, call: Call, tool: Tool, request: SavedRequest, scoped: Context, kept: Suspension
    ) -> Any:
        caller = self.caller
        try:
            setup, inner = self._setup(call, request, scoped, kept)
            is_apart = kept.context is None and caller.spreads(tool)
            loop = None if is_apart else Loop(setup, caller.budget, inner.emit)
        except DelegateError as error:
            raise error.of(redacted(name), tool.name) from error
        except ActumError as error:
            raise unusable_error(name, tool, request, error) from error
        try:
            if loop is None:
                kept.has_effects = tool.effects != "none"
                return await inner.apart(caller.record.at, setup.context, setup.shape.schema, tool, kept)
            result = await _run_or_suspend(loop, kept)
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
            inner_error = error if isinstance(error, DelegateError) else crossed_error(error.code, error.data, tool)
            failure = inner_error.of(redacted(name), tool.name)
            failure.outcome = "unknown" if kept.has_effects else "failed"  # what it has begun stays done (C15)
            raise failure from error

    def _setup(self, call: Call, request: SavedRequest, scoped: Context, kept: Suspension) -> tuple[Setup, Caller]:
        """What a delegate's run is made of, and what carries out its own delegates."""
        tools = dict.fromkeys(_tools_in(request.context), True) | dict.fromkeys(_tools_in(scoped), False)
        ancestor = Ancestor(str(call.get("_delegate", call.tool)), request, tools)
        emit = self.caller.emit.below(call, kept.place)
        record = self.caller.record.below(kept.place, dict(kept.call))
        inner = replace(self.caller.below([ancestor]), emit=emit, record=record)
        runtime = inner.runtime
        messages = kept.context
        if messages is None:
            shown = request if runtime.config.meta is False else _with_meta(request)
            plan = plan_of(request.solution, request.meta) if runtime.model is None else []
            # A run of its own: what the saved request was once part of has other calls, with other keys (C9).
            messages = [*without_run(_handed(shown, scoped, call, kept.sources)), *plan]
        if runtime.model is None and not any(message.get("type") == "plan" for message in messages):
            raise DelegateError("it needs a model, and none is set")
        context = Context.checked(messages, runtime.data_kinds, request.context.origin)
        setup = Setup(
            runtime=runtime,
            context=context,
            shape=shape_of(request.schema),
            delegate=self.delegate(inner),
            record=inner.record,
        )
        return setup, inner


def _handed(request: SavedRequest, scoped: Context, call: Call, sources: Marks | None = None) -> list[JsonObject]:
    """A delegate's context; with `sources`, what of it calls have brought is marked (S10)."""
    crossed = scoped if sources is None else marked(scoped)
    messages = (carried_over(message, scoped.origin, request.context.origin) for message in crossed)
    return handed(request.context, messages, call, sources)


def _tools_in(context: Context) -> Iterator[str]:
    """The names of the tools that messages of a context define."""
    for message in context:
        if message.get("type") == "tool":
            yield from tool_names(message)


def _with_meta(request: SavedRequest) -> SavedRequest:
    """The request with its own identity shown, which its model is to raise (T5)."""
    saved = request.context
    return replace(request, context=saved.with_messages(identified(saved, request.meta)))


def _describe(tool: Tool) -> str:
    """What a model is told that carries out one call by itself: the tool as its schema describes it (D14)."""
    task = f"Carry out one call of the tool {tool.name!r}"
    lines = [f"{task}: {tool.description}" if tool.description else f"{task}."]
    for name, schema in tool.parameters["properties"].items():
        if is_object(schema) and schema.get("description"):
            lines.append(f"- {name}: {schema['description']}")
    return "\n".join(lines)


async def _run_or_suspend(loop: Loop, kept: Suspension) -> Result[Any]:
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


def handed(saved: Context, scoped: Iterable[JsonObject], call: Call, sources: Marks | None = None) -> list[JsonObject]:
    """A delegate's context: its own messages, what crosses to it, and its Input message (D4)."""
    crossing = list(scoped)
    inputs = list(_input_message(saved, crossing, call))
    if sources:
        inputs = [{**message, BROUGHT: lineage.lineage_mark(sources)} for message in inputs]
    replaced = {"meta"}.intersection(str(message.get("type")) for message in crossing)  # in place of its own (S11)
    stay = (message for message in saved if not _is_input(message) and message.get("type") not in replaced)
    return [*stay, *crossing, *inputs]


def _input_message(saved: Context, crossing: Iterable[JsonObject], call: Call) -> Iterable[JsonObject]:
    """The call's parameters over the delegate's own defaults, with its own schema (D5).

    A default stands back behind what crosses of its caller's input, too, which isn't said again: it is marked (S10).
    """
    declared = declared_input(saved)
    if not declared and not call.parameters:
        return
    defaults: Any = declared.get("†input", {})
    crossed: Any = Context.checked([*filter(_is_input, crossing)]).get("†input", {})
    value = defaults
    if is_object(defaults) and crossed != {}:
        value = _without(defaults, crossed) if is_object(crossed) else {}
    if call.parameters:
        layers = [{"type": "input", "input": layer} for layer in (value, call.parameters)]
        value = Context.checked(layers).get("†input", {})
    body = {"input": value} if value or is_object(crossed) else {}
    yield {"type": "input", **body, **notes_of(declared, "input", declared.data_kinds)}


def _without(defaults: JsonObject, crossed: JsonObject) -> JsonObject:
    """What of a delegate's defaults nothing that crosses takes the place of."""
    rest: JsonObject = {}
    for key, value in defaults.items():
        if key not in crossed:
            rest[key] = value
        elif is_object(value) and is_object(crossed[key]) and (inner := _without(value, crossed[key])):
            rest[key] = inner
    return rest


def declared_input(saved: Context) -> Context:
    """What a saved request says of its own input: its schema, and its defaults."""
    return Context.checked([*filter(_is_input, saved)], saved.data_kinds)


def _is_input(message: JsonObject) -> bool:
    return kind_of(message) == "input" and instance_of(message) is None
