"""Which outputs count as the same: by their bytes, except for leaves that a person compares otherwise (R20)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..dataflow.computing.operands import is_number
from ..dataflow.reference import print_path
from ..errors import RefineError
from ..schema.json import is_list, is_object
from .terms import value_key

_ANY, _SET, _NUMBER = "any", "set", "number:"


def as_same(output: Any, wanted: Any, ways: Mapping[str, str]) -> tuple[Any, Any]:
    """Two outputs, made equal wherever they are the same by the ways given for leaves such as `output.ids`.

    Raises:
        RefineError: there is no such way.
    """
    for leaf, way in ways.items():
        if way not in {_ANY, _SET} and _tolerance(way) is None:
            raise RefineError(f"{leaf} is compared as set, number:1e-9 or any, not as {way}", code="not_proved")
    return _as_same(output, wanted, "output", ways) if ways else (output, wanted)


def _as_same(output: Any, wanted: Any, at: str, ways: Mapping[str, str]) -> tuple[Any, Any]:
    match ways.get(at, ""):
        case "any":
            return None, None
        case "set" if is_list(output) and is_list(wanted):
            return sorted(set(map(value_key, output))), sorted(set(map(value_key, wanted)))
        case way if (near := _tolerance(way)) is not None and is_number(output) and is_number(wanted):
            return (wanted, wanted) if abs(output - wanted) <= near else (output, wanted)
        case _ if is_object(output) and is_object(wanted) and output.keys() == wanted.keys():
            pairs = {key: _as_same(output[key], wanted[key], f"{at}{print_path((key,))}", ways) for key in output}
            return {key: pair[0] for key, pair in pairs.items()}, {key: pair[1] for key, pair in pairs.items()}
        case _:
            return output, wanted


def _tolerance(way: str) -> float | None:
    try:
        return float(way.removeprefix(_NUMBER)) if way.startswith(_NUMBER) else None
    except ValueError:
        return None
