"""`Agent`: a model, tools and limits put together, and the ways to run a context through them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from ..errors import MessageError, SchemaError
from ..events import AnyEvent
from ..execution.budget import Budget, Spent
from ..execution.calls.approval import Approve, check_approver
from ..execution.delegation.delegation import Delegation
from ..execution.delegation.linking import Linking, has_links
from ..execution.delegation.resolver import Resolver, SavedRequest
from ..execution.delegation.spreading import Ancestor
from ..execution.emitter import Emitter
from ..execution.loop import Loop
from ..execution.record.recorder import Record, Recorder, Tell
from ..execution.setup import Runtime, Setup
from ..execution.single import request_once
from ..generation.compile import Frame, Handler
from ..generation.model import Model, ModelRequest
from ..ideas.store import Store
from ..messages import KINDS
from ..protocol.config import Config, Limits
from ..protocol.context import Context
from ..protocol.message import DATA_KINDS
from ..protocol.origin import is_url
from ..protocol.registry import AnyTools
from ..protocol.solution import Result, Solution
from ..protocol.turns import cut_to
from ..schema.infer import shape_of
from ..schema.json import JsonObject
from ..schema.validator import Validator
from ..sources.fetch import Fetcher
from ..sources.media import MediaReader
from ..sources.roots import folders
from ..storage.open import check_store, open_store
from ..tracing.listening import tracer_of
from ..tracing.trace import Trace
from .begun import as_begun
from .coercion import Given, blocking, context_of, model_of, with_input
from .conversation import Conversation
from .machine import LocalMachine
from .resolving import AnyDelegate, DelegateResolver
from .saved import SavedIdea
from .stream import Stream
from .summary import check_unused, shortened
from .text import member_of, text_of
from .tools import DEFAULT, Tools

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from ..schema.lowering import Dialect

T = TypeVar("T")
JsonSchema: TypeAlias = Mapping[str, Any] | bool | None
"""The schema of an output of which types say nothing; with any other form, the output is what the type says."""
MessageType: TypeAlias = "Handler | type[dict[str, Any]]"
"""A user's own message type: a handler `(message, request) -> request`, or `dict` for one that is data (M2, M3)."""


