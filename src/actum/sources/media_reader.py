"""Reads images, audio and files that messages name: below the roots, from public hosts, once per run (M10, D12)."""

from __future__ import annotations

import asyncio
import binascii
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ..errors import DelegateError, MessageError
from ..generation.model import SentMedia
from ..generation.request_media import Takes
from ..protocol.context import is_url, media_origin
from ..schema.json import JsonObject
from .fetch import Fetcher, joined_url
from .media_types import media_type_of
from .roots import locate, read_below

_CONTENT = "*/*"
"""The content types that a server is asked for."""


_Key: TypeAlias = "tuple[str, str | None, tuple[Path, ...]]"


class _Content(NamedTuple):
    """Content in base64, its size in bytes, its SHA-256 in hex, and its guessed media type."""

    data: str
    size: int
    sha256: str
    media_type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaReader:
    """Reads the media of one run's messages, each once, so that they stay the same for the whole run.

    Paths lead below `roots`; messages from outside may only name URLs. `most` bounds the bytes of all media together.
    """

    roots: Sequence[Path]
    fetcher: Fetcher
    most: int
    _read: dict[_Key, _Content] = field(default_factory=dict["_Key", "_Content"])
    _locks: defaultdict[_Key, asyncio.Lock] = field(
        default_factory=lambda: defaultdict["_Key", asyncio.Lock](asyncio.Lock)
    )

    def within(self, roots: Sequence[Path]) -> MediaReader:
        """The same reader for a delegate whose files may lie below these folders, too."""
        return replace(self, roots=[*self.roots, *(root for root in roots if root not in self.roots)])

    async def __call__(self, media: SentMedia, takes: Takes) -> SentMedia:
        """Media with its content, or with its address if the provider is to read it.

        Raises:
            MessageError: it can't be read, exceeds the remaining size, or is of a type that the model doesn't take.
        """
        try:
            if self._is_passed_on(media, takes):
                return self._address(media, takes)
            where = media.get("url") or media.get("path") or media.get("data", "")
            key = (where, media.get("origin"), tuple(self.roots))
            async with self._locks[key]:
                if key not in self._read:
                    await self._take(key, media)
            data, size, digest, guessed = self._read[key]
            sent: SentMedia = {"kind": media["kind"], "name": media["name"]}
            if "detail" in media:
                sent["detail"] = media["detail"]
            sent["media_type"] = _check_type(media, media.get("media_type") or guessed, takes)
            return {**sent, "data": data, "size": size, "sha256": digest}
        except _Refused as error:
            raise _error(media, str(error)) from None
        except DelegateError as error:
            raise _error(media, error.reason) from None

    @staticmethod
    def _is_passed_on(media: SentMedia, takes: Takes) -> bool:
        """Whether the provider is to read the address; an address from outside may lead anywhere, so we read it."""
        if "url" not in media or is_url(media.get("origin")) or media.get("fetch") is True:
            return False
        if media["kind"] in takes.urls:
            return media["kind"] != "file" or media.get("fetch") is False or _type_by_name(media) is not None
        if media.get("fetch") is False:
            raise _Refused("the model takes no addresses of this kind: leave 'fetch' out")
        return False

    @staticmethod
    def _address(media: SentMedia, takes: Takes) -> SentMedia:
        sent: SentMedia = {"kind": media["kind"], "name": media["name"], "url": media.get("url", "")}
        if "detail" in media:
            sent["detail"] = media["detail"]
        if (media_type := _type_by_name(media)) is not None:
            sent["media_type"] = _check_type(media, media_type, takes)
        return sent

    async def _take(self, key: _Key, media: SentMedia) -> None:
        content = await self._bytes(media, self._left())
        described = await asyncio.to_thread(_describe, content, media["name"])
        if described.size > self._left():  # other media may have been read meanwhile
            raise _Refused(f"the media of the run have more than {self.most} bytes (max_media_bytes)")
        self._read[key] = described

    def _left(self) -> int:
        """The remaining bytes for the media of the run, each counted once."""
        return self.most - sum(content.size for content in self._read.values())

    async def _bytes(self, media: SentMedia, left: int) -> bytes:
        if "data" in media:
            return await asyncio.to_thread(_decoded, media["data"], left)
        origin = media.get("origin")
        if "url" in media or is_url(origin):
            url = media["url"] if "url" in media else joined_url(str(origin), media.get("path", ""))
            return (await self.fetcher.bounded(left, _CONTENT).fetch(url)).content
        return await asyncio.to_thread(_below, media.get("path", ""), origin, self.roots, left)


def _below(reference: str, origin: str | None, roots: Sequence[Path], most: int) -> bytes:
    bases = [Path(origin).parent] if origin else list(roots)
    return read_below(locate(reference, bases, roots, kind="file"), roots, most)


def size_and_digest(
    message: JsonObject, origin: str | None, roots: Sequence[Path], most: int
) -> tuple[int, str] | None:
    """The size in bytes and the SHA-256 of an image, audio or file of a context; None if it can't be read here.

    URLs aren't read before a model is asked.
    """
    try:
        if "data" in message:
            content = _decoded(message["data"], most)
        elif "path" in message and not is_url(start := media_origin(message, origin)):
            content = _below(message["path"], start, roots, most)
        else:
            return None
    except (_Refused, DelegateError):
        return None
    return len(content), sha256(content).hexdigest()


class _Refused(Exception):
    """Why media can't be sent."""


def _error(media: SentMedia, reason: str) -> MessageError:
    named = f" {media['name']!r}" if media["name"] else ""
    return MessageError(f"the {media['kind']}{named}: {reason}", index=media.get("at"))


def _decoded(data: str, most: int) -> bytes:
    if len(data) > most * 2 + 4:  # base64 of three bytes are four characters
        raise _Refused(f"larger than the {most} bytes that are left to the media of the run (max_media_bytes)")
    try:
        return b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise _Refused("'data' must be base64") from None


def _describe(content: bytes, name: str) -> _Content:
    return _Content(
        b64encode(content).decode(), len(content), sha256(content).hexdigest(), media_type_of(content, name)
    )


def _type_by_name(media: SentMedia) -> str | None:
    return media.get("media_type") or media_type_of(b"", media["name"])


def _check_type(media: SentMedia, media_type: str | None, takes: Takes) -> str:
    """The media type, checked against the kind of the message and what the model takes."""
    kind = media["kind"]
    if media_type is None:
        raise _Refused("its content and its name don't say what it is: give its 'media_type'")
    if kind != "file" and not media_type.startswith(f"{kind}/"):
        raise _Refused(f"it is {media_type}")
    if not takes.has_type(kind, media_type):
        accepted = ", ".join(f"{prefix}…" if prefix.endswith("/") else prefix for prefix in takes.types.get(kind, ()))
        raise _Refused(f"the model takes no {media_type}; it takes {accepted}")
    return media_type
