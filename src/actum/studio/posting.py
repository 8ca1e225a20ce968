"""The fields and files of a form, read from the body of a request, which the guard bounds."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from ..errors import MessageError
from ..schema.json import encode
from .forms.sent import Posted, Upload

if TYPE_CHECKING:
    from starlette.requests import Request

ONCE = "once"
"""The field that distinguishes equal forms: if a form is sent twice, the second starts nothing."""
_MOST_FIELDS = 20_000
_BOUNDARY = re.compile(r'boundary=(?:"([^"]+)"|([^;\s]+))', re.IGNORECASE)
_PARAMETER = re.compile(r';\s*(name|filename)="([^"]*)"', re.IGNORECASE)


async def posted(request: Request) -> Posted:
    """The fields and the files in the body of a request; of repeated fields, the first counts.

    Raises:
        MessageError: there are too many fields, or no boundary between the parts.
    """
    return await asyncio.to_thread(_posted, request.headers.get("content-type", ""), await request.body())


def _posted(kind: str, body: bytes) -> Posted:
    if kind.partition(";")[0].strip().lower() == "multipart/form-data":
        return parts_of(kind, body)
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise _too_many() from None
    texts: dict[str, str] = {}
    for name, value in pairs:
        texts.setdefault(name, value)
    return Posted(texts)


def id_of(sent: Posted) -> str | None:
    """The id of the run that a form starts: sent again, it is the same run. None for a form without `once`."""
    if not sent.texts.get(ONCE):
        return None
    files = [
        [name, file.name, file.media_type, hashlib.sha256(file.content).hexdigest()]
        for name, uploads in sent.files.items()
        for file in uploads
    ]
    text = encode([dict(sent.texts), files], sort_keys=True)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:24]


def parts_of(kind: str, body: bytes) -> Posted:
    """The fields and the files of a body of this content type (RFC 7578); parts are read as bytes, without decoding.

    Raises:
        MessageError: as for `posted`.
    """
    boundary = _BOUNDARY.search(kind)
    if boundary is None:
        raise MessageError("the form names no boundary between its parts")
    mark = b"\r\n--" + (boundary[1] or boundary[2]).encode("latin-1", "replace")
    texts: dict[str, str] = {}
    files: dict[str, list[Upload]] = {}
    for head, content in _parts(mark, b"\r\n" + body):
        disposition = head.get("content-disposition", "")
        parameters = {key.lower(): _unquoted(value) for key, value in _PARAMETER.findall(disposition)}
        name, file = parameters.get("name"), parameters.get("filename")
        if name is None:
            continue
        if file is None:
            texts.setdefault(name, content.decode("utf-8", "replace"))
        elif content:
            media_type = head.get("content-type", "").partition(";")[0].strip() or "application/octet-stream"
            files.setdefault(name, []).append(Upload(name=file, media_type=media_type, content=content))
    return Posted(texts, files)


def _parts(mark: bytes, body: bytes) -> Iterator[tuple[dict[str, str], bytes]]:
    """The parts between the boundaries, each with its headers and its content."""
    at = body.find(mark)
    for _ in range(_MOST_FIELDS):
        begin = at + len(mark) + 2
        end = body.find(mark, begin - 2)
        if at < 0 or end < 0 or body[begin - 2 : begin] != b"\r\n":
            return
        head, _, content = body[begin:end].partition(b"\r\n\r\n")
        lines = (line.partition(":") for line in head.decode("utf-8", "replace").split("\r\n"))
        yield {name.strip().lower(): value.strip() for name, _, value in lines}, content
        at = end
    raise _too_many()


def _unquoted(value: str) -> str:
    """A name, without the escapes that browsers use between quotes."""
    return value.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")


def _too_many() -> MessageError:
    return MessageError(f"the form has more than {_MOST_FIELDS} fields")
