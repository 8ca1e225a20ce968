"""One kind's value as every instance sees it: a shared fold, and each instance's own writes on top (I2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..schema.json import copy, is_object
from .expression import MISSING
from .fold import Fold, OutputMethod, UnfitWrite, check_way, exported
from .reference import Path, Segment

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
            check_way(self._shared.read(), path[:1])
        apart = path and (not cells or type(first) is type(path[0]))
        self._write_own(cells, path[0] if apart else None, (method, path, value))

    def read(self, path: Path = (), instance: str | None = None) -> Any:
        """The value at the path, or MISSING; the caller must not change it."""
        cells = self._own.get(instance) if instance is not None else None
        if not cells:
            return self._shared.read(path)
        if None in cells:
            return self._folded(cells, None).read(path)
        if not path:
            return self._whole(cells).read()
        if path[0] in cells:
            return self._folded(cells, path[0]).read(path)
        is_alike = type(next(iter(cells))) is type(path[0])  # else the instance made the root another container
        return self._shared.read(path) if is_alike else MISSING

    def own(self, instance: str) -> Any:
        """The members that an instance has written, folded over the shared ones; MISSING if there are none."""
        cells = self._own.get(instance)
        if not cells:
            return MISSING
        if None in cells:
            return self._folded(cells, None).read()
        own = Fold()
        for key in cells:
            path = () if key is None else (key,)
            value = self._folded(cells, key).read(path)
            if value is not MISSING:
                own.graft(path, value)
        return own.read()

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
            writes = [one for cell in cells.values() for one in cell.writes]
            cells.clear()
            cells[None] = _Cell(writes, Fold())
        elif key not in cells:
            cells[key] = _Cell([], Fold())
        try:
            self._folded(cells, key).write(*write)
        except UnfitWrite:
            if not cells[key].writes:
                del cells[key]
            raise
        cells[key].writes.append((write[0], write[1], exported(write[2])))

    def _folded(self, cells: dict[Segment | None, _Cell], key: Segment | None) -> Fold:
        cell = cells[key]
        version = self._version(key)
        if cell.version != version:
            base = () if key is None else (key,)
            try:
                cell.fold = _folded_over(self._shared.read(base), base, cell.writes)
            except UnfitWrite:  # a later shared value doesn't fit the instance's writes: these win
                cell.fold = _folded_over(MISSING, base, cell.writes)
            cell.version = version
        return cell.fold

    def _whole(self, cells: dict[Segment | None, _Cell]) -> Fold:
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
            value = self._folded(cells, key).read(path)
            if value is MISSING:
                fold.write("erase", path, None)
            else:
                fold.graft(path, value)
        return fold


def _folded_over(shared: Any, base: Path, writes: Iterable[_Write]) -> Fold:
    fold = Fold()
    if shared is not MISSING:
        fold.graft(base, shared)
    for write in writes:
        fold.write(*write)
    return fold
