"""The composed schema as a model's provider takes it, and the way back (T9): the one door to this package."""

from .dialects import (
    ANTHROPIC,
    ASIDE,
    COMPATIBLE,
    DIALECTS,
    GOOGLE,
    GRAMMAR,
    LADDER,
    LOOSE,
    OPENAI,
    PROMPTED,
    PROMPTED_ONLY,
    STRICT,
    Dialect,
    Rung,
    above,
)
from .lowered import Lowered, choose, lower
from .remarks import Note

__all__ = [
    "ANTHROPIC",
    "ASIDE",
    "COMPATIBLE",
    "DIALECTS",
    "GOOGLE",
    "GRAMMAR",
    "LADDER",
    "LOOSE",
    "OPENAI",
    "PROMPTED",
    "PROMPTED_ONLY",
    "STRICT",
    "Dialect",
    "Lowered",
    "Note",
    "Rung",
    "above",
    "choose",
    "lower",
]
