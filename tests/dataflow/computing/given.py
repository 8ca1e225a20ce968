"""Short ways to compute in tests: the value of a group, or of a text, over values by the name of their reference."""

from __future__ import annotations

from typing import Any

from actum.dataflow.computing.evaluator import Allowance, Filter, computed_value
from actum.dataflow.computing.text import Computed, read_computed


def computed(text: str) -> Computed:
    read = read_computed(text)
    assert isinstance(read, Computed)
    return read


def fill(text: str, /, *, within: Allowance | None = None, filters: list[Filter] | None = None, **values: Any) -> Any:
    """A text's value where `†name` holds the value of that name."""
    return computed_value(
        computed(text), lambda reference: values[reference.kind], within or Allowance(), filters=filters
    )


def compute(expression: str, /, *, within: Allowance | None = None, **values: Any) -> Any:
    """An expression's value. One without a reference is given an unused one, since a group has to hold a †."""
    return fill(f"{{[{expression}, †unused][0]}}", within=within, unused=None, **values)
