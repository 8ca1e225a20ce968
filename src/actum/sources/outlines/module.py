"""Modules of Python as they are written: parsed, their names looked up, and never run."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ...errors import IdeaError
from ..files import read_text
from ..modules import is_file
from ..roots import root_of

_MOST_CHARACTERS = 1_000_000
_MOST_MODULES = 200
_MOST_STEPS = 50
"""Through how many imports and aliases a name is followed."""
_MOST_WORK = 100_000
"""How many parts of types and values are looked at in all: aliases of aliases would make a small file endless."""


class Unread(Exception):
    """Something that only running it could tell; `str()` says what."""


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """One file: its statements, and the last one that binds each name outside of functions and classes."""

    path: Path
    tree: ast.Module
    names: dict[str, ast.stmt]
    stars: list[ast.ImportFrom]
    """Its imports of everything."""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A statement of a module that binds a name: a class, a function or an assignment."""

    module: Module
    node: ast.stmt


Meaning: TypeAlias = "str | Module | Bound"
"""What a name stands for: something of another library by its dotted name, a module beside, or a statement."""


@dataclass(slots=True)
class Modules:
    """The modules that one file leads to: itself, and those that it imports from its own folder."""

    folder: Path
    roots: Sequence[Path] | None
    _known: dict[Path, Module] = field(default_factory=dict[Path, Module])
    _whole: dict[Module, list[Module]] = field(default_factory=dict[Module, list[Module]])
    _work: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether there was more than is looked at."""
        return self._work > _MOST_WORK

    def spend(self) -> None:
        """Look at one more part.

        Raises:
            Unread: there have been too many.
        """
        self._work += 1
        if self.is_spent:
            raise Unread("comes after more than is read")

    def read(self, path: Path) -> Module:
        """One file, parsed.

        Raises:
            IdeaError: it can't be read, or is not Python.
        """
        if path not in self._known:
            self._known[path] = _parsed(path)
        return self._known[path]

    def imported(self, module: Module) -> Iterator[Module]:
        """The modules of the same folder that one imports where it begins, in this order."""
        named: dict[tuple[str, int], None] = {}
        for node in _outer(module.tree):
            if isinstance(node, ast.Import):
                named |= dict.fromkeys((one.name, 0) for one in node.names)
            elif isinstance(node, ast.ImportFrom):
                inner = [f"{node.module or ''}.{one.name}".strip(".") for one in node.names if one.name != "*"]
                named |= dict.fromkeys((one, node.level) for one in (node.module or "", *inner))
        found = (self._beside(name, level, module) for name, level in named)
        yield from (one for one in found if one is not None)

    def meaning(self, node: ast.expr, module: Module, step: int = 0) -> Meaning:
        """What a name, plain or dotted, stands for in a module.

        Raises:
            Unread: it is not a name, or not known.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            raise Unread("is not a name")
        found = self._named(node.id, module, step)
        for part in reversed(parts):
            found = self._member(found, part, step)
        return found

    def _member(self, of: Meaning, name: str, step: int) -> Meaning:
        if isinstance(of, str):
            return f"{of}.{name}"
        if isinstance(of, Module):
            inner = None if name in of.names else self._beside(name, 1, of)
            return inner or self._named(name, of, step + 1)
        raise Unread(f"has .{name}, which is not known before it runs")

    def _named(self, name: str, module: Module, step: int) -> Meaning:
        self.spend()
        if step > _MOST_STEPS:
            raise Unread(f"{name!r} leads through too many imports")
        node = module.names.get(name)
        match node:
            case ast.Import():
                alias = next(one for one in node.names if (one.asname or one.name.partition(".")[0]) == name)
                wanted = alias.name if alias.asname else name
                return self._beside(wanted, 0, module) or wanted
            case ast.ImportFrom():
                alias = next(one for one in node.names if (one.asname or one.name) == name)
                return self._from(node, alias.name, module, step)
            case None:
                for beside in self._imported_whole(module):
                    if name in beside.names:
                        return self._named(name, beside, step + 1)
                if hasattr(builtins, name):
                    return f"builtins.{name}"
                raise Unread(f"{name!r} is not known")
            case _:
                return Bound(module, node)

    def _imported_whole(self, module: Module) -> list[Module]:
        """The modules of which one imports everything."""
        if module not in self._whole:
            named = dict.fromkeys((star.module or "", star.level) for star in module.stars)
            found = (self._beside(name, level, module) for name, level in named)
            self._whole[module] = list(dict.fromkeys(one for one in found if one is not None))
        return self._whole[module]

    def _from(self, node: ast.ImportFrom, name: str, module: Module, step: int) -> Meaning:
        source = self._beside(node.module or "", node.level, module)
        if source is not None and name in source.names:
            return self._named(name, source, step + 1)
        inner = self._beside(f"{node.module or ''}.{name}".strip("."), node.level, module)
        if inner is not None:
            return inner
        if source is not None or node.level:
            raise Unread(f"{name!r} is not in the module that it is imported from")
        return f"{node.module}.{name}"

    def _beside(self, name: str, level: int, module: Module) -> Module | None:
        """The module of this name in the folder, or, with dots before the name, around the module; None if none is."""
        folder = self.folder
        if level:
            folder = module.path.parents[level - 1] if level <= len(module.path.parents) else folder
        stem = folder.joinpath(*name.split(".")) if name else folder
        for path in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
            if is_file(path) and self._may_read(path.resolve()):
                return self.read(path.resolve())
        return None

    def _may_read(self, path: Path) -> bool:
        if path not in self._known and len(self._known) >= _MOST_MODULES:
            return False
        return root_of(path, [self.folder] if self.roots is None else self.roots) is not None


