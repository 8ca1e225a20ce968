"""What expressions can be refused for by the types of what they read, before anything runs (E5).

Only what fails for every alternative of a type but null is refused, and a comparison that can never hold, which nobody
means. An item of a list that may be empty counts as if it were there; a branch counts as if it were taken.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from ...schema.types import TEXT, Misfit, Type
from ..reference import Reference
from .constructs import CONSTRUCTS
from .kind_types import check_format_type
from .passes import Checker, ComputingMismatch
from .text import Computation, Computed

__all__ = ["Checked", "ComputingMismatch", "check_types"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The type of a computed text, and the nodes whose key is declared optional: a missing one reads as null."""

    type: Type
    optional: frozenset[ast.expr]


def check_types(computed: Computed, types: Callable[[Reference], Type]) -> Checked:
    """The type of a computed text, whose references are of these types.

    Raises:
        ComputingMismatch: it is certain to fail for every alternative but null.
    """
    optional: set[ast.expr] = set()
    part_types: list[Type] = []
    for part in computed.parts:
        if isinstance(part, Computation):
            scope = {f"ref_{number}": types(reference) for number, reference in enumerate(part.references)}
            part_types.append(_type_of(part, Checker(part.source, optional, CONSTRUCTS), scope))
    is_alone = len(computed.parts) == 1 and len(part_types) == 1
    return Checked(part_types[0] if is_alone else TEXT, frozenset(optional))


def _type_of(computation: Computation, checker: Checker, types: dict[str, Type]) -> Type:
    """The type of one expression, which with a format is a text."""
    value_type = checker.of(computation.tree, types)
    if not computation.format:
        return value_type
    try:
        check_format_type(value_type, computation.format)
    except Misfit as error:
        raise checker.mismatch(error, computation.tree) from None
    return TEXT
