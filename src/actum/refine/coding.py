"""What written functions need besides Python: the functions of plans, texts of values, and what is expected (R37)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from ..dataflow.computing.allowance import Allowance, Meter
from ..dataflow.computing.functions import FUNCTIONS
from ..dataflow.computing.places import FAILURES, failure_of
from ..errors import PlanLeft
from ..protocol.reader import shape_validator
from ..schema.quoting import summary

_MISSING: Final = object()


class _Functions:
    """The functions of computed values, as methods: `functions.one(x for x in orders if x["id"] == id)`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in FUNCTIONS:
            raise AttributeError(f"there is no function {name!r} of computed values", name=name, obj=self)
        run = FUNCTIONS[name].run

        def carried(*arguments: Any, **named: Any) -> Any:
            values = [list(cast("Iterator[Any]", arg)) if isinstance(arg, Iterator) else arg for arg in arguments]
            try:
                return run(Meter(Allowance()), *values, **named)
            except FAILURES as error:
                raise PlanLeft(f"{name}(): {failure_of(error)}") from None

        return carried


functions = _Functions()


def text(value: Any) -> str:
    """What a value is inside of a text: a number without `.0`, a list or an object as compact JSON.

    Raises:
        PlanLeft: it is null, or too large.
    """
    return str(functions.str(value))


def expect(value: Any, shape: str | Mapping[str, Any] | object = _MISSING) -> None:
    """Leave the function where its examples don't show what to do.

    Args:
        value: what has to be true, or to have the shape.
        shape: what the value has to look like, `{city, id}`, or a schema.

    Raises:
        PlanLeft: it isn't so.
    """
    if shape is _MISSING:
        if value is not True:
            raise PlanLeft(f"what is expected doesn't hold: it is {summary(value)}")
        return
    complaint = shape_validator(shape, "", "shape").complaint(value, quotes=False)
    if complaint is not None:
        raise PlanLeft(f"what is expected doesn't hold: {complaint}")
