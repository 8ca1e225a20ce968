"""A package's source as it was parsed: its modules and what each imports. Nothing is imported or run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Node = TypeVar("Node", bound=ast.AST)
Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, kw_only=True)
class Module:
    """One file of a package."""

    name: str
    path: Path
    text: str
    tree: ast.Module = field(repr=False)

    def nodes(self, kind: type[Node]) -> Iterator[Node]:
        """Every node of a kind, however deep."""
        return (node for node in self._nodes if isinstance(node, kind))

    def functions(self) -> list[Function]:
        """Every function and method, including nested ones."""
        return [node for node in self._nodes if isinstance(node, Function)]

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @property
    def package(self) -> str:
        """The package that a relative import starts from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


@dataclass(frozen=True, kw_only=True)
class Package:
    """The modules of a folder that is a package."""

    root: Path
    modules: Mapping[str, Module]

    @classmethod
    def read(cls, root: Path) -> Package:
        """Parse every file of a package."""
        modules = (_read(path, root) for path in sorted(root.rglob("*.py")))
        return cls(root=root, modules={module.name: module for module in modules})

    @cached_property
    def lines(self) -> int:
        """All lines, blank ones too."""
        return sum(len(module.text.splitlines()) for module in self.modules.values())

    def imports(self, module: Module) -> set[str]:
        """The modules of the package that one imports anywhere: for types only and inside of functions too."""
        named = {alias.name for node in module.nodes(ast.Import) for alias in node.names}
        for node in module.nodes(ast.ImportFrom):
            origin = _origin(node, module)
            full = {f"{origin}.{alias.name}" for alias in node.names}
            named |= full | ({origin} if full - self.modules.keys() else set())
        return named & self.modules.keys() - {module.name}


def cycles(nodes: Iterable[Name], edges: Callable[[Name], Iterable[Name]]) -> list[set[Name]]:
    """The groups in which each reaches every other; one alone is a group if it has an edge to itself."""
    follows = {node: set(edges(node)) for node in nodes}
    reached = {node: _reachable(node, follows) for node in follows}
    groups: dict[Name, set[Name]] = {}
    for node, beyond in reached.items():
        if node in beyond and node not in groups:
            group = {other for other in beyond if node in reached[other]}
            groups.update(dict.fromkeys(group, group))
    return [group for node, group in groups.items() if node == next(iter(sorted(group)))]


def _reachable(start: Name, follows: Mapping[Name, set[Name]]) -> set[Name]:
    reached: set[Name] = set()
    ahead = list(follows[start])
    while ahead:
        node = ahead.pop()
        if node not in reached:
            reached.add(node)
            ahead.extend(follows[node])
    return reached


def _read(path: Path, root: Path) -> Module:
    parts = path.relative_to(root.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    text = path.read_text(encoding="utf-8")
    return Module(name=name, path=path, text=text, tree=ast.parse(text, str(path)))


def _origin(node: ast.ImportFrom, module: Module) -> str:
    """The full name of what `from … import` imports from."""
    if not node.level:
        return node.module or ""
    parts = module.package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)
