"""A model that a provider serves, over the wire that its host speaks.

What is ours in all of them: the schema's bytes, one retry policy before the first delta, `ModelError`s, prices, and the
pool. What they need is imported by the first request, on a thread.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from copy import copy
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from ..errors import ModelError, SchemaError
from ..generation.model import REFUSED, ModelRequest, Reasoning, Usage
from ..generation.request_media import Takes
from ..protocol.config import Settings
from . import failures, prices
from .caching import Prefixes
from .port import AnswerEnd, Endpoint, Wire, WireRequest
from .retry_policy import Retrying

if TYPE_CHECKING:
    from ..schema.json import JsonObject
    from .batching import Batching
    from .wires.library_wire import LibraryWire

_LOG = logging.getLogger("actum.models")
_POOL = "actum.models.pool"
ONLY_HOSTS = "ACTUM_ONLY_HOSTS"
"""The environment variable with the hosts that may be asked, which tests set; without it, all may."""
_importing = Lock()
"""Held while SDKs are imported: modules that import each other can't be imported by two threads at once."""
_imported: set[str] = set()
"""Modules whose import has ended; `sys.modules` holds a module as soon as its import begins."""


class Hosted:
    """The model port over HTTP; `load` makes them.

    `timeout` is the longest silence in seconds, until the answer starts and between its parts; how long an answer may
    take in all is the run's to limit (L5).
    """

    def __init__(
        self,
        model: str,
        *,
        wire: Wire,
        endpoint: Endpoint,
        dialect: str | None = None,
        timeout: float = 600.0,
        retrying: Retrying | None = None,
        price: prices.Price | None = None,
        keys: tuple[str, ...] = (),
        needs_key: bool = False,
    ) -> None:
        self._model = model
        self._wire = wire
        self._price = price
        self._keys = keys
        self._needs_key = needs_key
        self._prefixes = Prefixes()
        self._endpoint = endpoint
        self._ignored: set[str] = set()
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

    def disprove(self) -> None:
        """Note that the host takes a schema and doesn't hold answers to it: requests state it in words from now on."""
        if self._dialect != "PROMPTED_ONLY":
            self._dialect = "PROMPTED_ONLY"
            reason = "takes a schema and doesn't hold its answers to it: the schema is told in words (model_unenforced)"
            _LOG.warning("%s %s", self.name, reason)

    @property
    def takes(self) -> Takes:
        """What its provider takes in addition to text."""
        return self._wire.takes(self._endpoint)

    @property
    def has_price(self) -> bool:
        """Whether its price is known, so that a limit in US dollars can be held."""
        return prices.is_known(self._endpoint.provider, self._model, self._price)

    def ignored(self, settings: Mapping[str, Any]) -> list[str]:
        """Which of these settings its provider isn't sent."""
        return self._wire.ignored(settings)

    @property
    def retrying(self) -> Retrying:
        """When a request that failed is sent again; also how long a run waits that asks for a whole answer again."""
        return self._retrying

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """Yield the answer's text as it arrives, with the model's thoughts if they are streamed, then its usage.

        An answer that max_tokens cut, or that was declined, is yielded up to its end, with its usage, and then raised.

        Raises:
            ModelError: whatever went wrong; its codes are listed in `actum.models.failures`.
        """
        asked = await self.prepare(request)
        settings = asked.request.settings
        self._warn_ignored(settings)
        asked = replace(asked, marks=self._prefixes.marks(asked.request, self._wire.least_kept(self._model)))
        attempt = 0
        while True:
            started = has_text = False
            try:
                async with aclosing(self._wire.answer(asked)) as events:
                    async for item in events:
                        if isinstance(item, str):
                            started = has_text = True
                            yield item
                            continue
                        if isinstance(item, Reasoning):  # nothing is built on it: a failure may still be retried
                            yield item
                            continue
                        if has_text or item.reason is not None:
                            # Before any failure: the tokens are spent however the answer ended.
                            started = True
                            yield self._priced(item)
                        if failure := failures.shortfall(self.name, item, is_empty=not has_text):
                            raise failure
                return
            except ModelError as error:
                is_final = started or (request.is_gated and error.code == REFUSED)
                wait = None if is_final else self._retrying.wait(attempt, error)
                if wait is None:
                    headers: Mapping[str, object] = settings.get("headers") or {}
                    error.conceal(asked.endpoint.api_key, *headers.values())
                    raise
            attempt += 1
            await self._retrying.sleep(wait)

    def _warn_ignored(self, settings: Mapping[str, Any]) -> None:
        """Log once for each setting that the provider isn't sent."""
        for name in self.ignored(settings) if settings else ():
            if name not in self._ignored:
                self._ignored.add(name)
                _LOG.warning("%s isn't sent the setting %r", self.name, name)

    @property
    def batching(self) -> Batching | None:
        """Its provider's batches; None if the provider takes none."""
        if not self._wire.batches:
            return None
        from .batching import Batching

        return Batching(cast("LibraryWire", self._wire), self.prepare)

    async def prepare(self, request: ModelRequest) -> WireRequest:
        """A request as its wire takes it, with the SDK imported.

        Raises:
            ModelError: the host may not be asked, or a key or an SDK is missing.
        """
        self._check_allowed()
        request, endpoint = _with_settings(request), self._keyed()
        if not _imported.issuperset(self._wire.modules):
            # A second of imports, once: on a thread, so that the loop isn't blocked.
            await asyncio.to_thread(self._import)
        return WireRequest(endpoint=endpoint, model=self._model, request=request, user=self, silence=self._timeout)

    async def of_batch(self, request: ModelRequest, result: JsonObject) -> AsyncGenerator[str | Usage]:
        """Yield the answer in a batch's result, then its usage; raises as `stream`."""
        batching = self.batching
        assert batching is not None
        text, ended = await batching.answer(request, result)
        if text:
            yield text
        yield self._priced(ended)
        if failure := failures.shortfall(self.name, ended, is_empty=not text):
            raise failure

    async def aclose(self) -> None:
        """Close this event loop's connections unless another model shares them; a later request opens new ones."""
        if _POOL in sys.modules:
            from . import pool

            await pool.release(self._keyed(is_needed=False), self)

    def _check_allowed(self) -> None:
        """Check that the host may be asked, where a test restricts the hosts."""
        only = os.environ.get(ONLY_HOSTS)
        host = urlsplit(self._endpoint.base_url or "").hostname
        if only is not None and host not in only.split(","):
            text = f"{self.name}: no request may be made here (actum.testing.no_requests): give models.Scripted instead"
            raise ModelError(f"{text}, for example by agent.override(model=…)", code="model_forbidden")

    def _keyed(self, *, is_needed: bool = True) -> Endpoint:
        """The endpoint with its key, from the environment if none was given."""
        key = self._endpoint.api_key or next((value for name in self._keys if (value := os.environ.get(name))), None)
        if key is None and is_needed and self._needs_key:
            names = " or ".join(self._keys)
            message = f"{self._endpoint.provider} needs an API key: set {names}, or give api_key"
            raise ModelError(message, code="model_auth")
        return self._endpoint if key == self._endpoint.api_key else replace(self._endpoint, api_key=key)

    def _priced(self, ended: AnswerEnd) -> Usage:
        provider = self._endpoint.provider
        if self._price is None and not self._endpoint.is_own and not self._keys:
            return ended.usage  # a host without listed prices
        return prices.priced(ended.usage, provider, ended.model, self._price)

    def _import(self) -> None:
        try:
            with _importing:
                for name in self._wire.modules:
                    importlib.import_module(name)
                    _imported.add(name)
                if gc.get_freeze_count():  # the process has frozen what it loaded before
                    gc.freeze()
        except ImportError as error:
            raise ModelError(f"{self.name}: {error}", code="model_not_installed") from error


def _with_settings(request: ModelRequest) -> ModelRequest:
    """The request with validated settings: a handler or a program may have assembled them."""
    if isinstance(request.settings, Settings):
        return request
    checked = copy(request)  # not `replace`, which would read the schema
    try:
        checked.__dict__["settings"] = Settings.of(request.settings)
    except SchemaError as error:
        raise ModelError(error.message, code="model_rejected") from None
    return checked
