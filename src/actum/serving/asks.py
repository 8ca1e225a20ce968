"""The questions of a run to the host that called it, where the host's own model answers.

A run asks a question and waits. How the question travels to the host is decided in `wire`; nothing here knows MCP.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from ..errors import ModelError
from ..generation.model import ModelRequest
from ..protocol.usage import Usage
from ..schema.json import JsonObject, encode

_ID = 12
"""How many characters tell the questions of one run apart."""
_MOST_SHOWN = 8


def question_id(*parts: object) -> str:
    """The id of a question, a hash of its contents: a run that asks it again asks the same question."""
    return hashlib.sha256(encode(list(parts)).encode()).hexdigest()[:_ID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request to a model, as plain messages `{role, content}`, and the schema of its answer as JSON text."""

    id: str
    messages: Sequence[JsonObject]
    schema: str

    @classmethod
    def of(cls, request: ModelRequest) -> Question:
        """The question that a request asks."""
        messages: list[JsonObject] = [
            {"role": message["role"], "content": message["content"]} for message in request.messages
        ]
        return cls(id=question_id(messages, request.schema_text), messages=messages, schema=request.schema_text)


@dataclass(eq=False)
class Asks:
    """The open questions of one run. Delegates ask in parallel; equal questions get the same answer."""

    _open: dict[str, tuple[Question, asyncio.Future[str]]] = field(
        default_factory=dict[str, tuple[Question, "asyncio.Future[str]"]]
    )
    _asked: asyncio.Event = field(default_factory=asyncio.Event)
    _shown: list[Question] = field(default_factory=list[Question])

    @property
    def open(self) -> Sequence[Question]:
        """The questions that nobody has answered yet, in the order of asking."""
        return [question for question, _ in self._open.values()]

    async def opened(self) -> None:
        """Wait until a question is open, and for those that are asked at the same moment."""
        await self._asked.wait()
        await asyncio.sleep(0)

    async def ask(self, question: Question) -> str:
        """Ask a question; return the text of its answer."""
        if question.id not in self._open:
            self._open[question.id] = question, asyncio.get_running_loop().create_future()
            self._asked.set()
        answer = self._open[question.id][1]
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            self._close(question.id)
            raise

    def answer(self, id: str, text: str) -> bool:
        """Answer a question; return whether it was open: each is answered once."""
        future = self._close(id)
        if future is None or future.done():
            return False
        future.set_result(text)
        return True

    def _close(self, id: str) -> asyncio.Future[str] | None:
        entry = self._open.pop(id, None)
        if not self._open:
            self._asked.clear()
        return None if entry is None else entry[1]

    def unseen(self, question: Question) -> tuple[int, bool]:
        """How many of a question's first messages the host has been shown before, and whether it knows the schema."""
        same = [_common_start(question.messages, old.messages) for old in self._shown if old.schema == question.schema]
        self._shown = [*self._shown[1 - _MOST_SHOWN :], question]
        return max(same, default=0), bool(same)


def _common_start(messages: Sequence[JsonObject], shown: Sequence[JsonObject]) -> int:
    count = 0
    for message, before in zip(messages, shown, strict=False):
        if message != before:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class HostModel:
    """A model whose answers the host of a run gives (see `Asks`). `patience` is how many seconds it may take."""

    asks: Asks
    patience: float | None = None
    name: str = "host"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Ask the host, and yield its answer in one piece.

        Raises:
            ModelError: it did not answer in time.
        """
        try:
            async with asyncio.timeout(self.patience):
                text = await self.asks.ask(Question.of(request))
        except TimeoutError:
            raise ModelError("the host has not answered in time") from None
        yield text
        yield Usage(requests=1)
