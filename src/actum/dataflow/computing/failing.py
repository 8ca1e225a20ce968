"""Where an expression fails: the innermost part that did is named, as it was authored (E6)."""

from __future__ import annotations

import ast

from .operands import ComputingError
from .places import as_authored

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
