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
"""A mapping is sent as JSON text, a string as it is, an exception is raised, an iterator gives the deltas itself."""

ScriptedAnswer: TypeAlias = Reply | Callable[[ModelRequest], Reply | Awaitable[Reply]]
"""One answer of a script: JSON as text or value, an error to raise, or what makes one of the request, async or not."""


_PARTS = frozenset({"calls", "output", "meta"})
"""What an answer has; a dict with another name that is near is a slip. As a text, anything is sent."""


class Scripted:
    """Answers the n-th request with the n-th answer.

    Args:
        answers: dicts, raw texts, exceptions, or what makes one of these of a request.
        chunk: how many characters a delta has; None gives the whole text as one.
        delay: the seconds between deltas; control is given up between them even when it is 0.
        name: what it tells of itself.
        usage: what each request is said to have cost.
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
        self._answers = [_checked(answer, index) for index, answer in enumerate(answers, 1)]
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
    made = answer(request)
    return _made(await made if inspect.isawaitable(made) else made)


def _made(answer: object) -> Reply:
    if isinstance(answer, str | Mapping | BaseException | AsyncIterator):
        return cast("Reply", answer)
    raise TypeError(f"a {type(answer).__name__} is not an answer: give a dict, a str, an exception or async deltas")


def _checked(answer: ScriptedAnswer, number: int) -> ScriptedAnswer:
    if callable(answer):
        return answer
    try:
        made = _made(answer)
        if isinstance(made, Mapping):
            encode(dict(made))
            for key in (one for one in made if one not in _PARTS):
                # Answers of other forms (`tool_calls`) are scripted, too: only a slip of a letter or two is one.
                for meant in get_close_matches(key.lower(), _PARTS, 1, 0.8):
                    raise TypeError(f"{key!r} is not part of an answer: did you mean {meant!r}?")
    except (TypeError, ValueError) as error:
        raise TypeError(f"answer {number} of the script: {error}") from None
    return made
