"""The parts that make up the runs of an agent: for the agent itself, workers, replays, commands and the Studio."""

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
from .coercion import Given, as_context, as_model, blocking, check_initial_input, with_input, with_instructions
from .delegate_resolver import AnyDelegate, DelegateResolver
from .summary import with_summary

if TYPE_CHECKING:
    from ..schema.lowering import Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What an agent can reach beyond its tools, and its own types of messages."""

    registered: Registry
    """The process-wide registry, where modules that Ideas name register their Activities."""
    fetcher: Fetcher
    bounds_fetcher: bool = True
    """Whether the agent's config bounds the fetcher."""
    resolver: Resolver | None = None
    """Finds all delegates, in place of names, roots, store and fetcher."""
    tokens: Mapping[str, str] = field(default_factory=dict[str, str])
    """Tokens for other servers, by host."""
    handlers: Mapping[str, Handler] = field(default_factory=dict[str, Handler])
    data_kinds: frozenset[str] = DATA_KINDS
    around: Callable[[Model], Model] | None = None
    """Wraps the models that delegates name."""

    @classmethod
    def of(cls, config: Config, registered: Registry, fetcher: Fetcher | None = None, **parts: Any) -> Reach:
        """With this fetcher, or with a new one that the config bounds."""
        bounded = fetcher or Fetcher(allow_hosts=config.allow_hosts, most_bytes=config.max_delegate_bytes)
        return cls(registered=registered, fetcher=bounded, bounds_fetcher=fetcher is None, **parts)

    def bounded(self, config: Config) -> Reach:
        """The same for an agent with another config."""
        return replace(self, fetcher=Reach.of(config, self.registered).fetcher) if self.bounds_fetcher else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A snapshot of an agent for its next run: later changes of the agent count for later runs only."""

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
    """The declared type of `deps`: runs whose tools take them must have them."""
    instructions: Sequence[Callable[..., Any]] = ()
    """Functions that say the system messages at the beginning of a run."""

    @property
    def dialect(self) -> Dialect | None:
        """The JSON Schema that its model accepts; None if that isn't known."""
        return getattr(self.model, "dialect", None)

    def context(self, given: Given) -> Context:
        """The context that was given, checked."""
        return as_context(given, self.reach.handlers, self.reach.data_kinds)

    def restored(self, messages: Iterable[JsonObject], origin: str | None) -> Context:
        """The context of a kept run, with the agent's own types of messages.

        Raises:
            MessageError: a message is malformed.
        """
        return Context(messages, kinds=self.reach.handlers, data_kinds=self.reach.data_kinds, origin=origin)

    def emitter(self, sink: Callable[[AnyEvent], None] | None = None) -> Emitter:
        """The emitter of a run, which passes events to `sink`."""
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
        start, schema = await self._linked(context, schema)
        if input is None:
            check_initial_input(start)
        return Loop(self._setup(start, schema, input, budget, emit, record, lineage), budget, emit)

    async def request(self, context: Given, schema: Any, input: Mapping[str, Any] | None) -> Solution[Any]:
        """One answer; nothing in it is carried out."""
        budget, emit = Budget(self.limits), self.emitter()
        start, schema = await self._linked(context, schema)
        if input is None:
            check_initial_input(start)
        return await request_once(self._setup(start, schema, input, budget, emit), budget, emit)

    async def cut(
        self,
        context: Context,
        most: int | None,
        *,
        summary: bool = False,
        budget: Budget | None = None,
        emit: Emitter | None = None,
    ) -> Context:
        """A conversation's context without its oldest turns if it is longer than `most` characters.

        Raises:
            DelegateError, LimitExceeded: a `summary` was asked for and could not be made.
        """
        if most is None:
            return context
        if not summary:
            return cut_to(context, most)
        budget, emit = budget or Budget(self.limits), emit or self.emitter()
        return await with_summary(context, most, self.delegation(context, budget, emit))

    async def frame(self, context: Given, schema: Any = None) -> Frame:
        """What all requests of a run that begins with this context share; raises as `Agent.compose`."""
        start, schema = await self._linked(context, schema)
        setup = await self._setup(start, schema, None, Budget(self.limits), Emitter()).with_contracts()
        return setup.frame(setup.context)

    def first_request(self, context: Given, schema: Any) -> tuple[Frame, ModelRequest]:
        """What the model would be sent first."""
        budget = Budget(self.limits)
        start = self.context(context)
        if self.instructions or has_links(start, schema):
            start, schema = blocking(self._linked(start, schema))
        setup = self._setup(start, schema, None, budget, Emitter())
        if setup.has_upfront():
            setup = blocking(setup.with_contracts())
        frame = setup.frame(setup.context)
        return frame, frame.request(setup.context, notices=list(budget.notices(0)))

    async def prepared(
        self, context: Given, schema: Any = None, *, input: Mapping[str, Any] | None = None
    ) -> tuple[Context, Any]:
        """The context and the schema that a run with this input would begin with; they refer to no other Idea.

        Raises:
            MessageError, IdeaError: what was given is malformed.
        """
        start, schema = await self._linked(context, schema)
        return with_input(start, input), schema

    def linking(self, data_kinds: Collection[str] = DATA_KINDS) -> Linking:
        """Resolves the references of schemas to other Ideas, for one run."""
        return Linking(self.resolver(data_kinds), self.config.max_depth)

    def resolver(self, data_kinds: Collection[str] = DATA_KINDS) -> Resolver:
        """Finds the delegates of one run."""
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
        """Refuse `deps` of another class than declared, or missing `deps` that one of the `called` tools needs.

        Raises:
            SchemaError: saying what the tools take and what was given.
        """
        if not _may_be(self.deps, self.needs):
            raise SchemaError(f"the tools take a {_name(self.needs)}, and are given {_kind(self.deps)}", path="deps")
        for name in called:
            activity = self.tools.find_activity(name)
            takes = None if activity is None else activity.needs
            needs = (self.needs or takes) if activity is not None and activity.ctx else None
            if self.deps is None and needs is not None:
                raise SchemaError(_missing(needs), tool=name, path="deps")
            if not _may_be(self.deps, takes):
                raise SchemaError(f"it takes a {_name(takes)}, and is given {_kind(self.deps)}", tool=name, path="deps")

    def _check_deps(self) -> None:
        """Refuse a run whose tools or instructions need `deps` that are missing, or of another class."""
        self.check_deps(self.tools.activity_names if self.needs is not None else [tool.name for tool in self.tools])
        taking = next((function for function in self.instructions if signature(function).parameters), None)
        if taking is not None and self.needs is not None and self.deps is None:
            raise SchemaError(f"the instructions {taking.__name__!r}: {_missing(self.needs)}", path="deps")

    async def _linked(self, given: Given, schema: Any) -> tuple[Context, Any]:
        context = self.context(given)
        if self.instructions:
            context = await with_instructions(context, self.instructions, self.deps)
        if not has_links(context, schema):
            return context, schema
        request = await self.linking(context.data_kinds)(SavedRequest(context=context, schema=schema))
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
        context = with_input(context, input)
        shape = shape_of(schema)
        Validator(shape.schema, at="schema")
        recorder = record or Recorder()
        caller = self._caller(context, budget, emit, recorder).below(lineage)
        return Setup(runtime=caller.runtime, context=context, shape=shape, delegate=Delegation(caller), record=recorder)

    def delegation(self, context: Context, budget: Budget, emit: Emitter, doings: Doings | None = None) -> Delegation:
        """Carries out the calls for which the agent has no code."""
        return Delegation(self._caller(context, budget, emit, doings=doings))

    def _caller(
        self,
        context: Context,
        budget: Budget,
        emit: Emitter,
        record: Recorder | None = None,
        doings: Doings | None = None,
    ) -> Caller:
        """What the delegates of a run inherit from it."""
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
    """The class that `Agent[Deps](…)` or `Tools[Deps]()` names, or None."""
    (declared, *_) = get_args(getattr(typed, "__orig_class__", None)) or (None,)
    return declared if isinstance(declared, type) and declared not in (Any, object, type(None)) else None


def _missing(needs: Any) -> str:
    return f"it takes a Ctx, and the run has no {_name(needs)}: run(…, deps=…)"


def _name(needs: Any) -> str:
    return getattr(needs, "__name__", str(needs))


def _kind(deps: object) -> str:
    return "the class itself" if isinstance(deps, type) else f"a {_name(type(deps))}"


def _may_be(given: object, declared: object) -> bool:
    """Whether `deps` may be of the declared type, as far as that can be checked."""
    if (
        given is None
        or not isinstance(declared, type)
        or is_protocol(declared)
        or is_typeddict(declared)
        or declared is Any
    ):
        return True
    # A notebook's cell that is run again, or a reloaded module, defines another class of the same name.
    return isinstance(given, declared) or declared.__qualname__ in {base.__qualname__ for base in type(given).__mro__}
