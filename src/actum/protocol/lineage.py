"""What calls have brought of a value, and what a reader or an expression has made of that, by path (S10). Pure.

Marks are of values: a kind's are folded with its values, write by write, and cross with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from ..dataflow.expression import MISSING
from ..dataflow.fold import OutputMethod, Overlay
from ..dataflow.reference import Path, Segment
from ..schema.json import JsonObject, is_list, is_object
from .call import DERIVED

BROUGHT = "_brought"
"""The mark of a message whose value calls have brought, or parts of it: true, false for one that a call has left
though none has brought it, or the parts (S10)."""


class Source(NamedTuple):
    """Where a value comes from; neither: its author has written it.

    `named` is how much of the path to it somebody has written, all of it for None: keys in data are data.
    """

    is_brought: bool = False
    is_derived: bool = False
    named: int | None = None


AUTHORED = Source()
Marks: TypeAlias = Mapping[Path, Source]
"""The sources of a value's parts by their paths; each holds for everything below it that has none of its own."""
NONE: Marks = {}
WHOLE: Marks = {(): Source(is_brought=True)}
DERIVED_WHOLE: Marks = {(): Source(is_brought=True, is_derived=True)}


def join_sources(sources: Iterable[Source]) -> Source:
    """The source of a value that holds others, or was made of them."""
    sources = list(sources)
    return Source(any(source.is_brought for source in sources), any(source.is_derived for source in sources))


def marks_at(marks: Marks, path: Path) -> Marks:
    """The marks of a part of a value."""
    if not path or not marks:
        return marks
    above = [prefix for prefix in (path[:length] for length in range(len(path) + 1)) if prefix in marks]
    below = {inner[len(path) :]: source for inner, source in marks.items() if inner[: len(path)] == path}
    return below if not above or () in below else {(): marks[above[-1]], **below}


def source_of(marks: Marks, path: Path = ()) -> Source:
    """Where a part of a value comes from, all that it holds included."""
    return join_sources(marks_at(marks, path).values())


def marks_in(message: Mapping[str, Any], value: Any) -> Marks:
    """The sources of a message's value by its marks; a mark that can't be read counts as brought by calls.

    A result that the model wrote into its call itself is the model's own.
    """
    mark: Any = message.get(BROUGHT)
    call: Any = message.get("_call")
    if is_list(mark):
        return dict(_parts(mark))
    if mark is False or (mark is None and call is None):
        return NONE
    if mark is None and is_object(call) and "_output" in call and call["_output"] == value:
        return NONE
    derived: Any = message.get(DERIVED)
    return DERIVED_WHOLE if is_list(derived) and "" in derived else WHOLE


def _parts(mark: list[Any]) -> Iterator[tuple[Path, Source]]:
    for part in mark:
        path: Any = part.get("at") if is_object(part) else None
        if not is_list(path) or not all(isinstance(key, str) or (type(key) is int and key >= 0) for key in path):
            yield (), Source(is_brought=True, is_derived=True)
            continue
        named: Any = part.get("named")
        is_partly = type(named) is int and 0 <= named < len(path)
        is_brought = part.get("brought") is not False
        yield tuple(path), Source(is_brought, is_brought and part.get("derived") is True, named if is_partly else None)


def lineage_mark(marks: Marks) -> Any:
    """The marks of a value as a message has them."""
    if not any(source.is_brought for source in marks.values()):
        return False
    if len(marks) == 1 and () in marks and not marks[()].is_derived:
        return True
    return [_part_mark(path, marks[path]) for path in sorted(marks, key=lambda path: list(map(_key, path)))]


def _part_mark(path: Path, source: Source) -> JsonObject:
    part: JsonObject = {"at": list(path)}
    part |= {} if source.is_brought else {"brought": False}
    part |= {"derived": True} if source.is_derived else {}
    return part if source.named is None else {**part, "named": source.named}


