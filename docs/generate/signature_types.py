"""The page about the types that only signatures name: what each is, and where it is imported from."""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import python
from markup import prose

SOURCE = Path(__file__).parents[2] / "src"
_HEADING = re.compile(r"^#+ `?([\w.]+)", re.MULTILINE)
_BLOCK = re.compile(r"```py\n(.*?)```", re.DOTALL)
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_FOREIGN = {"Path"}
"""Names of other libraries' types that Actum has for others, too: in signatures `Path` is `pathlib.Path`."""
_TYPE = re.compile(r"\b[A-Z][A-Za-z]+\b")


class _Defined(NamedTuple):
    """Where a name stands, and what is written there."""

    module: str
    words: str
    value: str


def page() -> str:
    """Every type of Actum that a signature names and that has no entry among the names or the modules."""
    parts = [
        "# Types in signatures\n",
        "What signatures of the [names](api.md) and [modules](modules.md) call by a name that has no entry there.\n",
    ]
    by_module: defaultdict[str, list[tuple[str, _Defined]]] = defaultdict(list)
    for name, definition in unexplained():
        by_module[definition.module].append((name, definition))
    for module, definitions in sorted(by_module.items()):
        parts.append(f"## `{module}`\n")
        for name, definition in sorted(definitions):
            value = f"```py\n{name} = {definition.value}\n```\n\n" if definition.value else ""
            parts.append(f"### {name}\n\n{value}{prose(definition.words)}\n")
    return "\n".join(parts)


def unexplained() -> Iterator[tuple[str, _Defined]]:
    """The names that signatures have, that are of Actum, and that have no heading."""
    texts = [python.names_page(), python.modules_page(), python.events_page()]
    known = {name.rpartition(".")[2] for text in texts for name in _HEADING.findall(text)}
    named = {name for text in texts for block in _BLOCK.findall(text) for name in _TYPE.findall(_TEXT.sub("", block))}
    return ((name, _definitions()[name]) for name in sorted(named - known - _FOREIGN) if name in _definitions())


@cache
def _definitions() -> dict[str, _Defined]:
    """What the modules of Actum define at their top: classes, and aliases with the words below them."""
    definitions: dict[str, _Defined] = {}
    for path in sorted((SOURCE / "actum").rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, below in pairwise([*body, ast.Pass()]):
            match node, below:
                case ast.ClassDef(name=name), _:
                    definitions.setdefault(name, _Defined(module, ast.get_docstring(node) or "", ""))
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value), _:
                    definitions.setdefault(name, _Defined(module, _words(below), _written(value)))
                case ast.Assign(targets=[ast.Name(id=name)], value=value), _:
                    definitions.setdefault(name, _Defined(module, _words(below), _written(value)))
                case _:
                    pass
    return definitions


def _words(below: ast.stmt) -> str:
    match below:
        case ast.Expr(value=ast.Constant(value=str() as words)):
            return inspect.cleandoc(words)
        case _:
            return ""


def _written(value: ast.expr) -> str:
    """An alias as it is written, also where that is in quotes."""
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ast.unparse(value)
