"""Whether a function is another one made anew: its cell is run again, its module is loaded again (A6)."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any


def is_made_anew(before: Callable[..., Any], after: Callable[..., Any]) -> bool:
    """Whether a function takes the place of another one of its module and name.

    So does what is defined again in a session or a notebook, or by loading its module again. Two definitions in one
    file don't, nor two that one piece of code makes of different values: a copy that wasn't renamed, a loop.
    """
    one, other = _inner(before), _inner(after)
    if one is None or other is None or _name(one) != _name(other):
        return False
    if hasattr(sys, "ps1"):
        return True
    if one is other:
        return False
    code: CodeType = one.__code__
    if code is other.__code__:
        return _values(before, one) == _values(after, other)
    is_of_one_file = code.co_filename == other.__code__.co_filename == one.__globals__.get("__file__")
    is_beside = one.__globals__ is other.__globals__ and code.co_firstlineno != other.__code__.co_firstlineno
    return not (is_of_one_file and is_beside)


def _inner(function: Callable[..., Any]) -> Any:
    """What has the code: the function behind methods, partial calls and decorators; None if there is none."""
    inner: Any = function
    while True:
        if isinstance(inner, functools.partial):
            inner = inner.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- of any function
        elif inspect.ismethod(inner):
            inner = inner.__func__
        elif hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        else:
            return inner if inspect.isfunction(inner) else None


def _name(function: Any) -> tuple[str, str]:
    return function.__module__, function.__qualname__


def _values(given: Any, inner: Any) -> tuple[object, ...]:
    """What two functions of the same code can differ by."""
    closed = [cell.cell_contents for cell in inner.__closure__ or ()]
    bound = None if given is inner else given
    return bound, list(map(id, closed)), inner.__defaults__, inner.__kwdefaults__
