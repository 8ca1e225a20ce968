"""The requests of a run as they were sent, with what is new in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from ..app.idea import Idea
from ..app.loading import Code
from ..app.retracing import replayed, retracer
from ..errors import ActumError
from ..schema.json import JsonObject, text_or_json
from .secrets import masked

_MOST_TEXT = 60_000
"""How many characters of a message are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A part of a text that is `same` as before, `new`, or `gone`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent:
    """A message of a request, in pieces. `is_same`: it is the same as in the request before."""

    role: str
    pieces: tuple[TextPiece, ...]
    is_same: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSent:
    """A request: its messages and its schema.

    `is_known` is false if it can't be made again as it was sent; then nothing of it is shown.
    """

    number: int
    is_known: bool
    messages: tuple[MessageSent, ...] = ()
    schema: JsonObject | None = None
    is_same_schema: bool = False


async def _requests_of(run: Idea, name: str) -> tuple[RequestSent, ...]:
    """Every request of a kept run, made again without asking a model or running code.

    Raises:
        ActumError: its Idea has changed so much that they can't be made.
    """
    agent, ticks = retracer(run, name, Code.to_read())
    requests: list[RequestSent] = []
    before: Sequence[Any] = ()
    schema_before: JsonObject | None = None
    async for request in replayed(agent, run.context, run.schema, ticks):
        if request.sent is None:
            requests.append(RequestSent(number=request.number, is_known=False))
            continue
        schema: JsonObject = request.sent.schema
        pairs = zip(request.sent.messages, chain(before, repeat(None)), strict=False)
        shown = tuple(_message_sent(message, old) for message, old in pairs)
        is_same = schema == schema_before
        requests.append(
            RequestSent(number=request.number, is_known=True, messages=shown, schema=schema, is_same_schema=is_same)
        )
        before, schema_before = request.sent.messages, schema
    return tuple(requests)


async def known_requests(run: Idea, name: str) -> tuple[RequestSent, ...]:
    """The requests of a kept run, or none if they can no longer be made: the run is shown anyway."""
    try:
        return await _requests_of(run, name)
    except (ActumError, ValueError):
        return ()


def _message_sent(message: Any, before: Any) -> MessageSent:
    text, role = _text(message), str(message["role"])
    older = None if before is None or before["role"] != message["role"] else _text(before)
    if older is None:
        return MessageSent(role=role, pieces=(TextPiece(kind="new", text=text[:_MOST_TEXT]),))
    if older == text:
        return MessageSent(role=role, pieces=(TextPiece(kind="same", text=text[:_MOST_TEXT]),), is_same=True)
    return MessageSent(role=role, pieces=tuple(pieces_of(older, text)))


def sides(left: str, right: str) -> tuple[list[TextPiece], list[TextPiece]]:
    """Two texts in pieces, each without the pieces that only the other has."""
    pieces = pieces_of(left, right)
    return [piece for piece in pieces if piece.kind != "new"], [piece for piece in pieces if piece.kind != "gone"]


def pieces_of(older: str, text: str) -> list[TextPiece]:
    """The common start, the part that is gone, the part that is new, and the common end of two texts."""
    start = _common_start(older, text)
    end = min(_common_start(older[::-1], text[::-1]), len(older) - start, len(text) - start)
    parts = [
        ("same", text[:start]),
        ("gone", older[start : len(older) - end]),
        ("new", text[start : len(text) - end]),
        ("same", text[len(text) - end :] if end else ""),
    ]
    return [TextPiece(kind=kind, text=part[:_MOST_TEXT]) for kind, part in parts if part]


def _common_start(text: str, older: str) -> int:
    """The length of the common start of two texts, by bisection, since comparing slices is fast."""
    low, high = 0, min(len(text), len(older))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[low:middle] == older[low:middle] else (low, middle - 1)
    return low


def _text(message: Any) -> str:
    content: Any = message["content"]
    return masked(text_or_json(content))  # before it is cut into pieces
