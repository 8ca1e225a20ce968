"""Values that are written out in Python: JSON's, and tuples and sets, also behind a module's own names."""

from __future__ import annotations

import ast
from typing import Any

from .module import Bound, Module, Modules, Unread, value_of

_DEEPEST = 128


def literal(node: ast.expr | None, module: Module, modules: Modules, depth: int = 0) -> Any:
    """The value of an expression.

    Raises:
        Unread: only running it could tell.
    """
    modules.spend()
    if depth > _DEEPEST:
        raise Unread("nests too deeply")

    def inner(one: ast.expr) -> Any:
        return literal(one, module, modules, depth + 1)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items):
            return [inner(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(inner(item) for item in items)
        case ast.Set(elts=items):
            return _keyed(lambda: {inner(item) for item in items})
        case ast.Dict(keys=keys, values=values):
            if None in keys:
                raise Unread("is a dict that takes in another")
            return _keyed(lambda: {inner(key): inner(one) for key, one in zip(keys, values, strict=True) if key})
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Name() | ast.Attribute():
            found = modules.meaning(node, module, depth)
            if isinstance(found, Bound) and (value := value_of(found.node)) is not None:
                return literal(value, found.module, modules, depth + 1)
        case _:
            pass
    raise Unread("is not written out")


def _keyed(make: Any) -> Any:
    try:
        return make()
    except TypeError:
        raise Unread("has a key that can't be one") from None
