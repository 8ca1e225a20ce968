"""Classes that are types of JSON (TypedDict, models, dataclasses, named tuples, enums), made as they are written."""

from __future__ import annotations

import ast
import dataclasses
import enum
import types
from collections.abc import Iterator
from typing import Any

from .annotations import Types, keywords
from .literals import literal
from .module import Module, Unread

_MODEL = "pydantic.BaseModel"
_DATACLASS = {"dataclasses.dataclass", "pydantic.dataclasses.dataclass"}
_MORE_FIELDS = {"computed_field", "model_serializer", "field_serializer"}
"""Decorators of methods that change what a model looks like as JSON."""


def made_class(types_: Types, node: ast.ClassDef, module: Module, depth: int) -> Any:
    """A class with the fields, the defaults and the words of one that is written.

    Raises:
        Unread: only running it could tell what it is in JSON.
    """
    bases = [_base(types_, one, module, depth) for one in node.bases]
    is_dataclass = [_is_dataclass(types_, one, module) for one in node.decorator_list]
    if not all(is_dataclass):
        raise Unread(f"the class {node.name} is changed by a decorator")
    if not bases and not is_dataclass:
        raise Unread(f"the class {node.name} is one of its own")
    own = keywords(node.keywords, module, types_.modules)
    is_enum = any(isinstance(one, type) and issubclass(one, enum.Enum) for one in bases)
    members = dict(_members(types_, node, module) if is_enum else _fields(types_, node, module, depth))
    members |= {"__doc__": ast.get_docstring(node, clean=False), "__module__": module.path.stem}
    try:
        made: Any = types.new_class(node.name, tuple(bases), own, lambda names: names.update(members))
        return dataclasses.dataclass(kw_only=True)(made) if is_dataclass else made
    except Unread:
        raise
    except Exception as error:  # what it is made of is anybody's: whatever Python or Pydantic has against it
        raise Unread(f"the class {node.name} can't be made ({type(error).__name__})") from None


def _base(types_: Types, node: ast.expr, module: Module, depth: int) -> Any:
    if types_.modules.meaning(node, module) == _MODEL:
        from pydantic import BaseModel

        return BaseModel
    return types_.of(node, module, depth)


def _is_dataclass(types_: Types, node: ast.expr, module: Module) -> bool:
    return types_.modules.meaning(node.func if isinstance(node, ast.Call) else node, module) in _DATACLASS


def _fields(types_: Types, node: ast.ClassDef, module: Module, depth: int) -> Iterator[tuple[str, Any]]:
    annotations: dict[str, Any] = {}
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("__"):
                annotations[name] = types_.of(one.annotation, module, depth)
                if one.value is not None:
                    yield name, _default(types_, one.value, module)
            case ast.Assign(targets=[ast.Name(id="model_config")], value=value):
                told = keywords(value.keywords, module, types_.modules) if isinstance(value, ast.Call) else None
                yield "model_config", told if told is not None else literal(value, module, types_.modules)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                _check_method(one)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                raise Unread(f"the class {node.name} holds more than fields")
    yield "__annotations__", annotations


def _check_method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    for one in node.decorator_list:
        named = one.func if isinstance(one, ast.Call) else one
        if (named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")) in _MORE_FIELDS:
            raise Unread("has fields that are computed")


def _default(types_: Types, node: ast.expr, module: Module) -> Any:
    if not isinstance(node, ast.Call):
        return literal(node, module, types_.modules)
    if types_.modules.meaning(node.func, module) != "dataclasses.field":
        return types_.field(node, module)
    for one in node.keywords:
        if one.arg == "default_factory":
            made: Any = types_.of(one.value, module)
            return (
                dataclasses.field(default_factory=made)
                if any(made is kind for kind in (list, dict, set))
                else _refuse()
            )
    return dataclasses.field(**keywords(node.keywords, module, types_.modules))


def _refuse() -> Any:
    raise Unread("has a default that only running it could tell")


def _members(types_: Types, node: ast.ClassDef, module: Module) -> Iterator[tuple[str, Any]]:
    for one in node.body:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not name.startswith("_"):
                yield name, literal(value, module, types_.modules)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case _:
                raise Unread(f"the enum {node.name} holds more than members")
