"""The value of one kind as the fold of its writes (M6, O4). A write costs its value, a read its path."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

from ..schema.json import copy, is_list, is_object
from .expression import MISSING
from .reference import Path, Segment, print_path

OutputMethod: TypeAlias = Literal["set", "merge", "assign", "push", "concat", "erase"]
METHODS: tuple[OutputMethod, ...] = get_args(OutputMethod)

MOST_GAP = 10_000
"""How far behind the end of a list an index may write: a list is as long as its last index."""


SCALARS = frozenset({str, int, float, bool, type(None)})
"""The types of values that hold no others. Whoever goes through values asks for these first: most are."""


class UnfitWrite(ValueError):
    """A write that doesn't fit the value at its path."""


class Fold:
    """A value that writes build up. What was never written, or was erased, is MISSING, also inside a list.

    A value that is written is taken over by copy; what `read` returns belongs to the fold and must not be changed.
    """

    __slots__ = ("_root",)

    def __init__(self, root: Any = MISSING) -> None:
        self._root: Any = root

    def read(self, path: Path = ()) -> Any:
        """The value at the path, or MISSING."""
        value = self._root
        for segment in path:
            value = _member(value, segment)
            if value is MISSING:
                return MISSING
        return value

    def write(self, method: OutputMethod, path: Path, value: Any) -> None:
        """Apply one write; nothing changes if it is refused.

        Raises:
            UnfitWrite: the path leads through a list by name or through an object by index, or the method can't be
                applied to the value there.
        """
        check_way(self._root, path)
        old = self.read(path)
        if method == "erase":
            if old is not MISSING:
                self._erase(path)
            return
        new = _applied(method, old, value, path)
        if new is not old:
            self._place(path, new)

    def graft(self, path: Path, value: Any) -> None:
        """Put a copy of a folded value at a path, the gaps in its lists as they are.

        Raises:
            UnfitWrite: as `write`.
        """
        check_way(self._root, path)
        self._place(path, copy(value))

    def _place(self, path: Path, value: Any) -> None:
        if not path:
            self._root = value
            return
        container = self._root = _container(self._root, path[0])
        for segment, following in pairwise(path):
            inner = _container(_member(container, segment), following)
            _put(container, segment, inner)
            container = inner
        _put(container, path[-1], value)

    def _erase(self, path: Path) -> None:
        if not path:
            self._root = MISSING
            return
        container, last = self.read(path[:-1]), path[-1]
        if isinstance(last, str):
            del container[last]
            return
        container[last] = MISSING
        while container and container[-1] is MISSING:
            container.pop()


def exported(value: Any) -> Any:
    """A copy of a folded value as JSON: a gap in a list is null."""
    if type(value) in SCALARS:
        return value
    if is_object(value):
        return {key: exported(member) for key, member in value.items()}
    return [exported(item) for item in value] if is_list(value) else None


def nested(path: Path, value: Any) -> Any:
    """The value wrapped in the containers its path names; a list holds the one item, whatever its index (M6)."""
    for segment in reversed(path):
        value = [value] if isinstance(segment, int) else {segment: value}
    return value


def unnested(path: Path, value: Any) -> Any:
    """The inverse of `nested`, MISSING if the value isn't nested so."""
    for segment in path:
        value = _member(value, 0 if isinstance(segment, int) else segment)
        if value is MISSING:
            return MISSING
    return value


def _member(value: Any, segment: Segment) -> Any:
    if isinstance(segment, str):
        return value.get(segment, MISSING) if is_object(value) else MISSING
    return value[segment] if is_list(value) and segment < len(value) else MISSING


def _container(value: Any, segment: Segment) -> Any:
    if isinstance(segment, str):
        return value if is_object(value) else {}
    return value if is_list(value) else []


def _put(container: Any, segment: Segment, value: Any) -> None:
    if isinstance(segment, int):
        container.extend([MISSING] * (segment + 1 - len(container)))
    container[segment] = value


def check_way(root: Any, path: Path) -> None:
    """Whether a path can be written in a value.

    Raises:
        UnfitWrite: it leads through a list by name, through an object by index, or far behind the end of a list.
    """
    value = root
    for depth, segment in enumerate(path):
        if isinstance(segment, str):
            if is_list(value):
                raise UnfitWrite(f"{_told(path[:depth])} is a list: it has no key {segment!r}")
        elif is_object(value):
            raise UnfitWrite(f"{_told(path[:depth])} is an object: it has no index [{segment}]")
        elif segment > MOST_GAP + (len(value) if is_list(value) else 0):
            raise UnfitWrite(f"[{segment}] is more than {MOST_GAP} items past the end of {_told(path[:depth])}")
        value = _member(value, segment)


def _applied(method: OutputMethod, old: Any, value: Any, path: Path) -> Any:
    match method:
        case "merge" if is_object(old) and is_object(value):
            return _merge(old, value)
        case "assign" if is_object(old) and is_object(value):
            old.update(exported(value))
            return old
        case "push":
            return _extended(old, [exported(value)], path)
        case "concat" if isinstance(value, str) and old is MISSING:
            return value
        case "concat" if isinstance(value, str) and isinstance(old, str):
            return old + value
        case "concat" if isinstance(value, list):
            return _extended(old, exported(value), path)
        case "concat":
            raise UnfitWrite(f"concat joins two strings or two lists, at {_told(path)} they are neither")
        case _:  # set, or nothing is there that it could be merged with
            return exported(value)


def _told(path: Path) -> str:
    return print_path(path) or "the value"


def _extended(old: Any, items: list[Any], path: Path) -> list[Any]:
    if old is MISSING or old is None:
        return items
    if not is_list(old):
        raise UnfitWrite(f"{_told(path)} is not a list: nothing can be added to it")
    old.extend(items)
    return old


def _merge(old: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    for key, member in value.items():
        before = old.get(key)
        if is_object(before) and is_object(member):
            _merge(before, member)
        else:
            old[key] = exported(member)
    return old
