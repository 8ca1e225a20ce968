"""The run whose calls are delegated: what its delegates inherit of it, and what bounds them (D12, D15)."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from ...dataflow.reference import Reference
from ...errors import (
    OUTCOMES,
    ActivityError,
    ActumError,
    DelegateDepthExceeded,
    DelegateError,
    DelegateForbidden,
    DelegateNotFound,
    IdeaError,
    LimitExceeded,
    NotInValue,
    Outcome,
    PlanFailed,
    PlanLeft,
)
from ...ideas.idea_config import IdeaConfig
from ...protocol.approvals import approval
from ...protocol.call import Call
from ...protocol.config import Limits
from ...protocol.context import Context, redacted
from ...protocol.declaration import parse_tool, tools_of
from ...protocol.message import OF
from ...protocol.registry import Catalog
from ...protocol.tool import Tool
from ...schema.gathering import links_of, with_links
from ...schema.infer import shape_of
from ...schema.json import Json, JsonObject, encode, is_object, plain
from ..budget import Budget, Spent
from ..emitter import Emitter
from ..ground import Runtime
from ..isolated import ANOTHER, Suspended, Suspension
from ..record.recorder import Recorder
from .machine import Machine


@dataclass(frozen=True, kw_only=True)
class SavedRequest:
    """What a `_delegate` points to, as it was saved. `is_foreign`: from outside, so that nothing local is its (D12)."""

    context: Context = field(default_factory=Context)
    schema: Any = None
    meta: JsonObject = field(default_factory=dict[str, Any])
    config: JsonObject = field(default_factory=dict[str, Any])
    solution: JsonObject | None = None
    is_foreign: bool = False
    roots: Sequence[Path] | None = ()
    """The folders in which modules that its config names may lie; None where the program says what it names."""

    @property
    def version(self) -> str:
        """The version that it says it is, empty where it says none."""
        return str(self.meta.get("version", ""))

    @cached_property
    def digest(self) -> str:
        """A hash of all that it consists of: equal for equal requests only."""
        schema = None if self.schema is None else shape_of(self.schema).schema
        whole = [self.context.messages, schema, self.meta, self.config, self.solution]
        return hashlib.sha256(encode(plain(whole), sort_keys=True).encode()).hexdigest()


class Resolver(Protocol):
    """Finds what a `_delegate` points to (D2)."""

    def __call__(self, reference: str, tool: Tool) -> Awaitable[SavedRequest]:
        """The saved request.

        Raises:
            DelegateError: there is none, or it may not be used.
        """
        ...


@dataclass(frozen=True, slots=True)
class Linking:
    """Closes the schemas of requests; within it an address is looked up once for each place that it is read from.

    It is found as a delegate of that address would be, and under the same rules: from outside, nothing local is.
    """

    resolve: Resolver
    most_depth: int
    _known: dict[tuple[str, str | None], JsonObject] = field(default_factory=dict[Any, JsonObject])

    async def __call__(self, request: SavedRequest) -> SavedRequest:
        """The same request, no schema of which refers to another Idea.

        Raises:
            IdeaError: naming the address that isn't there, has no schema, or the circle that it is part of.
        """
        if not has_links(request.context, request.schema):
            return request
        origin = request.context.origin
        messages = [await self.message(message, origin) for message in request.context]
        context = Context.checked(messages, request.context.data_kinds, origin)
        return replace(request, context=context, schema=await self.schema(request.schema, origin))

    async def message(self, message: JsonObject, origin: str | None) -> JsonObject:
        """One message, closed; raises as for a request."""
        if message.get("type") == "tool":
            tools: JsonObject = message["tool"]
            return {**message, "tool": {name: await self.schema(part, origin) for name, part in tools.items()}}
        if "schema" in message:
            return {**message, "schema": await self.schema(message["schema"], origin)}
        return message

    async def schema(self, schema: Any, origin: str | None) -> Any:
        """One schema, closed; raises as for a request."""
        return await self._closed(schema, origin, ())

    async def _closed(self, schema: Any, origin: str | None, chain: tuple[str, ...]) -> Any:
        addresses = links_of(schema)
        if not addresses:
            return schema
        return with_links(schema, {address: await self._target(address, origin, chain) for address in addresses})

    async def _target(self, address: str, origin: str | None, chain: tuple[str, ...]) -> JsonObject:
        whole = (*chain, address)
        if address in chain:
            raise IdeaError(
                f"schemas refer to each other in a circle: {' → '.join(map(redacted, whole[chain.index(address) :]))}"
            )
        if len(chain) >= self.most_depth:
            raise IdeaError(
                f"schemas refer to each other deeper than {self.most_depth}: {' → '.join(map(redacted, whole))}"
            )
        key = (address, origin)
        if key not in self._known:
            request = await self._resolve(address, origin)
            schema: Any = request.schema
            if not isinstance(schema, dict):
                raise IdeaError(f'{{"$ref": "{redacted(address)}"}}: that Idea has no schema to refer to')
            self._known[key] = await self._closed(schema, request.context.origin, whole)
        return self._known[key]

    async def _resolve(self, address: str, origin: str | None) -> SavedRequest:
        reader: Tool = parse_tool({}, "$ref", origin=origin)
        try:
            return await self.resolve(address, reader)
        except DelegateError as error:
            raise IdeaError(f'{{"$ref": "{redacted(address)}"}}: {error.reason}') from error


def has_links(context: Context, schema: Any) -> bool:
    """Whether any schema of a request refers to another Idea."""
    for message in context:
        key = "tool" if message.get("type") == "tool" else "schema"
        if key in message and links_of(message[key]):
            return True
    return bool(links_of(schema))


_DELEGATE_ERRORS = (DelegateError, DelegateNotFound, DelegateForbidden, DelegateDepthExceeded, NotInValue)
_PLAN_CODES = (PlanFailed.code, PlanLeft.code)
_META_KEPT = ("_activity", "_delegate")
"""The meta-properties of a call that go with it into a run of its own; the others say what becomes of its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A call that is to be a run of its own: what that begins with, and what it runs in."""

    place: str
    """Where the call is, from the run that asks for it: `0.0`, in a delegate `0.0/1.2`."""
    context: Sequence[JsonObject]
    schema: Any
    origin: str | None
    lineage: Sequence[JsonObject]
    """The delegates that led to it from the outermost run on, each as JSON (`Ancestor`)."""
    limits: Limits
    """What is left to spend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What has become of such a run: an output, or an error as JSON."""

    output: Json = None
    error: JsonObject | None = None
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A delegate that led to a run, by its name, and of its saved request what bounds it and those below it."""

    name: str
    request: SavedRequest
    tools: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Those that the messages of its context define, each with whether these are its own, or have crossed (D13)."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Ancestor:
        """The same from JSON."""
        roots = None if record["roots"] is None else [Path(root) for root in record["roots"]]
        origin = Context((), origin=record["origin"])
        request = SavedRequest(context=origin, config=record["config"], is_foreign=record["is_foreign"], roots=roots)
        return cls(record["name"], request, record.get("tools", {}))

    def to_dict(self) -> JsonObject:
        """The same as JSON."""
        request = self.request
        roots = None if request.roots is None else [str(root) for root in request.roots]
        bounds: JsonObject = {"config": dict(request.config), "is_foreign": request.is_foreign, "roots": roots}
        return {"name": self.name, "origin": request.context.origin, "tools": dict(self.tools), **bounds}


