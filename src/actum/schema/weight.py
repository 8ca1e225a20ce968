"""What a value would be written out, in bytes, however its parts are shared (L5). No recursion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from .json import MAX_DEPTH, NotJson

LEAST = 64
"""What each value counts as at least: about what holding an empty one takes."""

_SHORT = LEAST // 4
"""A text of no more characters than this is no more than the least, whatever they are."""
_SMALL = 10**LEAST
_LONG = 1_000_000
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_SCALARS = frozenset({float, bool, type(None)})


def weight(value: Any, most: int) -> int:
    """The bytes of a value with all that it holds; counting stops soon beyond `most`.

    Mappings and tuples count as what they become; what isn't JSON counts as one value.

    Raises:
        NotJson: it nests deeper than JSON may, or holds itself.
    """
    if type(value) in _SCALARS or (type(value) is str and len(value) <= _SHORT):
        return LEAST
    layer: list[Any] = []
    count, depth = LEAST + _taken([value], layer), 0
    while layer and count <= most:
        if depth >= MAX_DEPTH:
            raise NotJson(f"nests deeper than {MAX_DEPTH}")
        below: list[Any] = []
        for one in layer:
            count += _taken(one, below)
            if count > most:
                break
        layer, depth = below, depth + 1
    return count


def _taken(values: Iterable[Any], held: list[Any]) -> int:
    """What values are more than the least, and the least of what they hold; those that hold others go into `held`."""
    size = 0
    for value in values:
        # One type after the other, by how often they occur: all that is made of large values is gone through here.
        kind = type(value)  # pyright: ignore[reportUnknownVariableType] -- of anything
        if kind in _SCALARS:
            continue
        if kind is str:
            if len(value) > _SHORT:
                size += _beyond(value)
        elif kind is int:
            size += 0 if -_SMALL < value < _SMALL else value.bit_length() // 3
        elif kind is list:
            held.append(value)
            size += LEAST * len(value)
        elif isinstance(value, Mapping):
            held.append(cast("Mapping[Any, Any]", value).values())
            size += LEAST * len(cast("Mapping[Any, Any]", value)) + _keys(cast("Mapping[Any, Any]", value))
        elif isinstance(value, list | tuple):
            held.append(value)
            size += LEAST * len(cast("list[Any]", value))
    return size


def weight_of_text(text: str) -> int:
    """The same of the value that a JSON text says, before it is read: never less, seldom much more."""
    signs = text.count(",") + text.count(":") + text.count("[") + text.count("{")
    if signs > _LONG // LEAST:  # what stands in its texts may be most of them
        bare = _STRING.sub("", text)
        signs = bare.count(",") + bare.count(":") + bare.count("[") + bare.count("{")
    return max(len(text), LEAST * (1 + signs))


def _keys(value: Mapping[Any, Any]) -> int:
    try:
        return sum(map(len, value))
    except TypeError:  # a key that is no text: it will be refused, or written as one
        return 0


def _beyond(text: str) -> int:
    """What a text is more than the least."""
    return max(0, (len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))) - LEAST)
