"""Where the nodes of a tree stand in the source, how deep they nest, how messages quote them, and which failed (E6)."""

from __future__ import annotations

import ast
from typing import TypeVar, cast

from ..reference import clip
from .operands import ComputingError
from .tokens import MOST_DEPTH, refused

_Node = TypeVar("_Node", bound=ast.AST)


def place(node: _Node, source: str, start: int, end: int) -> _Node:
    """Give a node the characters of the source that it stands for."""
    vars(node).update(source=source, lineno=1, end_lineno=1, col_offset=start, end_col_offset=end)
    return node


def check_tree_depth(tree: ast.AST, source: str) -> None:
    """Refuse a tree that nests too deep; the loops of a comprehension nest in each other.

    Raises:
        ComputingSyntax: it is deeper than the bound.
    """
    layer: list[tuple[ast.AST, int]] = [(tree, 1)]
    while layer:
        below: list[tuple[ast.AST, int]] = []
        for node, depth in layer:
            if depth > MOST_DEPTH:
                raise refused(f"this nests deeper than {MOST_DEPTH}", source)
            loops = len(cast("list[ast.AST]", getattr(node, "generators", ())))
            below += [(child, depth + 1 + loops) for child in ast.iter_child_nodes(node)]
        layer = below


MAY_MISS = "?"
"""Behind a key: it is null where there is none."""


def may_miss(node: ast.expr) -> bool:
    """Whether a key was authored as one that may be missing."""
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return False
    source, end = vars(node).get("source", ""), node.end_col_offset or 0
    return source[end - 1 : end] == MAY_MISS


def located(reason: object, place: str | None, source: str) -> str:
    """What went wrong, with the place and the expression."""
    whole = " ".join(source.split())
    at = f", at {place}" if place and place != clip(whole, 60) else ""
    return f"{reason}{at}, in {{{clip(whole, 120)}}}"


def as_authored(node: ast.AST) -> str:
    """What a node stands for as it was authored, in one line, for messages."""
    source = vars(node).get("source")
    text = source[vars(node)["col_offset"] : vars(node)["end_col_offset"]] if source else ast.unparse(node)
    return clip(" ".join(text.split()), 60)


FAILURES = (ValueError, TypeError, ArithmeticError, LookupError, RecursionError)
"""What Python's own operations raise; their messages may quote data, so none is passed on."""


def failure_of(error: Exception) -> ComputingError:
    """What has failed, in words that quote no value."""
    return error if isinstance(error, ComputingError) else ComputingError("it can't be computed with these values")


def failed_at(error: Exception, node: ast.AST) -> ComputingError:
    """The failure of a node, at the innermost place that is known."""
    failure = failure_of(error)
    if failure.place is None:
        failure.place = as_authored(node)
    return failure