class Agent:
    """Runs contexts: asks the model and carries out its calls while they arrive, until there is an output.

    Args:
        model: a name such as "openai:gpt-5.2", any `Model`, or None for plans of explicit calls.
        tools: the registry, or a list of functions; the process-wide `actum.tools` if none is given.
        config: how requests are made; limits: what a run may spend.
        approve: is asked before every call (L6).
        delegates: what the names in `_delegate` mean: an Idea, a dict or a path.
        roots: the folders that delegates' paths may lead into.
        resolver: finds delegates its own way, instead of `delegates`, `roots` and `fetcher` (D2).
        fetcher: fetches delegates from URLs; bounds and cache are its own (D12).
        store: where `idea:` addresses are looked up, before the roots: a `Store`, or the URL or path of one (X4).
        tokens: for other servers that carry out delegates, by host; beside those of ACTUM_TOKENS.
        message_types: further message types: a handler, or `dict` for a data kind with the short form (M2, M3).
        trace: how runs are traced; by default as soon as OpenTelemetry or `logging` has somebody to tell, False never.

    Raises:
        IdeaError: there is no store where `store` says.
    """

    def __init__(
        self,
        model: Model | str | None = None,
        *,
        tools: AnyTools | None = None,
        config: Config | None = None,
        limits: Limits | None = None,
        approve: Approve | None = None,
        delegates: Mapping[str, AnyDelegate] | None = None,
        roots: Iterable[str | Path] | str | Path = (),
        resolver: Resolver | None = None,
        fetcher: Fetcher | None = None,
        store: Store | str | Path | None = None,
        tokens: Mapping[str, str] | None = None,
        message_types: Mapping[str, MessageType] | None = None,
        trace: Trace | bool | None = None,
    ) -> None:
        for given, kind in ((config, Config), (limits, Limits)):
            if given is not None and not isinstance(given, kind):  # pyright: ignore[reportUnnecessaryIsInstance] -- it is whatever a caller gives
                raise SchemaError(f"an agent is given a {kind.__name__}, not {given!r}", path=kind.__name__.lower())
        check_approver(approve)
        self.model = model_of(model)
        self.tools = Tools.of(tools) if tools is not None else DEFAULT
        self.config = config or Config()
        self.limits = limits or Limits()
        self.approve = approve
        if isinstance(store, str | Path):
            check_store(str(store), makes=False)  # an agent only reads
            store = open_store(store)
        self.store = store
        if not isinstance(delegates, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance] -- as above
            raise SchemaError(
                f"delegates are given by their names, {{'name': idea}}, not as {delegates!r}", path="delegates"
            )
        self.delegates = dict(delegates or {})
        self._tokens = {host.lower(): token for host, token in (tokens or {}).items()}
        self.roots = tuple(folders(roots))
        self.trace = trace
        self._resolver = resolver
        self._fetcher = fetcher or _fetcher(self.config)
        self._has_own_fetcher = fetcher is not None
        self._handlers, self._data_kinds = _split(message_types or {})

    @overload
    async def run(
        self, context: Given, schema: JsonSchema = None, *, input: Mapping[str, Any] | None = None
    ) -> Result[Any]: ...
    @overload
    async def run(
        self, context: Given, schema: TypeForm[T], *, input: Mapping[str, Any] | None = None
    ) -> Result[T]: ...
    async def run(self, context: Given, schema: Any = None, *, input: Mapping[str, Any] | None = None) -> Result[Any]:
        """Run until there is an output.

        `schema` is a JSON Schema, a Pydantic model or any type; with a type, the output is an instance of it.

        Raises:
            MessageError, SchemaError: what was given is malformed; nothing was asked.
            ActumError: what ended the run; its `result` is what had been done.
        """
        loop = await self._loop(context, schema, input, Emitter(trace=tracer_of(self.trace)))
        return await loop.run()

    @overload
    def stream(
        self,
        context: Given,
        schema: JsonSchema = None,
        *,
        input: Mapping[str, Any] | None = None,
        record: Tell | Record | None = None,
    ) -> Stream: ...
    @overload
    def stream(
        self,
        context: Given,
        schema: TypeForm[T],
        *,
        input: Mapping[str, Any] | None = None,
        record: Tell | Record | None = None,
    ) -> Stream[T]: ...
    def stream(
        self,
        context: Given,
        schema: Any = None,
        *,
        input: Mapping[str, Any] | None = None,
        record: Tell | Record | None = None,
    ) -> Stream:
        """The same run as an async context manager and iterator of its events; `.result` when it is over.

        `record` takes what the run leaves, entry by entry as it happens, so that it can be continued after a crash.
        A `Record` is also asked before every effect whether the run is still this process's own.
        """
        return self._streamed(context, schema, input, Recorder.of(record))

    def carried(
        self,
        context: Context,
        schema: Any,
        record: Tell | Record,
        *,
        budget: Budget,
        lineage: Sequence[Ancestor] = (),
    ) -> Stream:
        """The run as it is kept: going on with what was spent, and within the delegates that led to it."""
        return self._streamed(context, schema, None, Recorder.of(record), budget, lineage)

    def stream_text(
        self, context: Given, schema: Any = str, *, input: Mapping[str, Any] | None = None, member: str = ""
    ) -> AsyncGenerator[str]:
        """The text of the output, piece by piece: at once where no call can still fail, else when they are done (O9).

        `member` is the path of the text in an output that is none itself, such as `answer` or `items[0].title`.
        A run that ends without an output gives no text. Closing the iterator early cancels the run (L7).

        Raises:
            SchemaError: the schema has no text there.
            SolutionError: an answer broke off when text of it had been given, and the next one says other words.
            ActumError: as `run`.
        """
        return text_of(self.stream(context, schema, input=input), member_of(schema, member))

    @overload
    def run_sync(
        self, context: Given, schema: JsonSchema = None, *, input: Mapping[str, Any] | None = None
    ) -> Result[Any]: ...
    @overload
    def run_sync(self, context: Given, schema: TypeForm[T], *, input: Mapping[str, Any] | None = None) -> Result[T]: ...
    def run_sync(self, context: Given, schema: Any = None, *, input: Mapping[str, Any] | None = None) -> Result[Any]:
        """`run` for scripts and notebooks: outside an event loop, or beside the one that is running."""
        return blocking(self.run(context, schema, input=input))

    def conversation(
        self,
        context: Given = (),
        schema: Any = str,
        *,
        member: str = "",
        most: int | None = None,
        summary: bool = False,
    ) -> Conversation:
        """Turns over one context, which begins with this one or goes on with that of an earlier conversation (M4, M7).

        `schema` is that of what is answered, `member` the path of the text in it (see `stream_text`). `most` cuts the
        oldest turns where the context is longer than so many characters. With `summary` the model writes down in short
        what it is about to lose: one request more, which spends from the turn that comes next.

        Raises:
            MessageError: a message is malformed, or data of the kind `earlier`, which is that of the summary.
            SchemaError: a `summary` is asked for without `most`.
        """
        if summary and most is None:
            raise SchemaError("a summary takes the place of turns that are cut: say with most= when")
        own = self._own(context)
        if summary:
            check_unused(own)

        def begin(so_far: Context, said: Sequence[Mapping[str, Any]], spent: Spent) -> Stream:
            async def loop(sink: Callable[[AnyEvent], None]) -> Loop:
                emit, budget = Emitter(sink, trace=tracer_of(self.trace)), Budget.going_on(self.limits, spent)
                cut = await self._cut(so_far, most, budget, emit, summary=summary)
                return await self._loop(cut.extended(said), schema, None, emit, budget=budget)

            return Stream(loop)

        return Conversation(begin, own, schema=schema, member=member)

    async def cut(self, context: Context, most: int, *, summary: bool = False) -> Context:
        """A conversation's context without its oldest turns where it is longer than so many characters (M4).

        Raises:
            DelegateError, LimitExceeded: a `summary` was asked for, and there is none.
        """
        emit = Emitter(trace=tracer_of(self.trace))
        return await self._cut(context, most, Budget(self.limits), emit, summary=summary)

    async def _cut(
        self, context: Context, most: int | None, budget: Budget, emit: Emitter, *, summary: bool
    ) -> Context:
        if most is None:
            return context
        if not summary:
            return cut_to(context, most)
        return await shortened(context, most, self._delegation(context, budget, emit))

    @overload
    async def request(
        self, context: Given, schema: JsonSchema = None, *, input: Mapping[str, Any] | None = None
    ) -> Solution[Any]: ...
    @overload
    async def request(
        self, context: Given, schema: TypeForm[T], *, input: Mapping[str, Any] | None = None
    ) -> Solution[T]: ...
    async def request(
        self, context: Given, schema: Any = None, *, input: Mapping[str, Any] | None = None
    ) -> Solution[Any]:
        """Ask exactly once (an unusable answer is asked for again, L3); nothing is carried out.

        Raises:
            SchemaError: there is no model. Otherwise as `run`.
        """
        if self.model is None:
            raise SchemaError("a request needs a model, and the agent has none")
        budget = Budget(self.limits)
        own, schema = await self._linked(context, schema)
        emit = Emitter(trace=tracer_of(self.trace))
        return await request_once(self._setup(own, schema, input, budget, emit), budget, emit)

    @overload
    async def resume(
        self, context: Given | SavedIdea, schema: JsonSchema = None, *, input: Mapping[str, Any] | None = None
    ) -> Result[Any]: ...
    @overload
    async def resume(
        self, context: Given | SavedIdea, schema: TypeForm[T], *, input: Mapping[str, Any] | None = None
    ) -> Result[T]: ...
    async def resume(
        self, context: Given | SavedIdea, schema: Any = None, *, input: Mapping[str, Any] | None = None
    ) -> Result[Any]:
        """Continue a run that was cut, from its context alone; calls that have left messages aren't made again (L8).

        What a kept run was begun with is kept to: as in `kept.resume`, the stricter of that and `approve` decides.
        """
        if isinstance(context, SavedIdea):
            own = schema if schema is not None else context.schema
            fitted = self.fitted(context)
            fitted.approve = as_begun(context, self.approve)
            return await fitted.run(context.context, own, input=input)
        return await self.run(context, schema, input=input)

    def fitted(self, idea: SavedIdea, *, is_own: bool = False, roots: Sequence[Path] | None = None) -> Agent:
        """The agent as an Idea's `config` wants it. `is_own`: the Idea sets what bounds its runs, too (D15); otherwise
        the stricter of its limits and the agent's count, each by itself.

        `roots` are where modules that it names may lie, instead of below the agent's roots and the Idea's own.

        Raises:
            IdeaError: the config can't be used, or a module that it names can't be loaded.
            ModelError: the model that it names is not available.
        """
        has_model = self.model is not None
        standing = "own" if is_own else "local"
        asked = idea.settings(standing, has_model=has_model, grants=self.config.grants)
        machine = LocalMachine(registered=DEFAULT)
        fitted = copy(self)
        fitted.config = asked.over(self.config)
        fitted.limits = (asked.limits or self.limits) if is_own else idea.narrowed(self.limits)
        below = [*self.roots, *(idea.roots or [Path.cwd()])] if roots is None else roots
        below = None if is_url(idea.context.origin) else below
        fitted.tools = machine.registry(self.tools, asked.activities, str(idea.source) if idea.source else None, below)
        if not has_model and asked.model is not None:
            fitted.model = machine.model(asked.model)
        if not self._has_own_fetcher and is_own:
            fitted._fetcher = _fetcher(fitted.config)
        return fitted

    def compose(self, context: Given = (), schema: Any = None) -> JsonObject:
        """The exact JSON Schema that the model would be given (T5).

        Raises:
            DelegateError: a delegate that is resolved beforehand is not available (D8). Otherwise as `run`.
        """
        return self._first_request(context, schema)[1].schema

    def render(self, context: Given = (), schema: Any = None) -> list[dict[str, Any]]:
        """The exact messages that the model would be given (M7, M10).

        Raises:
            MessageError: an image, audio or a file can't be read, or the model takes none. Otherwise as `compose`.
        """
        frame, request = self._first_request(context, schema)
        if any("media" in message for message in request.messages):
            request = blocking(frame.sent(request))
        return [dict(message) for message in request.messages]

    @property
    def dialect(self) -> Dialect | None:
        """What its model takes of JSON Schema; None if that isn't known."""
        return getattr(self.model, "dialect", None)

    async def frame(self, context: Given, schema: Any = None) -> Frame:
        """What the requests of a run that begins with this context share; raises as `compose`."""
        own, schema = await self._linked(context, schema)
        setup = await self._setup(own, schema, None, Budget(self.limits), Emitter()).contracted()
        return setup.frame(setup.context)

    def _first_request(self, context: Given, schema: Any) -> tuple[Frame, ModelRequest]:
        budget = Budget(self.limits)
        own = self._own(context)
        if has_links(own, schema):
            own, schema = blocking(self._linked(own, schema))
        setup = self._setup(own, schema, None, budget, Emitter())
        if setup.has_upfront():
            setup = blocking(setup.contracted())
        frame = setup.frame(setup.context)
        return frame, frame.request(setup.context, notices=list(budget.notices(0)))

    def linking(self, data_kinds: frozenset[str] = DATA_KINDS) -> Linking:
        """What closes the schemas of one run over the Ideas that they refer to (X4)."""
        return Linking(self.resolver(data_kinds), self.config.max_depth)

    def resolver(self, data_kinds: frozenset[str] = DATA_KINDS) -> Resolver:
        """What finds the delegates of one run (D2)."""
        return self._resolver or DelegateResolver(
            named=self.delegates,
            roots=self.roots,
            config=self.config,
            fetcher=self._fetcher,
            store=self.store,
            kinds=frozenset(self._handlers),
            data_kinds=data_kinds,
        )

    async def prepared(
        self, context: Given, schema: Any = None, *, input: Mapping[str, Any] | None = None
    ) -> tuple[Context, Any]:
        """What a run with this input would begin with: its context and its schema, referring to no other Idea.

        Raises:
            MessageError, IdeaError: what was given is malformed.
        """
        own, schema = await self._linked(context, schema)
        return with_input(own, input), schema

    def restored(self, messages: Iterable[JsonObject], origin: str | None) -> Context:
        """The context of a run that was kept, with the agent's own types of messages.

        Raises:
            MessageError: a message is malformed.
        """
        return Context(messages, kinds=self._handlers, data_kinds=DATA_KINDS | self._data_kinds, origin=origin)

    def _streamed(
        self,
        context: Given,
        schema: Any,
        input: Mapping[str, Any] | None,
        record: Recorder,
        budget: Budget | None = None,
        lineage: Sequence[Ancestor] = (),
    ) -> Stream:
        async def begin(sink: Callable[[AnyEvent], None]) -> Loop:
            emit = Emitter(sink, trace=tracer_of(self.trace))
            return await self._loop(context, schema, input, emit, record, budget, lineage)

        return Stream(begin)

    async def _loop(
        self,
        context: Given,
        schema: Any,
        input: Mapping[str, Any] | None,
        emit: Emitter,
        record: Recorder | None = None,
        budget: Budget | None = None,
        lineage: Sequence[Ancestor] = (),
    ) -> Loop:
        budget = budget or Budget(self.limits)
        own, schema = await self._linked(context, schema)
        return Loop(self._setup(own, schema, input, budget, emit, record, lineage), budget, emit)

    async def _linked(self, given: Given, schema: Any) -> tuple[Context, Any]:
        """What was given, its schemas closed over the Ideas that they refer to (X4)."""
        own = self._own(given)
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
        delegation = self._delegation(own, budget, emit, telling).below(lineage)
        return Setup(runtime=delegation.runtime, context=own, shape=shape, delegate=delegation, record=telling)

    def _delegation(
        self, context: Context, budget: Budget, emit: Emitter, record: Recorder | None = None
    ) -> Delegation:
        runtime = Runtime(
            model=self.model,
            registry=self.tools,
            config=self.config,
            approve=self.approve,
            handlers=self._handlers,
            data_kinds=context.data_kinds,
            media=MediaReader(roots=self.roots, fetcher=self._fetcher, most=self.config.max_media_bytes),
        )
        machine = LocalMachine(registered=DEFAULT, delegates=self.delegates, tokens=self._tokens)
        return Delegation(runtime, self.resolver(context.data_kinds), machine, budget, emit, record or Recorder())

    def _own(self, given: Given) -> Context:
        return context_of(given, self._handlers, DATA_KINDS | self._data_kinds)


def _fetcher(config: Config) -> Fetcher:
    return Fetcher(allow_hosts=config.allow_hosts, most_bytes=config.max_delegate_bytes)


def _split(types: Mapping[str, MessageType]) -> tuple[dict[str, Handler], frozenset[str]]:
    for name in types:
        if name in KINDS:
            raise MessageError(f"the message type {name!r} is reserved by the protocol")
    handlers = {name: handler for name, handler in types.items() if handler is not dict}
    return handlers, frozenset(types) - handlers.keys()  # pyright: ignore[reportReturnType]
