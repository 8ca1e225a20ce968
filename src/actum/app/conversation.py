"""Conversations: turn after turn over one context, in which the outputs are the assistant's."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, TypedDict

from ..errors import ActumError
from ..events import AnyEvent
from ..execution.budget import Spent
from ..protocol.context import Context
from ..protocol.solution import Result
from ..protocol.turns import without_plans
from .coercion import Given, messages_of
from .output_text import TextGiven, member_of
from .stream import Stream, T_co

_UNDER_WAY = "a turn of this conversation is under way: read it to the end first"
_ENTERED = "this turn has been entered before: `talk.stream(…)` makes the next one"


class ConversationOptions(TypedDict, total=False):
    """What a conversation may be given, as `Agent.conversation` says."""

    member: str
    most: int | None
    summary: bool
    deps: Any


class Conversation(Generic[T_co]):
    """Turns over one context: `async for piece in talk.say("…")`. One turn at a time.

    `agent.conversation(…)` makes one. `context` is plain JSON at any time: a conversation with it, in this process or
    another one, goes on from there. `deps` are each turn's. `most` cuts the oldest turns where all are longer than so
    many characters; with `summary` (SchemaError: without `most`) the model writes down what it is about to lose, a
    request more.

    `schema`, or its type as `output`, is that of what is answered, a text by default; `member` the path of the text in
    it, for example `items[0].title` (SchemaError: there is none), and `begin` makes the run of a turn.
    """

    def __init__(
        self,
        begin: Callable[[Context, Sequence[Mapping[str, Any]], Spent], Stream[T_co]],
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
        """What the last turn has spent, which counts where it goes on."""

    def stream(self, said: Given | None = None) -> Turn[T_co]:
        """The next turn as an async context manager and iterator of its events; `.result` when it is over.

        `said` is what the user says, or messages; without it the turn goes on that waited for a decision or was cut.
        Leaving the block early cancels the turn: what it has done stays in the context, and so does what is open of it.

        Raises:
            MessageError: a message is malformed.
            ActumError: another turn is under way.
        """
        if self._is_open:
            raise ActumError(_UNDER_WAY)
        more = [{"type": "user", "message": said}] if isinstance(said, str) else messages_of(said or [])
        self.context.extended(more)  # what is malformed is refused at once
        return Turn(self, more)

    async def say(self, said: Given) -> AsyncGenerator[str]:
        """What the assistant answers, piece by piece: at once where no call can still fail, else when they are done.

        Raises:
            SchemaError: the schema has no text at `member`.
            ActumError: what ended the turn; `context` holds what had been done.
        """
        given = TextGiven(member_of(self._schema, self._member))
        async with self.stream(said) as turn:
            async for event in turn:
                if piece := given.piece(event):
                    yield piece
        given.end()

    def give_up(self) -> None:
        """Let what is open of a turn that was cut, or waits, not be made; what has been done stays."""
        self.context = without_plans(self.context)


class Turn(Generic[T_co]):
    """One turn of a conversation, as `Stream` is one run. It follows whatever was said before it is entered."""

    def __init__(self, talk: Conversation[T_co], said: Sequence[Mapping[str, Any]]) -> None:
        self._talk = talk
        self._said = said
        self._begun: Stream[T_co] | None = None

    async def __aenter__(self) -> Turn[T_co]:
        talk = self._talk
        if talk._is_open:  # pyright: ignore[reportPrivateUsage] -- they are one
            raise ActumError(_UNDER_WAY)
        if self._begun is not None:
            raise ActumError(_ENTERED)
        spent = Spent() if self._said else talk._spent  # pyright: ignore[reportPrivateUsage]
        self._begun = talk._begin(talk.context, self._said, spent)  # pyright: ignore[reportPrivateUsage]
        talk._is_open = True  # pyright: ignore[reportPrivateUsage]
        try:
            await self._begun.__aenter__()
        except BaseException:
            talk._is_open = False  # pyright: ignore[reportPrivateUsage]
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._stream.__aexit__(kind, error, trace)
        finally:
            self._talk._is_open = False  # pyright: ignore[reportPrivateUsage]
            self._talk._spent = self._stream.spent  # pyright: ignore[reportPrivateUsage]
            self._talk.context = self._stream.context

    async def __aiter__(self) -> AsyncGenerator[AnyEvent]:
        async for event in self._stream:
            yield event

    @property
    def _stream(self) -> Stream[T_co]:
        if self._begun is None:
            raise ActumError("the turn has not begun: `async with talk.stream(…) as turn:` begins it")
        return self._begun

    @property
    def result(self) -> Result[T_co]:
        """The result of the turn; raises as `Stream.result`."""
        return self._stream.result

    @property
    def context(self) -> Context:
        """The conversation's context so far."""
        return self._talk.context if self._begun is None else self._begun.context
