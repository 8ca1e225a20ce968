"""The catch-all Activity for tools with a `_delegate`: each call is a run of its own (D1-D16)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ...errors import (
    ActumError,
    DelegateDepthExceeded,
    DelegateError,
    DelegateForbidden,
    Fenced,
    IdeaError,
    InvalidParameters,
    LimitExceeded,
    SchemaError,
)
from ...generation.model import Model
from ...generation.render import scope_hint
from ...ideas.config import IdeaConfig
from ...ideas.file import plan_of
from ...ideas.identity import identified
from ...messages import Media
from ...protocol import lineage
from ...protocol.activity import Activity, Choice
from ...protocol.call import Call
from ...protocol.config import Config
from ...protocol.context import Context, marked
from ...protocol.contract import merge_contract, merge_interface
from ...protocol.declaration import tool_names, tools_of
from ...protocol.lineage import BROUGHT, Marks
from ...protocol.marks import without_run
from ...protocol.message import instance_of, kind_of
from ...protocol.origin import crossing, told
from ...protocol.place import Place
from ...protocol.reader import Reader
from ...protocol.scopes import notes_of
from ...protocol.solution import Result
from ...protocol.tool import ANONYMOUS, Tool
from ...schema.infer import shape_of
from ...schema.json import JsonObject, is_object
from ...schema.validator import Validator
from ..budget import Budget
from ..calls.invoking import Output, invoke
from ..emitter import Emitter
from ..isolated import ANOTHER, Suspended, Suspension
from ..loop import Loop
from ..record.recorder import Recorder
from ..setup import Runtime, Setup
from .linking import Linking
from .reading import read
from .remote import carried_out, check_remote, is_remote
from .resolver import Machine, Resolver, SavedRequest
from .spreading import Ancestor, Child, Ended, context_of_item, crossed, failure_of, is_spread

CATCH_ALL = "_delegate"
"""The name of the Activity that carries out every delegated call: one registered under it takes its place (D16)."""


@dataclass(frozen=True, slots=True)
class Delegation:
    """Carries out the delegated calls of one run; below it, of the runs that these lead to."""

    runtime: Runtime
    resolve: Resolver
    machine: Machine
    budget: Budget
    emit: Emitter
    record: Recorder = field(default_factory=Recorder)
    lineage: tuple[Ancestor, ...] = ()
    """The delegates that led here, from the outermost run on."""

    async def __call__(self, call: Call, tool: Tool, context: Context, suspension: Suspension | None = None) -> Any:
        """The output of the delegate's own run, which sees of its parent only the scoped context (D4, D7).

        With a suspension it continues from there, and leaves its context there if it is cut (L8).
        """
        name = str(call["_delegate"])
        self._check_depth(name, tool)
        kept = suspension or Suspension(place=Place(0), call=call)
        serving = self._in_its_place(name, tool)
        if serving is not None:
            self._check_named(name, call, tool)
            activity = serving.of(call)
            activity.check(tool)
            kept.has_effects = tool.effects != "none"
            return await self._invoked(call, tool, context, activity)
        if isinstance(tool, Reader):
            return await self._read(call, tool, kept, context.key)
        if name == ANONYMOUS:
            return await self.latent(call, tool, context, kept)
        if is_remote(name):
            self._check_remote(name, tool)
            kept.has_effects = tool.effects != "none"
            return await self._remote(name, call, tool, context, kept.place)
        found = await self._found(name, tool)
        serving = self.runtime.registry.serving(tool)
        if serving is None:
            return await self._run(name, call, tool, found, context, kept)
        if self.record.settled is not None:  # what was found may have taken long to find
            await self.record.settled()
        own = Context.checked(self._messages(found, context, call), found.context.data_kinds, found.context.origin)
        kept.has_effects = tool.effects != "none"
        return await self._invoked(call, tool, own.keyed(context.key, context.lease), serving.of(call))

    async def _invoked(self, call: Call, tool: Tool, context: Context, activity: Activity) -> Any:
        """The result of an Activity, as if it had returned that itself."""
        result = await invoke(call, tool, context, activity, self.budget, doings=self.runtime.doings)
        if result.messages:
            return list(result.messages)
        if result.path is None and not result.beside:
            return result.value
        return Output(result.value, result.path and str(result.path), cast("tuple[Media, ...]", result.beside))

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
        if self._in_its_place(name, tool) is not None:
            named = self._named(name, tool)
            return tool if named is None else merge_interface(tool, named)
        if is_remote(name):
            self._check_remote(name, tool)
            there = await self.machine.remote(name, self.runtime.config).interface()
            takes, gives = there.get("input"), there.get("output")
            own = takes if is_object(takes) else None
            return merge_contract(tool, own, gives if is_object(gives) else None, {})
        found = await self._found(name, tool)
        declared = _declared(found.context)
        takes = notes_of(declared, "input", declared.data_kinds).get("schema")
        try:
            if takes is not None:
                Validator(takes, at="schema")
            gives = None if found.schema is None else shape_of(found.schema).schema
        except ActumError as error:
            raise _unusable(name, tool, found, error) from error
        defaults = declared.get("†input", {})
        return merge_contract(tool, takes, gives, defaults if is_object(defaults) else {})

    async def _remote(self, name: str, call: Call, tool: Tool, context: Context, place: Place) -> Any:
        """Let another server carry a call out."""
        remote = self.machine.remote(name, self.runtime.config)
        try:
            depth = self._deepest - len(self.lineage) - 1
            result = await carried_out(remote, call, context, place, self.budget, self.emit, depth=depth)
        except DelegateError as error:
            raise error.of(told(name), tool.name) from error
        if (doings := self.runtime.doings) is not None and (doing := doings.begin(call, tool, None)) is not None:
            doings.done(doing, result)
        return result

    def _check_remote(self, name: str, tool: Tool) -> None:
        config = self.runtime.config
        check_remote(name, tool, grants=tuple(config.grants), sealed=config.sealed)

    async def latent(
        self, call: Call, tool: Tool, context: Context, kept: Suspension | None = None, *, hint: Sequence[str] = ()
    ) -> Any:
        """Let a model carry out one call by itself: one request whose schema is the tool's `_output` (D9).

        `hint` are scopes that it is to be made from, where more is seen of the context (S4).
        """
        words = [_described(tool), *([scope_hint({tool.name: hint})] if hint else [])]
        told = Context([{"type": "system", "message": one} for one in words])
        found = SavedRequest(context=told, schema=tool.output or {})
        return await self._run(ANONYMOUS, call, tool, found, context, kept or Suspension(place=Place(0), call=call))

    async def _read(self, call: Call, tool: Tool, kept: Suspension, key: str) -> Any:
        """Let a model answer one question about one value (D18)."""
        own, named = self.runtime.config, self.runtime.config.reader
        model: Model | None = self.machine.model(named) if isinstance(named, str) else named or self.runtime.model
        if model is None:
            raise DelegateError("it needs a model, and none is set", tool=tool.name)
        config = Config(flow=False, retries=own.retries)
        if named is None:  # the settings of one model are not for another
            config = replace(config, settings=own.settings)
        emit = replace(self.emit.below(call, kept.place), run=key.rpartition("/")[0])
        record = self.record
        return await read(call, tool, model, config, self.budget, emit, self, record.settled, record.gate)

    def _in_its_place(self, name: str, tool: Tool) -> Activity | Choice | None:
        """The Activity that a call goes to instead of any delegate (D9, D13, D16)."""
        registry = self.runtime.registry
        if (replaced := registry.find_activity(CATCH_ALL)) is not None:
            return replaced
        if isinstance(tool, Reader):
            return None  # an Activity that happens to have its name is for other tools
        if name == ANONYMOUS:
            return registry.serving(tool, name)
        is_known = tool.bound is not None or name in self.machine.delegates
        return None if is_known else registry.find_activity(name)

    def _named(self, name: str, tool: Tool) -> Tool | None:
        """The registered tool that a `_delegate` names, whose Activity takes its place: its whole interface (D13)."""
        registry = self.runtime.registry
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

    @property
    def _deepest(self) -> int:
        """How many delegates may lie in each other."""
        limit, most = self.budget.limits.depth, self.runtime.config.max_depth
        return most if limit is None else min(limit, most)

    def _check_depth(self, name: str, tool: Tool) -> None:
        most = self._deepest
        if len(self.lineage) >= most:
            chain = [*(one.name for one in self.lineage), name]
            raise DelegateDepthExceeded(
                f"delegates nest deeper than {most}: {' → '.join(map(told, chain))}", tool=tool.name
            )

    async def _found(self, name: str, tool: Tool) -> SavedRequest:
        try:
            found = await self.resolve(name, tool)
        except DelegateError:
            raise
        except ActumError as error:
            raise DelegateError(f"{told(name)!r} can't be used: {error.message}", tool=tool.name) from error
        except Exception as error:
            raise DelegateError(
                f"{told(name)!r} could not be resolved: {type(error).__name__}", tool=tool.name
            ) from error
        if found.is_foreign:
            self._check_foreign(name, tool, found)
        try:
            return await Linking(self.resolve, self.runtime.config.max_depth)(found)
        except IdeaError as error:
            # The words of one from outside are not for its caller's model.
            reason = f"what {told(name)!r} refers to is not available" if found.is_foreign else error.message
            raise DelegateError(reason, tool=tool.name) from error

    def _check_foreign(self, name: str, tool: Tool, found: SavedRequest) -> None:
        """Refuse a delegate from outside that asks for what was not granted to it (D12, D15)."""
        try:
            asked = [*IdeaConfig.parse(found.config).asked]
            for index, message in enumerate(found.context):
                if message.get("type") == "tool":
                    for one in tools_of(message, index):
                        asked += one.choices("_activity") or [one.fixed("_activity") or ""]
        except ActumError as error:
            raise _unusable(name, tool, found, error) from error
        for one in filter(None, asked):
            if one not in self.runtime.config.grants:
                raise DelegateForbidden(
                    f"{told(name)!r} comes from outside and asks for {one!r}, which is not granted: Config(grants=[…])",
                    tool=tool.name,
                )

    async def _run(
        self, name: str, call: Call, tool: Tool, found: SavedRequest, scoped: Context, kept: Suspension
    ) -> Any:
        try:
            setup, inner = self._setup(call, found, scoped, kept)
            is_apart = kept.context is None and is_spread(self.runtime.config, tool) and self.record.spread is not None
            loop = None if is_apart else Loop(setup, self.budget, inner.emit)
        except DelegateError as error:
            raise error.of(told(name), tool.name) from error
        except ActumError as error:
            raise _unusable(name, tool, found, error) from error
        try:
            if loop is None:
                child = inner.child(self.record.at, kept.place, setup.context, setup.shape.schema)
                kept.has_effects = tool.effects != "none"
                return await self._apart(child, tool, kept)
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
            failure = inner_error.of(told(name), tool.name)
            failure.outcome = "unknown" if kept.has_effects else "failed"  # what it has begun stays done (C15)
            raise failure from error

    def below(self, lineage: Sequence[Ancestor]) -> Delegation:
        """The same of a run that these delegates led to, one by one."""
        inner = self
        for one in lineage:
            inner = replace(inner, runtime=inner._runtime_of(one), lineage=(*inner.lineage, one))
        return inner

    def takes_item(self, tool: Tool) -> bool:
        """Whether the calls of a tool for the items of a list are runs of their own."""
        return self.record.spread is not None and is_spread(self.runtime.config, tool)

    async def item(
        self, call: Call, tool: Tool, context: Context, scopes: Sequence[str], suspension: Suspension
    ) -> Any:
        """The result of a call for an item of a list, which a run of its own makes."""
        own = context_of_item(call, tool, context, scopes, self.runtime.registry)
        child = self.child(self.record.at, suspension.place, own, None)
        return await self._apart(child, tool, suspension, is_item=True)

    def child(self, at: Sequence[str], place: Place, context: Context, schema: Any) -> Child:
        """The run that is to carry out the call at a place, within what bounds this one."""
        return Child(
            place="/".join([*at, str(place)]),
            context=list(context),
            schema=schema,
            origin=context.origin,
            lineage=[one.to_dict() for one in self.lineage],
            limits=self.budget.left,
        )

    async def _apart(self, child: Child, tool: Tool, kept: Suspension, *, is_item: bool = False) -> Any:
        """What a run of its own has come to; until it has come to something, the call waits for it."""
        assert self.record.spread is not None
        ended: Ended | str = await self.record.spread(child)
        if isinstance(ended, str):
            kept.waiting = (f"{ANOTHER} {ended}",)
            raise Suspended
        self.budget.charge(ended.spent)
        self.budget.check()
        if ended.error is not None:
            raise failure_of(ended.error, tool, is_item=is_item)
        return ended.output

    def _setup(self, call: Call, found: SavedRequest, scoped: Context, kept: Suspension) -> tuple[Setup, Delegation]:
        """What a delegate's run is made of, and what carries out its own delegates."""
        tools = dict.fromkeys(_tools_in(found.context), True) | dict.fromkeys(_tools_in(scoped), False)
        ancestor = Ancestor(str(call.get("_delegate", call.tool)), found, tools)
        runtime = self._runtime_of(ancestor)
        emit, record = self.emit.below(call, kept.place), self.record.below(kept.place, dict(kept.call))
        inner = replace(self, runtime=runtime, emit=emit, record=record, lineage=(*self.lineage, ancestor))
        messages = kept.context
        if messages is None:
            own = found if runtime.config.meta is False else _with_meta(found)
            saved = plan_of(found.solution, found.meta) if runtime.model is None else []
            # A run of its own: what the saved request was once part of has other calls, with other keys (C9).
            crossed = self._messages(own, scoped, call, kept.sources)
            messages = [*without_run(crossed), *saved]
        if runtime.model is None and not any(message.get("type") == "plan" for message in messages):
            raise DelegateError("it needs a model, and none is set")
        context = Context.checked(messages, runtime.data_kinds, found.context.origin)
        setup = Setup(
            runtime=runtime, context=context, shape=shape_of(found.schema), delegate=inner, record=inner.record
        )
        return setup, inner

    @staticmethod
    def _messages(found: SavedRequest, scoped: Context, call: Call, sources: Marks | None = None) -> list[JsonObject]:
        """A delegate's context; with `sources`, what of it calls have brought is marked (S10)."""
        origin = found.context.origin
        crossed = scoped if sources is None else marked(scoped)
        return context_of(found.context, (crossing(one, scoped.origin, origin) for one in crossed), call, sources)

    def _runtime_of(self, ancestor: Ancestor) -> Runtime:
        """What a delegate runs in: the model and the Activities that it names itself, its caller's bounds (D15)."""
        found, grants = ancestor.found, self.runtime.config.grants
        own = IdeaConfig.parse(found.config, found.context.origin or "the Idea")
        own = own.of("foreign" if found.is_foreign else "local")
        origin = None if found.is_foreign else found.context.origin
        # What is from outside may name what was granted by name, and that may lie anywhere.
        roots = None if found.is_foreign else found.roots
        tools = {name: is_own for name, is_own in ancestor.tools.items() if name not in grants}
        registry = self.machine.registry(self.runtime.registry, own.activities, origin, roots, tools)
        if found.is_foreign:
            registry = registry.granted({CATCH_ALL, *grants})
        model = self.runtime.model if own.model is None else self.machine.model(own.model)
        media = self.runtime.media
        if media is not None and found.roots:
            media = media.within(found.roots)
        return replace(self.runtime, config=own.below(self.runtime.config), model=model, registry=registry, media=media)


