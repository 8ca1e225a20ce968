"""Compiled lists, objects and f-strings."""

from __future__ import annotations

import ast
from typing import Any

from .access import key_of
from .failing import failed
from .frame import METER, Code, Frame
from .kinds import ComputingError, items
from .texts import formatted


def listed(values: list[Code]) -> Code:
    """`[a, b]`, and a tuple, which is a list."""
    return lambda frame: [value(frame) for value in values]


def spread(node: ast.expr, values: list[tuple[Code, bool]]) -> Code:
    """`[*a, b]`: with each value whether its items are meant."""

    def build(frame: Frame) -> list[Any]:
        built: list[Any] = []
        for value, is_spread in values:
            found = value(frame)
            try:
                built += items(found, "*") if is_spread else [found]
                frame[METER].fit(len(built))
            except ComputingError as error:
                raise failed(error, node) from None
        frame[METER].spend(len(built) >> 4)
        return built

    return build


def keyed_object(node: ast.expr, pairs: list[tuple[Code, Code]]) -> Code:
    """`{'a': b}`."""

    def build(frame: Frame) -> dict[str, Any]:
        try:
            return {key_of(key(frame)): value(frame) for key, value in pairs}
        except ComputingError as error:
            raise failed(error, node) from None

    return build


def joined(node: ast.JoinedStr, parts: list[Code]) -> Code:
    """An f-string."""

    def join(frame: Frame) -> str:
        found = [part(frame) for part in parts]
        size = sum(map(len, found))
        try:
            frame[METER].fit(size)
            frame[METER].spend(size >> 4)
        except ComputingError as error:
            raise failed(error, node) from None
        return "".join(found)

    return join


def filled(node: ast.FormattedValue, value: Code, form: str) -> Code:
    """A group of an f-string."""

    def write(frame: Frame) -> str:
        found = value(frame)
        try:
            return formatted(found, form, frame[METER])
        except ComputingError as error:
            raise failed(error, node.value) from None

    return write