def own_part(value: Any, marks: Marks) -> Any:
    """The part of a value that no call has brought, or MISSING. A list is taken whole or not at all."""
    above = marks.get((), AUTHORED)
    if len(marks) == (() in marks) or (not is_object(value) and any(source.is_brought for source in marks.values())):
        return MISSING if source_of(marks).is_brought else value
    if not is_object(value):
        return value
    parts = {key: own_part(member, {(): above, **_below(marks, key)}) for key, member in value.items()}
    shown = {key: part for key, part in parts.items() if part is not MISSING}
    return shown if shown or not above.is_brought else MISSING


def is_named(marks: Marks, key: str, depth: int) -> bool:
    """Whether the key of a member at this depth was written by somebody; keys that came with data are data."""
    below = _below(marks, key)
    source = below.get((), AUTHORED if below else marks.get((), AUTHORED))
    return not source.is_brought or (() in below and (source.named is None or source.named > depth))


def _below(marks: Marks, key: str) -> Marks:
    return {path[1:]: source for path, source in marks.items() if path[:1] == (key,)}


class Trail:
    """The marks of one kind's value as every instance sees it, folded like the value."""

    def __init__(self) -> None:
        self.whole: Marks | None = None
        """The marks of the whole value if nothing has been written since: the common case, one result after another."""
        self._folded: Overlay | None = None

    @property
    def _overlay(self) -> Overlay:
        if self._folded is None:
            self._folded = Overlay()
        return self._folded

    def steps(
        self, method: OutputMethod, path: Path, value: Any, marks: Marks, instance: str | None, old: Any
    ) -> Iterator[tuple[Path, Marks]]:
        """What a write of a value with these marks over an old one changes, path by path."""
        self._settle()
        if method in ("push", "concat") and old is not MISSING:
            yield path, {(): join_sources([source_of(marks), source_of(self.read(path, instance))])}
        elif method not in ("merge", "assign") or not is_object(value):
            yield path, NONE if method == "erase" else marks
        elif not is_object(old):
            yield path, {(key, *below): mark for key in value for below, mark in _member(marks, key, len(path)).items()}
        else:
            for key, member in value.items():
                inner = _member(marks, key, len(path))
                if method == "merge" and key in old:
                    yield from self.steps(method, (*path, key), member, inner, instance, old[key])
                else:
                    yield (*path, key), inner

    def write(self, path: Path, marks: Marks, instance: str | None) -> None:
        """Replace the marks of the value at a path."""
        self._settle()
        node: dict[str, Any] = {_OWN: list(marks.get((), AUTHORED))}
        for below, source in marks.items():
            inner = node
            for segment in below:
                inner = inner.setdefault(_key(segment), {})
            inner[_OWN] = list(source)
        self._overlay.write("set", tuple(map(_key, path)), node, instance)

    def read(self, path: Path, instance: str | None) -> Marks:
        """The marks of the value at a path."""
        self._settle()
        keys = tuple(map(_key, path))
        marks = dict(_flat(self._overlay.read(keys, instance)))
        for length in range(len(keys), -1, -1):
            if () in marks:
                break
            inherited = self._overlay.read((*keys[:length], _OWN), instance)
            if isinstance(inherited, list):
                marks = {(): Source(*inherited), **marks}
        return marks if any(source.is_brought for source in marks.values()) else NONE

    def _settle(self) -> None:
        if self.whole is not None:
            marks, self.whole = self.whole, None
            self.write((), marks, None)


_OWN = ""
"""The key of a node's own source; other keys begin with a sign."""


def _key(segment: Segment) -> str:
    return f"[{segment}" if isinstance(segment, int) else f".{segment}"


def _member(marks: Marks, key: str, named: int) -> Marks:
    """The marks of a member of a merged value; where only the whole has marks, the key came with the data."""
    member = _below(marks, key)
    if () in member or () not in marks:
        return member
    above = marks[()]
    return {(): above._replace(named=named if above.named is None else above.named), **member}


def _flat(node: Any, above: Path = ()) -> Iterator[tuple[Path, Source]]:
    """The sources in a node, by their paths."""
    for key, inner in node.items() if is_object(node) else ():
        if key == _OWN:
            yield above, Source(*inner)
        else:
            segment: Segment = int(key[1:]) if key[0] == "[" else key[1:]
            yield from _flat(inner, (*above, segment))
