"""What a run asks of the host that has called it: a model's answers, where the host's own model gives them.

A run puts a question and waits. How it travels to the host is for others (`wire`); nothing here knows of MCP.
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
    """What a question is known by: made of all that it says, so that a run which asks it again asks the same one."""
    return hashlib.sha256(encode(list(parts)).encode()).hexdigest()[:_ID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request to a model, as plain messages `{role, content}`, and the schema of its answer as JSON text."""

    id: str
    messages: Sequence[JsonObject]
    schema: str

    @classmethod
    def of(cls, request: ModelRequest) -> Question:
        """The question that a request is."""
        messages: list[JsonObject] = [{"role": one["role"], "content": one["content"]} for one in request.messages]
        return cls(id=question_id(messages, request.schema_text), messages=messages, schema=request.schema_text)


@dataclass(eq=False)
class Asks:
    """The open questions of one run. Delegates ask in parallel; two that ask the same get the same answer."""

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
        """Wait until there is an open question, and those that are asked at the same moment are there, too."""
        await self._asked.wait()
        await asyncio.sleep(0)

    async def ask(self, question: Question) -> str:
        """Put a question; return the text of its answer."""
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
        """Answer a question; whether it was open: each is answered once."""
        found = self._close(id)
        if found is None or found.done():
            return False
        found.set_result(text)
        return True

    def _close(self, id: str) -> asyncio.Future[str] | None:
        found = self._open.pop(id, None)
        if not self._open:
            self._asked.clear()
        return None if found is None else found[1]

    def unseen(self, question: Question) -> tuple[int, bool]:
        """How many of a question's first messages the host has been shown before, and whether it knows the schema."""
        same = [_alike(question.messages, one.messages) for one in self._shown if one.schema == question.schema]
        self._shown = [*self._shown[1 - _MOST_SHOWN :], question]
        return max(same, default=0), bool(same)


def _alike(messages: Sequence[JsonObject], others: Sequence[JsonObject]) -> int:
    count = 0
    for one, other in zip(messages, others, strict=False):
        if one != other:
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
