"""The types that annotations stand for, made from what is written and without running it."""

from __future__ import annotations

import ast
import collections.abc
import datetime
import decimal
import enum
import pathlib
import typing
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Union

import typing_extensions

from .literals import literal
from .module import Bound, Module, Modules, Unread, parse, value_of

_DEEPEST = 50
_TYPING = (
    *("Any", "Annotated", "Literal", "Optional", "Union", "List", "Dict", "Tuple", "Set", "FrozenSet", "Type"),
    *("Mapping", "MutableMapping", "Sequence", "MutableSequence", "Iterable", "Collection", "Required", "NotRequired"),
    *("TypedDict", "NamedTuple", "ReadOnly", "LiteralString"),
)
_COLLECTIONS = ("Mapping", "MutableMapping", "Sequence", "MutableSequence", "Iterable", "Collection", "Set")
_BUILTINS = (bool, bytes, dict, float, frozenset, int, list, set, str, tuple, object)


def _known() -> dict[str, Any]:
    found: dict[str, Any] = {f"builtins.{one.__name__}": one for one in _BUILTINS}
    for module in (typing, typing_extensions):
        found |= {f"{module.__name__}.{one}": getattr(module, one) for one in _TYPING if hasattr(module, one)}
    found |= {f"collections.abc.{one}": getattr(collections.abc, one) for one in _COLLECTIONS}
    of_other_modules = (
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
        *(decimal.Decimal, uuid.UUID, pathlib.Path, enum.Enum, enum.StrEnum, enum.IntEnum),
    )
    return found | {f"{one.__module__.partition('._')[0]}.{one.__name__}": one for one in of_other_modules}


KNOWN = _known()
"""What other libraries' names stand for; any other is not read."""
_UNION = {"typing.Union", "typing_extensions.Union"}
_OPTIONAL = {"typing.Optional", "typing_extensions.Optional"}
_LITERAL = {"typing.Literal", "typing_extensions.Literal"}
_ANNOTATED = {"typing.Annotated", "typing_extensions.Annotated"}
_NEW_TYPE = {"typing.NewType", "typing_extensions.NewType"}
_FIELD = "pydantic.Field"

MakeClass = Callable[["Types", ast.ClassDef, Module, int], Any]


@dataclass(slots=True)
class Types:
    """The types of one file's annotations; each class is made once."""

    modules: Modules
    make_class: MakeClass
    _made: dict[ast.ClassDef, Any] = field(default_factory=dict[ast.ClassDef, Any])

    def of(self, node: ast.expr, module: Module, depth: int = 0) -> Any:
        """The type that an annotation stands for.

        Raises:
            Unread: only running it could tell.
        """
        self.modules.spend()
        if depth > _DEEPEST:
            raise Unread("nests too deeply, or names itself")
        match node:
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=str() as text):
                return self.of(_expression(text), module, depth + 1)
            case ast.BinOp(op=ast.BitOr(), left=left, right=right):
                return Union[self.of(left, module, depth + 1), self.of(right, module, depth + 1)]  # noqa: UP007 -- made
            case ast.Subscript(value=value, slice=inside):
                return self._of_parts(value, inside, module, depth)
            case ast.Name() | ast.Attribute():
                return self._named(node, module, depth)
            case _:
                raise Unread("is not written as a type")

    def _named(self, node: ast.expr, module: Module, depth: int) -> Any:
        found = self.modules.meaning(node, module)
        if isinstance(found, str):
            if found not in KNOWN:
                raise Unread(f"{found} is of another library")
            return KNOWN[found]
        if isinstance(found, Module):
            raise Unread("is a module")
        if isinstance(found.node, ast.ClassDef):
            return self._class(found.node, found.module, depth)
        value = value_of(found.node)
        if value is None:
            raise Unread("is not a type")
        if isinstance(value, ast.Call):
            return self._new_type(value, found, depth)
        return self.of(value, found.module, depth + 1)

    def _class(self, node: ast.ClassDef, module: Module, depth: int) -> Any:
        if node not in self._made:
            self._made[node] = None
            try:
                self._made[node] = self.make_class(self, node, module, depth + 1)
            except Unread:
                del self._made[node]
                raise
        if self._made[node] is None:
            raise Unread(f"the class {node.name} is made of itself")
        return self._made[node]

    def _new_type(self, call: ast.Call, bound: Bound, depth: int) -> Any:
        """What a `NewType` is in JSON: the type that it is made of."""
        if self.modules.meaning(call.func, bound.module) not in _NEW_TYPE or len(call.args) != 2:
            raise Unread("is made by a call")
        return self.of(call.args[1], bound.module, depth + 1)

    def _of_parts(self, value: ast.expr, inside: ast.expr, module: Module, depth: int) -> Any:
        parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
        name = self.modules.meaning(value, module)
        if name in _LITERAL:
            return Literal[tuple(literal(one, module, self.modules) for one in parts)]
        if name in _ANNOTATED:
            told = [self._told(one, module) for one in parts[1:]]
            return Annotated[(self.of(parts[0], module, depth + 1), *told)]
        own = [self._part(one, module, depth + 1) for one in parts]
        if name in _UNION:
            return Union[tuple(own)]  # noqa: UP007 -- made
        if name in _OPTIONAL:
            return Union[own[0], None]  # noqa: UP007 -- made
        generic = self._named(value, module, depth)
        try:
            return generic[tuple(own) if len(own) > 1 else own[0]]
        except (TypeError, IndexError):
            raise Unread("takes no such parts") from None

    def _part(self, node: ast.expr, module: Module, depth: int) -> Any:
        is_rest = isinstance(node, ast.Constant) and node.value is Ellipsis
        return ... if is_rest else self.of(node, module, depth)

    def _told(self, node: ast.expr, module: Module) -> Any:
        return self.field(node, module) if isinstance(node, ast.Call) else literal(node, module, self.modules)

    def field(self, node: ast.Call, module: Module) -> Any:
        """What a call of Pydantic's `Field` says.

        Raises:
            Unread: it is another call, or something in it is not written out.
        """
        if self.modules.meaning(node.func, module) != _FIELD:
            raise Unread("is made by a call")
        from pydantic import Field

        given = [literal(one, module, self.modules) for one in node.args]
        return Field(*given, **keywords(node.keywords, module, self.modules))


def keywords(nodes: list[ast.keyword], module: Module, modules: Modules) -> dict[str, Any]:
    """The keywords of a call or a class, all of them written out."""
    if any(one.arg is None for one in nodes):
        raise Unread("takes in another dict")
    return {str(one.arg): literal(one.value, module, modules) for one in nodes}


def _expression(text: str) -> ast.expr:
    try:
        first = parse(text.strip()).body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError):
        raise Unread("is not written as a type") from None
    if not isinstance(first, ast.Expr):
        raise Unread("is not written as a type")
    return first.value
