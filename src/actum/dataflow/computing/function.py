"""A published function or method as one record: what carries it out, its type (E5), how it is called and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

from ...schema.types import Type
from .kind_types import Kind, check_kind

MANY = 4_000
"""More arguments than a source has characters."""

Named: TypeAlias = Mapping[str, Type]
Typing: TypeAlias = Callable[[str, Sequence[Type], Named], Type]


@dataclass(frozen=True, slots=True)
class Function:
    """What the language has under one name; a method's first argument is its owner, which doesn't count."""

    run: Callable[..., Any]
    """Gives the value, of a `Meter` and the arguments; it spends its steps before."""
    type: Typing
    """Gives the type of the value, of what it is called in messages and of the types of the arguments; of `key` it is
    given the type of what that makes of an item. What it refuses is a `Misfit`."""
    example: str
    about: str = ""
    """What it does, where Python's doesn't do the same."""
    _: KW_ONLY
    least: int = 1
    most: int = 1
    keywords: tuple[str, ...] = ()


def taking(kinds: Set[Kind], takes: str, gives: Type, count: int | None = None) -> Typing:
    """The type of what gives one type, where the arguments, or the first `count`, are of some kinds."""

    def typed(name: str, arguments: Sequence[Type], _: Named) -> Type:
        for one in arguments[:count]:
            check_kind(one, kinds, name, takes)
        return gives

    return typed
