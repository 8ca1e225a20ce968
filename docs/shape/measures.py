"""What can be measured of a package by its source alone."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass

from source import Function, Package, cycles

LONG = 50


@dataclass(frozen=True, kw_only=True)
class LargestClass:
    """The class with the most methods."""

    name: str
    methods: int
    lines: int


def long_bodies(package: Package) -> tuple[list[str], int]:
    """The functions with more than fifty lines in their bodies, and how many functions there are."""
    functions = [(module, function) for module in package.modules.values() for function in module.functions()]
    return [f"{module.name}.{one.name}" for module, one in functions if body_lines(one) > LONG], len(functions)


def body_lines(function: Function) -> int:
    """The lines of a body from its first statement to its last; its docstring doesn't count."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def largest_class(package: Package) -> LargestClass | None:
    """The class that defines the most methods itself, counting properties and overloads but not nested functions."""
    classes = [
        LargestClass(name=node.name, methods=len(_methods(node)), lines=(node.end_lineno or 0) - node.lineno + 1)
        for module in package.modules.values()
        for node in module.nodes(ast.ClassDef)
    ]
    return max(classes, key=lambda one: one.methods, default=None)


def largest_cycle(package: Package) -> set[str]:
    """The most modules that import each other in a circle, counting every import."""
    found = cycles(package.modules, lambda name: package.imports(package.modules[name]))
    return max(found, key=len, default=set[str]())


def casts(package: Package) -> list[str]:
    """Every call of `typing.cast`, by module and line."""
    return [
        f"{module.name}:{node.lineno}"
        for module in package.modules.values()
        for node in module.nodes(ast.Call)
        if isinstance(node.func, ast.Name | ast.Attribute)
        and ast.unparse(node.func) in {"cast", "typing.cast", "t.cast"}
    ]


def comment_lines(package: Package) -> int:
    """How many lines have a comment, alone or behind code."""
    tokens = (tokenize.generate_tokens(io.StringIO(module.text).readline) for module in package.modules.values())
    return sum(token.type == tokenize.COMMENT for stream in tokens for token in stream)


def _methods(node: ast.ClassDef) -> list[Function]:
    return [one for one in node.body if isinstance(one, Function)]