Spread: TypeAlias = Callable[[Child], Awaitable[Ended | str]]
"""Has a call carried out as a run of its own: what that has come to, or its id while it is under way. The same call
twice is one run."""


def context_of_item(call: Call, tool: Tool, scoped: Context, scopes: Sequence[str], registry: Catalog) -> Context:
    """The context of a run that makes one call, for an item of a list: a plan of that call alone.

    Its values are data outside the plan, so that nothing in them is read as a reference (E3). It was approved where the
    list was (L6).
    """
    kind = _free_kind(scoped)
    meta: JsonObject = {key: call[key] for key in _META_KEPT if key in call}
    references = {name: str(Reference(kind, (name,))) for name in call.parameters}
    inner: JsonObject = {"_tool": tool.name, **references, **meta, **({"_scopes": list(scopes)} if scopes else {})}
    tools = [] if registry.find(tool.name) is tool else [{"type": "tool", "tool": {tool.name: dict(tool.schema)}}]
    data: JsonObject = {"type": "data", "kind": kind, "data": dict(call.parameters)}
    plan: JsonObject = {"type": "plan", "plan": [inner], "output": "†calls.0", OF: "0"}
    messages = [*tools, *scoped, data, plan, approval("0.0", inner, "approve")]
    return scoped.with_messages(messages)


