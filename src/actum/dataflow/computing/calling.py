"""Compiled calls of functions and methods."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from .allowance import Meter
from .failing import FAILURES, failed
from .frame import METER, Code, Frame
from .methods import runs, unknown

Named = Mapping[str, Code]


def function_call(node: ast.Call, function: Callable[..., Any], arguments: list[Code], named: Named) -> Code:
    """`f(a, key=b)`."""

    def call(frame: Frame) -> Any:
        given = [argument(frame) for argument in arguments]
        keywords = {name: value(frame) for name, value in named.items()}
        meter: Meter = frame[METER]
        try:
            return _counted(function(meter, *given, **keywords), meter)
        except FAILURES as error:
            raise failed(error, node) from None

    return call


def method_call(node: ast.Call, name: str, value: Code, arguments: list[Code], named: Named) -> Code:
    """`x.f(a)`: which one is meant depends on the kind of x."""
    methods = runs(name, len(arguments))

    def call(frame: Frame) -> Any:
        owner: object = value(frame)
        given = [argument(frame) for argument in arguments]
        keywords = {name: value(frame) for name, value in named.items()}
        meter: Meter = frame[METER]
        method = methods.get(type(owner))
        if method is None:
            raise failed(unknown(owner, name, len(given)), node)
        try:
            return _counted(method(meter, owner, *given, **keywords), meter)
        except FAILURES as error:
            raise failed(error, node) from None

    return call


def key_function(place: int, steps: int, body: Code) -> Code:
    """What gives, in a frame, the function behind `key=`."""

    def key(frame: Frame) -> Callable[[Any], Any]:
        meter: Meter = frame[METER]

        def rank(item: Any) -> Any:
            meter.spend(steps)
            frame[place] = item
            return body(frame)

        return rank

    return key


_SMALL = 16
"""Sizes that cost nothing."""


def _counted(value: Any, meter: Meter) -> Any:
    """A function's value, if it isn't too large."""
    if isinstance(value, str):
        if len(value) >= _SMALL:
            meter.fit(len(value))
            meter.spend(len(value) >> 4)
    elif isinstance(value, list):
        size = len(value)  # pyright: ignore[reportUnknownArgumentType] # of what it is a list doesn't matter
        meter.fit(size)
        meter.spend(size)
    return value  # pyright: ignore[reportUnknownVariableType]
