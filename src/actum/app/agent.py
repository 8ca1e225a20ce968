"""`Agent`: a model, tools and limits put together, and the ways to run a context through them."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar, Unpack, get_origin, overload

from ..errors import ActumError, MessageError, SchemaError
from ..execution.approver import Approve, check_approver
from ..execution.budget import Budget, Spent
from ..execution.delegation.caller import Ancestor, Resolver
from ..execution.delegation.machine import Machine
from ..execution.ground import Ring
from ..execution.loop import Loop
from ..execution.record.recorder import Record, Recorder, Tell
from ..generation.compile import Handler
from ..generation.model import Model
from ..ideas.store import Store
from ..messages import KINDS
from ..protocol.activity import Ctx, Deps
from ..protocol.config import Config, Limits
from ..protocol.context import Context, is_url
from ..protocol.message import DATA_KINDS
from ..protocol.registry import AnyTools
from ..protocol.solution import Result, Solution
from ..schema.json import JsonObject
from ..schema.quoting import instead, options_nearest
from ..sources.fetch import Fetcher
from ..sources.roots import folders
from ..storage.open import check_store, open_store
from ..tracing.trace import Trace
from .assembly import Assembly, Reach, declared_deps
from .begun import stricter_approve
from .coercion import Given, as_model, blocking, check_instructions, shorten
from .delegate_resolver import AnyDelegate
from .planned import PlanShelf
from .saved import SavedIdea
from .stream import Conversation, ConversationOptions, Sink, Stream, member_of, text_pieces
from .summary import check_summary_kind
from .tools import DEFAULT, Tools

if TYPE_CHECKING:
    from typing_extensions import TypeForm, TypeIs


T = TypeVar("T")
Inputs: TypeAlias = "Mapping[str, Any] | None"
"""Values of an Idea's input by name; None where it takes none."""
JsonSchema: TypeAlias = Mapping[str, Any] | bool | None
"""The schema of an output of which types say nothing; with any other form, the output is what the type says."""
MessageType: TypeAlias = "Handler | type[dict[str, Any]]"
"""A user's own message type: a handler `(message, request) -> request`, or `dict` for one that is data (M2, M3)."""
Instructions: TypeAlias = "Awaitable[str | None] | str | None"
Instruct: TypeAlias = "Callable[[Ctx[Deps]], Instructions] | Callable[[], Instructions]"
"""A function that returns instructions, or None for none."""


_SYSTEM_HINT = "say it by `@agent.instructions`, or in a system message of the context"
_TOOL_HINT = "write `@tools.tool`, with tools = Tools() and Agent(…, tools=tools)"
_STREAM_HINT = "agent.stream(…) gives events, agent.stream_text(…) text"
_FOREIGN_OPTIONS = {
    **dict.fromkeys(("instructions", "system_prompt"), _SYSTEM_HINT),
    **dict.fromkeys(("output_type", "response_format", "result_type"), "give the type to run(context, type)"),
}
"""Options of other libraries' agents, and what to write instead."""
_FOREIGN_METHODS = {
    **dict.fromkeys(("tool", "tool_plain", "function_tool"), _TOOL_HINT),
    **dict.fromkeys(("run_stream", "run_stream_events", "run_streamed", "iter", "astream"), _STREAM_HINT),
    **dict.fromkeys(("invoke", "ainvoke"), "agent.run_sync(…) and await agent.run(…) run it"),
}


