"""Names that several modules of a package define, and what the modules of one folder import of each other."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence

from source import Function, Module, Package

OPENINGS = {"__init__", "__main__"}


def repeated(package: Package, kinds: type[ast.AST] | tuple[type[ast.AST], ...]) -> list[str]:
    """The public names that more than one module defines at its top level, each with those modules."""
    homes: dict[str, dict[str, None]] = defaultdict(dict)
    for module in package.modules.values():
        for name in _defined(module, kinds):
            homes[name][module.name] = None
    return _several(homes)


def repeated_modules(package: Package) -> list[str]:
    """The names that more than one module has, each with those modules."""
    homes: dict[str, dict[str, None]] = defaultdict(dict)
    for module in package.modules.values():
        if module.path.stem not in OPENINGS:
            homes[module.path.stem][module.name] = None
    return _several(homes)


def arrows(package: Package, folder: str) -> list[str]:
    """The imports between modules of one folder of a package."""
    inside = {name for name in package.modules if name.startswith(f"{package.root.name}.{folder}.")}
    return [
        f"{name} → {other}"
        for name in sorted(inside)
        for other in sorted(package.imports(package.modules[name]) & inside)
    ]


def _defined(module: Module, kinds: type[ast.AST] | tuple[type[ast.AST], ...]) -> Iterator[str]:
    for statement in module.tree.body:
        if isinstance(statement, kinds) and isinstance(statement, ast.ClassDef | Function) and statement.name[0] != "_":
            yield statement.name


def _several(homes: dict[str, dict[str, None]]) -> list[str]:
    def line(name: str, modules: Sequence[str]) -> str:
        return f"{name}: {', '.join(modules)}"

    return [line(name, [*modules]) for name, modules in sorted(homes.items()) if len(modules) > 1]
