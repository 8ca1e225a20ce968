"""Access into values: keys, positions and slices (E2). Errors name only what the expression wrote."""

from __future__ import annotations

from typing import Any

from ...schema.json import JsonObject, is_list, is_object
from .allowance import Meter
from .operands import LARGEST, ComputingError, kind, whole_number


def missing_key(owner: Any, key: str) -> ComputingError:
    """Why a value has nothing at a key that the expression names."""
    if is_object(owner):
        return ComputingError(f"{_object(owner)} has no key {key}; where it may be missing, write .{key}?")
    if key == "length" and (is_list(owner) or isinstance(owner, str)):
        return ComputingError(f"{kind(owner)} has no key length: write len(…)")
    hint = ": pick an item first, with one(…) or a loop" if is_list(owner) and owner else ""
    return ComputingError(f"{kind(owner)} has no key {key}{hint}")


def key_meant(key: Any) -> str | None:
    """The key that a value means: a whole number is one in digits, as in a reference (O1); None if it can't be one."""
    if isinstance(key, str):
        return key
    return str(key) if type(key) is int and abs(key) <= LARGEST else None


def item_of(owner: Any, key: Any, *, is_optional: bool) -> Any:
    """What a value has at a computed key or position.

    Raises:
        ComputingError: it has nothing there, or what is given can't be either.
    """
    if is_object(owner):
        name = key_meant(key)
        if name is None:
            raise ComputingError(f"a key is a text, not {kind(key)}")
        if name in owner:
            return owner[name]
        if is_optional:
            return None
        raise ComputingError(f"{_object(owner)} doesn't have this one")
    if not is_list(owner) and not isinstance(owner, str):
        raise ComputingError(f"{kind(owner)} has no parts")
    position = whole_number(key, f"the position in {kind(owner)}")
    if not -len(owner) <= position < len(owner):
        raise ComputingError(f"{kind(owner)} of {len(owner):,} has nothing at this position")
    return owner[position]


def _object(owner: JsonObject) -> str:
    return f"an object of {len(owner):,} {'key' if len(owner) == 1 else 'keys'}"


def slice_of(owner: Any, lower: Any, upper: Any, step: Any, meter: Meter) -> Any:
    """A part of a text or a list.

    Raises:
        ComputingError: it is neither, or its ends are no whole numbers.
    """
    if not is_list(owner) and not isinstance(owner, str):
        raise ComputingError(f"{kind(owner)} can't be cut")
    ends = [None if end is None else whole_number(end, "a slice") for end in (lower, upper, step)]
    if step == 0:
        raise ComputingError("a slice takes a step other than 0")
    meter.spend(len(owner) >> 4)
    return owner[slice(*ends)]


def object_key(value: Any) -> str:
    """The key of an object.

    Raises:
        ComputingError: it isn't text.
    """
    if isinstance(value, str):
        return value
    raise ComputingError(f"the key of an object is a text, not {kind(value)}; str(x) makes one")
