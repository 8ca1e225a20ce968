"""The published methods (E2): by the kind of the value that has them, each as one record under its name. No attribute
of a Python object is ever read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...schema.types import (
    BOOLEAN,
    NULL,
    TEXT,
    WHOLE,
    Alternative,
    List,
    Object,
    Text,
    Type,
    in_words,
    known,
    list_of,
    tuple_of,
    union,
)
from .access import key_meant
from .allowance import Meter
from .functions import Function, Named, taking
from .kind_types import ALL, TEXTS, WRITTEN, check_kind, items_of, of_each
from .operands import ComputingError, items, kind, text, whole_number
from .operating import position, same, spend_on_equals
from .written_values import written_text

_Owner = dict[str, Any]
_PARTS = list_of(TEXT)


def _plain_method(
    method: Callable[..., Any], example: str, about: str = "", *, gives: Type = TEXT, least: int = 0, most: int = 0
) -> Function:
    """A method that takes texts only, and makes nothing much larger than its owner."""
    name = f".{method.__name__}()"

    def run(meter: Meter, owner: str, *arguments: Any) -> Any:
        meter.spend(len(owner) >> 4)
        for argument in arguments:
            text(argument, name)
        return method(owner, *arguments)

    return Function(run, taking(TEXTS, "a text", gives), example, about, least=least, most=most)


def _search_method(method: Callable[..., Any], example: str) -> Function:
    """A method that looks for a text between two positions."""
    name = f".{method.__name__}()"

    def run(meter: Meter, owner: str, sought: Any, *ends: Any) -> Any:
        meter.spend((len(owner) + len(text(sought, name))) >> 6)
        return method(owner, sought, *(None if end is None else whole_number(end, name) for end in ends))

    return Function(run, taking(TEXTS, "a text", WHOLE, 2), example, most=3)


def _end_method(method: Callable[..., bool], example: str, about: str) -> Function:
    """A method that looks for one of some texts at an end."""
    name = f".{method.__name__}()"

    def run(meter: Meter, owner: str, sought: Any) -> bool:
        options = [sought] if isinstance(sought, str) else items(sought, name)
        meter.spend(len(options))
        return method(owner, tuple(text(option, name) for option in options))

    return Function(run, taking({"text", "list", "object"}, "a text or a list of texts", BOOLEAN), example, about)


def _split_method(method: Callable[..., list[str]], example: str) -> Function:
    name = f".{method.__name__}()"

    def run(meter: Meter, owner: str, separator: Any = None, maxsplit: Any = -1) -> list[str]:
        if separator is not None and not text(separator, name):
            raise ComputingError(f"{name} takes a text of one character or more")
        meter.spend(len(owner) >> 4)
        meter.fit(1 + (len(owner) >> 1 if separator is None else owner.count(separator)))
        return method(owner, separator, whole_number(maxsplit, name))

    typed = taking({"text", "null"}, "a text", _PARTS, 2)
    return Function(run, typed, example, least=0, most=2, keywords=("maxsplit",))


def _pad_method(method: Callable[..., str], example: str, most: int = 2) -> Function:
    name = f".{method.__name__}()"

    def run(meter: Meter, owner: str, width: Any, fill: Any = " ") -> str:
        meter.fit(whole_number(width, name))
        if len(text(fill, name)) != 1:
            raise ComputingError(f"{name} fills with one character")
        return method(owner, width, fill) if most > 1 else method(owner, width)

    return Function(run, taking(TEXTS, "a text", TEXT, 1), example, most=most)


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
    values = items(values, ".join()")
    meter.spend(len(values))
    for value in values:
        parts.append(written_text(value, meter))
        size += len(parts[-1]) + len(owner)
        meter.fit(size - len(owner))
    return owner.join(parts)


def _replace(meter: Meter, owner: str, old: Any, new: Any, count: Any = -1) -> str:
    meter.spend((len(owner) + len(text(old, ".replace()"))) >> 4)
    times = owner.count(old) if whole_number(count, ".replace()") < 0 else min(count, owner.count(old))
    meter.fit(len(owner) + times * max(0, len(text(new, ".replace()")) - len(old)))
    return owner.replace(old, new, count)


def _count(meter: Meter, owner: list[Any], value: Any) -> int:
    if isinstance(value, list | dict):
        return sum(same(value, item, meter) for item in owner)
    spend_on_equals(value, owner, meter)
    return owner.count(value)


def _index(meter: Meter, owner: list[Any], value: Any) -> int:
    index = position(value, owner, meter)
    if index is None:
        raise ComputingError(f".index() found nothing equal among {len(owner):,} items")
    return index


def _get(_: Meter, owner: _Owner, key: Any, default: Any = None) -> Any:
    name = key_meant(key)
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


def _join_type(name: str, arguments: Sequence[Type], _: Named) -> Type:
    check_kind(items_of(arguments[1], name), WRITTEN, name, "values to write")
    return TEXT


def _get_type(_: str, arguments: Sequence[Type], __: Named) -> Type:
    """What `.get()` gives; asking for a key that isn't declared is mere caution, and no error."""
    owner, key, default = (*arguments, NULL)[:3]
    texts = key.alternatives
    if texts is None or len(texts) != 1 or not isinstance(text := texts[0], Text) or text.values is None:
        return union(*_object(owner).members, default)
    declared = _object(owner)
    fields = [declared.fields.get(value) for value in text.values]
    if all(field is not None and field.is_required for field in fields):
        return union(*(field.type for field in fields if field is not None))
    rest = declared.rest or default
    return union(*(field.type if field else rest for field in fields), default)


