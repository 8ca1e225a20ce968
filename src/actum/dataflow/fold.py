"""The value of one kind as the fold of its writes (M6, O4). A write costs its value, a read its path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

from ..schema.json import copy, is_list, is_object
from .expression import MISSING, SCALARS
from .reference import Path, Segment, print_path

OutputMethod: TypeAlias = Literal["set", "merge", "assign", "push", "concat", "erase"]
METHODS: tuple[OutputMethod, ...] = get_args(OutputMethod)

MOST_GAP = 10_000
"""How far behind the end of a list an index may write: a list is as long as its last index."""


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
        check_writable(self._root, path)
        old = self.read(path)
        if method == "erase":
            if old is not MISSING:
                self._erase(path)
            return
        new = _apply(method, old, value, path)
        if new is not old:
            self._place(path, new)

    def graft(self, path: Path, value: Any) -> None:
        """Put a copy of a folded value at a path, the gaps in its lists as they are.

        Raises:
            UnfitWrite: as `write`.
        """
        check_writable(self._root, path)
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


def check_writable(root: Any, path: Path) -> None:
    """Whether a path can be written in a value.

    Raises:
        UnfitWrite: it leads through a list by name, through an object by index, or far behind the end of a list.
    """
    value = root
    for depth, segment in enumerate(path):
        if isinstance(segment, str):
            if is_list(value):
                raise UnfitWrite(f"{_describe(path[:depth])} is a list: it has no key {segment!r}")
        elif is_object(value):
            raise UnfitWrite(f"{_describe(path[:depth])} is an object: it has no index [{segment}]")
        elif segment > MOST_GAP + (len(value) if is_list(value) else 0):
            raise UnfitWrite(f"[{segment}] is more than {MOST_GAP} items past the end of {_describe(path[:depth])}")
        value = _member(value, segment)


def _apply(method: OutputMethod, old: Any, value: Any, path: Path) -> Any:
    match method:
        case "merge" if is_object(old) and is_object(value):
            return _merge(old, value)
        case "assign" if is_object(old) and is_object(value):
            old.update(exported(value))
            return old
        case "push":
            return _extend(old, [exported(value)], path)
        case "concat" if isinstance(value, str) and old is MISSING:
            return value
        case "concat" if isinstance(value, str) and isinstance(old, str):
            return old + value
        case "concat" if isinstance(value, list):
            return _extend(old, exported(value), path)
        case "concat":
            raise UnfitWrite(f"concat joins two strings or two lists, at {_describe(path)} they are neither")
        case _:  # set, or nothing is there that it could be merged with
            return exported(value)


def _describe(path: Path) -> str:
    return print_path(path) or "the value"


def _extend(old: Any, items: list[Any], path: Path) -> list[Any]:
    if old is MISSING or old is None:
        return items
    if not is_list(old):
        raise UnfitWrite(f"{_describe(path)} is not a list: nothing can be added to it")
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


_Write: TypeAlias = tuple[OutputMethod, Path, Any]


@dataclass(slots=True)
class _Cell:
    """One member of an instance's value: its own writes, and their fold over the shared member of version `version`."""

    writes: list[_Write]
    fold: Fold
    version: int = -1


