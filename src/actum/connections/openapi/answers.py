"""What an API answers, as an MCP server would: data, a text, or media (A4, M10)."""

from __future__ import annotations

from base64 import b64encode

from ...schema.json import JsonObject, NotJson, decode
from .contents import is_json

_TEXTS = ("text/", "application/xml", "application/javascript", "application/yaml")


class Unreadable(Exception):
    """An answer that isn't what it says that it is, or not what was promised."""


def answer_result(media_type: str, content: bytes, *, is_declared: bool) -> JsonObject:
    """The result of a call that went well; `is_declared` says whether its operation promises data.

    Raises:
        Unreadable: it isn't there, or can't be read.
    """
    kind = media_type.partition(";")[0].strip().lower()
    if not content:
        return {"content": [], "structuredContent": None}
    if is_json(kind) or (is_declared and kind in {"", "text/plain"}):
        try:
            return {"content": [], "structuredContent": decode(content.decode())}
        except (NotJson, UnicodeDecodeError):
            raise Unreadable from None
    if is_declared:
        raise Unreadable
    return {"content": [_block(kind, content)]}


def answer_text(content: bytes, most: int) -> str:
    """The beginning of a content as text, for people."""
    return content[: 4 * most].decode(errors="replace")[:most]


def _block(kind: str, content: bytes) -> JsonObject:
    if kind.startswith(_TEXTS) or kind.endswith("+xml") or not kind:
        return {"type": "text", "text": content.decode(errors="replace")}
    data = b64encode(content).decode()
    if kind.startswith(("image/", "audio/")):
        return {"type": kind.partition("/")[0], "data": data, "mimeType": kind}
    return {"type": "resource", "resource": {"mimeType": kind, "blob": data}}
