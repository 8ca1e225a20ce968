"""JSON values: their types, strict reading, stable writing, copying, and what they weigh. Knows nothing of schemas."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

if TYPE_CHECKING:
    from typing_extensions import TypeIs


Json: TypeAlias = "dict[str, Any] | list[Any] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON."""

MAX_DEPTH = 128
"""How deep a value from outside may nest; far below what recursion or the validator could bear."""

MAX_WRITTEN_DEPTH = 96
"""How deep a value may nest that a run writes down, its path included. What stands around it (its message, the
delegates that it lies in, the file) fits into the rest of what is read again."""

MOST_DIGITS = 4_300
"""How many digits a whole number may have: as many as Python writes and reads."""
_LEAST_TOO_LARGE = 10**MOST_DIGITS


class NotJson(ValueError):
    """A value or a text that is not JSON as the protocol takes it."""


def is_object(value: object) -> TypeIs[JsonObject]:
    """Whether a JSON value is an object, so that the type checker knows its members, too."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeIs[list[Any]]:
    """Whether a JSON value is a list, so that the type checker knows its items, too."""
    return isinstance(value, list)


def is_text(value: object) -> TypeIs[str]:
    """Whether a JSON value is a text."""
    return isinstance(value, str)


def are_texts(value: object) -> TypeIs[list[str]]:
    """Whether a JSON value is a list of texts."""
    return is_list(value) and all(map(is_text, value))


def without_keys(value: JsonObject, keys: set[str] | frozenset[str]) -> JsonObject:
    """An object without some of its keys; itself where it has none of them."""
    return value if keys.isdisjoint(value) else {key: value[key] for key in value if key not in keys}


def index_of(text: str) -> int | None:
    """The whole number that up to nine ASCII digits are, None for any other text: other scripts have digits, too."""
    return int(text) if len(text) < 10 and text.isascii() and text.isdecimal() else None


def decode(text: str) -> Json:
    """Read one JSON text strictly: no repeated keys, no NaN or infinity, no lone surrogates, bounded nesting.

    Raises:
        NotJson: with what is wrong and, where known, at which character.
    """
    check_depth(text)
    try:
        value = _read(text)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise NotJson(f"nests deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        raise error if isinstance(error, NotJson) else NotJson(str(error)) from None
    if not text.isascii():
        _check_string(text)
    if "\\ud" in text or "\\uD" in text:
        _check_string(encode(value))
    return value


def decoded(text: str, otherwise: Any) -> Any:
    """The value of a JSON text, or a default if it can't be read."""
    try:
        return decode(text)
    except NotJson:
        return otherwise


def encode(value: Json, *, sort_keys: bool = False) -> str:
    """Write a value compactly, the same bytes for the same value (and, with `sort_keys`, for any order of keys)."""
    return (_SORTED if sort_keys else _COMPACT).encode(value)


def text_or_json(value: Json) -> str:
    """A text as it is, any other value as JSON."""
    return value if isinstance(value, str) else encode(value)


def sha256_of(value: Json) -> str:
    """The SHA-256 of a value's canonical JSON in hex, the same for any order of its keys."""
    return sha256(encode(value, sort_keys=True).encode()).hexdigest()


# `json.dumps` would make an encoder for every value.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_SORTED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def copy(value: Any) -> Any:
    """Copy a JSON value that is known to be one."""
    # It runs for every value of a context: `is_object` in place of the check and the cast would cost a seventh more.
    if isinstance(value, dict):
        return {key: copy(member) for key, member in cast("JsonObject", value).items()}
    if isinstance(value, list):
        return [copy(item) for item in cast("list[Any]", value)]
    return value


def with_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """A value in which each text is what `change` makes of it; keys stay."""
    if isinstance(value, str):
        return change(value)
    if is_object(value):
        return {key: with_texts(member, change) for key, member in value.items()}
    return [with_texts(item, change) for item in value] if is_list(value) else value


def leaves_of(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The scalars of a value in their order, each with its path; an empty object or list is one."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        at, part = waiting.pop()
        members = part.items() if is_object(part) else enumerate(part) if is_list(part) else ()
        inner = [((*at, key), member) for key, member in members]
        if not inner:
            yield at, part
        waiting += reversed(inner)


def nests_within(value: object, most: int) -> bool:
    """Whether a JSON value nests no deeper than that; a part that it holds many times is visited once a level.

    Without recursion: it may be deeper than that could bear.
    """
    level: list[Any] = [value] if is_object(value) or is_list(value) else []
    for _ in range(most):
        if not level:
            return True
        inside = (part.values() if is_object(part) else part for part in level)
        # By their types, which are those of plain JSON: it runs for every value that a run writes.
        level = list({id(part): part for members in inside for part in members if type(part) in _CONTAINERS}.values())
    return most >= 0 and not level


_CONTAINERS = frozenset({dict, list})


def encodable(text: str) -> str:
    """A text without lone surrogates, so that it can be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def plain(value: object, depth: int = 0) -> Json:
    """Copy what is made of mappings, sequences and scalars into plain JSON.

    Raises:
        NotJson: for anything else, for numbers that are not finite, keys that are not strings, and endless nesting.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _plain_number(value)
    if isinstance(value, str):
        return _plain_string(value)
    if depth >= MAX_DEPTH:
        raise NotJson(f"nests deeper than {MAX_DEPTH}")
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in cast("list[object]", value)]
    if isinstance(value, Mapping):
        return _plain_object(cast("Mapping[object, object]", value), depth)
    raise NotJson(f"a {type(value).__name__} is not JSON")


