"""Models of the kit: any program, and any model whose requests and answers are kept as files.

`Kept` without a model hands its requests to whoever writes the answers: a person, or a program that runs `turn`.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, cast

from actum import errors, models
from actum.models import Model, ModelRequest, Usage
from actum.schema.json import encode

from .exchange import Exchange

TURN = "turn"
"""The name of the model that answers through files."""


class Kept:
    """Answers from what an exchange holds, else from a model, else not at all: then `waits` is set.

    A request that waits never ends by itself; whoever has set it off cancels it, and asks again once it is answered.
    """

    def __init__(self, exchange: Exchange, model: Model | None) -> None:
        self.waits = asyncio.Event()
        self._exchange = exchange
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model that answers."""
        return TURN if self._model is None else self._model.name

    @property
    def dialect(self) -> Any:
        """The dialect of the model that answers; who answers through files is sent the schema as it is."""
        return getattr(self._model, "dialect", None)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Yield the answer, and keep one that the model has just given.

        Raises:
            ModelError: the model's own.
        """
        asked = self._exchange.ask(request)
        if asked.answer is not None:
            yield asked.answer
            yield Usage(requests=1)
            return
        if self._model is None:
            self.waits.set()
            await asyncio.Future[None]()
            return
        pieces: list[str] = []
        usage = Usage(requests=1)
        answer = self._model.stream(request)
        try:
            async for piece in answer:
                if isinstance(piece, Usage):
                    usage = piece
                elif isinstance(piece, str):
                    pieces.append(piece)
                    yield piece
            self._exchange.take(asked.number, "".join(pieces))
            yield usage
        finally:
            if isinstance(answer, AsyncGenerator):
                await cast("AsyncGenerator[str | Usage]", answer).aclose()


class Program:
    """A program that is started for every request: it reads it from its standard input and writes the answer.

    What it reads is one JSON object: `messages` (`role`, `content`), the `schema` that the answer must fit, `settings`,
    and `mode`: `prompted` if the messages state the schema already.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)

    @property
    def name(self) -> str:
        """The command."""
        return shlex.join(self._command)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Usage]:
        """Yield what the program wrote.

        Raises:
            ModelError: it can't be started, fails, or writes no text.
        """
        asked = {
            "messages": list(request.messages),
            "schema": request.schema,
            "settings": dict(request.settings),
            "mode": request.mode,
        }
        answer = await self._answer(encode(asked).encode())
        yield answer
        yield Usage(requests=1)

    async def _answer(self, asked: bytes) -> str:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe)
        except OSError as error:
            raise errors.ModelError(f"{self.name} can't be started: {error.strerror}", code="model_program") from error
        try:
            answer, _ = await process.communicate(asked)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise errors.ModelError(
                f"{self.name} ended with exit code {process.returncode}; no answer was taken", code="model_program"
            )
        try:
            return answer.decode()
        except UnicodeDecodeError as error:
            raise errors.ModelError(f"{self.name} wrote what is not UTF-8", code="model_program") from error


def model_of(name: str) -> Model | None:
    """The model of a name: a provider's as `actum.models.load` takes it, or a command; None for `turn`.

    Raises:
        ModelError: it is neither.
    """
    if name == TURN:
        return None
    words = shlex.split(name)
    if words and Path(words[0]).is_file():
        return Program([str(Path(words[0]).resolve()), *words[1:]])
    if words and shutil.which(words[0]):
        return Program(words)
    try:
        return models.load(name)
    except errors.ModelError as error:
        if error.code != "model_unknown":
            raise
        raise errors.ModelError(f"{error.message}; or {TURN}, scripted, or the path of a program") from None
