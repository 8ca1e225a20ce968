"""Where messages were read from: what relative paths in them start from, and what is from outside (D2, D12)."""

from __future__ import annotations

from ..schema.json import JsonObject

ORIGIN = "_origin"
"""The mark of a `tool` message that has crossed a scope: where its context was read from, null for code (D15)."""


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


def crossing(message: JsonObject, origin: str | None, into: str | None) -> JsonObject:
    """A message that crosses from a context of one origin into that of another."""
    own = {key: value for key, value in message.items() if key != ORIGIN}
    source = origin_of(message, origin)
    return own if message.get("type") != "tool" or source == into else {**own, ORIGIN: source}
