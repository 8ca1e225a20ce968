"""The three passes over an expression's tree, and what a kind of node is to each of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...schema.types import Misfit, Type
from .places import as_authored, located
from .tokens import ComputingSyntax, refused

Frame: TypeAlias = list[Any]
Code: TypeAlias = Callable[[Frame], Any]
"""A node compiled: its value in a frame."""
Step: TypeAlias = Callable[[Frame], None]

METER = 0
"""The place of the meter; those of the references follow."""


Names: TypeAlias = frozenset[str]
Types: TypeAlias = Mapping[str, Type]


@dataclass(frozen=True, slots=True)
class Construct:
    """A kind of node: what it may hold (E2), the type of its value (E5), and what computes that (E4)."""

    check: Callable[[Grammar, Any, Names], None]
    type: Callable[[Checker, Any, Types], Type]
    code: Callable[[Compiler, Any], Code]


Constructs: TypeAlias = Mapping[type[ast.AST], Construct]


class Grammar:
    """Refuses what the language doesn't have: a node without a construct. What passes can be compiled."""

    def __init__(self, source: str, constructs: Constructs) -> None:
        self._source = source
        self._constructs = constructs

    def check(self, node: ast.AST, names: Names) -> None:
        """Refuse a node that holds what it may not.

        Raises:
            ComputingSyntax: naming what and where, and what would be right.
        """
        construct = self._constructs.get(type(node))
        if construct is None:
            raise self.bad(node, _unknown(node))
        construct.check(self, node, names)

    def all(self, nodes: Iterable[ast.AST | None], names: Names) -> None:
        """The same of some nodes."""
        for node in nodes:
            if node is not None:
                self.check(node, names)

    def children(self, node: ast.AST, names: Names) -> None:
        """The same of all nodes in one: the rule of those that may hold any others."""
        self.all((child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)), names)

    def bad(self, node: ast.AST, reason: str) -> ComputingSyntax:
        """The refusal of a node."""
        return refused(reason, self._source, vars(node).get("col_offset"))


def _unknown(node: ast.AST) -> str:
    match node:
        case ast.Lambda():
            return "lambda stands behind key= only"
        case ast.Set(elts=[only]):
            return f"one pair of braces is enough: {{{as_authored(only)}}}"
        case ast.Set() | ast.SetComp():
            return "a list without doubles is unique([…])"
        case _:
            return f"{type(node).__name__} isn't part of the language"


class ComputingMismatch(ValueError):
    """An expression that can't work with what it refers to; says where, why, and what is declared (E6)."""


class Checker:
    """Gives the types of nodes; a `Misfit` is reported for the innermost one, and only for what is certain to fail."""

    def __init__(self, source: str, optional: set[ast.expr], constructs: Constructs) -> None:
        self._source = source
        self._constructs = constructs
        self.optional = optional
        """The nodes whose key is declared optional."""

    def of(self, node: ast.expr, types: Types) -> Type:
        """The type of a node, whose names are of these types.

        Raises:
            ComputingMismatch: it fails for every alternative but null.
        """
        try:
            return self._constructs[type(node)].type(self, node, types)
        except Misfit as error:
            raise self.mismatch(error, node) from None

    def all(self, nodes: Iterable[ast.expr], types: Types) -> list[Type]:
        """The types of some nodes."""
        return [self.of(node, types) for node in nodes]

    def mismatch(self, error: Misfit, node: ast.AST) -> ComputingMismatch:
        """Why a node can't work, with its place."""
        return ComputingMismatch(located(error, as_authored(node), self._source))


class Compiler:
    """Compiles each node to a function, and counts the steps of everything outside of loops."""

    def __init__(self, references: int, optional: frozenset[ast.expr], constructs: Constructs) -> None:
        self._constructs = constructs
        self.optional = optional
        self.scope = {f"ref_{n}": METER + 1 + n for n in range(references)}
        self.places = METER + 1 + references
        self.steps = 0
        self.filters: list[tuple[int, str]] = []

    def code(self, node: ast.expr) -> Code:
        """The function of a node; every node is a step."""
        self.steps += 1
        return self._constructs[type(node)].code(self, node)

    def codes(self, nodes: Iterable[ast.expr]) -> list[Code]:
        """The functions of some nodes."""
        return [self.code(node) for node in nodes]

    def place(self) -> int:
        """A new place in the frame."""
        self.places += 1
        return self.places - 1
