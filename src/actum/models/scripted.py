"""A model that answers from a script: what tests, examples and dry runs use instead of a provider.

It is an adapter like the others, so a run cannot tell the difference; it never looks at the schema it is sent.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias, cast

from ..errors import ModelError
from ..generation.model import ModelRequest, Reasoning, Usage, closing
from ..generation.request_media import EVERYTHING, Takes
from ..schema.json import encode

Reply: TypeAlias = Mapping[str, Any] | str | BaseException | AsyncIterator[str | Reasoning | Usage]
"""A mapping is sent as JSON text, a string as it is; an exception is raised; an iterator yields the deltas."""

ScriptedAnswer: TypeAlias = Reply | Callable[[ModelRequest], Reply | Awaitable[Reply]]
"""One answer of a script: a reply, or a function, async or not, that makes one from the request."""


_PARTS = frozenset({"calls", "output", "meta"})
"""The keys of an answer; another key that is close to one is a mistake. Text is sent whatever it holds."""


class Scripted:
    """Answers the n-th request with the n-th answer.

    Args:
        answers: dicts, raw texts, exceptions, or callables that make one of these from a request.
        chunk: how many characters a delta has; None gives the whole text as one.
        delay: the seconds between deltas; even 0 yields to the event loop between them.
        name: the model's name.
        usage: the usage of each request.
        repeat_last: the last answer serves every request after it.
        dialect: what it takes of JSON Schema; all of it by default.
        takes: what it takes in addition to text; everything by default.

    `requests` holds what it was sent, in order.
    """

    def __init__(
        self,
        answers: Sequence[ScriptedAnswer],
        *,
        chunk: int | None = None,
        delay: float = 0,
        name: str = "scripted",
        usage: Usage | None = None,
        repeat_last: bool = False,
        dialect: Any = None,
        takes: Takes = EVERYTHING,
    ) -> None:
        if chunk is not None and chunk < 1:
            raise ValueError(f"chunk must be at least 1, not {chunk}")
        if isinstance(answers, str | Mapping):
            raise TypeError("a script is a list of answers: Scripted([answer, …])")
        self.requests: list[ModelRequest] = []
        self.dialect = dialect
        self.takes = takes
        self._answers = [_check(answer, index) for index, answer in enumerate(answers, 1)]
        self._chunk = chunk
        self._delay = delay
        self._name = name
        self._usage = usage or Usage(requests=1)
        self._repeat_last = repeat_last

    @property
    def name(self) -> str:
        """The name given, "scripted" without one."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """Yield the next answer of the script.

        Raises:
            ModelError: when no answer is left. An exception of the script is raised as it is.
        """
        self.requests.append(request)
        # Taken before anything is awaited: concurrent requests get their answers in the order they were sent.
        answer = await _resolve(self._take(len(self.requests)), request)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, AsyncIterator):
            async with closing(answer) as deltas:
                async for delta in deltas:
                    yield delta
                    if isinstance(delta, Usage):
                        return
                    await asyncio.sleep(self._delay)
            yield self._usage
            return
        text = answer if isinstance(answer, str) else encode(dict(answer))
        size = self._chunk or len(text) or 1
        for start in range(0, len(text), size):
            await asyncio.sleep(self._delay if start else 0)
            yield text[start : start + size]
        yield self._usage

    def _take(self, number: int) -> ScriptedAnswer:
        if number <= len(self._answers):
            return self._answers[number - 1]
        if self._repeat_last and self._answers:
            return self._answers[-1]
        raise ModelError(
            f"{self._name}: request number {number} has no answer: the script has only {len(self._answers)}",
            code="model_script_exhausted",
        )


async def _resolve(answer: ScriptedAnswer, request: ModelRequest) -> Reply:
    if not callable(answer):
        return answer
    reply = answer(request)
    return _reply(await reply if inspect.isawaitable(reply) else reply)


def _reply(answer: object) -> Reply:
    if isinstance(answer, str | Mapping | BaseException | AsyncIterator):
        return cast("Reply", answer)
    raise TypeError(f"a {type(answer).__name__} is not an answer: give a dict, a str, an exception or async deltas")


def _check(answer: ScriptedAnswer, number: int) -> ScriptedAnswer:
    if callable(answer):
        return answer
    try:
        reply = _reply(answer)
        if isinstance(reply, Mapping):
            encode(dict(reply))
            for key in reply.keys() - _PARTS:
                # Answers of other forms (`tool_calls`) may be scripted, too; only a near miss is a mistake.
                for meant in get_close_matches(key.lower(), _PARTS, 1, 0.8):
                    raise TypeError(f"{key!r} is not part of an answer: did you mean {meant!r}?")
    except (TypeError, ValueError) as error:
        raise TypeError(f"answer {number} of the script: {error}") from None
    return reply