class Overlay:
    """The folded value of one kind, shared and per instance. Reading costs the path, however long the log is.

    An instance's writes are kept apart by the first segment of their path, so a shared write makes only those members
    be folded again that the instance has written too, and only when they are read.
    """

    def __init__(self) -> None:
        self._shared = Fold()
        self._versions: dict[Segment, int] = {}
        self._epoch = 0
        self._own: dict[str, dict[Segment | None, _Cell]] = {}

    def write(self, method: OutputMethod, path: Path, value: Any, instance: str | None = None) -> None:
        """Apply one write to the shared value or to one instance's.

        Raises:
            UnfitWrite: as `Fold.write`; nothing is changed then.
        """
        if instance is None:
            self._shared.write(method, path, value)
            if self._own:
                self._touch(method, path, value)
            return
        cells = self._own.setdefault(instance, {})
        first = next(iter(cells), None)  # all keys are of one type, or None is the only one
        if not path and method == "merge" and is_object(value) and value and (not cells or isinstance(first, str)):
            for key, member in value.items():
                self._write_own(cells, key, ("merge", (key,), member))
            return
        if path and not cells:
            check_writable(self._shared.read(), path[:1])
        apart = path and (not cells or type(first) is type(path[0]))
        self._write_own(cells, path[0] if apart else None, (method, path, value))

    def read(self, path: Path = (), instance: str | None = None) -> Any:
        """The value at the path, or MISSING; the caller must not change it."""
        cells = self._own.get(instance) if instance is not None else None
        if not cells:
            return self._shared.read(path)
        if None in cells:
            return self._fold_of(cells, None).read(path)
        if not path:
            return self._fold_whole(cells).read()
        if path[0] in cells:
            return self._fold_of(cells, path[0]).read(path)
        is_alike = type(next(iter(cells))) is type(path[0])  # else the instance made the root another container
        return self._shared.read(path) if is_alike else MISSING

    def own_members(self, instance: str) -> Any:
        """The members that an instance has written, folded over the shared ones; MISSING if there are none."""
        cells = self._own.get(instance)
        if not cells:
            return MISSING
        if None in cells:
            return self._fold_of(cells, None).read()
        fold = Fold()
        for key in cells:
            path = () if key is None else (key,)
            value = self._fold_of(cells, key).read(path)
            if value is not MISSING:
                fold.graft(path, value)
        return fold.read()

    @property
    def instances(self) -> Iterable[str]:
        """The instances that have writes of their own."""
        return self._own.keys()

    def _touch(self, method: OutputMethod, path: Path, value: Any) -> None:
        if path:
            self._versions[path[0]] = self._versions.get(path[0], 0) + 1
        elif method == "merge" and is_object(value):
            for key in value:
                self._versions[key] = self._versions.get(key, 0) + 1
        else:
            self._epoch += 1
        self._versions[""] = self._versions.get("", 0) + 1

    def _version(self, key: Segment | None) -> int:
        # Both counters only grow, so their sum changes whenever either does; "" counts every write.
        return self._epoch + self._versions.get("" if key is None else key, 0)

    def _write_own(self, cells: dict[Segment | None, _Cell], key: Segment | None, write: _Write) -> None:
        if key is None and None not in cells:
            writes = [write for cell in cells.values() for write in cell.writes]
            cells.clear()
            cells[None] = _Cell(writes, Fold())
        elif key not in cells:
            cells[key] = _Cell([], Fold())
        try:
            self._fold_of(cells, key).write(*write)
        except UnfitWrite:
            if not cells[key].writes:
                del cells[key]
            raise
        cells[key].writes.append((write[0], write[1], exported(write[2])))

    def _fold_of(self, cells: dict[Segment | None, _Cell], key: Segment | None) -> Fold:
        cell = cells[key]
        version = self._version(key)
        if cell.version != version:
            base = () if key is None else (key,)
            try:
                cell.fold = _fold_over(self._shared.read(base), base, cell.writes)
            except UnfitWrite:  # a later shared value doesn't fit the instance's writes: these win
                cell.fold = _fold_over(MISSING, base, cell.writes)
            cell.version = version
        return cell.fold

    def _fold_whole(self, cells: dict[Segment | None, _Cell]) -> Fold:
        shared = self._shared.read()
        container = list if isinstance(next(iter(cells)), int) else dict
        if isinstance(shared, container):
            fold = Fold(copy(shared))
        elif all(write[0] == "erase" for cell in cells.values() for write in cell.writes):
            return Fold(shared)
        else:
            fold = Fold(container())
        for key in cells:
            path = () if key is None else (key,)
            value = self._fold_of(cells, key).read(path)
            if value is MISSING:
                fold.write("erase", path, None)
            else:
                fold.graft(path, value)
        return fold


def _fold_over(shared: Any, base: Path, writes: Iterable[_Write]) -> Fold:
    fold = Fold()
    if shared is not MISSING:
        fold.graft(base, shared)
    for write in writes:
        fold.write(*write)
    return fold
