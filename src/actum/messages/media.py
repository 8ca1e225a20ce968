"""`image`, `audio` and `file` `{url | path | data, media_type?, …}`: what a model is to look at, hear or read."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from ..schema.json import JsonObject
from .kind import BLOCK_SIGIL, Block, Key, Kind, View, of_origin

SOURCES = ("url", "path", "data")
"""Where the content of a message is: exactly one of them."""
_WORD = r"[\w!#$&^.+-]+"
_MEDIA_TYPE = re.compile(rf'{_WORD}/{_WORD}(; ?{_WORD}=({_WORD}|"[^"\\\x00-\x1f\x7f-\x9f]*"))*', re.ASCII)
"""As it may stand in a header: perhaps with parameters, on one line."""
_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """What is common to what models look at, hear and read: exactly one of `url`, `path` and `data` says where it is.

    `data` are its bytes, or these in base64. `fetch` says whether this machine fetches a `url`; without it that is
    done where the model takes no addresses. `detail` is the provider's own word for how closely to look.
    """

    url: str | None = None
    path: str | None = None
    data: bytes | str | None = None
    media_type: str | None = None
    name: str | None = None
    detail: str | None = None
    fetch: bool | None = None
    type: ClassVar[Literal["image", "audio", "file"]]

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        data = b64encode(self.data).decode() if isinstance(self.data, bytes) else self.data
        members = {field.name: getattr(self, field.name) for field in fields(self)} | {"data": data}
        return {"type": self.type, **{key: value for key, value in members.items() if value is not None}}


class Image(Media):
    """A picture."""

    type = "image"


class Audio(Media):
    """A recording."""

    type = "audio"


class File(Media):
    """A document."""

    type = "file"


def media_name(message: JsonObject) -> str:
    """What a message is called: its name, else the last part of its path or URL; empty where it has neither."""
    where = str(message.get("path") or message.get("url", "").partition("?")[0].partition("#")[0])
    return str(message.get("name") or where.rstrip("/").replace("\\", "/").rpartition("/")[2])


def _show(message: JsonObject, _: View) -> Iterable[Block]:
    name = media_name(message)
    head = f"{BLOCK_SIGIL}{message['type']}"
    yield Block("user", f"{head} {name}" if name else head, of_origin(message), media=message)


def _complaint(message: JsonObject) -> str | None:
    of_message = f"of a message of type {message['type']}"
    if "url" in message and not message["url"].lower().startswith(("http://", "https://")):
        return f"'url' {of_message} must begin with http:// or https://; content goes in 'data'"
    declared = message.get("media_type")
    if declared is not None and _MEDIA_TYPE.fullmatch(declared) is None:
        return f"'media_type' {of_message} must be a media type, for example image/png"
    if any(_BREAKS.search(message.get(key, "")) for key in ("name", "detail")):
        return f"'name' and 'detail' {of_message} must be one line"
    if declared is not None and message["type"] != "file" and not declared.startswith(f"{message['type']}/"):
        return f"'media_type' {of_message} must begin with {message['type']}/"
    if message.get("fetch") is not None and "url" not in message:
        return "'fetch' is for a 'url'"
    return None


def _kind(value: type[Media], about: str) -> Kind:
    return Kind(
        type=value.type,
        about=about,
        keys={
            "url": Key(types=("string",), about="Its address, http or https."),
            "path": Key(
                types=("string",), about="A file below the roots; a relative path starts from the Idea's file."
            ),
            "data": Key(types=("string",), about="Its content in base64."),
            "media_type": Key(types=("string",), about="For example image/png; else the content or the name says it."),
            "name": Key(types=("string",), about="What the model is told that it is called."),
            "detail": Key(types=("string",), about="How closely to look, in the provider's own word."),
            "fetch": Key(
                types=("boolean",),
                about="Whether the URL is fetched here, or handed to the provider as it is; unsaid, it is fetched "
                "where the model takes no addresses.",
            ),
        },
        one_of=SOURCES,
        judge=_complaint,
        value=value,
        show=_show,
    )


KINDS = [
    _kind(Image, "A picture for the model to look at."),
    _kind(Audio, "A recording for the model to hear."),
    _kind(File, "A document for the model to read."),
]
MEDIA = frozenset(kind.type for kind in KINDS)
