"""Compiled ways into values: keys, positions, slices."""

from __future__ import annotations

import ast
from typing import Any, cast

from .access import item_of, missing, slice_of
from .failing import failed
from .frame import METER, Code, Frame
from .kinds import ComputingError
from .places import may_miss


def keyed(node: ast.expr, owner: Code, key: str, *, is_optional: bool) -> Code:
    """`owner.key`."""

    def load(frame: Frame) -> Any:
        of = owner(frame)
        if type(of) is dict and key in of:
            return cast("dict[str, Any]", of)[key]
        return _absent(of, key, node, is_optional=is_optional)

    return load


def keyed_name(node: ast.expr, place: int, key: str, *, is_optional: bool) -> Code:
    """`name.key`, which is most of what loops do."""

    def load(frame: Frame) -> Any:
        of = frame[place]
        if type(of) is dict and key in of:
            return cast("dict[str, Any]", of)[key]
        return _absent(of, key, node, is_optional=is_optional)

    return load


def _absent(of: Any, key: str, node: ast.expr, *, is_optional: bool) -> None:
    """Null for an optional key of an object, or for one that was authored so; anything else has failed."""
    if not ((is_optional and type(of) is dict) or ((of is None or type(of) is dict) and may_miss(node))):
        raise failed(missing(of, key), node)


def item(node: ast.expr, owner: Code, key: Code, *, is_optional: bool) -> Code:
    """`owner[key]`."""

    def load(frame: Frame) -> Any:
        of, at = owner(frame), key(frame)
        try:
            return item_of(of, at, is_optional=is_optional)
        except ComputingError as error:
            raise failed(error, node) from None

    return load


def sliced(node: ast.expr, owner: Code, ends: list[Code]) -> Code:
    """`owner[lower:upper:step]`."""

    def load(frame: Frame) -> Any:
        of = owner(frame)
        lower, upper, step = (end(frame) for end in ends)
        try:
            return slice_of(of, lower, upper, step, frame[METER])
        except ComputingError as error:
            raise failed(error, node) from None

    return load
