"""Keys, texts and values in one line of a message: odd ones in quotes, from which they can't break out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from json import dumps
from typing import Any, ParamSpec, TypeVar, cast

_PLAIN = re.compile(r"[^\W\d]\w*\Z")
_ODD = re.compile(r"['\\†¶…]")
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufe00-\ufe0e\U000e0100-\U000e01ef]")
"""Letters and marks that count as printable but are invisible."""
_ESCAPED = re.compile(r"\\(?:u\{(?P<code>[0-9a-f]{1,6})\}|(?P<sign>['\\]))")


def quoted(text: str, most: int | None = None) -> str:
    """A text in single quotes, clipped to `most` characters, with what could be misread written as `\\u{…}`."""
    clipped = text if most is None or len(text) <= most else text[:most]
    inner = "".join(map(_written, clipped))
    return f"'{inner}…'" if len(clipped) < len(text) else f"'{inner}'"


def spelled(key: str, most: int | None = 60) -> str:
    """A key as messages show it: plain names as they are, others in quotes."""
    is_plain = _PLAIN.match(key) and key.isprintable() and (most is None or len(key) <= most)
    return key if is_plain else quoted(key, most)


def summary(value: Any) -> str:
    """The kind and size of a value in words, without quoting it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case list():
            count = len(cast("list[Any]", value))
            return f"a list of {count} item{'s' * (count != 1)}"
        case dict():
            count = len(cast("dict[str, Any]", value))
            return f"an object of {count} key{'s' * (count != 1)}"
        case str():
            return "a text"
        case _:
            return "a number"


def unquoted(text: str) -> str:
    """The inverse of `quoted`.

    Raises:
        ValueError: a backslash begins nothing that `quoted` writes.
    """
    inner = text[1:-1]
    if "\\" in _ESCAPED.sub("", inner):
        raise ValueError("a backslash is followed by ', \\ or u{…}")
    return _ESCAPED.sub(_meant, inner)


def _written(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    return char if char.isprintable() and not _ODD.match(char) else f"\\u{{{ord(char):x}}}"


def _meant(match: re.Match[str]) -> str:
    if match["sign"]:
        return match["sign"]
    code = int(match["code"], 16)
    if code > 0x10FFFF:
        raise ValueError("there is no such character")
    return chr(code)


def printable(text: str) -> str:
    """A text with control characters, invisible ones and those that reverse the direction escaped."""
    if text.isprintable() and (text.isascii() or not _UNSEEN.search(text)):
        return text
    return "".join(char if char.isprintable() and not _UNSEEN.match(char) else dumps(char)[1:-1] for char in text)


T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


def instead(key: str, names: Iterable[str]) -> str:
    """What to write instead of an unknown name: the nearest one, or else all names.

    `outputPath` and `_output_path` are near `_outputPath`.
    """
    bare = {_bare(name): name for name in names}
    key = _bare(key[:60])
    near = get_close_matches(key, bare, 2, 0.75) or get_close_matches(key, bare, 1, 0.6)
    meant = " or ".join(repr(bare[name]) for name in near)
    return f"did you mean {meant}?" if near else f"it has {', '.join(bare.values())}"


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def options_nearest(of_others: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: a method names the nearest option for an unknown one, or what replaces another library's."""

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        names = [*signature(method).parameters][1:]

        @wraps(method)
        def checked(*args: P.args, **named: P.kwargs) -> R:
            for name in named.keys() - set(names):
                of = type(args[0]).__name__
                raise TypeError(f"{of} has no {name!r}; {of_others.get(name) or instead(name, names)}")
            return method(*args, **named)

        return checked

    return decorate


def names_nearest(cls: type[T]) -> type[T]:
    """A class decorator: a dataclass names the nearest field for an unknown one."""
    make: Callable[..., None] = cls.__init__
    declared = fields(cls)  # pyright: ignore[reportArgumentType] -- of a dataclass
    names, by_name = [field.name for field in declared], all(field.kw_only for field in declared)

    @wraps(make)
    def __init__(self: T, *args: Any, **named: Any) -> None:  # noqa: N807 -- it takes the place of the class's own
        for name in named.keys() - set(names):
            raise TypeError(f"{type(self).__name__} has no {name!r}; {instead(name, names)}")
        if args and by_name:
            raise TypeError(f"{type(self).__name__} takes its fields by name: {names[0]}=…")
        make(self, *args, **named)

    cls.__init__ = __init__  # pyright: ignore[reportAttributeAccessIssue]
    return cls