class _Public(ABCMeta):
    """Lists the public names of a class in `help()` and in completion."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name[:1] != "_"]


class Agent(Generic[Deps], metaclass=_Public):
    """Runs contexts: asks the model and carries out its calls while they arrive, until there is an output.

    Args:
        model: a name, for example "openai:gpt-5.2", any `Model`, or None for plans of explicit calls.
        tools: the registry, or a list of functions; the process-wide `actum.tools` if none is given.
        config: how requests are made; `limits`: what a run may spend; `approve`: is asked before every call.
        delegates: what names in `_delegate` mean, else found by `roots`, folders, by `fetcher`, or only by `resolver`.
        store: where `idea:` addresses are looked up first, a `Store` or its URL; `tokens` are for other servers.
        message_types: further message types: a handler, or `dict` for a data kind with the short form.
        deps: the type of what its tools are given in their `Ctx`: a run that lacks it is refused before it begins.
        plans: refined plans, which are tried before the model is asked; `trace`: how runs are traced, False for never.

    All ways to run take a `context`: a text, messages or a `Context`; a `schema` of the output: a type, JSON Schema or
    None for any JSON; `input`, values by name; and `deps`. MessageError, SchemaError, IdeaError: what was given is
    malformed, and nothing was asked; any other ActumError ended the run, and its `result` is what had been done.
    """

    @options_nearest(_FOREIGN_OPTIONS)
    def __init__(
        self,
        model: Model | str | None = None,
        *,
        tools: Tools[Deps] | AnyTools | None = None,
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
        deps: type[Deps] | None = None,
        plans: PlanShelf | None = None,
        trace: Trace | bool | None = None,
    ) -> None:
        _check_types(config, limits, delegates, deps)
        check_approver(approve)
        self.model = as_model(model)
        self.tools = Tools.of(tools) if tools is not None else DEFAULT
        self.config = config or Config()
        self.limits = limits or Limits()
        self.approve = approve
        if isinstance(store, str | Path):
            check_store(str(store), makes=False)  # an agent only reads
            store = open_store(store)
        self.store = store
        self.delegates = dict(delegates or {})
        self.roots = tuple(folders(roots))
        self.trace = trace
        self.plans = plans
        self._ring: Ring | None = None
        self._needs = deps
        self._deps: Any = None
        """What all its runs are given, in place of their own `deps`."""
        self._instructions: tuple[Callable[..., Any], ...] = ()
        handlers, data_kinds = _split_types(message_types or {})
        self._reach = Reach.of(
            self.config,
            DEFAULT,
            fetcher,
            resolver=resolver,
            tokens={host.lower(): token for host, token in (tokens or {}).items()},
            handlers=handlers,
            data_kinds=DATA_KINDS | data_kinds,
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name[:1] == "_":  # Python itself asks for these: no hint
                raise AttributeError(name)
            hint = (_FOREIGN_METHODS | _FOREIGN_OPTIONS).get(name) or instead(name, dir(type(self)))
            raise AttributeError(f"Agent has no {name!r}; {hint}")

    @overload
    async def run(
        self, context: Given, schema: JsonSchema = None, *, input: Inputs = None, deps: Deps | None = None
    ) -> Result[Any]: ...
    @overload
    async def run(
        self, context: Given, schema: TypeForm[T], *, input: Inputs = None, deps: Deps | None = None
    ) -> Result[T]: ...
    async def run(
        self, context: Given, schema: Any = None, *, input: Inputs = None, deps: Deps | None = None
    ) -> Result[Any]:
        """Run until there is an output, or an error."""
        try:
            if self.plans is not None:
                return await self.plans.run(with_deps(self, deps), context, schema, input)
            assembly = assembled(with_deps(self, deps))
            loop = await assembly.loop(context, schema, input, assembly.emitter())
            return await loop.run()
        except ActumError as error:
            shorten(error)
            raise

    @overload
    def stream(
        self,
        context: Given,
        schema: JsonSchema = None,
        *,
        input: Inputs = None,
        deps: Deps | None = None,
        record: Tell | Record | None = None,
    ) -> Stream: ...
    @overload
    def stream(
        self,
        context: Given,
        schema: TypeForm[T],
        *,
        input: Inputs = None,
        deps: Deps | None = None,
        record: Tell | Record | None = None,
    ) -> Stream[T]: ...
    def stream(
        self,
        context: Given,
        schema: Any = None,
        *,
        input: Inputs = None,
        deps: Deps | None = None,
        record: Tell | Record | None = None,
    ) -> Stream:
        """The run as events: `async with … as run: async for event in run`; `record` gets the entries of its log."""
        return streamed(with_deps(self, deps), context, schema, input, record)

    def stream_text(
        self,
        context: Given,
        schema: Any = str,
        *,
        input: Inputs = None,
        deps: Deps | None = None,
        member: str = "",
    ) -> AsyncGenerator[str]:
        """The text of the output as it arrives; `member` is its path where the output is not a plain text."""
        return text_pieces(self.stream(context, schema, input=input, deps=deps), member_of(schema, member))

    @overload
    def run_sync(
        self, context: Given, schema: JsonSchema = None, *, input: Inputs = None, deps: Deps | None = None
    ) -> Result[Any]: ...
    @overload
    def run_sync(
        self, context: Given, schema: TypeForm[T], *, input: Inputs = None, deps: Deps | None = None
    ) -> Result[T]: ...
    def run_sync(
        self, context: Given, schema: Any = None, *, input: Inputs = None, deps: Deps | None = None
    ) -> Result[Any]:
        """`run` for scripts and notebooks: it returns when the run is over."""
        return blocking(self.run(context, schema, input=input, deps=deps))

    @overload
    def conversation(
        self, context: Given = (), schema: JsonSchema = ..., **options: Unpack[ConversationOptions]
    ) -> Conversation: ...
    @overload
    def conversation(
        self, context: Given, schema: TypeForm[T], **options: Unpack[ConversationOptions]
    ) -> Conversation[T]: ...
    @overload
    def conversation(
        self, context: Given = (), *, output: TypeForm[T], **options: Unpack[ConversationOptions]
    ) -> Conversation[T]: ...
    def conversation(
        self,
        context: Given = (),
        schema: Any = str,
        *,
        output: Any = None,
        member: str = "",
        most: int | None = None,
        summary: bool = False,
        deps: Deps | None = None,
    ) -> Conversation:
        """Turns over one context, cut or summed up where it is longer than `most` characters: see `Conversation`."""
        answer = schema if output is None else output
        if summary and most is None:
            raise SchemaError("a summary takes the place of turns that are cut: say with most= when")
        start = assembled(self).context(context)
        if summary:
            check_summary_kind(start)

        async def begin(sink: Sink, so_far: Context, messages: Sequence[Mapping[str, Any]], spent: Spent) -> Loop:
            assembly = assembled(with_deps(self, deps))
            emit, budget = assembly.emitter(sink), Budget.resume(assembly.limits, spent)
            so_far = await assembly.cut(so_far, most, summary=summary, budget=budget, emit=emit)
            return await assembly.loop(so_far.extended(messages), answer, None, emit, budget=budget)

        return Conversation(begin, start, schema=answer, member=member)

    @overload
    async def request(self, context: Given, schema: JsonSchema = None, *, input: Inputs = None) -> Solution[Any]: ...
    @overload
    async def request(self, context: Given, schema: TypeForm[T], *, input: Inputs = None) -> Solution[T]: ...
    async def request(self, context: Given, schema: Any = None, *, input: Inputs = None) -> Solution[Any]:
        """Ask for one answer, again only if it is unusable; nothing is carried out."""
        if self.model is None:
            raise SchemaError("a request needs a model, and the agent has none")
        return await assembled(self).request(context, schema, input)

    @overload
    async def resume(
        self, context: Given | SavedIdea, schema: JsonSchema = None, *, input: Inputs = None, deps: Deps | None = None
    ) -> Result[Any]: ...
    @overload
    async def resume(
        self, context: Given | SavedIdea, schema: TypeForm[T], *, input: Inputs = None, deps: Deps | None = None
    ) -> Result[T]: ...
    async def resume(
        self, context: Given | SavedIdea, schema: Any = None, *, input: Inputs = None, deps: Deps | None = None
    ) -> Result[Any]:
        """Continue a run from `result.context`, or the Idea that has it; no call that was done is made again."""
        if isinstance(context, SavedIdea):
            schema = context.schema if schema is None else schema
            agent = fitted(self, context)
            agent.approve = stricter_approve(context, self.approve)
            return await agent.run(context.context, schema, input=input, deps=deps)
        return await self.run(context, schema, input=input, deps=deps)

    def instructions(self, function: Instruct[Deps]) -> Instruct[Deps]:
        """Decorates `(ctx: Ctx[Deps]) -> str`, which returns a system message for the start of each run or turn."""
        check_instructions(function)
        self._instructions = (*self._instructions, function)
        return function

    @contextmanager
    def override(
        self, *, model: Model | str | None = None, tools: AnyTools | None = None, deps: Deps | None = None
    ) -> Generator[Self]:
        """The agent with another `model`, other `tools` or `deps` for all runs that begin in the block: for tests."""
        before = self.model, self.tools, self._deps
        self.model = self.model if model is None else as_model(model)
        self.tools = self.tools if tools is None else Tools.of(tools)
        self._deps = self._deps if deps is None else deps
        try:
            yield self
        finally:
            self.model, self.tools, self._deps = before

    def compose(self, context: Given = (), schema: Any = None) -> JsonObject:
        """The exact JSON Schema that the model would be given."""
        return assembled(self).first_request(context, schema)[1].schema

    def render(self, context: Given = (), schema: Any = None) -> list[dict[str, Any]]:
        """The exact messages that the model would be given."""
        frame, request = assembled(self).first_request(context, schema)
        if any("media" in message for message in request.messages):
            request = blocking(frame.sent(request))
        return [dict(message) for message in request.messages]


def _check_types(config: object, limits: object, delegates: object, deps: object) -> None:
    for value, kind in ((config, Config), (limits, Limits)):
        if value is not None and not isinstance(value, kind):
            raise SchemaError(f"an agent is given a {kind.__name__}, not {value!r}", path=kind.__name__.lower())
    if not isinstance(delegates, Mapping | None):
        raise SchemaError(
            f"delegates are given by their names, {{'name': idea}}, not as {delegates!r}", path="delegates"
        )
    if deps is not None and not isinstance(deps, type) and get_origin(deps) is None:
        raise TypeError("Agent(deps=…) names the type of what runs are given; the value is for run(…, deps=…)")


def _split_types(types: Mapping[str, MessageType]) -> tuple[dict[str, Handler], frozenset[str]]:
    for name in types:
        if name in KINDS:
            raise MessageError(f"the message type {name!r} is reserved by the protocol")
    handlers = {name: handler for name, handler in types.items() if handler is not dict}
    return handlers, frozenset(types) - handlers.keys()  # pyright: ignore[reportReturnType]


def is_agent(given: object) -> TypeIs[Agent]:
    """Whether a value is an agent."""
    return isinstance(given, Agent)


def with_deps(agent: Agent[Deps], deps: Deps | None) -> Agent[Deps]:
    """The agent with `deps` for one run, unless an `override` gives others."""
    if deps is None or agent._deps is not None:  # pyright: ignore[reportPrivateUsage] -- of this module
        return agent
    clone = copy(agent)
    clone._deps = deps  # pyright: ignore[reportPrivateUsage] -- as above
    return clone


def streamed(
    agent: Agent,
    context: Given,
    schema: Any,
    input: Mapping[str, Any] | None = None,
    record: Tell | Record | None = None,
    budget: Budget | None = None,
    lineage: Sequence[Ancestor] = (),
) -> Stream:
    """A run of an agent as a stream, answered by its plans if it has any.

    A kept run goes on with the `budget` that it has left, below the delegates of its `lineage`.
    """
    if agent.plans is not None:
        return agent.plans.stream(agent, context, schema, input, record, budget, lineage)
    assembly = assembled(agent)

    async def begin(sink: Sink) -> Loop:
        return await assembly.loop(context, schema, input, assembly.emitter(sink), Recorder.of(record), budget, lineage)

    return Stream(begin, context if isinstance(context, Context) else None)


def assembled(agent: Agent) -> Assembly:
    """A snapshot of the agent for its next run, with the operations that only Actum's own modules use."""
    return Assembly(
        model=agent.model,
        tools=agent.tools,
        config=agent.config,
        limits=agent.limits,
        approve=agent.approve,
        delegates=agent.delegates,
        roots=agent.roots,
        store=agent.store,
        trace=agent.trace,
        reach=agent._reach,  # pyright: ignore[reportPrivateUsage] -- of this module
        ring=agent._ring,  # pyright: ignore[reportPrivateUsage] -- as above
        deps=agent._deps,  # pyright: ignore[reportPrivateUsage] -- as above
        needs=agent._needs or declared_deps(agent) or declared_deps(agent.tools),  # pyright: ignore[reportPrivateUsage] -- as above
        instructions=agent._instructions,  # pyright: ignore[reportPrivateUsage] -- as above
    )


