"""Compiled comprehensions: loops in each other around what gathers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ...schema.json import is_list
from .access import key_of
from .failing import failed
from .frame import METER, Code, Frame, Step
from .kinds import ComputingError, items, kind

Bind: TypeAlias = Callable[[Frame, Any], None]
"""Puts an item where a loop's names are read."""


@dataclass(frozen=True, slots=True)
class Loop:
    """`for target in source if tests`: what one round of it costs, and where its filter counts."""

    node: ast.comprehension
    source: Code
    target: int | Bind
    tests: list[Code]
    steps: int
    filter: int


def looped(loop: Loop, body: Step) -> Step:
    """Runs the body for each item that the tests let through."""
    round_ = _round(loop, body)
    counts = bool(loop.tests)

    def run(frame: Frame) -> None:
        found = loop.source(frame)
        try:
            values = items(found, "a loop")
            frame[METER].spend(len(values) * loop.steps)
        except ComputingError as error:
            raise failed(error, loop.node.iter) from None
        kept = round_(frame, values)
        if counts:
            before = cast("tuple[int, int]", frame[loop.filter] or (0, 0))
            frame[loop.filter] = (before[0] + kept, before[1] + len(values))

    return run


_Round: TypeAlias = Callable[[Frame, list[Any]], int]
"""Runs over the items; how many were kept."""


def _round(loop: Loop, body: Step) -> _Round:
    test = _all(loop.tests)
    if not isinstance(loop.target, int):
        return _unpacking(loop.target, test, body)
    return _filtering(loop.target, test, body) if test else _plain(loop.target, body)


def _all(tests: list[Code]) -> Code | None:
    if len(tests) < 2:
        return tests[0] if tests else None
    return lambda frame: all(test(frame) for test in tests)


def _plain(place: int, body: Step) -> _Round:
    def run(frame: Frame, values: list[Any]) -> int:
        for item in values:
            frame[place] = item
            body(frame)
        return len(values)

    return run


def _filtering(place: int, test: Code, body: Step) -> _Round:
    def run(frame: Frame, values: list[Any]) -> int:
        kept = 0
        for item in values:
            frame[place] = item
            if test(frame):
                kept += 1
                body(frame)
        return kept

    return run


def _unpacking(bind: Bind, test: Code | None, body: Step) -> _Round:
    def run(frame: Frame, values: list[Any]) -> int:
        kept = 0
        for item in values:
            bind(frame, item)
            if test is None or test(frame):
                kept += 1
                body(frame)
        return kept

    return run


def unpacked(node: ast.expr, targets: list[int | Bind]) -> Bind:
    """`for a, b in`: the items of each item have a place each."""

    def unpack(frame: Frame, item: Any) -> None:
        if not is_list(item) or len(item) != len(targets):
            length = f" of {len(item):,}" if is_list(item) else ""
            raise failed(ComputingError(f"{len(targets)} names can't be bound to {kind(item)}{length}"), node)
        for target, one in zip(targets, item, strict=True):
            if isinstance(target, int):
                frame[target] = one
            else:
                target(frame, one)

    return unpack


def appending(place: int, element: Code) -> Step:
    """The body of a list."""

    def append(frame: Frame) -> None:
        frame[place].append(element(frame))

    return append


def putting(node: ast.expr, place: int, key: Code, value: Code) -> Step:
    """The body of an object."""

    def put(frame: Frame) -> None:
        at = key(frame)
        try:
            frame[place][key_of(at)] = value(frame)
        except ComputingError as error:
            raise failed(error, node) from None

    return put


def gathered(place: int, empty: type[list[Any]] | type[dict[str, Any]], loop: Step) -> Code:
    """What a comprehension's loops put together."""

    def gather(frame: Frame) -> Any:
        result = frame[place] = empty()
        loop(frame)
        return result

    return gather
