"""A provider's batch API: requests that may take a day, at a lower price (W36-W38). Needs the library."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..errors import ModelError
from ..generation.model import ModelRequest
from ..schema.json import JsonObject
from . import failures
from .port import AnswerEnd, WireRequest
from .wires.library_wire import LibraryWire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import TypeAdapter
    from pydantic_ai.models import Model
    from pydantic_ai.models.batch import Batch

T = TypeVar("T")
_PASSING = re.compile(r'rate_limit|overloaded|"status_code":(429|5)|"code":(4|8|10|13|14)\b')
"""Matches the errors of requests that may be sent again: by name, by HTTP's status, by Google's codes."""
_SLACK = 60.0
"""How many seconds a provider's clock may be behind."""


class BatchFailed(ModelError):
    """A batch ended without an answer to any of its requests."""


class Batching:
    """The batches of one model. Requests, handles and results are plain JSON; all methods raise ModelError."""

    def __init__(self, wire: LibraryWire, prepare: Callable[[ModelRequest], Awaitable[WireRequest]]) -> None:
        self._wire = wire
        self._prepare = prepare

    async def encoded(self, request: ModelRequest, id: str) -> JsonObject:
        """A request as a batch holds it; all requests of a batch have the same `group`."""
        asked, model = await self._prepared(request)
        return asdict(await self._awaited(asked, model.batch_encode(self._wire.batched(asked, model, id))))

    async def create(self, requests: Sequence[JsonObject]) -> JsonObject:
        """Create a batch from requests of one group. A ModelError with a status below 500 means that none was made."""
        from pydantic_ai.models.batch import EncodedBatchRequest

        asked, model = await self._prepared()
        encoded = [EncodedBatchRequest(**request) for request in requests]
        return _to_json(await self._awaited(asked, model.batch_create(encoded)))

    async def status(self, handle: JsonObject) -> JsonObject:
        """The handle of a batch as it is now; its `status` is `ended` once there are results."""
        asked, model = await self._prepared()
        return _to_json(await self._awaited(asked, model.batch_status(_from_json(handle))))

    async def cancel(self, handle: JsonObject) -> JsonObject:
        """Cancel a batch: no more of its requests are answered."""
        asked, model = await self._prepared()
        return _to_json(await self._awaited(asked, model.batch_cancel(_from_json(handle))))

    async def results(self, handle: JsonObject) -> Mapping[str, JsonObject]:
        """The results of the requests of a batch that has ended, by their ids.

        Raises:
            BatchFailed: the batch failed as a whole.
            ModelError: the results can't be read now.
        """
        # No public name of the library tells errors of a whole batch apart. Other errors may pass, and a batch that is
        # made again after one of them would be paid for twice.
        from pydantic_ai.models._batch_codec import BatchJobError  # pyright: ignore[reportPrivateUsage]

        asked, model = await self._prepared()
        try:
            results = await model.batch_results(_from_json(handle))
        except Exception as error:
            failure = failures.translated(error, asked.name, answered=True)
            if isinstance(error, BatchJobError):
                raise BatchFailed(failure.message, code=failure.code, retryable=failure.retryable) from error
            raise failure from error
        return {result.custom_id: asdict(result) for result in results}

    async def answer(self, request: ModelRequest, result: JsonObject) -> tuple[str, AnswerEnd]:
        """The text of an answer, and how it ended.

        Raises:
            ModelError: the provider refused the request, or never got to it.
        """
        from pydantic_ai.models.batch import BatchResult

        asked, model = await self._prepared(request)
        try:
            response = model.batch_decode(BatchResult(**result), self._wire.batched(asked, model, result["custom_id"]))
        except Exception as error:
            raise failures.translated(error, asked.name, answered=True) from error
        return self._wire.read(response, asked)

    async def find(self, ids: Collection[str], since: float, group: str) -> JsonObject | None:
        """The handle of the batch with these requests, if the provider has one made since then (W37).

        Raises:
            ModelError: it can't be known, at least not yet.
        """
        from pydantic_ai.models.batch import Batch

        asked, model = await self._prepared()
        is_open = False
        try:
            async for batch in self._wire.batches_of(model):
                if batch.created < since - _SLACK:
                    break
                is_open = is_open or batch.requests is None
                if batch.requests is not None and not set(ids).isdisjoint(batch.requests):
                    at = datetime.fromtimestamp(batch.created, UTC)
                    more = {"model_name": asked.model, "provider_name": model.system, "request_count": len(ids)}
                    handle = Batch(id=batch.id, group=group, status="in_progress", created_at=at, **cast("Any", more))
                    return _to_json(await model.batch_status(handle))
        except NotImplementedError:
            is_open = True
        except Exception as error:
            raise failures.translated(error, asked.name, answered=True) from error
        if is_open:
            raise ModelError(f"{asked.name}: it isn't known whether a batch was made", code="model_batch")
        return None

    async def _prepared(self, request: ModelRequest | None = None) -> tuple[WireRequest, Model[Any]]:
        """A request (an empty one by default) as its wire takes it, and the library's model."""
        asked = await self._prepare(_NOTHING if request is None else request)
        return asked, await self._wire.model(asked)

    @staticmethod
    async def _awaited(asked: WireRequest, answer: Awaitable[T]) -> T:
        try:
            return await answer
        except Exception as error:
            raise failures.translated(error, asked.name, answered=True) from error


_NOTHING = ModelRequest.of_text((), "{}", {}, "strict")


@cache
def _handles() -> TypeAdapter[Batch]:
    from pydantic import TypeAdapter
    from pydantic_ai.models.batch import Batch

    return TypeAdapter(Batch)


def _to_json(batch: Batch) -> JsonObject:
    return _handles().dump_python(batch, mode="json")


def _from_json(handle: JsonObject) -> Batch:
    return _handles().validate_python(handle)


def is_passing(result: JsonObject) -> bool:
    """Whether an unanswered request can be sent again: it expired, or the provider was overloaded."""
    if result["status"] == "errored":
        return _PASSING.search(result.get("body") or "") is not None
    return result["status"] == "expired"
