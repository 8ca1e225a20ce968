"""A provider's batch API: requests that may take a day, at a lower price (W36-W38). Needs the library."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ..errors import ModelError
from ..generation.model import ModelRequest
from ..schema.json import JsonObject
from . import failures
from .port import AnswerEnd, WireRequest
from .wires.library_wire import LibraryWire

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from pydantic import TypeAdapter
    from pydantic_ai.models import Model
    from pydantic_ai.models.batch import Batch

T = TypeVar("T")
_PASSING = re.compile(r'rate_limit|overloaded|"status_code":(429|5)|"code":(4|8|10|13|14)\b')
"""What the error of a request says that may be made again: by name, by HTTP's numbers, by Google's."""
_SLACK = 60.0
"""How many seconds a provider's clock may be behind."""


class BatchHost(Protocol):
    """A model, as far as it knows its host."""

    async def asked(self, request: ModelRequest) -> WireRequest:
        """A request with all that its wire has to know."""
        ...


class BatchFailed(ModelError):
    """A batch has ended that none of its requests was answered in."""


class Batching:
    """The batches of one model. Requests, handles and results are plain JSON; all of it raises ModelError."""

    def __init__(self, wire: LibraryWire, model: BatchHost) -> None:
        self._wire = wire
        self._model = model

    async def encoded(self, request: ModelRequest, id: str) -> JsonObject:
        """A request as it lies in a batch; `group` is what all requests of a batch have in common."""
        asked, model = await self._asked(request)
        return asdict(await self._of(asked, model.batch_encode(self._wire.batched(asked, model, id))))

    async def create(self, requests: Sequence[JsonObject]) -> JsonObject:
        """Have a batch made of requests of one group. A ModelError with a status below 500 says that none was made."""
        from pydantic_ai.models.batch import EncodedBatchRequest

        asked, model = await self._asked()
        return _told(await self._of(asked, model.batch_create([EncodedBatchRequest(**one) for one in requests])))

    async def status(self, handle: JsonObject) -> JsonObject:
        """The handle of a batch as it is now; its `status` is `ended` once there are results."""
        asked, model = await self._asked()
        return _told(await self._of(asked, model.batch_status(_handle(handle))))

    async def cancel(self, handle: JsonObject) -> JsonObject:
        """Have no more of a batch answered."""
        asked, model = await self._asked()
        return _told(await self._of(asked, model.batch_cancel(_handle(handle))))

    async def results(self, handle: JsonObject) -> Mapping[str, JsonObject]:
        """What became of the requests of a batch that has ended, by their ids.

        Raises:
            BatchFailed: the batch as a whole came to nothing.
            ModelError: what became of it can't be read now.
        """
        # The library says in no public way which errors are those of a whole batch: its other ones may pass, and a
        # batch that is made again for them is paid for twice.
        from pydantic_ai.models._batch_codec import BatchJobError  # pyright: ignore[reportPrivateUsage]

        asked, model = await self._asked()
        try:
            results = await model.batch_results(_handle(handle))
        except Exception as error:
            told = failures.translated(error, asked.name, answered=True)
            if isinstance(error, BatchJobError):
                raise BatchFailed(told.message, code=told.code, retryable=told.retryable) from error
            raise told from error
        return {one.custom_id: asdict(one) for one in results}

    async def answer(self, request: ModelRequest, result: JsonObject) -> tuple[str, AnswerEnd]:
        """The text of an answer, and how it ended.

        Raises:
            ModelError: the provider has refused the request, or not come to it.
        """
        from pydantic_ai.models.batch import BatchResult

        asked, model = await self._asked(request)
        try:
            response = model.batch_decode(BatchResult(**result), self._wire.batched(asked, model, result["custom_id"]))
        except Exception as error:
            raise failures.translated(error, asked.name, answered=True) from error
        return self._wire.read(response, asked)

    async def find(self, ids: Collection[str], since: float, group: str) -> JsonObject | None:
        """The handle of the batch with these requests, if the provider has one that was made since then (W37).

        Raises:
            ModelError: that can't be known yet, or at all.
        """
        from pydantic_ai.models.batch import Batch

        asked, model = await self._asked()
        is_open = False
        try:
            async for one in self._wire.held(model):
                if one.created < since - _SLACK:
                    break
                is_open = is_open or one.requests is None
                if one.requests is not None and not set(ids).isdisjoint(one.requests):
                    made = datetime.fromtimestamp(one.created, UTC)
                    own = {"model_name": asked.model, "provider_name": model.system, "request_count": len(ids)}
                    handle = Batch(id=one.id, group=group, status="in_progress", created_at=made, **cast("Any", own))
                    return _told(await model.batch_status(handle))
        except NotImplementedError:
            is_open = True
        except Exception as error:
            raise failures.translated(error, asked.name, answered=True) from error
        if is_open:
            raise ModelError(f"{asked.name}: it isn't known whether a batch was made", code="model_batch")
        return None

    async def _asked(self, request: ModelRequest | None = None) -> tuple[WireRequest, Model[Any]]:
        """A request, or none of them, as its wire has it, and the library's model."""
        asked = await self._model.asked(_NOTHING if request is None else request)
        return asked, await self._wire.model(asked)

    @staticmethod
    async def _of(asked: WireRequest, doing: Awaitable[T]) -> T:
        try:
            return await doing
        except Exception as error:
            raise failures.translated(error, asked.name, answered=True) from error


_NOTHING = ModelRequest.of_text((), "{}", {}, "strict")


@cache
def _handles() -> TypeAdapter[Batch]:
    from pydantic import TypeAdapter
    from pydantic_ai.models.batch import Batch

    return TypeAdapter(Batch)


def _told(batch: Batch) -> JsonObject:
    return _handles().dump_python(batch, mode="json")


def _handle(told: JsonObject) -> Batch:
    return _handles().validate_python(told)


def is_passing(result: JsonObject) -> bool:
    """Whether a request can be made again that wasn't answered: its time was over, or the provider had too much."""
    if result["status"] == "errored":
        return _PASSING.search(result.get("body") or "") is not None
    return result["status"] == "expired"
