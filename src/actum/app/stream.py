"""A run as a stream of its events (L7: leaving the block cancels and awaits what it started)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, TypeAlias, TypedDict

from typing_extensions import TypeVar

from ..dataflow.reference import SIGIL, Path, ReferenceSyntax, print_path, scan_reference
from ..errors import ActumError, SchemaError, SolutionError
from ..events import AnyEvent, RequestStarted, Retried, TextDelta
from ..execution.budget import Spent
from ..execution.loop import Loop
from ..protocol.context import Context
from ..protocol.marks import without_plans
from ..protocol.solution import Result
from ..protocol.usage import Usage
from ..schema.drawn import Drawn
from ..schema.infer import shape_of
from ..schema.type_reading import type_of
from ..schema.types import Misfit, Text
from ..schema.types import member as type_at
from .coercion import Given, messages_of, shorten

T_co = TypeVar("T_co", covariant=True, default=Any)
Sink: TypeAlias = Callable[[AnyEvent], None]
"""Takes the events of a run."""


class Stream(Drawn, Generic[T_co]):
    """`async with agent.stream(…) as run: async for event in run: …`, then `run.result`.

    The run continues at its own pace while its events wait to be read. Leaving the block before it is over cancels it;
    `context` is then what it had left, ready to be resumed. The `record` of `agent.stream` gets the entries of the
    run's log, so that the run can be continued after a crash; a `Record` is also asked before every effect whether
    this process still owns the run.

    Args:
        begin: makes the run, which passes its events to the sink that it is given.
        context: what the run begins with.
        carry: carries the run out.
    """

    _ENTERED = "this run has been entered before: `agent.stream(…)` makes another one"
    _NOT_BEGUN = "the run has not begun: `async with agent.stream(…) as stream:` begins it"

    def __init__(
        self,
        begin: Callable[[Sink], Awaitable[Loop]],
        context: Context | None = None,
        carry: Callable[[Loop], Awaitable[Result[Any]]] = Loop.run,
    ) -> None:
        self._begin = begin
        self._carry = carry
        self._start = Context() if context is None else context
        """The context before the run: all that is left of a run that is refused."""
        self._events: asyncio.Queue[AnyEvent | None] = asyncio.Queue()
        self._is_entered = False
        self._loop: Loop | None = None
        self._task: asyncio.Future[Result[Any]] | None = None

    async def __aenter__(self) -> Stream[T_co]:
        if self._is_entered:
            raise ActumError(self._ENTERED)
        self._is_entered = True
        self._loop = await self._begin(self._events.put_nowait)
        self._task = asyncio.ensure_future(self._carry(self._loop))
        self._task.add_done_callback(lambda _: self._events.put_nowait(None))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = self._task
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()

    async def __aiter__(self) -> AsyncIterator[AnyEvent]:
        if self._task is None:
            raise ActumError(self._NOT_BEGUN)
        while (event := await self._events.get()) is not None:
            yield event
        self._events.put_nowait(None)
        if not self._task.cancelled() and (error := self._task.exception()) is not None:
            shorten(error)
            raise error

    @property
    def result(self) -> Result[T_co]:
        """The result of the run.

        Raises:
            ActumError: what ended the run, or that it is not over.
        """
        if self._task is None or not self._task.done() or self._task.cancelled():
            raise ActumError("the run is not over: read its events to the end first")
        return self._task.result()

    @property
    def partial(self) -> Result[Any]:
        """What the run has left so far, at any time."""
        return self._loop.result if self._loop is not None else Result(output=None, context=self._start)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, in any way."""
        return self._task is not None and self._task.done()

    @property
    def usage(self) -> Usage:
        """What the run has cost so far."""
        return self._loop.usage if self._loop is not None else Usage()

    @property
    def spent(self) -> Spent:
        """What it has spent of its limits so far."""
        return self._loop.spent if self._loop is not None else Spent()

    @property
    def makers(self) -> dict[str, str]:
        """Who has carried out the calls of each tool so far."""
        return self._loop.makers if self._loop is not None else {}

    @property
    def context(self) -> Context:
        """The run's context so far."""
        return self.partial.context


class SentText:
    """The text of one string of the output that was already sent; an answer that begins again has to repeat it."""

    def __init__(self, member: str) -> None:
        self._member = member
        self._pieces: list[str] = []
        self._unrepeated = ""
        """The text of an earlier attempt that the present one has not repeated yet."""

    def piece(self, event: AnyEvent) -> str:
        """The text of an event that was not sent before.

        Raises:
            SolutionError: the answer began again, in other words than those already sent.
        """
        if event.depth:
            return ""
        if isinstance(event, RequestStarted | Retried):
            self.restart()
        if not isinstance(event, TextDelta) or event.provisional or event.member != self._member:
            return ""
        return self.unsent(event.text)

    def restart(self) -> None:
        """Expect the answer to begin again."""
        if self._pieces:
            self._unrepeated = "".join(self._pieces)
            self._pieces.clear()

    def unsent(self, text: str) -> str:
        """The part of the next piece that was not sent before; raises as `piece`."""
        self._pieces.append(text)
        sent, self._unrepeated = self._unrepeated[: len(text)], self._unrepeated[len(text) :]
        if not text.startswith(sent):
            raise _differs()
        return text[len(sent) :]

    def restarted(self) -> str:
        """All text of the new attempt, for callers that can show it from the beginning."""
        self._unrepeated = ""
        return "".join(self._pieces)

    def end(self) -> None:
        """Check the text when the run is over.

        Raises:
            SolutionError: the answer began again and ended before it had repeated what was sent.
        """
        if self._unrepeated:
            raise _differs()


