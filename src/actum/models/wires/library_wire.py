"""The wires that go through pydantic-ai's low-level API: a request in the library's terms and its answer in ours.

The schema is sent as it is: lowering it is `actum.schema.lowering`' work, so the library's transformers are off.
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
    # It would put a zero-width joiner into what reads like a chat template's token (S7, M7 want the bytes).
    "may_tokenize_special_tokens_in_content": False,
    "supports_json_schema_output": True,
}
"""What is the same for every model: nothing is rewritten on its way."""
_TOOL = "answer"
_NAMES = {"tier": "service_tier", "stop": "stop_sequences", "headers": "extra_headers", "extra": "extra_body"}
"""What the library calls settings otherwise."""


@dataclass(frozen=True, slots=True)
class HeldBatch:
    """A batch that a provider has: when it was created, and the ids of its requests, None while nobody can know."""

    id: str
    created: float
    requests: Collection[str] | None


class LibraryWire(Wire):
    """What the wires have in common that the library writes."""

    inlines_system = True
    """Whether a system message may come later; None: as the library's profile of the model says."""
    is_loose_by_tool = False
    """Whether a schema that isn't enforced is the one tool that must be called, not an output schema."""

    @abstractmethod
    def connected(self, asked: WireRequest, http: httpx2.AsyncClient) -> Model[Any]:
        """The library's model, asking over these connections."""

    async def model(self, asked: WireRequest) -> Model[Any]:
        """The library's model that is asked; `connected` makes it the first time."""
        from .. import clients

        return await clients.library_model(asked, self.connected)

    def kept(self, asked: WireRequest) -> Mapping[str, Any]:
        """The settings by which the library asks the provider to keep a prompt."""
        return {}

    def points(self, asked: WireRequest) -> Sequence[tuple[int, str]]:
        """Behind which messages, by index, the provider is asked to keep what was said, and for how long."""
        return ()

    def closeness(self, media: SentMedia) -> dict[str, Any] | None:
        """How closely to look, in the place that the wire has for it."""
        return {"detail": media["detail"]} if "detail" in media else None

    def read(self, response: library.ModelResponse, asked: WireRequest) -> tuple[str, AnswerEnd]:
        """The text of an answer that came as a whole, and how it ended."""
        from pydantic_ai import messages as library

        starts = (library.PartStartEvent(index=at, part=part) for at, part in enumerate(response.parts))
        said = (_said(start) for start in starts)
        return "".join(one for one in said if isinstance(one, str)), _end(response, asked)

    async def answer(self, asked: WireRequest) -> AsyncGenerator[str | Reasoning | AnswerEnd]:
        """Yield text and thoughts, then how it ended; what the library raises is translated here alone."""
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
                    if said := _said(event):
                        yield said
                yield _end(response.get(), asked)
        except Exception as error:
            raise failures.translated(error, asked.name, answered=bool(responses)) from error

    def batched(self, asked: WireRequest, model: Model[Any], id: str) -> BatchRequest:
        """A request as one of a batch: nothing of it is streamed, and nobody waits on its connection."""
        from pydantic_ai.models.batch import BatchRequest

        settings: Any = {key: one for key, one in self._settings(asked).items() if key != "timeout"}
        return BatchRequest(
            custom_id=id,
            messages=self._messages(asked, model),
            model_settings=settings,
            model_request_parameters=_parameters(asked, by_tool=self.is_loose_by_tool),
        )

    async def held(self, model: Model[Any]) -> AsyncGenerator[HeldBatch]:
        """The batches that the provider has, the newest first.

        Raises:
            NotImplementedError: it can't tell what is in one.
        """
        raise NotImplementedError
        yield

    def _settings(self, asked: WireRequest) -> ModelSettings:
        """The settings that go over the wire; `timeout` is the longest silence unless they say another."""
        said = asked.request.settings
        own: dict[str, Any] = {_NAMES.get(key, key): said[key] for key in self.sends if key in said and key != "cache"}
        return cast("ModelSettings", {"timeout": said.get("timeout", asked.silence), **own, **self.kept(asked)})

    def _messages(self, asked: WireRequest, model: Model[Any]) -> list[library.ModelRequest | library.ModelResponse]:
        """Map messages in order; a later system message for which the wire has no place becomes a tagged user's."""
        from pydantic_ai import messages as library

        inlines = self.inlines_system or bool(model.profile.get("supports_inline_system_prompts", False))
        points = dict(self.points(asked))
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
                    said = self._content(item)
                    if keeps := points.get(index):
                        point = library.CachePoint(ttl=cast("Any", keeps))
                        said = [*([said] if isinstance(said, str) else said), point]
                    parts.append(library.UserPromptPart(content=said))
                elif opening or inlines:
                    parts.append(library.SystemPromptPart(content=item["content"]))
                else:
                    parts.append(library.UserPromptPart(content=f"<system>\n{item['content']}\n</system>"))
            result.append(library.ModelRequest(parts=parts))
        return result

    def _content(self, item: ModelMessage) -> str | list[library.UserContent]:
        """What the user says, and behind it what goes along (M10)."""
        from pydantic_ai import messages as library

        media = item.get("media")
        if media is None:
            return item["content"]
        more, kind = self.closeness(media), media.get("media_type")
        if "url" in media:
            address = library.ImageUrl if media["kind"] == "image" else library.DocumentUrl
            return [item["content"], address(url=media["url"], media_type=kind, vendor_metadata=more)]
        content = b64decode(media.get("data", ""))
        return [
            item["content"],
            library.BinaryContent(data=content, media_type=kind or "", vendor_metadata=more),
        ]


def _parameters(asked: WireRequest, *, by_tool: bool) -> ModelRequestParameters:
    """Say how the schema is imposed: `strict` by decoding, `loose` as a wish, `prompted` not on the wire at all."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    request = asked.request
    if request.mode == "prompted":
        return ModelRequestParameters(output_mode="text")
    # A copy, because nothing says that the library and the SDKs leave what they are given alone.
    schema = copy(request.schema)
    if request.mode == "loose" and by_tool:
        tool = ToolDefinition(name=_TOOL, parameters_json_schema=schema, kind="output", strict=False)
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    answer = OutputObjectDefinition(json_schema=schema, strict=request.mode == "strict")
    return ModelRequestParameters(output_mode="native", output_object=answer)


def _said(event: library.ModelResponseStreamEvent) -> str | Reasoning | None:
    """Read out of an event the text of the answer, or what the model thinks, be it summed up by the provider."""
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
    """How an answer ended: in the library's word for why or else the provider's, and the words in which it declined."""
    own = response.provider_details or {}
    said = {key: one for key in ("finish_reason", "refusal") if isinstance(one := own.get(key), str)}
    reason, name = response.finish_reason or said.get("finish_reason"), response.model_name or asked.model
    return AnswerEnd(usage=_counted(response), model=name, reason=reason, refusal=said.get("refusal"))


def _counted(response: library.ModelResponse) -> Usage:
    """What the answer counted; the library's zero may mean unknown, and unknown is never zero (L5)."""
    counted = response.usage
    return Usage(
        requests=1,
        input_tokens=counted.input_tokens or None,
        output_tokens=counted.output_tokens or None,
        cached_tokens=counted.cache_read_tokens or None,
        cache_write_tokens=counted.cache_write_tokens or None,
        reasoning_tokens=counted.details.get("reasoning_tokens") or None,
    )
