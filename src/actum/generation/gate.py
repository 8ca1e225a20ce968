"""The gate before a model: who shares it with others is let in when there is room, and waits where it is refused.

A provider's "too many requests" is no failure behind a gate: the request is made again when the provider takes some.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from copy import copy
from typing import Protocol, TypeAlias

from ..errors import ModelError
from ..protocol.usage import Usage
from .model import Model, ModelRequest, Reasoning, closing

_LETTERS = 4
"""About how many characters a token has, for what is not known before it is sent."""
REFUSED = "model_rate_limit"
"""The code of the error of a provider that has too many requests."""


Settled: TypeAlias = Callable[[], Awaitable[None]]


class Gate(Protocol):
    """Says when a model may be asked. Models are known by their names."""

    async def enter(self, model: str, tokens: int) -> None:
        """Wait until a request of about so many tokens may be sent."""
        ...

    async def refused(self, model: str, retry_after: float | None) -> None:
        """Take in that the provider has too many requests, and wants none for so many seconds, if it says so."""
        ...

    async def left(self, model: str, tokens: int, used: int | None) -> None:
        """Take in that a request has ended that was let in for so many tokens, and how many it has used."""
        ...


class Gated:
    """A model behind a gate, for one request. `is_last`: there is no other model that could be asked instead.

    `settled` is awaited once it is let in: while it waited, others may have taken the run over.
    """

    def __init__(self, model: Model, gate: Gate, settled: Settled | None, *, is_last: bool) -> None:
        self.name = model.name
        self._model = model
        self._gate = gate
        self._settled = settled
        self._is_last = is_last

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """Yield the answer once there is room for the request; raises as the model does.

        Raises:
            ModelError: whatever went wrong, but for too many requests where no other model could be asked.
        """
        own = copy(request)
        own.__dict__["is_gated"] = True
        tokens = _tokens(request)
        while True:
            await self._gate.enter(self.name, tokens)
            has_begun = False
            used: int | None = 0
            try:
                if self._settled is not None:
                    await self._settled()
                used = None
                async with closing(self._model.stream(own)) as deltas:
                    async for delta in deltas:
                        has_begun = True
                        used = delta.tokens if isinstance(delta, Usage) else used
                        yield delta
                return
            except ModelError as error:
                if error.code != REFUSED or has_begun:
                    raise
                await self._gate.refused(self.name, error.retry_after)
                used = 0
                if not self._is_last:
                    raise
            finally:
                await self._gate.left(self.name, tokens, used)


def _tokens(request: ModelRequest) -> int:
    """About how many tokens a request has."""
    said = sum(len(message["content"]) for message in request.messages)
    return (said + len(request.schema_text)) // _LETTERS + 1
