"""What the runs of an agent are put together of: for the agent itself, workers, replays, commands and the Studio."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from typing_extensions import is_protocol, is_typeddict

from ..errors import SchemaError
from ..events import AnyEvent
from ..execution.approver import Approve
from ..execution.budget import Budget
from ..execution.delegation.caller import Ancestor, Caller, Linking, Resolver, SavedRequest, has_links
from ..execution.delegation.delegation import Delegation
from ..execution.delegation.machine import Machine
from ..execution.emitter import Emitter
from ..execution.ground import Ring, Runtime
from ..execution.loop import Loop, request_once
from ..execution.record.recorder import Recorder
from ..execution.setup import Setup
from ..execution.undoing import Doings
from ..generation.compile import Frame, Handler
from ..generation.model import Model, ModelRequest
from ..ideas.store import Store
from ..protocol.config import Config, Limits
from ..protocol.context import Context
from ..protocol.marks import cut_to
from ..protocol.message import DATA_KINDS
from ..protocol.registry import Catalog, Registry
from ..protocol.solution import Solution
from ..schema.infer import shape_of
from ..schema.json import JsonObject
from ..schema.validator import Validator
from ..sources.fetch import Fetcher
from ..sources.media_reader import MediaReader
from ..tracing.trace import Trace
from ..tracing.tracers import tracer_of
from .coercion import Given, as_context, as_model, blocking, check_begins, instructed, with_input
from .delegate_resolver import AnyDelegate, DelegateResolver
from .summary import shortened

if TYPE_CHECKING:
    from ..schema.lowering import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What an agent finds beyond its tools, and the types of messages that it knows of its own."""

    registered: Registry
    """The process-wide registry, in which the modules register that Ideas name."""
    fetcher: Fetcher
    bounds_fetcher: bool = True
    """Whether it is the agent's config that bounds the fetcher."""
    resolver: Resolver | None = None
    """What finds delegates instead of their names, the roots, the store and the fetcher."""
    tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those for other servers, by host."""
    handlers: Mapping[str, Handler] = field(default_factory=dict[str, Handler])
    data_kinds: frozenset[str] = DATA_KINDS
    around: Callable[[Model], Model] | None = None
    """Makes of a model that a delegate names what is asked in its place."""

    @classmethod
    def of(cls, config: Config, registered: Registry, fetcher: Fetcher | None = None, **more: Any) -> Reach:
        """With this fetcher, or with one of its own that the config bounds."""
        own = fetcher or Fetcher(allow_hosts=config.allow_hosts, most_bytes=config.max_delegate_bytes)
        return cls(registered=registered, fetcher=own, bounds_fetcher=fetcher is None, **more)

    def bounded(self, config: Config) -> Reach:
        """The same for an agent of another config."""
        return replace(self, fetcher=Reach.of(config, self.registered).fetcher) if self.bounds_fetcher else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """An agent as its next run begins: what is changed of the agent later is for later runs."""

    model: Model | None
    tools: Catalog
    config: Config
    limits: Limits
    approve: Approve | None
    delegates: Mapping[str, AnyDelegate]
    roots: Sequence[Path]
    store: Store | None = None
    trace: Trace | bool | None
    reach: Reach
    ring: Ring | None = None
    deps: Any = None
    needs: Any = None
    """What was declared as the type of `deps`: runs whose tools take them have to have them."""
    instructions: Sequence[Callable[..., Any]] = ()
    """What says more of them as a run begins."""

    @property
    def dialect(self) -> Dialect | None:
        """What its model takes of JSON Schema; None if that isn't known."""
        return getattr(self.model, "dialect", None)

    def context(self, given: Given) -> Context:
        """The context that was given, judged."""
        return as_context(given, self.reach.handlers, self.reach.data_kinds)

    def restored(self, messages: Iterable[JsonObject], origin: str | None) -> Context:
        """The context of a run that was kept, with the agent's own types of messages.

        Raises:
            MessageError: a message is malformed.
        """
        return Context(messages, kinds=self.reach.handlers, data_kinds=self.reach.data_kinds, origin=origin)

    def emitter(self, sink: Callable[[AnyEvent], None] | None = None) -> Emitter:
        """What tells of a run, its events to `sink`."""
        return Emitter(sink, trace=tracer_of(self.trace))

    async def loop(
        self,
        context: Given,
        schema: Any,
        input: Mapping[str, Any] | None,
        emit: Emitter,
        record: Recorder | None = None,
        budget: Budget | None = None,
        lineage: Sequence[Ancestor] = (),
    ) -> Loop:
        """A run that is ready to begin."""
        self._check_deps()
        budget = budget or Budget(self.limits)
        own, schema = await self._linked(context, schema)
        if input is None:
            check_begins(own)
        return Loop(self._setup(own, schema, input, budget, emit, record, lineage), budget, emit)

    async def request(self, context: Given, schema: Any, input: Mapping[str, Any] | None) -> Solution[Any]:
        """One answer, of which nothing is carried out."""
        budget, emit = Budget(self.limits), self.emitter()
        own, schema = await self._linked(context, schema)
        if input is None:
            check_begins(own)
        return await request_once(self._setup(own, schema, input, budget, emit), budget, emit)

    async def cut(
        self,
        context: Context,
        most: int | None,
        *,
        summary: bool = False,
        budget: Budget | None = None,
        emit: Emitter | None = None,
    ) -> Context:
        """A conversation's context without its oldest turns where it is longer than so many characters.

        Raises:
            DelegateError, LimitExceeded: a `summary` was asked for, and there is none.
        """
        if most is None:
            return context
        if not summary:
            return cut_to(context, most)
        budget, emit = budget or Budget(self.limits), emit or self.emitter()
        return await shortened(context, most, self.delegation(context, budget, emit))

    async def frame(self, context: Given, schema: Any = None) -> Frame:
        """What the requests of a run that begins with this context share; raises as `Agent.compose`."""
        own, schema = await self._linked(context, schema)
        setup = await self._setup(own, schema, None, Budget(self.limits), Emitter()).contracted()
        return setup.frame(setup.context)

    def first_request(self, context: Given, schema: Any) -> tuple[Frame, ModelRequest]:
        """What the model would be sent first."""
        budget = Budget(self.limits)
        own = self.context(context)
        if self.instructions or has_links(own, schema):
            own, schema = blocking(self._linked(own, schema))
        setup = self._setup(own, schema, None, budget, Emitter())
        if setup.has_upfront():
            setup = blocking(setup.contracted())
        frame = setup.frame(setup.context)
        return frame, frame.request(setup.context, notices=list(budget.notices(0)))

    async def prepared(
        self, context: Given, schema: Any = None, *, input: Mapping[str, Any] | None = None
    ) -> tuple[Context, Any]:
        """What a run with this input would begin with: its context and its schema, referring to no other Idea.

        Raises:
            MessageError, IdeaError: what was given is malformed.
        """
        own, schema = await self._linked(context, schema)
        return with_input(own, input), schema

    def linking(self, data_kinds: Collection[str] = DATA_KINDS) -> Linking:
        """What closes the schemas of one run over the Ideas that they refer to."""
        return Linking(self.resolver(data_kinds), self.config.max_depth)

    def resolver(self, data_kinds: Collection[str] = DATA_KINDS) -> Resolver:
        """What finds the delegates of one run."""
        return self.reach.resolver or DelegateResolver(
            named=self.delegates,
            roots=self.roots,
            config=self.config,
            fetcher=self.reach.fetcher,
            store=self.store,
            kinds=frozenset(self.reach.handlers),
            data_kinds=frozenset(data_kinds),
        )

    def check_deps(self, called: Iterable[str]) -> None:
        """Refuse `deps` of another class than was declared, or none where tools of these names would miss them.

        Raises:
            SchemaError: what they take, and what there is.
        """
        if not _may_be(self.deps, self.needs):
            raise SchemaError(f"the tools take a {_name(self.needs)}, and are given {_told(self.deps)}", path="deps")
        for name in called:
            activity = self.tools.find_activity(name)
            own = None if activity is None else activity.needs
            needs = (self.needs or own) if activity is not None and activity.ctx else None
            if self.deps is None and needs is not None:
                raise SchemaError(_without(needs), tool=name, path="deps")
            if not _may_be(self.deps, own):
                raise SchemaError(f"it takes a {_name(own)}, and is given {_told(self.deps)}", tool=name, path="deps")

    def _check_deps(self) -> None:
        """Refuse a run whose tools and instructions would miss what it was not given, or find something else."""
        self.check_deps(self.tools.activity_names if self.needs is not None else [tool.name for tool in self.tools])
        taking = next((one for one in self.instructions if signature(one).parameters), None)
        if taking is not None and self.needs is not None and self.deps is None:
            raise SchemaError(f"the instructions {taking.__name__!r}: {_without(self.needs)}", path="deps")

    async def _linked(self, given: Given, schema: Any) -> tuple[Context, Any]:
        own = self.context(given)
        if self.instructions:
            own = await instructed(own, self.instructions, self.deps)
        if not has_links(own, schema):
            return own, schema
        request = await self.linking(own.data_kinds)(SavedRequest(context=own, schema=schema))
        return request.context, request.schema

    def _setup(
        self,
        context: Context,
        schema: Any,
        input: Mapping[str, Any] | None,
        budget: Budget,
        emit: Emitter,
        record: Recorder | None = None,
        lineage: Sequence[Ancestor] = (),
    ) -> Setup:
        own = with_input(context, input)
        shape = shape_of(schema)
        Validator(shape.schema, at="schema")
        telling = record or Recorder()
        caller = self._caller(own, budget, emit, telling).below(lineage)
        return Setup(runtime=caller.runtime, context=own, shape=shape, delegate=Delegation(caller), record=telling)

    def delegation(self, context: Context, budget: Budget, emit: Emitter, doings: Doings | None = None) -> Delegation:
        """What carries out the calls that no code of the agent's does."""
        return Delegation(self._caller(context, budget, emit, doings=doings))

    def _caller(
        self,
        context: Context,
        budget: Budget,
        emit: Emitter,
        record: Recorder | None = None,
        doings: Doings | None = None,
    ) -> Caller:
        """What the delegates of a run inherit of it."""
        runtime = Runtime(
            model=self.model,
            registry=self.tools,
            config=self.config,
            approve=self.approve,
            handlers=self.reach.handlers,
            data_kinds=context.data_kinds,
            media=MediaReader(roots=self.roots, fetcher=self.reach.fetcher, most=self.config.max_media_bytes),
            doings=doings,
            ring=self.ring,
            deps=self.deps,
        )
        around = self.reach.around
        machine = Machine(
            registered=self.reach.registered,
            load=as_model if around is None else lambda name: around(as_model(name)),
            delegates=self.delegates,
            tokens=self.reach.tokens,
        )
        return Caller(runtime, self.resolver(context.data_kinds), machine, budget, emit, record or Recorder())


def declared_deps(typed: object) -> Any:
    """The class that `Agent[Deps](…)` or `Tools[Deps]()` was made with, None where that names none."""
    (declared, *_) = get_args(getattr(typed, "__orig_class__", None)) or (None,)
    return declared if isinstance(declared, type) and declared not in (Any, object, type(None)) else None


def _without(needs: Any) -> str:
    return f"it takes a Ctx, and the run has no {_name(needs)}: run(…, deps=…)"


def _name(needs: Any) -> str:
    return getattr(needs, "__name__", str(needs))


def _told(deps: object) -> str:
    return "the class itself" if isinstance(deps, type) else f"a {_name(type(deps))}"


def _may_be(given: object, declared: object) -> bool:
    """Whether `deps` may be of the type that was declared; what can't be told may be."""
    if (
        given is None
        or not isinstance(declared, type)
        or is_protocol(declared)
        or is_typeddict(declared)
        or declared is Any
    ):
        return True
    # What a notebook's cell or a reloaded module has defined anew is another class of the same name.
    return isinstance(given, declared) or declared.__qualname__ in {one.__qualname__ for one in type(given).__mro__}