def _tools_in(context: Context) -> Iterator[str]:
    """The names of the tools that messages of a context define."""
    for message in context:
        if message.get("type") == "tool":
            yield from tool_names(message)


def _unusable(name: str, tool: Tool, found: SavedRequest, error: ActumError) -> DelegateError:
    """Why a delegate can't begin. The words of one from outside are not for its caller's model (D12)."""
    reason = f"it can't be used: {error.code if found.is_foreign else error.message}"
    return DelegateError(reason, tool=tool.name, chain=[told(name)])


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


def context_of(
    own: Context, scoped: Iterable[JsonObject], call: Call, sources: Marks | None = None
) -> list[JsonObject]:
    """A delegate's context: its own messages, what crosses to it, and its Input message (D4)."""
    crossing = list(scoped)
    given = list(_input_message(own, crossing, call))
    if sources:
        given = [{**one, BROUGHT: lineage.told(sources)} for one in given]
    replaced = {"meta"}.intersection(str(one.get("type")) for one in crossing)  # in place of its own (S11)
    kept = (one for one in own if not _is_input(one) and one.get("type") not in replaced)
    return [*kept, *crossing, *given]


def _input_message(own: Context, crossing: Iterable[JsonObject], call: Call) -> Iterable[JsonObject]:
    """The call's parameters over the delegate's own defaults, with its own schema (D5).

    A default stands back behind what crosses of its caller's input, too, which isn't said again: it is marked (S10).
    """
    declared = _declared(own)
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


def _declared(own: Context) -> Context:
    return Context.checked([message for message in own if _is_input(message)], own.data_kinds)


def _is_input(message: JsonObject) -> bool:
    return kind_of(message) == "input" and instance_of(message) is None
