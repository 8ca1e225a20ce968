"""Images, audio and files on the wires: which each takes, and the parts of chat completions that hold them (M10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..generation.media import Takes
from ..generation.model import Media, ModelMessage
from ..schema.json import JsonObject
from .endpoint import Kind

_PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_PDF = "application/pdf"
_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""The formats of audio that chat completions know."""

TAKES: Mapping[Kind, Takes] = {
    "openai": Takes(
        types={"image": _PICTURES, "audio": tuple(_FORMATS), "file": (_PDF,)},
        urls=frozenset({"image"}),
    ),
    # Local hosts often read no addresses, and one that does would read those of its own network.
    "openai-compatible": Takes(types={"image": ("image/",), "audio": tuple(_FORMATS), "file": (_PDF,)}),
    "openai-responses": Takes(
        types={"image": _PICTURES, "file": (_PDF,)},
        urls=frozenset({"image", "file"}),
    ),
    "anthropic": Takes(types={"image": _PICTURES, "file": (_PDF, "text/plain")}, urls=frozenset({"image"})),
    "google": Takes(types={"image": ("image/",), "audio": ("audio/",), "file": (_PDF, "text/", "video/")}),
}
"""By wire. Which of it a model of the provider takes is for that to say."""


def content_of(message: ModelMessage) -> str | list[JsonObject]:
    """The content of a message in chat completions: its text, and behind it what goes along."""
    media = message.get("media")
    if media is None:
        return message["content"]
    return [{"type": "text", "text": message["content"]}, _part(media)]


def _part(media: Media) -> JsonObject:
    match media["kind"]:
        case "image":
            image: dict[str, Any] = {"url": media.get("url") or uri(media)}
            return {
                "type": "image_url",
                "image_url": image | ({"detail": media["detail"]} if "detail" in media else {}),
            }
        case "audio":
            audio = {"data": media.get("data", ""), "format": _FORMATS[media.get("media_type", "")]}
            return {"type": "input_audio", "input_audio": audio}
        case "file":
            return {"type": "file", "file": {"filename": media["name"] or "file", "file_data": uri(media)}}


def uri(media: Media) -> str:
    """The content as a `data:` URI."""
    return f"data:{media.get('media_type', '')};base64,{media.get('data', '')}"
