"""The fold as naively as the protocol says it: immutable values, everything read anew from the whole log."""

from __future__ import annotations

from typing import Any, TypeGuard

from hypothesis import strategies as st

from actum.dataflow.expression import MISSING
from actum.dataflow.fold import METHODS
from actum.dataflow.reference import Path

Write = tuple[str, Path, Any, str | None]


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


class Refused(Exception):
    """The write can't be applied to what stands there."""


def folded(root: Any, method: str, path: Path, value: Any) -> Any:
    """The value after one write."""
    if not path:
        return _applied(root, method, value)
    head, rest = path[0], path[1:]
    if isinstance(head, str):
        if is_list(root):
            raise Refused
        return _in_object(root if is_object(root) else {}, root, head, method, rest, value)
    if is_object(root):
        raise Refused
    items: list[Any] = list(root) if is_list(root) else []
    inner = folded(items[head] if head < len(items) else MISSING, method, rest, value)
    if method == "erase":
        if head >= len(items):
            return root
        items[head] = inner
        if not rest:
            while items and items[-1] is MISSING:
                items.pop()
        return items
    items += [MISSING] * (head + 1 - len(items))
    items[head] = inner
    return items


def _in_object(members: dict[str, Any], root: Any, head: str, method: str, rest: Path, value: Any) -> Any:
    inner = folded(members.get(head, MISSING), method, rest, value)
    if method == "erase":
        if head not in members:
            return root
        if inner is MISSING:
            return {key: member for key, member in members.items() if key != head}
    return {**members, head: inner}


def _applied(old: Any, method: str, value: Any) -> Any:
    match method:
        case "set":
            return value
        case "erase":
            return MISSING
        case "merge":
            return _merged(old, value)
        case "assign":
            return {**old, **value} if is_object(old) and is_object(value) else value
        case "push":
            return [*_list(old), value]
        case _:
            if isinstance(value, str) and (old is MISSING or isinstance(old, str)):
                return ("" if old is MISSING else old) + value
            if is_list(value):
                return _list(old) + value
            raise Refused


def _list(old: Any) -> list[Any]:
    if old is MISSING or old is None:
        return []
    if not is_list(old):
        raise Refused
    return old


def _merged(old: Any, value: Any) -> Any:
    if not is_object(old) or not is_object(value):
        return value
    return {**old, **{key: _merged(old.get(key, MISSING), member) for key, member in value.items()}}


def read(value: Any, path: Path) -> Any:
    for segment in path:
        if isinstance(segment, str) and is_object(value):
            value = value.get(segment, MISSING)
        elif isinstance(segment, int) and is_list(value) and segment < len(value):
            value = value[segment]
        else:
            return MISSING
    return value


KEYS = st.sampled_from(["a", "b", "c", "odd key", "", "0"])
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", "†state.a"]) | st.just(0.5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
SEGMENTS = KEYS | st.integers(0, 3)
PATHS = st.lists(SEGMENTS, max_size=3).map(tuple)
METHOD = st.sampled_from(METHODS)
