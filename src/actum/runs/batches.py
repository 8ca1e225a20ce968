"""Requests of runs in a provider's batches: stored before they are sent, and never paid twice (W36, W37).

A run that makes such a request waits, and occupies no worker. Any worker gathers requests into batches, looks after
these, and wakes the runs. The intent to make a batch is committed before it is made; if its maker is lost, the provider
is asked first whether it has the batch.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from os import urandom
from typing import Any

from ..errors import ActumError, ModelError, RequestWaits, RunError
from ..generation.model import Model, ModelRequest, Reasoning
from ..models.batching import BatchFailed, Batching, is_passing
from ..protocol.usage import Usage
from ..schema.json import JsonObject, encode
from .database import Transaction
from .row import IN_BATCH
from .run_store import RunStore
from .sql_rows import kept_object

_LOG = logging.getLogger("actum.worker")
_TRIES = 2
"""How often a request that a provider's batch didn't get to is put into another one."""
_MOST = 10_000
"""The most requests in one batch."""
_MOST_BYTES = 100_000_000
"""The most bytes of one batch; every provider takes as many."""
_GATHERING = 60.0
"""Seconds after which a batch is made even if more requests are coming."""
_RARELY = 60.0
"""The most seconds between two looks at a batch."""
_LOST = 5
"""After how many leases of silence the maker of a batch is lost."""
BATCH: JsonObject = {"batch": "answered"}
"""The message to a run whose request is answered."""
_ANY = (
    "SELECT 1 FROM actum_asked WHERE batch IS NULL AND result IS NULL "
    "UNION ALL SELECT 1 FROM actum_batches WHERE state <> 'ended' LIMIT 1"
)
_READY = (
    "SELECT kind, model FROM actum_asked WHERE batch IS NULL AND result IS NULL GROUP BY kind, model "
    "HAVING max(asked) <= now() - ? OR min(asked) <= now() - ? OR count(*) >= ?"
)
_GATHER = (
    "UPDATE actum_asked SET batch = ? WHERE id IN (SELECT id FROM actum_asked WHERE batch IS NULL AND result IS NULL "
    "AND kind = ? ORDER BY asked, id LIMIT ?) RETURNING id, body"
)
_DROP = "DELETE FROM actum_asked WHERE batch IS NULL AND result IS NULL AND due = 0 RETURNING id"
"""Drops requests of runs that were cancelled (`UNASK`)."""
_CREATED = "UPDATE actum_batches SET handle = ?, state = 'created', heard = now() WHERE key = ? RETURNING key"
_CLAIM = (
    "UPDATE actum_batches SET heard = now() WHERE heard <= now() - ? AND key IN (SELECT key FROM actum_batches "
    "WHERE state = ? AND heard <= now() - CASE WHEN (now() - made) / 20 < ? THEN (now() - made) / 20 ELSE ? END "
    "ORDER BY heard LIMIT 20) RETURNING key, handle, made"
)


def _digest(request: ModelRequest) -> str:
    parts = [request.mode, request.schema_text, [*request.messages], dict(request.settings)]
    return sha256(encode(parts).encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class _Answered:
    """A model whose answer came from a batch."""

    model: Any
    result: JsonObject

    @property
    def name(self) -> str:
        """Its name."""
        return self.model.name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | Reasoning | Usage]:
        """Yield the answer, then its usage."""
        if (refused := self.result.get("refused")) is not None:
            raise ModelError(f"{self.name}: its provider has refused the batch: {refused}", code="model_rejected")
        async for item in self.model.of_batch(request, self.result):
            yield item


def _batching(model: Any) -> Batching:
    batching: Batching | None = getattr(model, "batching", None)
    if batching is None:
        raise RunError(f"{model.name} takes no batches: openai-responses, anthropic and google models do")
    return batching


class RunBatches:
    """The batches of a place. `model_of` finds a model of a run by its name."""

    def __init__(self, store: RunStore, lease: float, model_of: Callable[[str, str], Awaitable[Model]]) -> None:
        self._store = store
        self._database = store.database
        self._lease = lease
        self._model_of = model_of

    def post(self, run: str, within: float) -> Callable[[Model, ModelRequest], Awaitable[Model]]:
        """What puts the requests of a run into batches, each to be answered within so many seconds."""

        async def posted(model: Model, request: ModelRequest) -> Model:
            result = await self._ask(run, within, model, request)
            if result is None:
                raise RequestWaits(f"{IN_BATCH}{model.name}")
            return _Answered(model, result)

        return posted

    async def _ask(self, run: str, within: float, model: Model, request: ModelRequest) -> JsonObject | None:
        """The answer to a request; None while it is in a batch, or waits for one."""
        batching = _batching(model)
        name = sha256(f"{run}\0{_digest(request)}".encode()).hexdigest()[:48]
        rows = await self._database.single("SELECT result FROM actum_asked WHERE id = ?", name)
        if rows:
            return kept_object(rows[0][0]) if rows[0][0] is not None else None
        body = await batching.encoded(request, name)
        kind = sha256(f"{model.name}\0{body['group']}".encode()).hexdigest()
        await self._database.single(
            "INSERT INTO actum_asked (id, run, kind, model, body, asked, due) VALUES (?, ?, ?, ?, ?, now(), "
            "now() + ?) ON CONFLICT (id) DO NOTHING RETURNING id",
            *(name, run, kind, model.name, encode(body), within),
        )
        return None

    async def look(self) -> None:
        """Gather requests into batches, and look after all batches."""
        if not await self._database.single(_ANY):  # in most places, this is the only query
            return
        for key in await self._gather():
            await self._guard(key, self._make(key))
        for key, _, began in await self._claim("intended", _LOST * self._lease):
            await self._guard(key, self._remake(key, began))
        for key, handle, _ in await self._claim("created", self._lease / 2):
            await self._guard(key, self._follow(key, kept_object(handle)))

    async def _guard(self, key: str, doing: Awaitable[None]) -> None:
        """Do something for a batch; an error is logged, and doesn't keep others from being looked after."""
        try:
            async with asyncio.TaskGroup() as tasks:
                sign = tasks.create_task(self._give_signs(key))
                try:
                    await doing
                finally:
                    sign.cancel()
        except* ActumError as group:
            for error in group.exceptions:
                _LOG.warning("batch %s: %s; it is looked at again", key, error)

    async def _claim(self, state: str, pause: float) -> Sequence[Sequence[Any]]:
        async with self._database.transaction() as within:
            return await within.rows(_CLAIM, pause, state, _RARELY, _RARELY)

    async def _gather(self) -> list[str]:
        """Note the intent to make batches; return the key of each."""
        batches: list[str] = []
        quiet = self._lease / 2
        if not await self._database.single(_READY, quiet, _GATHERING, _MOST):
            return []
        async with self._database.transaction() as within:
            if not (await within.rows(self._database.alone))[0][0]:
                return []
            await within.rows(_DROP)
            for kind, model in await within.rows(_READY, quiet, _GATHERING, _MOST):
                key = urandom(12).hex()
                bodies = await within.rows(_GATHER, key, kind, _MOST)
                await self._leave(within, bodies)
                await within.rows(
                    "INSERT INTO actum_batches (key, model, state, made, heard) "
                    "VALUES (?, ?, 'intended', now(), now()) RETURNING key",
                    *(key, model),
                )
                batches.append(key)
        return batches

    @staticmethod
    async def _leave(within: Transaction, bodies: Sequence[Sequence[Any]]) -> None:
        """Leave what is too much for one batch to the next one."""
        size, left = 0, list[tuple[str]]()
        for name, body in bodies:
            size += len(body.encode())
            left += [(name,)] if size > _MOST_BYTES else []
        if left and len(left) < len(bodies):
            await within.each("UPDATE actum_asked SET batch = NULL WHERE id = ?", left)

    async def _load(self, key: str) -> tuple[list[JsonObject], Batching]:
        """The requests of a batch, and its provider's API."""
        rows = await self._database.single("SELECT body, run, model FROM actum_asked WHERE batch = ? ORDER BY id", key)
        _, run, name = rows[0]
        return [kept_object(body) for body, _, _ in rows], _batching(await self._model_of(run, name))

    async def _make(self, key: str) -> None:
        requests, batching = await self._load(key)
        try:
            handle = await batching.create(requests)
        except ModelError as error:
            if error.status is None or error.status >= 500:
                raise  # the batch may have been made
            await self._fail(key, error)
            return
        await self._database.single(_CREATED, encode(handle), key)

    async def _give_signs(self, key: str) -> None:
        """Show others that a batch is being looked after; if that fails, the work on it ends."""
        while True:
            await asyncio.sleep(self._lease / 2)
            await self._database.single("UPDATE actum_batches SET heard = now() WHERE key = ? RETURNING key", key)

    async def _fail(self, key: str, error: ModelError) -> None:
        """Handle a failed batch: its requests are made again if the failure may pass; else their runs get the error."""
        lost = " AND due <= now()" if error.retryable else ""
        async with self._database.transaction() as within:
            result = encode({"refused": error.message})
            await within.rows(f"UPDATE actum_asked SET result = ? WHERE batch = ?{lost} RETURNING id", result, key)
            await within.rows(
                "UPDATE actum_asked SET batch = NULL, asked = now() WHERE batch = ? AND result IS NULL RETURNING id",
                key,
            )
        await self._wake(key)

    async def _remake(self, key: str, began: float) -> None:
        """Go on with a batch whose maker was lost: the provider's, if it has one, else a new one."""
        requests, batching = await self._load(key)
        handle = await batching.find([request["custom_id"] for request in requests], began, requests[0]["group"])
        if handle is None:
            await self._make(key)
            return
        await self._database.single(_CREATED, encode(handle), key)

    async def _follow(self, key: str, handle: JsonObject) -> None:
        """Take in how far a batch is. A late one, or one that nobody waits for any more, is cancelled."""
        rows = await self._database.single(
            "SELECT run, model, due <= now() FROM actum_asked WHERE batch = ? AND result IS NULL "
            "ORDER BY due DESC LIMIT 1",
            key,
        )
        if not rows:
            await self._wake(key)
            return
        run, name, is_late = rows[0]
        batching = _batching(await self._model_of(run, name))
        now = await batching.status(handle)
        if now["status"] == "in_progress" and is_late:
            now = await batching.cancel(now)
        if now["status"] == "ended":
            try:
                results = await batching.results(now)
            except BatchFailed as error:
                await self._fail(key, error)
            else:
                await self._collect(key, results)
        elif now != handle:
            await self._database.single(_CREATED, encode(now), key)

    async def _collect(self, key: str, results: Mapping[str, JsonObject]) -> None:
        """Store the answers to a batch, put requests that it didn't get to back, and wake the runs."""
        async with self._database.transaction() as within:
            rows = await within.rows(
                "SELECT id, tries, due <= now() FROM actum_asked WHERE batch = ? AND result IS NULL", key
            )
            answered: list[tuple[str, str]] = []
            again: list[tuple[str]] = []
            for name, tries, is_late in rows:
                result = results.get(name) or {"custom_id": name, "status": "expired", "body": None}
                if is_passing(result) and tries < _TRIES and not is_late:
                    again.append((name,))
                else:
                    answered.append((encode(result), name))
            await within.each("UPDATE actum_asked SET result = ? WHERE id = ?", answered)
            await within.each(
                "UPDATE actum_asked SET batch = NULL, tries = tries + 1, asked = now() WHERE id = ?", again
            )
        await self._wake(key)

    async def _wake(self, key: str) -> None:
        """Wake the runs of a batch whose requests are answered, and then delete the batch."""
        runs = await self._database.single(
            "SELECT DISTINCT run FROM actum_asked WHERE batch = ? AND result IS NOT NULL", key
        )
        for (run,) in runs:
            await self._store.send(run, [BATCH])
        await self._database.single("DELETE FROM actum_batches WHERE key = ? RETURNING key", key)
