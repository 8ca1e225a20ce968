"""By what tools and their code are known to be the same in another process, whatever is said of them in words (R35)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import sha256
from types import CodeType
from typing import Any

from ..schema.json import JsonObject, encode
from ..schema.walk import ANNOTATIONS, mapped
from .tool import Tool

_LENGTH = 12
"""How many hexadecimal digits a digest has: it tells versions of one tool apart, and nothing is trusted for it."""


@lru_cache(maxsize=4096)
def interface_digest(tool: Tool) -> str:
    """What a tool is known by: its name, its parameters and its `_output`; of one of a server, how that has listed it.

    Descriptions don't count.
    """
    if tool.seal:
        return tool.seal[:_LENGTH]
    own = [None if one is None else mapped(one, _bare) for one in (tool.parameters, tool.result)]
    return _short(encode([tool.name, *own], sort_keys=True))


def _bare(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in ANNOTATIONS}


def code_digest(function: Callable[..., Any]) -> str:
    """What the code of a function is known by, wherever it lies; empty for what isn't written in Python."""
    inner: Any = inspect.unwrap(function)
    inner = getattr(inner, "func", inner)  # of a partial
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    return "" if code is None else _of_code(code)


@lru_cache(maxsize=4096)
def _of_code(code: CodeType) -> str:
    return _short("\0".join(_parts(code)))


def _parts(code: CodeType) -> Iterator[str]:
    """What code says; not where it lies, nor on which lines."""
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars))
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _parts(one)
        else:
            members: Any = one
            yield repr(sorted(map(repr, members)) if isinstance(one, frozenset) else one)  # sets differ in their order


def _short(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()[:_LENGTH]