def _free_kind(scoped: Context) -> str:
    """A name for the values of a call that nothing else in its context has."""
    taken = {str(message.get(key)) for message in scoped for key in ("type", "kind")} | set(scoped.data_kinds)
    return next(name for number in range(len(taken) + 1) if (name := f"item{number or ''}") not in taken)


def failure_of(error: JsonObject, tool: Tool, *, is_item: bool) -> ActumError:
    """Why a run of its own has failed, for the call that it was: of a delegate's error only the kind crosses (D11)."""
    code, message = str(error.get("code")), str(error.get("message"))
    data: Any = error.get("data") or {}
    if code in _PLAN_CODES and is_object(cause := data.get("cause")):
        failure = failure_of(cause, tool, is_item=is_item)
        outcome: Outcome | None = next((outcome for outcome in OUTCOMES if outcome == data.get("outcome")), None)
        failure.outcome = outcome or failure.outcome
        return failure
    if code == LimitExceeded.code:
        return LimitExceeded(message, limit=str(data.get("limit")))
    kind = next((kind for kind in _DELEGATE_ERRORS if kind.code == code), None)
    if kind is None and is_item:
        return ActivityError(message.removeprefix(f"tool {tool.name!r}: "), tool=tool.name)
    if kind is None:
        return crossed_error(code, data, tool)
    text = message.removeprefix(f"tool {error.get('tool')!r}: ")
    reason = text.rpartition(" failed: ")[2] if "chain" in data else text
    return kind(reason, tool=tool.name, chain=data.get("chain", ()))


def crossed_error(code: str, data: Mapping[str, Any], tool: Tool) -> DelegateError:
    """An error inside a delegate as its caller is told it: its kind, or the delegates that it came from (D11)."""
    cause: Any = data.get("cause")
    failure = failure_of(cause, tool, is_item=False) if is_object(cause) else None
    return failure if isinstance(failure, DelegateError) else DelegateError(code, tool=tool.name)