def _parsed(path: Path) -> Module:
    text = read_text(path)
    if len(text) > _MOST_CHARACTERS:
        raise IdeaError(f"{path.name}: larger than {_MOST_CHARACTERS} characters")
    try:
        tree = parse(text)
    except SyntaxError as error:
        raise IdeaError(f"{path.name}:{error.lineno or 1}: not Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise IdeaError(f"{path.name}: not Python") from None
    names: dict[str, ast.stmt] = {}
    stars: list[ast.ImportFrom] = []
    for node in _outer(tree):
        for name in _binds(node):
            names[name] = node
        if isinstance(node, ast.ImportFrom) and any(one.name == "*" for one in node.names):
            stars.append(node)
    return Module(path, tree, names, stars)


def parse(text: str) -> ast.Module:
    """The tree of a text; what the parser would warn of on stderr is its author's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _outer(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements outside of functions and classes, also those under conditions."""
    ahead: list[ast.stmt] = tree.body[::-1]
    while ahead:
        node = ahead.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            handlers = [one for handler in getattr(node, "handlers", []) for one in handler.body]
            inner = [*node.body, *handlers, *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]
            ahead += inner[::-1]


def _binds(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.name
        case ast.Import():
            yield from (one.asname or one.name.partition(".")[0] for one in node.names)
        case ast.ImportFrom():
            yield from (one.asname or one.name for one in node.names if one.name != "*")
        case ast.Assign():
            yield from (one.id for one in node.targets if isinstance(one, ast.Name))
        case ast.AnnAssign(target=ast.Name() as target):
            yield target.id
        case _ if type(node).__name__ == "TypeAlias":  # `type X = …`, since Python 3.12
            yield getattr(node, "name").id  # noqa: B009 -- unknown to the types of 3.11
        case _:
            return


def value_of(node: ast.stmt) -> ast.expr | None:
    """What a statement gives the name that it binds; None where it is no assignment."""
    value = getattr(node, "value", None)
    return value if isinstance(value, ast.expr) and not isinstance(node, ast.Expr) else None
