"""A request in the library's terms and its answer in ours. Pure, but for the library's import.

The schema is sent as it is: lowering it is `actum.schema.lowering`' work, so the library's transformers are off.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, cast

from ..generation.model import Media, ModelMessage, ModelRequest, Usage
from ..schema.json import copy
from .endpoint import Kind

if TYPE_CHECKING:
    from pydantic_ai import messages as library
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

PROFILE: Mapping[str, Any] = {
    "json_schema_transformer": None,
    "native_output_requires_schema_in_instructions": False,
    # It would put a zero-width joiner into what reads like a chat template's token (S7, M7 want the bytes).
    "may_tokenize_special_tokens_in_content": False,
    "supports_json_schema_output": True,
}
"""What is the same for every model: nothing is rewritten on its way."""

Unenforced = Literal["schema", "tool"]
"""How a provider takes a schema that it does not enforce: as an output schema, or as the one tool it must call."""

_TOOL = "answer"


def messages(
    items: Sequence[ModelMessage], *, inline_system: bool, kind: Kind, stable: int = 0
) -> list[library.ModelRequest | library.ModelResponse]:
    """Map messages in order; where the wire has no place for a later system message it becomes a tagged user one.

    Anthropic caches only what it is asked to: up to the last of the `stable` messages that the user says.
    """
    from pydantic_ai import messages as library

    result: list[library.ModelRequest | library.ModelResponse] = []
    opening = True
    cached = cached_to(items, stable) if kind == "anthropic" else None
    for by_model, group in groupby(items, lambda item: item["role"] == "assistant"):
        if by_model:
            opening = False
            result.extend(library.ModelResponse(parts=[library.TextPart(content=item["content"])]) for item in group)
            continue
        parts: list[library.ModelRequestPart] = []
        for item in group:
            opening = opening and item["role"] == "system"
            if item["role"] == "user":
                said = _content(item, kind)
                if item is cached:
                    said = [*([said] if isinstance(said, str) else said), library.CachePoint()]
                parts.append(library.UserPromptPart(content=said))
            elif opening or inline_system:
                parts.append(library.SystemPromptPart(content=item["content"]))
            else:
                parts.append(library.UserPromptPart(content=f"<system>\n{item['content']}\n</system>"))
        result.append(library.ModelRequest(parts=parts))
    return result


def cached_to(items: Sequence[ModelMessage], stable: int) -> ModelMessage | None:
    """The message up to which a provider is asked to cache, None if only instructions, or nothing, will come again."""
    return next((item for item in reversed(items[:stable]) if item["role"] == "user"), None)


def _content(item: ModelMessage, kind: Kind) -> str | list[library.UserContent]:
    """What the user says, and behind it what goes along (M10)."""
    from pydantic_ai import messages as library

    media = item.get("media")
    if media is None:
        return item["content"]
    more = _closeness(media, kind)
    if "url" in media:
        address = library.ImageUrl if media["kind"] == "image" else library.DocumentUrl
        return [item["content"], address(url=media["url"], media_type=media.get("media_type"), vendor_metadata=more)]
    content = b64decode(media.get("data", ""))
    return [
        item["content"],
        library.BinaryContent(data=content, media_type=media.get("media_type", ""), vendor_metadata=more),
    ]


def _closeness(media: Media, kind: Kind) -> dict[str, Any] | None:
    """How closely to look, in the place that the wire has for it; Anthropic's has none."""
    if "detail" not in media or kind == "anthropic":
        return None
    return {"media_resolution": {"level": media["detail"]}} if kind == "google" else {"detail": media["detail"]}


def parameters(request: ModelRequest, unenforced: Unenforced) -> ModelRequestParameters:
    """Say how the schema is imposed: `strict` by decoding, `loose` as a wish, `prompted` not on the wire at all."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition
    from pydantic_ai.tools import ToolDefinition

    if request.mode == "prompted":
        return ModelRequestParameters(output_mode="text")
    # A copy, because nothing says that the library and the SDKs leave what they are given alone.
    schema = copy(request.schema)
    if request.mode == "loose" and unenforced == "tool":
        tool = ToolDefinition(name=_TOOL, parameters_json_schema=schema, kind="output", strict=False)
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    answer = OutputObjectDefinition(json_schema=schema, strict=request.mode == "strict")
    return ModelRequestParameters(output_mode="native", output_object=answer)


def settings(request: ModelRequest, timeout: float, kind: Kind) -> ModelSettings:
    """Pass the settings on; `timeout` is the longest silence unless they say another.

    Where only instructions come again, Anthropic is asked to cache those.
    """
    own: dict[str, Any] = {"timeout": timeout}
    if kind == "anthropic" and request.stable and cached_to(request.messages, request.stable) is None:
        own["anthropic_cache_instructions"] = True
    return cast("ModelSettings", own | dict(request.settings))


def text(event: library.ModelResponseStreamEvent) -> str:
    """Read the answer's text out of an event; thoughts and everything else are not part of it."""
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
        case _:
            return ""


def thought(event: library.ModelResponseStreamEvent) -> str:
    """Read what the model thinks out of an event: its own words, or the provider's summary of them."""
    from pydantic_ai import messages as library

    match event:
        case library.PartStartEvent(part=library.ThinkingPart(content=content)):
            return content
        case library.PartDeltaEvent(delta=library.ThinkingPartDelta(content_delta=str(content))):
            return content
        case _:
            return ""


def usage(response: library.ModelResponse, *, priced: bool) -> Usage:
    """Count what the answer cost; the library's zero may mean unknown, and unknown is never zero (L5)."""
    counted = response.usage
    usd = _price(response) if priced and counted.input_tokens else None
    return Usage(
        requests=1,
        input_tokens=counted.input_tokens or None,
        output_tokens=counted.output_tokens or None,
        cached_tokens=counted.cache_read_tokens or None,
        usd=usd,
        saved_usd=None if usd is None else _uncached(response) - usd,
    )


def _price(response: library.ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        # No price is listed for the model, or the answer does not say enough to know it.
        return None


def _uncached(response: library.ModelResponse) -> float:
    """What an answer would have cost without the provider's cache, for one whose price is known."""
    plain = replace(response.usage, cache_read_tokens=0, cache_write_tokens=0)
    return _price(replace(response, usage=plain)) or 0.0


def ending(response: library.ModelResponse) -> str | None:
    """Say why the answer ended, in the library's word or else the provider's; None when it only stopped coming."""
    own = (response.provider_details or {}).get("finish_reason")
    return response.finish_reason or (own if isinstance(own, str) else None)


def refusal(response: library.ModelResponse) -> str | None:
    """Read the words in which the model declined, where the provider keeps them apart."""
    said = (response.provider_details or {}).get("refusal")
    return said if isinstance(said, str) else None
