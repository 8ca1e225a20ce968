"""Where messages were read from: what relative paths in them start from, and what is from outside (D2, D12)."""

from __future__ import annotations

from ..messages.media import MEDIA
from ..schema.json import JsonObject

ORIGIN = "_origin"
"""The mark of a message that has crossed a scope: where its context was read from, null for code (D15).

Messages of the type `tool` have it, and those with a `path` (M10).
"""


def is_url(reference: object) -> bool:
    """Whether this is an address on the web rather than a file, or nothing."""
    return isinstance(reference, str) and reference.lower().startswith(("http://", "https://"))


_LONGEST = 200


def told(reference: str) -> str:
    """A reference as errors may tell it: a URL without credentials, query and fragment, which may hold secrets."""
    scheme, sign, rest = reference.partition("://")
    if sign:
        host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
        reference = f"{scheme}{sign}{host.rpartition('@')[2]}{slash}{path}"
    return reference if len(reference) <= _LONGEST else f"{reference[: _LONGEST - 1]}…"


def origin_of(message: JsonObject, origin: str | None) -> str | None:
    """Where a message of a context of this origin was read from. What is from outside has no say in it."""
    return origin if is_url(origin) else message.get(ORIGIN, origin)


def carried_over(message: JsonObject, origin: str | None, into: str | None) -> JsonObject:
    """A message that crosses from a context of one origin into that of another."""
    own = {key: value for key, value in message.items() if key != ORIGIN}
    source = origin_of(message, origin)
    if message.get("type") in MEDIA:
        source = media_origin(message, origin)
        return {**own, ORIGIN: source} if "path" in message and source != into else own
    return own if message.get("type") != "tool" or source == into else {**own, ORIGIN: source}


def media_origin(message: JsonObject, origin: str | None) -> str | None:
    """Where a path in a message of a context of this origin starts from (M10).

    Its mark counts also in a context from outside, which may have been handed a picture from here: what is read from a
    URL is read without marks (see `Context`).
    """
    return message.get(ORIGIN, origin)
