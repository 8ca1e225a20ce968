"""What a form has sent, read from the body of a request: fields, and files in parts. Both are bounded by the guard."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from .forms.reading import Posted, Upload

if TYPE_CHECKING:
    from starlette.requests import Request

_MOST_FIELDS = 20_000


async def posted(request: Request) -> Posted:
    """The fields and the files of a request's body; of a field that comes twice, the first counts."""
    kind = request.headers.get("content-type", "")
    body = await request.body()
    if kind.partition(";")[0].strip().lower() == "multipart/form-data":
        return _parts(kind, body)
    pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    texts: dict[str, str] = {}
    for name, value in pairs:
        texts.setdefault(name, value)
    return Posted(texts)


def _parts(kind: str, body: bytes) -> Posted:
    texts: dict[str, str] = {}
    files: dict[str, list[Upload]] = {}
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode("latin-1") + body)
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            continue
        name = name.encode("latin-1", "surrogateescape").decode("utf-8", "replace") if not name.isascii() else name
        file = part.get_filename()
        if file is None:
            texts.setdefault(name, content.decode("utf-8", "replace"))
        elif content:
            files.setdefault(name, []).append(Upload(name=file, media_type=part.get_content_type(), content=content))
    return Posted(texts, files)
