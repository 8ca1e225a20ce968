"""What a call of a server's tool came to: one value, and the images and recordings in it (A4, M10).

A server sends the same thing twice where its tool declares a result, as data and as text: the data is taken.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import ServerError
from ..messages import Audio, File, Image, Media
from ..schema.json import Json, JsonObject, is_list, is_object
from ..sources.media_types import media_type_of

_MOST_MEDIA = 20
_MOST_SAID = 4_000
_SHOWN: Mapping[str, type[Media]] = {
    "image/png": Image,
    "image/jpeg": Image,
    "image/gif": Image,
    "image/webp": Image,
    "audio/wav": Audio,
    "audio/mpeg": Audio,
    "application/pdf": File,
}
"""What is put before a model, by what its content begins with: whatever the server says that it is."""


class Content(NamedTuple):
    """A value, and what goes before the model with it."""

    value: Json
    media: tuple[Media, ...]


def result_content(result: JsonObject, server: str, *, is_declared: bool) -> Content:
    """What a result holds; `is_declared` says whether the tool has promised data.

    Raises:
        ServerError: the server says that the call failed, asks something back, or has sent no such result.
    """
    blocks: Any = result.get("content", [])
    if result.get("resultType", "complete") != "complete":
        why = "asks for more before it makes this call, which is not answered"
        raise ServerError(why, server=server, outcome="not made")
    if not is_list(blocks) or not all(is_object(block) for block in blocks):
        raise ServerError("has sent a result that can't be read", server=server, outcome="unusable")
    if result.get("isError"):
        raise ServerError("says that the call failed", server=server, said=_texts(blocks)[:_MOST_SAID])
    has_data = "structuredContent" in result
    if is_declared and not has_data:
        raise ServerError("has not sent the data that this tool promises", server=server, outcome="unusable")
    media = _media(blocks)
    if has_data:
        return Content(result["structuredContent"], media)
    return Content(_value(blocks), media)


def _texts(blocks: list[JsonObject]) -> str:
    return "\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


def _value(blocks: list[JsonObject]) -> Json:
    """The text, where there is nothing else; what goes before the model is only named."""
    kinds = {str(block.get("type")) for block in blocks}
    if kinds <= {"text", "image", "audio"}:
        texts = _texts(blocks)
        return texts if "text" in kinds or not blocks else [_part(block) for block in blocks]
    return [_part(block) for block in blocks]


def _part(block: JsonObject) -> JsonObject:
    """One block of a result that isn't text alone."""
    match block.get("type"):
        case "text":
            return {"type": "text", "text": block.get("text", "")}
        case "image" | "audio" as kind:
            return {"type": kind, "mimeType": block.get("mimeType"), "characters": len(str(block.get("data", "")))}
        case "resource":
            held: Any = block.get("resource")
            own: JsonObject = held if is_object(held) else {}
            said = {key: own[key] for key in ("uri", "mimeType", "text") if key in own}
            return {"type": "resource", **said}
        case _:
            known = ("type", "uri", "name", "title", "description", "mimeType", "size")
            return {key: block[key] for key in known if key in block}


def _media(blocks: list[JsonObject]) -> tuple[Media, ...]:
    found: list[Media] = []
    for block in blocks:
        held: Any = block.get("resource") if block.get("type") == "resource" else block
        data: Any = (held.get("blob") or held.get("data")) if is_object(held) else None
        if not isinstance(data, str) or len(found) == _MOST_MEDIA:
            continue
        try:
            content = b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            continue
        media_type = media_type_of(content, "") or ""
        if (kind := _SHOWN.get(media_type)) is not None:
            found.append(kind(data=data, media_type=media_type))
    return tuple(found)
