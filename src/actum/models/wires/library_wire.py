"""The wires that go through pydantic-ai's low-level API: a request in the library's terms and its answer in ours.

The schema is sent as it is: `actum.schema.lowering` has lowered it, so the library's transformers are off.
"""

from __future__ import annotations

from abc import abstractmethod
from base64 import b64decode
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from ...generation.model import ModelMessage, Reasoning, SentMedia, Usage
from ...schema.json import copy
from .. import failures
from ..port import AnswerEnd, Wire, WireRequest

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai import messages as library
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.models.batch import BatchRequest
    from pydantic_ai.settings import ModelSettings

PROFILE: Mapping[str, Any] = {
    "json_schema_transformer": None,
    "native_output_requires_schema_in_instructions": False,
    # Otherwise it would put a zero-width joiner into text that looks like a chat template's token (S7, M7).
    "may_tokenize_special_tokens_in_content": False,
    "supports_json_schema_output": True,
}
"""The profile of every model: the library rewrites nothing."""
_TOOL = "answer"
_NAMES = {"tier": "service_tier", "stop": "stop_sequences", "headers": "extra_headers", "extra": "extra_body"}
"""The library's names of settings, where they differ."""


@dataclass(frozen=True, slots=True)
class HeldBatch:
    """A batch that a provider has: when it was created, and the ids of its requests, None while unknown."""

    id: str
    created: float
    requests: Collection[str] | None


class LibraryWire(Wire):
    """The base of the wires that go through the library."""

    inlines_system = True
    """Whether a system message may come later; if False, the library's profile of the model decides."""
    is_loose_by_tool = False
    """Whether a schema that isn't enforced is the one tool that must be called, not an output schema."""

    @abstractmethod
    def connect(self, asked: WireRequest, http: httpx2.AsyncClient) -> Model[Any]:
        """The library's model, asking over these connections."""

    async def model(self, asked: WireRequest) -> Model[Any]:
        """The library's model that is asked; `connect` makes it the first time."""
        from .. import clients

        return await clients.library_model(asked, self.connect)

    def cache_settings(self, asked: WireRequest) -> Mapping[str, Any]:
        """The library's settings that ask the provider to cache a prompt."""
        return {}

    def cache_points(self, asked: WireRequest) -> Sequence[tuple[int, str]]:
        """The indexes of the messages after which the provider is asked to cache, each with the time to live."""
        return ()

    def closeness(self, media: SentMedia) -> dict[str, Any] | None:
        """The level of detail to look at, as the wire states it."""
        return {"detail": media["detail"]} if "detail" in media else None

    def read(self, response: library.ModelResponse, asked: WireRequest) -> tuple[str, AnswerEnd]:
        """The text of a complete answer, and how it ended."""
        from pydantic_ai import messages as library

        starts = (library.PartStartEvent(index=at, part=part) for at, part in enumerate(response.parts))
        items = (_read(start) for start in starts)
        return "".join(item for item in items if isinstance(item, str)), _end(response, asked)

    async def answer(self, asked: WireRequest) -> AsyncGenerator[str | Reasoning | AnswerEnd]:
        """Yield text and thoughts, then how the answer ended; the library's errors are translated here alone."""
        from pydantic_ai.direct import model_request_stream

        from .. import clients

        responses: list[httpx2.Response] = []
        try:
            model = await self.model(asked)
            stream = model_request_stream(
                model,
                self._messages(asked, model),
                model_settings=self._settings(asked),
                model_request_parameters=_parameters(asked, by_tool=self.is_loose_by_tool),
                instrument=False,
            )
            async with clients.opened_stream(stream, responses) as response:
                async for event in response:
                    if item := _read(event):
                        yield item
                yield _end(response.get(), asked)
        except Exception as error:
            raise failures.translated(error, asked.name, answered=bool(responses)) from error

    def batched(self, asked: WireRequest, model: Model[Any], id: str) -> BatchRequest:
        """A request as one of a batch: its answer isn't streamed, and no connection waits for it."""
        from pydantic_ai.models.batch import BatchRequest

        settings: Any = {key: value for key, value in self._settings(asked).items() if key != "timeout"}
        return BatchRequest(
            custom_id=id,
            messages=self._messages(asked, model),
            model_settings=settings,
            model_request_parameters=_parameters(asked, by_tool=self.is_loose_by_tool),
        )

    async def batches_of(self, model: Model[Any]) -> AsyncGenerator[HeldBatch]:
        """The batches that the provider has, the newest first.

        Raises:
            NotImplementedError: it can't tell what a batch holds.
        """
        raise NotImplementedError
        yield

    def _settings(self, asked: WireRequest) -> ModelSettings:
        """The settings that go over the wire; `timeout` is the longest silence unless they say another."""
        given = asked.request.settings
        sent = {_NAMES.get(key, key): given[key] for key in self.sends if key in given and key != "cache"}
        settings: Any = {"timeout": given.get("timeout", asked.silence), **sent, **self.cache_settings(asked)}
        return settings

    def _messages(self, asked: WireRequest, model: Model[Any]) -> list[library.ModelRequest | library.ModelResponse]:
        """Map messages in order; a later system message for which the wire has no place becomes a tagged user's."""
        from pydantic_ai import messages as library

        inlines = self.inlines_system or bool(model.profile.get("supports_inline_system_prompts", False))
        points = dict(self.cache_points(asked))
        result: list[library.ModelRequest | library.ModelResponse] = []
        opening = True
        items = asked.request.messages
        for by_model, group in groupby(enumerate(items), lambda item: item[1]["role"] == "assistant"):
            if by_model:
                opening = False
                result.extend(library.ModelResponse(parts=[library.TextPart(item["content"])]) for _, item in group)
                continue
            parts: list[library.ModelRequestPart] = []
            for index, item in group:
                opening = opening and item["role"] == "system"
                if item["role"] == "user":
                    content = self._content(item)
                    if keeps := points.get(index):
                        point = library.CachePoint(ttl=cast("Any", keeps))
                        content = [*([content] if isinstance(content, str) else content), point]
                    parts.append(library.UserPromptPart(content=content))
                elif opening or inlines:
                    parts.append(library.SystemPromptPart(content=item["content"]))
                else:
                    parts.append(library.UserPromptPart(content=f"<system>\n{item['content']}\n</system>"))
            result.append(library.ModelRequest(parts=parts))
        return result

    def _content(self, item: ModelMessage) -> str | list[library.UserContent]:
        """The user's text, then the media (M10)."""
        from pydantic_ai import messages as library

        media = item.get("media")
        if media is None:
            return item["content"]
        detail, kind = self.closeness(media), media.get("media_type")
        if "url" in media:
            address = library.ImageUrl if media["kind"] == "image" else library.DocumentUrl
            return [item["content"], address(url=media["url"], media_type=kind, vendor_metadata=detail)]
        content = b64decode(media.get("data", ""))
        return [item["content"], library.BinaryContent(data=content, media_type=kind or "", vendor_metadata=detail)]


