"""A conversation in the file of a kept run: a process that is killed loses nothing that its calls left (M4, L8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any

from ..app.agent import Agent, assembled
from ..app.coercion import Given
from ..app.stream import UNDER_WAY, SentText, user_messages
from ..errors import ActumError
from ..events import AnyEvent
from ..protocol.context import Context
from ..protocol.marks import without_plans
from ..protocol.solution import Result
from .kept_run import KeptRun


@dataclass(slots=True, kw_only=True)
class KeptConversation:
    """Turns that a file keeps: `async for piece in talk.say("…")`, one at a time. `kept.conversation(…)` opens one.

    `result` is that of the turn which has ended last; its output is JSON, as the file has it.
    """

    kept: KeptRun
    agent: Agent
    member: str = ""
    most: int | None = None
    summary: bool = False
    result: Result[Any] | None = None
    _is_open: bool = False

    @property
    def context(self) -> Context:
        """The conversation as it was when the last turn ended."""
        return self.kept.idea.context

    async def take(self, said: Given | None, show: Callable[[AnyEvent], None]) -> Result[Any]:
        """Take one turn, every event of which is shown; without `said`, go on with the one that is open.

        Raises:
            MessageError: a message is malformed.
            ActumError: what ended the turn; the file holds what had been done.
        """
        kept = self.kept
        if said is not None:
            context = kept.idea.context.extended(user_messages(said))  # a malformed message is refused at once
            if self.most is not None:
                cut = await assembled(self.agent).cut(kept.idea.context, self.most, summary=self.summary)
                if cut is not kept.idea.context:  # the notes of earlier requests are about messages that are gone
                    kept.keep(cut, {**kept.about, "ticks": []})
                    context = cut.extended(user_messages(said))
            kept.keep(context)
        return await kept.carry_on(self.agent, show)

    async def stream(self, said: Given | None = None) -> AsyncGenerator[AnyEvent]:
        """The events of the next turn, of what the user says or of messages; closing it early cancels the turn.

        Without `said` the turn goes on that waited for a decision, or was cut. What a turn has done stays in any case.

        Raises:
            ActumError: as `take`; or another turn is under way.
        """
        if self._is_open:
            raise ActumError(UNDER_WAY)
        self._is_open = True
        events: asyncio.Queue[AnyEvent | None] = asyncio.Queue()
        turn = asyncio.ensure_future(self.take(said, events.put_nowait))
        turn.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            self.result = turn.result()
        finally:
            turn.cancel()
            await asyncio.wait([turn])
            self._is_open = False

    async def say(self, said: Given) -> AsyncGenerator[str]:
        """What the assistant answers, piece by piece, as `Conversation.say`; raises as `stream`."""
        text, events = SentText(self.member), self.stream(said)
        try:
            async for event in events:
                if piece := text.piece(event):
                    yield piece
        finally:
            await events.aclose()
        text.end()

    def give_up(self) -> None:
        """Drop the open calls of a turn that was cut, or waits; what has been done stays."""
        self.kept.keep(without_plans(self.context))