def _object(owner: Type) -> Object:
    """The one alternative of an owner that is an object."""
    declared = owner.alternatives and owner.alternatives[0]
    assert isinstance(declared, Object)
    return declared


def _values_type(_: str, arguments: Sequence[Type], __: Named) -> Type:
    return list_of(union(*_object(arguments[0]).members))


def _items_type(_: str, arguments: Sequence[Type], __: Named) -> Type:
    return list_of(tuple_of(TEXT, union(*_object(arguments[0]).members)))


_TEXTS: Mapping[str, Function] = {
    "lower": _plain_method(str.lower, "†state.name.lower()"),
    "upper": _plain_method(str.upper, "†state.name.upper()"),
    "title": _plain_method(str.title, "†state.tags.0.title()"),
    "capitalize": _plain_method(str.capitalize, "†state.tags.0.capitalize()"),
    "casefold": _plain_method(str.casefold, "†state.name.casefold()"),
    "isdigit": _plain_method(str.isdigit, "†state.tags.0.isdigit()", gives=BOOLEAN),
    "isalpha": _plain_method(str.isalpha, "†state.tags.0.isalpha()", gives=BOOLEAN),
    "strip": _plain_method(str.strip, "†state.name.strip()", most=1),
    "lstrip": _plain_method(str.lstrip, "†state.name.lstrip()", most=1),
    "rstrip": _plain_method(str.rstrip, "†state.name.rstrip()", most=1),
    "removeprefix": _plain_method(str.removeprefix, "†state.orders.0.id.removeprefix('o')", least=1, most=1),
    "removesuffix": _plain_method(str.removesuffix, "†state.tags.1.removesuffix('d')", least=1, most=1),
    "split": _split_method(str.split, "†state.name.split()"),
    "rsplit": _split_method(str.rsplit, "†state.orders.0.at.rsplit('T', 1)"),
    "splitlines": Function(_splitlines, taking(TEXTS, "a text", _PARTS), "†state.name.splitlines()", least=0, most=0),
    "partition": Function(_partition, taking(TEXTS, "a text", _PARTS), "†state.orders.0.at.partition('T')"),
    "join": Function(_join, _join_type, "', '.join(†state.tags)", "the items as texts, whatever they are"),
    "replace": Function(_replace, taking(TEXTS, "a text", TEXT, 3), "†state.tags.0.replace('n', 'N')", least=2, most=3),
    "find": _search_method(str.find, "†state.name.find('Lopes')"),
    "count": _search_method(str.count, "†state.name.count('n')"),
    "startswith": _end_method(str.startswith, "†state.tags.0.startswith(['n', 'o'])", "one text, or any of a list"),
    "endswith": _end_method(str.endswith, "†state.tags.1.endswith('id')", "likewise"),
    "zfill": _pad_method(str.zfill, "†state.orders.0.id.zfill(4)", 1),
    "ljust": _pad_method(str.ljust, "†state.tags.0.ljust(5, '.')"),
    "rjust": _pad_method(str.rjust, "†state.tags.0.rjust(5)"),
}

_LISTS: Mapping[str, Function] = {
    "count": Function(_count, taking(ALL, "a value", WHOLE), "†state.tags.count('new')"),
    "index": Function(_index, taking(ALL, "a value", WHOLE), "†state.tags.index('paid')"),
}

_OBJECTS: Mapping[str, Function] = {
    "get": Function(
        _get,
        _get_type,
        "†state.orders.0.get('note', 'none')",
        "the value of a key, else the second argument, else null",
        most=2,
    ),
    "keys": Function(_keys, taking(ALL, "a value", _PARTS), "†state.orders.0.keys()", least=0, most=0),
    "values": Function(_values, _values_type, "†state.orders.0.values()", least=0, most=0),
    "items": Function(_items, _items_type, "†state.orders.0.items()", least=0, most=0),
}

METHODS: Mapping[type, Mapping[str, Function]] = {str: _TEXTS, list: _LISTS, dict: _OBJECTS}
"""By the type of the value and the name."""

METHODS_BY_NAME: Mapping[str, tuple[Function, ...]] = {
    name: tuple(table[name] for table in METHODS.values() if name in table) for name in (*_TEXTS, *_LISTS, *_OBJECTS)
}
"""The methods that a name may mean where the kind of the value isn't known yet."""


_OWNERS: Mapping[type[Alternative], type] = {Text: str, List: list, Object: dict}


def method_type(name: str, owner: Type, arguments: Sequence[Type]) -> Type:
    """The type of what a method gives.

    Raises:
        Misfit: no alternative of its owner has it and takes such arguments.
    """

    def of(alternative: Alternative) -> Type | None:
        methods = METHODS.get(_OWNERS.get(alternative.__class__, object), {})
        return methods[name].type(f".{name}()", (known(alternative), *arguments), {}) if name in methods else None

    return of_each(owner, of, f"{in_words(owner)} has no .{name}()")


def runs(name: str, arguments: int) -> Mapping[type, Callable[..., Any]]:
    """The implementations of a method with this many arguments, by the type of its owner."""
    return {
        owner: method.run
        for owner, table in METHODS.items()
        if (method := table.get(name)) and method.least <= arguments <= method.most
    }


def unknown(owner: object, name: str, arguments: int) -> ComputingError:
    """Why a value has no method of this name that takes so many arguments."""
    if name in METHODS.get(type(owner), {}):
        return ComputingError(f".{name}() of {kind(owner)} doesn't take {arguments} arguments")
    return ComputingError(f"{kind(owner)} has no .{name}()")