def member_of(schema: Any, member: str) -> str:
    """The path of a string in the output, as events spell it.

    Raises:
        SchemaError: the schema has no text there, or `member` is not a path.
    """
    try:
        path = _path(member)
        reached = type_of(shape_of(schema).schema)
        for segment in path:
            reached = type_at(reached, segment)
    except (ReferenceSyntax, Misfit) as error:
        raise SchemaError(f"the output has no text at {member!r}: {error}") from None
    if reached.alternatives is not None and not any(isinstance(choice, Text) for choice in reached.alternatives):
        where = f"at {member!r} " if member else ""
        raise SchemaError(
            f"the output {where}isn't a text: name one in it, as in member='answer' or member='items[0].text'"
        )
    return print_path(path).removeprefix(".")


async def text_pieces(stream: Stream, member: str) -> AsyncGenerator[str]:
    """The text at a path of a run's output, as it becomes certain; closing it cancels the run (L7)."""
    text = SentText(member)
    async with stream:
        async for event in stream:
            if piece := text.piece(event):
                yield piece
    text.end()


def _path(member: str) -> Path:
    dot = "." if member[:1] not in ("", "[") else ""
    text = f"{SIGIL}output{dot}{member}"
    reference, end = scan_reference(text, 0)
    if end < len(text):
        raise ReferenceSyntax("write a path, for example answer or items[0].text")
    return reference.path


def _differs() -> SolutionError:
    return SolutionError("the answer was begun again, in other words than those that had been given already")


UNDER_WAY = "a turn of this conversation is under way: read it to the end first"


class ConversationOptions(TypedDict, total=False):
    """The options of `Agent.conversation`."""

    member: str
    most: int | None
    summary: bool
    deps: Any


def user_messages(message: Given | None) -> Any:
    """What the user says, or messages, as messages that are not checked yet."""
    return [{"type": "user", "message": message}] if isinstance(message, str) else messages_of(message or [])


class Conversation(Generic[T_co]):
    """Turns over one context: `async for piece in talk.say("…")`. One turn at a time.

    `agent.conversation(…)` makes one. `context` is plain JSON at any time: another conversation with it, in this
    process or another one, goes on from there. `deps` are passed to each turn. `most` cuts the oldest turns when the
    context is longer than that many characters; with `summary`, which needs `most` (SchemaError), the model first sums
    them up, in one more request.

    `schema`, or a type as `output`, is the form of each answer, a text by default. `member` is the path of the text in
    it, for example `items[0].title` (SchemaError: there is none). `begin` makes the run of a turn.
    """

    def __init__(
        self,
        begin: Callable[[Sink, Context, Sequence[Mapping[str, Any]], Spent], Awaitable[Loop]],
        context: Context,
        *,
        schema: Any,
        member: str,
    ) -> None:
        self.context = context
        self._begin = begin
        self._schema = schema
        self._member = member
        self._is_open = False
        self._spent = Spent()
        """What the last turn has spent, which counts if it goes on."""

    def stream(self, said: Given | None = None) -> Turn[T_co]:
        """The next turn as an async context manager and iterator of its events; `.result` when it is over.

        `said` is what the user says, or messages; without it, the turn that waited for a decision or was cut goes on.
        Leaving the block early cancels the turn; what it has done stays in the context, and so do its open calls.

        Raises:
            MessageError: a message is malformed.
            ActumError: another turn is under way.
        """
        if self._is_open:
            raise ActumError(UNDER_WAY)
        messages = user_messages(said)
        self.context.extended(messages)  # refuses malformed messages at once
        return Turn(self, messages)

    async def say(self, said: Given) -> AsyncGenerator[str]:
        """The assistant's answer piece by piece: at once if no call can still fail, else when the calls are done.

        Raises:
            SchemaError: the schema has no text at `member`.
            ActumError: what ended the turn; `context` holds what had been done.
        """
        text = SentText(member_of(self._schema, self._member))
        async with self.stream(said) as turn:
            async for event in turn:
                if piece := text.piece(event):
                    yield piece
        text.end()

    def give_up(self) -> None:
        """Drop the open calls of a turn that was cut or waits; what has been done stays."""
        self.context = without_plans(self.context)


class Turn(Stream[T_co]):
    """One turn of a conversation, as `Stream` is one run: `async with talk.stream("…") as turn: async for event in …`.

    It begins with the conversation's context at the time when it is entered.
    """

    _ENTERED = "this turn has been entered before: `talk.stream(…)` makes the next one"
    _NOT_BEGUN = "the turn has not begun: `async with talk.stream(…) as turn:` begins it"

    def __init__(self, talk: Conversation[T_co], messages: Sequence[Mapping[str, Any]]) -> None:
        async def begin(sink: Sink) -> Loop:
            spent = Spent() if messages else talk._spent  # pyright: ignore[reportPrivateUsage] -- they are one
            return await talk._begin(sink, talk.context, messages, spent)  # pyright: ignore[reportPrivateUsage]

        super().__init__(begin, talk.context)
        self._talk = talk

    async def __aenter__(self) -> Turn[T_co]:
        talk = self._talk
        if talk._is_open:  # pyright: ignore[reportPrivateUsage]
            raise ActumError(UNDER_WAY)
        talk._is_open = not self._is_entered  # pyright: ignore[reportPrivateUsage]
        self._start = talk.context
        try:
            await super().__aenter__()
        except BaseException:
            talk._is_open = False  # pyright: ignore[reportPrivateUsage]
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            self._talk._is_open = False  # pyright: ignore[reportPrivateUsage]
            self._talk._spent = self.spent  # pyright: ignore[reportPrivateUsage]
            self._talk.context = self.context

    @property
    def result(self) -> Result[T_co]:
        """The result of the turn; raises as `Stream.result`."""
        if self._task is None:
            raise ActumError(self._NOT_BEGUN)
        return super().result
