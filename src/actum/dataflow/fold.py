"""The value of one kind as the fold of its writes (M6, O4). A write costs its value, a read its path."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, TypeAlias, cast, get_args

from ..schema.json import copy
from .expression import MISSING
from .reference import Path, Segment, print_path

OutputMethod: TypeAlias = Literal["set", "merge", "assign", "push", "concat", "erase"]
METHODS: tuple[OutputMethod, ...] = get_args(OutputMethod)

MOST_GAP = 10_000
"""How far behind the end of a list an index may write: a list is as long as its last index."""


class Misfit(ValueError):
    """A write that what stands at its path can't take."""


class Fold:
    """A value that writes build up. What was never written, or was erased, is MISSING, also inside a list.

    A value that is written is taken over by copy; what `read` returns belongs to the fold and must not be changed.
    """

    __slots__ = ("_root",)

    def __init__(self, root: Any = MISSING) -> None:
        self._root: Any = root

    def read(self, path: Path = ()) -> Any:
        """What stands at the path, or MISSING."""
        value = self._root
        for segment in path:
            value = _member(value, segment)
            if value is MISSING:
                return MISSING
        return value

    def write(self, method: OutputMethod, path: Path, value: Any) -> None:
        """Apply one write; nothing changes where it is refused.

        Raises:
            Misfit: the path leads through a list by name or through an object by index, or the method can't be applied
                to what stands there.
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
        """Put a copy of a folded value at a path, the empty places inside its lists as they are.

        Raises:
            Misfit: as `write`.
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
        container = self.read(path[:-1])
        if isinstance(container, dict):
            del container[path[-1]]
        else:
            items = cast("list[Any]", container)
            items[cast("int", path[-1])] = MISSING
            while items and items[-1] is MISSING:
                items.pop()


def exported(value: Any) -> Any:
    """A copy of a folded value as JSON: an empty place inside a list is null."""
    if isinstance(value, dict):
        return {key: exported(member) for key, member in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [exported(item) for item in cast("list[Any]", value)]
    return None if value is MISSING else value


def nested(path: Path, value: Any) -> Any:
    """The value wrapped in the containers its path names; a list holds the one item, whatever its index (M6)."""
    for segment in reversed(path):
        value = [value] if isinstance(segment, int) else {segment: value}
    return value


def unnested(path: Path, value: Any) -> Any:
    """The inverse of `nested`, MISSING where the value isn't nested so."""
    for segment in path:
        value = _member(value, 0 if isinstance(segment, int) else segment)
        if value is MISSING:
            return MISSING
    return value


def _member(value: Any, segment: Segment) -> Any:
    if isinstance(segment, str):
        return cast("dict[str, Any]", value).get(segment, MISSING) if isinstance(value, dict) else MISSING
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return items[segment] if segment < len(items) else MISSING
    return MISSING


def _container(value: Any, segment: Segment) -> Any:
    if isinstance(segment, str):
        return cast("Any", value) if isinstance(value, dict) else {}
    return cast("Any", value) if isinstance(value, list) else []


def _put(container: Any, segment: Segment, value: Any) -> None:
    if isinstance(segment, int):
        container.extend([MISSING] * (segment + 1 - len(container)))
    container[segment] = value


def check_way(root: Any, path: Path) -> None:
    """Whether a path can be written in a value.

    Raises:
        Misfit: it leads through a list by name, through an object by index, or far behind the end of a list.
    """
    value = root
    for depth, segment in enumerate(path):
        if isinstance(value, dict) and isinstance(segment, int):
            raise Misfit(f"{print_path(path[:depth]) or 'the value'} is an object: [{segment}] is no key of it")
        length = len(cast("list[Any]", value)) if isinstance(value, list) else 0
        if isinstance(value, list) and isinstance(segment, str):
            raise Misfit(f"{print_path(path[:depth]) or 'the value'} is a list: {segment!r} is no index of it")
        if isinstance(segment, int) and segment > length + MOST_GAP:
            raise Misfit(f"[{segment}] lies more than {MOST_GAP} behind the end of {print_path(path[:depth])}")
        value = _member(value, segment)


def _applied(method: OutputMethod, old: Any, value: Any, path: Path) -> Any:
    match method:
        case "set":
            return exported(value)
        case "merge" if isinstance(old, dict) and isinstance(value, dict):
            return _merge(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        case "assign" if isinstance(old, dict) and isinstance(value, dict):
            cast("dict[str, Any]", old).update(exported(value))
            return cast("dict[str, Any]", old)
        case "push":
            return _extended(old, [exported(value)], path)
        case "concat" if isinstance(value, str) and (old is MISSING or isinstance(old, str)):
            return value if old is MISSING else cast("str", old) + value
        case "concat" if isinstance(value, list):
            return _extended(old, exported(value), path)
        case "concat":
            raise Misfit(f"concat joins two strings or two lists, at {print_path(path) or 'the root'} they are neither")
        case _:
            return exported(value)


def _extended(old: Any, items: list[Any], path: Path) -> list[Any]:
    if old is MISSING or old is None:
        return items
    if not isinstance(old, list):
        raise Misfit(f"{print_path(path) or 'the value'} is no list: nothing can be added to it")
    cast("list[Any]", old).extend(items)
    return cast("list[Any]", old)


def _merge(old: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    for key, member in value.items():
        standing = old.get(key)
        if isinstance(standing, dict) and isinstance(member, dict):
            _merge(cast("dict[str, Any]", standing), cast("dict[str, Any]", member))
        else:
            old[key] = exported(member)
    return old