def _parameters(asked: WireRequest, *, by_tool: bool) -> ModelRequestParameters:
    """Say how the schema is imposed: `strict` by decoding, `loose` as a wish, `prompted` not on the wire at all."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    request = asked.request
    if request.mode == "prompted":
        return ModelRequestParameters(output_mode="text")
    # A copy, because the library and the SDKs don't promise to leave it unchanged.
    schema = copy(request.schema)
    if request.mode == "loose" and by_tool:
        tool = ToolDefinition(name=_TOOL, parameters_json_schema=schema, kind="output", strict=False)
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    answer = OutputObjectDefinition(json_schema=schema, strict=request.mode == "strict")
    return ModelRequestParameters(output_mode="native", output_object=answer)


def _read(event: library.ModelResponseStreamEvent) -> str | Reasoning | None:
    """Read the text of the answer, or the model's thoughts or their summary, from an event."""
    from pydantic_ai import messages as library

    match event:
        case library.PartStartEvent(part=library.TextPart(content=content)):
            return content
        case library.PartStartEvent(part=library.ToolCallPart(args=str(arguments))):
            return arguments
        case library.PartDeltaEvent(delta=library.TextPartDelta(content_delta=content)):
            return content
        case library.PartDeltaEvent(delta=library.ToolCallPartDelta(args_delta=str(arguments))):
            return arguments
        case (
            library.PartStartEvent(part=library.ThinkingPart(content=str(thought)))
            | library.PartDeltaEvent(delta=library.ThinkingPartDelta(content_delta=str(thought)))
        ) if thought:
            return Reasoning(thought)
        case _:
            return None


def _end(response: library.ModelResponse, asked: WireRequest) -> AnswerEnd:
    """How an answer ended: the reason, in the library's word or else the provider's, and the text of a refusal."""
    details = response.provider_details or {}
    texts = {key: text for key in ("finish_reason", "refusal") if isinstance(text := details.get(key), str)}
    reason, name = response.finish_reason or texts.get("finish_reason"), response.model_name or asked.model
    return AnswerEnd(usage=_usage(response), model=name, reason=reason, refusal=texts.get("refusal"))


def _usage(response: library.ModelResponse) -> Usage:
    """The answer's usage; the library's zero may mean unknown, and unknown is never zero (L5)."""
    counts = response.usage
    return Usage(
        requests=1,
        input_tokens=counts.input_tokens or None,
        output_tokens=counts.output_tokens or None,
        cached_tokens=counts.cache_read_tokens or None,
        cache_write_tokens=counts.cache_write_tokens or None,
        reasoning_tokens=counts.details.get("reasoning_tokens") or None,
    )
