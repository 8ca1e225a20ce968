"""The values of computed texts (E1-E4): pure, bounded, the same on every version of Python."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..reference import Reference
from .allowance import HEAVY, Allowance, Meter, RunAllowance, items_within
from .constructs import CONSTRUCTS
from .operands import ComputingError
from .passes import Code, Compiler
from .places import FAILURES, failure_of, located
from .text import Computation, Computed
from .written_values import format_value

__all__ = ["HEAVY", "Allowance", "ComputingError", "Filter", "RunAllowance", "computed_value", "items_within"]

Read = Callable[[Reference], Any]


@dataclass(frozen=True, slots=True)
class Filter:
    """How many items the `if` of a loop kept, out of those that it saw (E7)."""

    source: str
    kept: int
    of: int


def computed_value(
    computed: Computed,
    read: Read,
    allowance: Allowance,
    *,
    optional: frozenset[ast.expr] = frozenset(),
    filters: list[Filter] | None = None,
) -> Any:
    """The value of one group alone, else the text with its groups filled in.

    `read` gives what a reference holds; a missing key of the nodes in `optional` reads as null. What filters kept is
    added to `filters`. The value is plain JSON, and shares structure with what was read.

    Raises:
        ComputingError: an expression failed on its values, or took more than it may.
    """
    if len(computed.parts) == 1 and isinstance(computation := computed.parts[0], Computation):
        return _evaluate(computation, read, allowance, optional, filters, as_text=bool(computation.format))
    written: list[str] = []
    size = 0
    for part in computed.parts:
        if isinstance(part, str):
            written.append(part)
        else:
            written.append(_evaluate(part, read, allowance, optional, filters, as_text=True))
            size += len(written[-1])
            if size > allowance.size:
                raise ComputingError(f"a text may have {allowance.size:,} characters that are filled in")
    return "".join(written)


_KEPT = 512
"""How many expressions stay compiled."""


@dataclass(frozen=True, slots=True)
class _Program:
    """An expression that can be run, in a frame of this many places."""

    run: Code
    places: int
    steps: int
    """What everything outside of loops costs."""
    filters: tuple[tuple[int, str], ...]
    """The place where each filter counts, and its source."""


@lru_cache(_KEPT)
def _compile(computation: Computation, optional: frozenset[ast.expr]) -> _Program:
    """The program of an expression; a missing key of `optional` nodes reads as null."""
    compiler = Compiler(len(computation.references), optional, CONSTRUCTS)
    code = compiler.code(computation.tree)
    return _Program(code, compiler.places, compiler.steps, tuple(compiler.filters))


def _evaluate(
    computation: Computation,
    read: Read,
    allowance: Allowance,
    optional: frozenset[ast.expr],
    filters: list[Filter] | None,
    *,
    as_text: bool,
) -> Any:
    program = _compile(computation, optional)
    meter = Meter(allowance)
    frame: list[Any] = [None] * program.places
    frame[: 1 + len(computation.references)] = [meter, *map(read, computation.references)]
    try:
        meter.spend(program.steps)
        value = program.run(frame)
        value = format_value(value, computation.format, meter) if as_text else meter.measure(value)
    except FAILURES as error:
        raise _with_place(error, computation) from None
    finally:
        meter.settle()
        if filters is not None:
            filters += [Filter(source, *frame[place]) for place, source in program.filters if frame[place]]
    return value


def _with_place(error: Exception, computation: Computation) -> ComputingError:
    """The failure with its place, and the expression."""
    failure = failure_of(error)
    placed = ComputingError(located(failure, failure.place, computation.source))
    placed.place = failure.place
    return placed
