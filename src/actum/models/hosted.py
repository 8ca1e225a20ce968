"""A model that a provider serves: chat completions by ourselves (`chat`), other wires by pydantic-ai's low-level API.

What is ours in both: the schema's bytes, one retry policy before the first delta, `ModelError`s, and the pool. What
they need is imported by the first request, on a thread.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..generation.gate import REFUSED
from ..generation.media import Takes
from ..generation.model import ModelRequest, Reasoning, Usage
from . import failures, wire
from .ended import Ended
from .endpoint import Endpoint, Kind
from .parts import TAKES
from .retrying import Retrying

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model

_CLIENTS = "actum.models.clients"
_POOL = "actum.models.pool"
_CHAT_MODULE = "actum.models.chat"
_importing = Lock()
"""Held while SDKs are imported: modules that import each other can't be imported by two threads at once."""
_imported: set[str] = set()
"""Modules whose import has ended; `sys.modules` holds them from when it begins."""
_CHAT = ("openai", "openai-compatible")
"""The wires that need no library."""
_LIBRARY: dict[Kind, str] = {
    "openai-responses": "pydantic_ai.models.openai",
    "anthropic": "pydantic_ai.models.anthropic",
    "google": "pydantic_ai.models.google",
}


class Hosted:
    """The model port over HTTP; `load` makes them.

    `timeout` is the longest silence in seconds, until the answer starts and between its parts; how long an answer may
    take in all is the run's to limit (L5).
    """

    def __init__(
        self,
        model: str,
        *,
        endpoint: Endpoint,
        dialect: str | None = None,
        timeout: float = 600.0,
        retrying: Retrying | None = None,
    ) -> None:
        self._model = model
        self._endpoint = endpoint
        self._dialect = dialect
        self._timeout = timeout
        self._retrying = retrying or Retrying()

    @property
    def name(self) -> str:
        """The provider and its name for the model, as `load` takes them."""
        return f"{self._endpoint.provider}:{self._model}"

    @property
    def dialect(self) -> Any:
        """The dialect of `actum.schema.lowering` that the provider's structured output takes, None if unknown."""
        if self._dialect is None:
            return None
        return getattr(importlib.import_module("actum.schema.lowering"), self._dialect)

    @property
    def takes(self) -> Takes:
        """What its provider takes beside text (M10)."""
        return TAKES[self._endpoint.kind]

    @property
    def retrying(self) -> Retrying:
        """When a request that failed is sent again; also how long a run waits that asks for a whole answer again."""
        return self._retrying

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """Yield the answer's text as it arrives, with what the model thinks where that is streamed, then its usage.

        An answer that max_tokens cut, or that was declined, is yielded up to its end, with its usage, and then raised.

        Raises:
            ModelError: whatever went wrong; its codes are listed in `actum.models.failures`.
        """
        attempt = 0
        while True:
            started = said = False
            try:
                async with aclosing(await self._answer(request)) as events:
                    async for item in events:
                        if isinstance(item, str):
                            started = said = True
                            yield item
                            continue
                        if isinstance(item, Reasoning):  # nothing is built on it, so what fails now is sent again
                            yield item
                            continue
                        if said or item.reason is not None:
                            # Before any failure: the tokens are spent however the answer ended.
                            started = True
                            yield item.usage
                        if failure := failures.unfinished(self.name, item.reason, item.refusal):
                            raise failure
                        if not said:
                            raise failures.empty(self.name)
                return
            except ModelError as error:
                is_told = started or (request.is_gated and error.code == REFUSED)
                wait = None if is_told else self._retrying.wait(attempt, error)
                if wait is None:
                    more: Mapping[str, object] = request.settings.get("extra_headers") or {}
                    error.conceal(self._endpoint.api_key, *more.values())
                    raise
            attempt += 1
            await self._retrying.sleep(wait)

    async def aclose(self) -> None:
        """Close this event loop's connections unless another model shares them; a later request opens new ones."""
        if _POOL in sys.modules:
            from . import pool

            await pool.release(self._endpoint, self)

    async def _answer(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Ended]:
        """What answers a request, everything that it needs being imported."""
        if self._endpoint.kind in _CHAT:
            if _CHAT_MODULE not in _imported:
                await asyncio.to_thread(self._import, _CHAT_MODULE, "genai_prices")
            from . import chat

            return chat.answer(self._endpoint, self._model, request, user=self, silence=self._timeout)
        return self._events(await self._connected(), request)

    async def _events(self, model: Model[Any], request: ModelRequest) -> AsyncGenerator[str | Reasoning | Ended]:
        """Yield text and thoughts, then how it ended; what the library raises is translated here alone."""
        from pydantic_ai.direct import model_request_stream

        from . import clients

        responses: list[httpx2.Response] = []
        try:
            stream = model_request_stream(
                model,
                wire.messages(
                    request.messages,
                    inline_system=self._inlines_system(model),
                    kind=self._endpoint.kind,
                    stable=request.stable,
                ),
                model_settings=wire.settings(request, self._timeout, self._endpoint.kind),
                model_request_parameters=wire.parameters(request, self._unenforced),
                instrument=False,
            )
            async with clients.opened(stream, responses) as response:
                async for event in response:
                    if text := wire.text(event):
                        yield text
                    elif thought := wire.thought(event):
                        yield Reasoning(thought)
                whole = response.get()
                usage = wire.usage(whole, priced=True)
                yield Ended(usage=usage, reason=wire.ending(whole), refusal=wire.refusal(whole))
        except Exception as error:
            raise failures.translated(error, self.name, answered=bool(responses)) from error

    async def _connected(self) -> Model[Any]:
        try:
            # A second of imports, once: on a thread, so that the loop isn't blocked.
            library = _LIBRARY[self._endpoint.kind]
            if not _imported.issuperset((library, _CLIENTS)):
                await asyncio.to_thread(self._import, library, "pydantic_ai.direct", _CLIENTS)
            from . import clients

            return await clients.model(self._endpoint, self._model, self)
        except ModelError:
            raise
        except Exception as error:
            raise failures.translated(error, self.name, answered=False) from error

    def _import(self, *names: str) -> None:
        try:
            with _importing:
                for name in names:
                    importlib.import_module(name)
                    _imported.add(name)
        except ImportError as error:
            raise ModelError(f"{self.name}: {error}", code="model_not_installed") from error

    def _inlines_system(self, model: Model[Any]) -> bool:
        if self._endpoint.kind in {"anthropic", "google"}:
            return bool(model.profile.get("supports_inline_system_prompts", False))
        return True

    @property
    def _unenforced(self) -> wire.Unenforced:
        # Anthropic's output schemas are always enforced; a tool's need not be.
        return "tool" if self._endpoint.kind == "anthropic" else "schema"
