"""Messages of chat completions and of AG-UI, with roles and parts, as messages of Actum (M1, M10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..app.idea import Idea
from ..schema.json import JsonObject, is_list, is_object
from .idea_interface import Interface
from .refusals import Refusal

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def turns_of(messages: Iterable[Mapping[str, Any]]) -> list[JsonObject]:
    """Messages with a role and a content. Calls of tools and their results are dropped: this server didn't make them.

    Raises:
        Refusal: a role, or a part of a content, isn't supported.
    """
    turns: list[JsonObject] = []
    for index, message in enumerate(messages):
        role = message.get("role")
        if role in ("tool", "function", "reasoning", "activity"):  # a tuple: a role may be a list, which has no hash
            continue
        if not isinstance(role, str) or role not in _ROLES:
            raise Refusal(422, "message", f"a role is one of {', '.join(_ROLES)}", index=index)
        turns += _turn(_ROLES[role], message.get("content"), index)
    return turns


def _turn(kind: str, content: Any, index: int) -> Iterator[JsonObject]:
    if content is None or content == "":
        return
    parts: list[Any] = content if is_list(content) else [{"type": "text", "text": content}]
    texts: list[str] = []
    for part in parts:
        text = part.get("text") if is_object(part) and part.get("type") in ("text", "input_text") else None
        if isinstance(text, str):
            texts.append(text)
            continue
        media = _media(part) if is_object(part) else None
        if media is None:
            raise Refusal(422, "message", "a part is a text, or an image, audio or a file by URL or data", index=index)
        yield media
    if texts:
        yield {"type": kind, "message": "\n".join(texts)}


def _media(part: JsonObject) -> JsonObject | None:
    """A part other than text, as a message; None if it isn't supported."""
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _located("image", url)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}} if kind in _AUDIO:
            return {"type": "audio", "data": data, "media_type": _AUDIO[kind]}
        case {"type": "file", "file": {"file_data": str(url)}}:
            return _located("file", url)
        case {"type": "image" | "audio" | "document" as kind, "source": {"type": "url", "value": str(url)}}:
            return _located("file" if kind == "document" else kind, url)
        case {
            "type": "image" | "audio" | "document" as kind,
            "source": {"type": "data", "value": str(data), "mimeType": str(media_type)},
        }:
            return {"type": "file" if kind == "document" else kind, "data": data, "media_type": media_type}
        case _:
            return None


def _located(kind: str, url: str) -> JsonObject | None:
    """A message with a URL, or with the data of a `data:` URL."""
    if url.startswith("data:"):
        head, sign, data = url.removeprefix("data:").partition(",")
        media_type, _, encoding = head.partition(";")
        if not sign or encoding != "base64" or not media_type:
            return None
        return {"type": kind, "data": data, "media_type": media_type}
    return {"type": kind, "url": url} if url.startswith(("https://", "http://")) else None


def input_from(
    name: str, idea: Idea, turns: list[JsonObject], arguments: Mapping[str, Any] | None
) -> tuple[list[JsonObject], Mapping[str, Any] | None]:
    """The messages and the input of a run that a chat starts.

    An Idea whose input is a single text gets the last message of the user; other Ideas need the request's `input`.
    """
    if arguments is not None:
        return turns, arguments
    takes = Interface.of(name, idea).takes
    needed: Any = takes.get("required") or []
    if not needed:
        return turns, None
    schema: Any = takes.get("properties", {}).get(needed[0], {})
    last = turns[-1] if turns else {}
    if len(needed) == 1 and is_object(schema) and schema.get("type") == "string" and last.get("type") == "user":
        return turns[:-1], {needed[0]: last["message"]}
    raise Refusal(422, "input", f"{name} needs an input: send input with {', '.join(map(str, needed))}")
