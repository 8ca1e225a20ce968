"""Values inside of texts (E1): as they are, in a format, or as compact JSON."""

from __future__ import annotations

from typing import Any

from ...schema.json import encode
from .allowance import Meter
from .operands import ComputingError, is_number, kind

_WHOLE = 1e15
"""Below it, a float without a fraction is written as a whole number."""


def written_text(value: Any, meter: Meter) -> str:
    """What a value is inside of a text.

    Raises:
        ComputingError: it is null, or too large.
    """
    if isinstance(value, str):
        return value
    if value is None:
        raise ComputingError("null can't stand in a text: say what to write instead, as in {x or 'none'}")
    if type(value) is float:
        return _float(value)
    if type(value) is int:
        return str(value)
    meter.measure(value)
    return encode(value)


def _float(value: float) -> str:
    """Twelve digits, no `.0`, and an exponent only where it is shorter for a reader, too."""
    if value.is_integer() and abs(value) < _WHOLE:
        return str(int(value))
    short = f"{value:.12g}"
    return repr(value) if "e" in short else short


def format_value(value: Any, form: str, meter: Meter) -> str:
    """A value as a format such as `.2f` writes it; without one as `written_text`.

    Raises:
        ComputingError: the format doesn't fit the value.
    """
    if not form:
        return written_text(value, meter)
    is_for_texts = not set(form) & set(",.df%")
    if not is_number(value) and not (isinstance(value, str) and is_for_texts):
        raise ComputingError(f"the format {form} takes a {'text or a ' * is_for_texts}number, not {kind(value)}")
    try:
        return format(value, form)
    except (ValueError, OverflowError):
        raise ComputingError(f"the format {form} doesn't fit {kind(value)} of this sort") from None
