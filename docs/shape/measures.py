"""What can be measured of a package by its source alone."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass

from source import Function, Module, Package, cycles

LONG = 50
WIDE = 450
CROWDED = 20
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


@dataclass(frozen=True, kw_only=True)
class LargestClass:
    """The class with the most methods."""

    name: str
    methods: int
    lines: int


def long_bodies(package: Package) -> list[str]:
    """The functions with more than fifty lines in their bodies."""
    functions = [(module, function) for module in package.modules.values() for function in module.functions()]
    return [f"{module.name}.{function.name}" for module, function in functions if body_lines(function) > LONG]


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


def crowded_classes(package: Package) -> list[str]:
    """The classes that define more than twenty methods themselves, overloads counted once."""
    return [
        f"{module.name}.{node.name}: {methods}"
        for module in package.modules.values()
        for node in module.nodes(ast.ClassDef)
        if (methods := len({method.name for method in _methods(node)})) > CROWDED
    ]


def long_files(package: Package) -> list[str]:
    """The files with more than 450 lines."""
    sizes = {module.name: len(module.text.splitlines()) for module in package.modules.values()}
    return [f"{name}: {size}" for name, size in sizes.items() if size > WIDE]


def code_lines(package: Package) -> int:
    """How many lines have code: none that is blank, a comment or part of a docstring."""
    return sum(len(_coded(module) - _docstrings(module)) for module in package.modules.values())


def largest_cycle(package: Package) -> set[str]:
    """The most modules that import each other in a circle, counting every import."""
    rings = cycles(package.modules, lambda name: package.imports(package.modules[name]))
    return max(rings, key=len, default=set[str]())


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


def _coded(module: Module) -> set[int]:
    tokens = tokenize.generate_tokens(io.StringIO(module.text).readline)
    return {line for token in tokens if token.type not in LAYOUT for line in range(token.start[0], token.end[0] + 1)}


def _docstrings(module: Module) -> set[int]:
    documented = [node for node in ast.walk(module.tree) if isinstance(node, ast.Module | ast.ClassDef | Function)]
    strings = [node.body[0] for node in documented if ast.get_docstring(node, clean=False) is not None]
    return {line for string in strings for line in range(string.lineno, (string.end_lineno or string.lineno) + 1)}


def _methods(node: ast.ClassDef) -> list[Function]:
    return [statement for statement in node.body if isinstance(statement, Function)]
