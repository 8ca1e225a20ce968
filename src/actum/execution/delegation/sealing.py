"""What crosses into the delegate of a sealed run: what calls have brought is marked, and stays unseen there (S10)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ...protocol.message import BROUGHT, kind_of
from ...schema.json import JsonObject, is_object


def marked(message: JsonObject, kinds: Collection[str]) -> JsonObject:
    """A message that crosses a scope, marked if calls have left any of its kind or type."""
    kind = kind_of(message) or str(message.get("type"))
    return {**message, BROUGHT: True} if kind in kinds else message


def divided(messages: Sequence[JsonObject], parameters: Collection[str]) -> Iterator[JsonObject]:
    """The context of a delegate with its Input message, the last one, as two that fold to the same (M6).

    The first holds what the planner has written out, the second, marked, the `parameters` that calls have brought.
    """
    *others, last = messages if messages else [{}]
    yield from others
    value = last.get("input") if kind_of(last) == "input" else None
    if not is_object(value) or value.keys().isdisjoint(parameters):
        if last:
            yield last
        return
    yield {**last, "input": {name: one for name, one in value.items() if name not in parameters}}
    yield {"type": "input", "input": {name: one for name, one in value.items() if name in parameters}, BROUGHT: True}
