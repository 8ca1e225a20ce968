"""The published methods (E2): by the kind of the value that has them. No attribute of a Python object is ever read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .access import name_of
from .allowance import Meter
from .comparing import position, same, spend_on_equals
from .kinds import ComputingError, items, kind, text, whole
from .table import Function
from .texts import written

_Owner = dict[str, Any]


def _plain(method: Callable[..., Any], name: str, most: int = 0) -> Function:
    """A method that takes texts only, and makes nothing much larger than its owner."""

    def run(meter: Meter, owner: str, *arguments: Any) -> Any:
        meter.spend(len(owner) >> 4)
        for argument in arguments:
            text(argument, name)
        return method(owner, *arguments)

    return Function(run, 0, most)


def _searching(method: Callable[..., Any], name: str) -> Function:
    """A method that looks for a text between two positions."""

    def run(meter: Meter, owner: str, sought: Any, *ends: Any) -> Any:
        meter.spend((len(owner) + len(text(sought, name))) >> 6)
        return method(owner, sought, *(None if end is None else whole(end, name) for end in ends))

    return Function(run, 1, 3)


def _ending(method: Callable[..., bool], name: str) -> Function:
    """A method that looks for one of some texts at an end."""

    def run(meter: Meter, owner: str, sought: Any) -> bool:
        options = [sought] if isinstance(sought, str) else items(sought, name)
        meter.spend(len(options))
        return method(owner, tuple(text(option, name) for option in options))

    return Function(run, 1, 1)


def _splitting(method: Callable[..., list[str]], name: str) -> Function:
    def run(meter: Meter, owner: str, separator: Any = None, maxsplit: Any = -1) -> list[str]:
        if separator is not None and not text(separator, name):
            raise ComputingError(f"{name} takes a text of one character or more")
        meter.spend(len(owner) >> 4)
        meter.fit(1 + (len(owner) >> 1 if separator is None else owner.count(separator)))
        return method(owner, separator, whole(maxsplit, name))

    return Function(run, 0, 2, ("maxsplit",))


def _padding(method: Callable[..., str], name: str, most: int) -> Function:
    def run(meter: Meter, owner: str, width: Any, fill: Any = " ") -> str:
        meter.fit(whole(width, name))
        if len(text(fill, name)) != 1:
            raise ComputingError(f"{name} fills with one character")
        return method(owner, width, fill) if most > 1 else method(owner, width)

    return Function(run, 1, most)


def _splitlines(meter: Meter, owner: str) -> list[str]:
    meter.spend(len(owner) >> 4)
    return owner.splitlines()


def _partition(meter: Meter, owner: str, separator: Any) -> list[str]:
    if not text(separator, ".partition()"):
        raise ComputingError(".partition() takes a text of one character or more")
    meter.spend(len(owner) >> 4)
    return list(owner.partition(separator))


def _join(meter: Meter, owner: str, values: Any) -> str:
    parts: list[str] = []
    size = 0
    found = items(values, ".join()")
    meter.spend(len(found))
    for value in found:
        parts.append(written(value, meter))
        size += len(parts[-1]) + len(owner)
        meter.fit(size - len(owner))
    return owner.join(parts)


def _replace(meter: Meter, owner: str, old: Any, new: Any, count: Any = -1) -> str:
    meter.spend((len(owner) + len(text(old, ".replace()"))) >> 4)
    times = owner.count(old) if whole(count, ".replace()") < 0 else min(count, owner.count(old))
    meter.fit(len(owner) + times * max(0, len(text(new, ".replace()")) - len(old)))
    return owner.replace(old, new, count)


def _count(meter: Meter, owner: list[Any], value: Any) -> int:
    if isinstance(value, list | dict):
        return sum(same(value, one, meter) for one in owner)
    spend_on_equals(value, owner, meter)
    return owner.count(value)


def _index(meter: Meter, owner: list[Any], value: Any) -> int:
    found = position(value, owner, meter)
    if found is None:
        raise ComputingError(f".index() found nothing equal among {len(owner):,} items")
    return found


def _get(_: Meter, owner: _Owner, key: Any, default: Any = None) -> Any:
    name = name_of(key)
    return default if name is None else owner.get(name, default)


def _keys(meter: Meter, owner: _Owner) -> list[str]:
    meter.spend(len(owner) >> 2)
    return list(owner)


def _values(meter: Meter, owner: _Owner) -> list[Any]:
    meter.spend(len(owner) >> 2)
    return list(owner.values())


def _items(meter: Meter, owner: _Owner) -> list[list[Any]]:
    meter.spend(len(owner))
    return [[key, value] for key, value in owner.items()]


_TEXTS: Mapping[str, Function] = {
    **{
        name: _plain(getattr(str, name), f".{name}()")
        for name in ("lower", "upper", "title", "capitalize", "casefold", "isdigit", "isalpha")
    },
    **{name: _plain(getattr(str, name), f".{name}()", 1) for name in ("strip", "lstrip", "rstrip")},
    "removeprefix": Function(_plain(str.removeprefix, ".removeprefix()").run),
    "removesuffix": Function(_plain(str.removesuffix, ".removesuffix()").run),
    "split": _splitting(str.split, ".split()"),
    "rsplit": _splitting(str.rsplit, ".rsplit()"),
    "splitlines": Function(_splitlines, 0, 0),
    "partition": Function(_partition),
    "join": Function(_join),
    "replace": Function(_replace, 2, 3),
    "find": _searching(str.find, ".find()"),
    "count": _searching(str.count, ".count()"),
    "startswith": _ending(str.startswith, ".startswith()"),
    "endswith": _ending(str.endswith, ".endswith()"),
    "zfill": _padding(str.zfill, ".zfill()", 1),
    "ljust": _padding(str.ljust, ".ljust()", 2),
    "rjust": _padding(str.rjust, ".rjust()", 2),
}

_LISTS: Mapping[str, Function] = {"count": Function(_count), "index": Function(_index)}

_OBJECTS: Mapping[str, Function] = {
    "get": Function(_get, 1, 2),
    "keys": Function(_keys, 0, 0),
    "values": Function(_values, 0, 0),
    "items": Function(_items, 0, 0),
}

METHODS: Mapping[type, Mapping[str, Function]] = {str: _TEXTS, list: _LISTS, dict: _OBJECTS}
"""By the type of the value and the name."""

METHODS_BY_NAME: Mapping[str, tuple[Function, ...]] = {
    name: tuple(table[name] for table in METHODS.values() if name in table) for name in (*_TEXTS, *_LISTS, *_OBJECTS)
}
"""What a name may mean where the kind of the value isn't known yet."""


def runs(name: str, arguments: int) -> Mapping[type, Callable[..., Any]]:
    """By the type of its owner, what carries out a method of this name with so many arguments."""
    return {
        owner: found.run
        for owner, table in METHODS.items()
        if (found := table.get(name)) and found.least <= arguments <= found.most
    }


def unknown(owner: object, name: str, arguments: int) -> ComputingError:
    """Why a value has no method of this name that takes so many arguments."""
    if name in METHODS.get(type(owner), {}):
        return ComputingError(f".{name}() of {kind(owner)} doesn't take {arguments} arguments")
    return ComputingError(f"{kind(owner)} has no .{name}()")
