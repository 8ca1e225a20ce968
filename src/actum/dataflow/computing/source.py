"""A group's source as a value: parsed once, with what it refers to (E2, E3). Evaluates nothing."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

from ..reference import Reference
from .constructs import CONSTRUCTS
from .group_reader import GroupReader
from .passes import Grammar
from .places import check_tree_depth
from .tokens import MOST_CHARACTERS, refused

_KEPT = 512
"""How many sources stay parsed."""


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """An expression as authored and as a tree, whose n-th reference is the name `ref_n`.

    A node's `col_offset` and `end_col_offset` are its characters in `source`.
    """

    source: str
    """The group's text, without braces and without the format behind it."""
    tree: ast.expr
    references: tuple[Reference, ...]
    """What has to be there, each once: of `calls` and `results` the number alone, of `each` nothing more, of other
    kinds the path up to the first number. What follows stands in the tree."""
    format: str
    """As in `.2f`, or nothing."""


@lru_cache(_KEPT)
def read_group(source: str) -> Computation:
    """Read what stands between the braces of a group.

    Raises:
        ComputingSyntax: it is too long or too deep, isn't an expression, or holds what E2 doesn't list.
    """
    if len(source) > MOST_CHARACTERS:
        raise refused(f"an expression has at most {MOST_CHARACTERS:,} characters, not {len(source):,}", source)
    reader = GroupReader(source)
    read = reader.read(0, len(source))
    check_tree_depth(read.tree, source)
    Grammar(source, CONSTRUCTS).check(read.tree, frozenset())
    return Computation(source[: read.end].strip(), read.tree, tuple(reader.references), read.format)