def fitted(
    agent: Agent[Deps], idea: SavedIdea, *, is_own: bool = False, roots: Sequence[Path] | None = None
) -> Agent[Deps]:
    """A copy of the agent, set up as an Idea's `config` asks.

    Args:
        agent: is not changed.
        idea: the Idea with the config.
        is_own: whether the Idea alone sets its limits; otherwise the stricter of its limits and the agent's count.
        roots: the folders for the modules that it names, by default those of the agent and of the Idea.

    Raises:
        IdeaError: the config can't be used, or a module that it names can't be loaded.
        ModelError: the model that it names is not available.
    """
    has_model = agent.model is not None
    config = idea.settings("own" if is_own else "local", has_model=has_model, grants=agent.config.grants)
    machine = Machine(registered=DEFAULT, load=as_model)
    fitting = copy(agent)
    fitting.config = config.over(agent.config)
    fitting.limits = (config.limits or agent.limits) if is_own else idea.narrowed(agent.limits)
    below = [*agent.roots, *(idea.roots or [Path.cwd()])] if roots is None else roots
    below = None if is_url(idea.context.origin) else below
    origin = str(idea.source) if idea.source else None
    tools: Any = machine.registry(agent.tools, config.activities, origin, below)  # read-only, unlike an agent's own
    fitting.tools = tools
    if not has_model and config.model is not None:
        fitting.model = machine.model(config.model)
    if is_own:
        fitting._reach = agent._reach.bounded(fitting.config)  # pyright: ignore[reportPrivateUsage] -- of this module
    return fitting