def _plain_number(value: float) -> int | float:
    """The number as a plain `int` or `float`, also for subclasses (an enum, a scalar of NumPy)."""
    if isinstance(value, int):
        if abs(value) >= _LEAST_TOO_LARGE:
            raise NotJson(f"a number of more than {MOST_DIGITS} digits is too large")
        return value if type(value) is int else int.__int__(value)
    if not math.isfinite(value):
        raise NotJson(f"{value} is not a JSON number")
    return value if type(value) is float else float.__float__(value)


def _plain_string(text: str) -> str:
    if not text.isascii():
        _check_string(text)
    return text if type(text) is str else str.__str__(text)


def _plain_object(value: Mapping[object, object], depth: int) -> JsonObject:
    result: JsonObject = {}
    for key, member in value.items():
        if not isinstance(key, str):
            raise NotJson(f"the key {key!r} is not a string")
        result[_plain_string(key)] = plain(member, depth + 1)
    return result


def _pairs(pairs: list[tuple[str, Any]]) -> JsonObject:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                raise NotJson(f"the key {key!r} is repeated in one object")
            keys.add(key)
    return result


def _constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not a JSON number")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NotJson(f"{text} is too large a number")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, parse_float=_float)


_scan: Callable[[str, int], tuple[Any, int]] = cast("Any", _DECODER).scan_once


def _read(text: str) -> Any:
    """The decoded text; where something is wrong, it is decoded again for the message."""
    bare = text.strip(" \t\n\r")
    try:
        value, end = _scan(bare, 0)
    except StopIteration:
        return _DECODER.decode(text)
    return value if end == len(bare) else _DECODER.decode(text)


_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


def check_depth(text: str) -> None:
    """Judge how deep a JSON text nests.

    Raises:
        NotJson: deeper than it could be read.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        char = match.group()[0]
        if char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise NotJson(f"nests deeper than {MAX_DEPTH}")
        elif char in "]}":
            depth -= 1


def _check_string(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise NotJson(f"a lone surrogate {text[error.start]!r} is not text") from None


LEAST = 64
"""What each value counts as at least: about what holding an empty one takes."""

_SHORT = LEAST // 4
"""A text of at most this many characters never exceeds the least bound, whatever they are."""
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
    kind = type(value)  # pyright: ignore[reportUnknownVariableType] -- of anything
    if kind in _SCALARS or (kind is str and len(value) <= _SHORT) or (kind is int and -_SMALL < value < _SMALL):
        return LEAST
    layer: list[Any] = []
    count, depth = LEAST + _weigh([value], layer), 0
    while layer and count <= most:
        if depth >= MAX_DEPTH:
            raise NotJson(f"nests deeper than {MAX_DEPTH}")
        below: list[Any] = []
        for values in layer:
            count += _weigh(values, below)
            if count > most:
                break
        layer, depth = below, depth + 1
    return count


def _weigh(values: Iterable[Any], containers: list[Any]) -> int:
    """The bytes of values beyond the least, and the least of their members; containers go into `containers`."""
    size = 0
    for value in values:
        # In the order in which the types occur most: this runs for all parts of large values.
        kind = type(value)  # pyright: ignore[reportUnknownVariableType] -- of anything
        if kind in _SCALARS:
            continue
        if kind is str:
            if len(value) > _SHORT:
                size += max(0, (len(value) if value.isascii() else len(value.encode(errors="surrogatepass"))) - LEAST)
        elif kind is int:
            size += 0 if -_SMALL < value < _SMALL else value.bit_length() // 3
        elif kind is list:
            containers.append(value)
            size += LEAST * len(value)
        elif isinstance(value, Mapping):
            containers.append(cast("Mapping[Any, Any]", value).values())
            size += LEAST * len(cast("Mapping[Any, Any]", value)) + _keys(cast("Mapping[Any, Any]", value))
        elif isinstance(value, list | tuple):
            containers.append(value)
            size += LEAST * len(cast("list[Any]", value))
    return size


def weight_of_text(text: str) -> int:
    """An estimate of `weight` from a JSON text, before it is read: never less, seldom much more."""
    signs = text.count(",") + text.count(":") + text.count("[") + text.count("{")
    if signs > _LONG // LEAST:  # most of them may stand within its texts
        bare = _STRING.sub("", text)
        signs = bare.count(",") + bare.count(":") + bare.count("[") + bare.count("{")
    return max(len(text), LEAST * (1 + signs))


def _keys(value: Mapping[Any, Any]) -> int:
    try:
        return sum(map(len, value))
    except TypeError:  # a key that isn't a text will be refused, or converted
        return 0