CATCH_ALL = "_delegate"
"""The name of the Activity that carries out every delegated call: one registered under it takes its place (D16)."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A run, and what finds and bounds the delegates of its calls."""

    runtime: Runtime
    resolve: Resolver
    machine: Machine
    budget: Budget
    emit: Emitter
    record: Recorder = field(default_factory=Recorder)
    lineage: tuple[Ancestor, ...] = ()
    """The delegates that led here, from the outermost run on."""

    @property
    def deepest(self) -> int:
        """How many delegates may lie in each other."""
        limit, most = self.budget.limits.depth, self.runtime.config.max_depth
        return most if limit is None else min(limit, most)

    def check_depth(self, name: str, tool: Tool) -> None:
        """Whether another delegate may lie in those that led here.

        Raises:
            DelegateDepthExceeded: naming all of them.
        """
        most = self.deepest
        if len(self.lineage) >= most:
            chain = [*(ancestor.name for ancestor in self.lineage), name]
            raise DelegateDepthExceeded(
                f"delegates nest deeper than {most}: {' → '.join(map(redacted, chain))}", tool=tool.name
            )

    async def find(self, name: str, tool: Tool) -> SavedRequest:
        """What a name leads to, its schemas closed over the Ideas that they refer to (D2, X4).

        Raises:
            DelegateError: there is none, or it may not be used.
        """
        try:
            request = await self.resolve(name, tool)
        except DelegateError:
            raise
        except ActumError as error:
            raise DelegateError(f"{redacted(name)!r} can't be used: {error.message}", tool=tool.name) from error
        except Exception as error:
            raise DelegateError(
                f"{redacted(name)!r} could not be resolved: {type(error).__name__}", tool=tool.name
            ) from error
        if request.is_foreign:
            self._check_foreign(name, tool, request)
        try:
            return await Linking(self.resolve, self.runtime.config.max_depth)(request)
        except IdeaError as error:
            # The words of one from outside are not for its caller's model.
            reason = f"what {redacted(name)!r} refers to is not available" if request.is_foreign else error.message
            raise DelegateError(reason, tool=tool.name) from error

    def _check_foreign(self, name: str, tool: Tool, request: SavedRequest) -> None:
        """Refuse a delegate from outside that asks for what was not granted to it (D12, D15)."""
        try:
            names = [*IdeaConfig.parse(request.config).asked]
            for index, message in enumerate(request.context):
                if message.get("type") == "tool":
                    for declared in tools_of(message, index):
                        names += declared.choices("_activity") or [declared.fixed("_activity") or ""]
        except ActumError as error:
            raise unusable_error(name, tool, request, error) from error
        for name_asked in filter(None, names):
            if name_asked not in self.runtime.config.grants:
                why = f"{redacted(name)!r} comes from outside and asks for {name_asked!r}, which is not granted"
                raise DelegateForbidden(f"{why}: Config(grants=[…])", tool=tool.name)

    def below(self, lineage: Sequence[Ancestor]) -> Caller:
        """The same of a run that these delegates led to, one by one."""
        inner = self
        for ancestor in lineage:
            inner = replace(inner, runtime=inner.runtime_of(ancestor), lineage=(*inner.lineage, ancestor))
        return inner

    def runtime_of(self, ancestor: Ancestor) -> Runtime:
        """What a delegate runs in: the model and the Activities that it names itself, its caller's bounds (D15)."""
        request, grants = ancestor.request, self.runtime.config.grants
        idea = IdeaConfig.parse(request.config, request.context.origin or "the Idea")
        idea = idea.of("foreign" if request.is_foreign else "local")
        origin = None if request.is_foreign else request.context.origin
        # What is from outside may name what was granted by name, and that may lie anywhere.
        roots = None if request.is_foreign else request.roots
        tools = {name: is_own for name, is_own in ancestor.tools.items() if name not in grants}
        registry = self.machine.registry(self.runtime.registry, idea.activities, origin, roots, tools)
        if request.is_foreign:
            registry = registry.granted({CATCH_ALL, *grants})
        model = self.runtime.model if idea.model is None else self.machine.model(idea.model)
        media = self.runtime.media
        if media is not None and request.roots:
            media = media.within(request.roots)
        config = idea.below(self.runtime.config)
        return replace(self.runtime, config=config, model=model, registry=registry, media=media)

    def spreads(self, tool: Tool) -> bool:
        """Whether the calls of a tool are to be runs of their own, and somebody keeps such runs."""
        spread = self.runtime.config.spread
        return self.record.spread is not None and (spread if isinstance(spread, bool) else tool.name in spread)

    async def apart(
        self, at: Sequence[str], context: Context, schema: Any, tool: Tool, kept: Suspension, *, is_item: bool = False
    ) -> Any:
        """What a run of its own has come to that carries out a call of the run at `at`, within what bounds this one.

        Raises:
            Suspended: it is not over: the call waits for it.
        """
        assert self.record.spread is not None
        child = Child(
            place="/".join([*at, str(kept.place)]),
            context=list(context),
            schema=schema,
            origin=context.origin,
            lineage=[ancestor.to_dict() for ancestor in self.lineage],
            limits=self.budget.left,
        )
        ended: Ended | str = await self.record.spread(child)
        if isinstance(ended, str):
            kept.waiting = (f"{ANOTHER} {ended}",)
            raise Suspended
        self.budget.charge(ended.spent)
        self.budget.check()
        if ended.error is not None:
            raise failure_of(ended.error, tool, is_item=is_item)
        return ended.output


def unusable_error(name: str, tool: Tool, request: SavedRequest, error: ActumError) -> DelegateError:
    """Why a delegate can't begin. The words of one from outside are not for its caller's model (D12)."""
    reason = f"it can't be used: {error.code if request.is_foreign else error.message}"
    return DelegateError(reason, tool=tool.name, chain=[redacted(name)])
