"""What was meant by a name that isn't there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


def instead(key: str, names: Iterable[str]) -> str:
    """What to write for a name that isn't there: the near one, else all that there are.

    `outputPath` and `_output_path` are near `_outputPath`.
    """
    bare = {_bare(name): name for name in names}
    key = _bare(key[:60])
    near = get_close_matches(key, bare, 2, 0.75) or get_close_matches(key, bare, 1, 0.6)
    meant = " or ".join(repr(bare[one]) for one in near)
    return f"did you mean {meant}?" if near else f"it has {', '.join(bare.values())}"


def _bare(name: str) -> str:
    return name.replace("_", "").lower()


def options_nearest(of_others: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A method that, told an option that it lacks, names the near one, or what stands for that of another library."""

    def telling(method: Callable[P, R]) -> Callable[P, R]:
        known = [*signature(method).parameters][1:]

        @wraps(method)
        def told(*given: P.args, **named: P.kwargs) -> R:
            for name in named.keys() - set(known):
                of = type(given[0]).__name__
                raise TypeError(f"{of} has no {name!r}; {of_others.get(name) or instead(name, known)}")
            return method(*given, **named)

        return told

    return telling


def names_nearest(cls: type[T]) -> type[T]:
    """A dataclass that names the near field, too, where it is given one that it doesn't have."""
    make: Callable[..., None] = cls.__init__
    own = fields(cls)  # pyright: ignore[reportArgumentType] -- of a dataclass
    known, by_name = [field.name for field in own], all(field.kw_only for field in own)

    @wraps(make)
    def __init__(self: T, *given: Any, **named: Any) -> None:  # noqa: N807 -- it takes the place of the class's own
        for name in named.keys() - set(known):
            raise TypeError(f"{type(self).__name__} has no {name!r}; {instead(name, known)}")
        if given and by_name:
            raise TypeError(f"{type(self).__name__} takes its fields by name: {known[0]}=…")
        make(self, *given, **named)

    cls.__init__ = __init__  # pyright: ignore[reportAttributeAccessIssue]
    return cls
