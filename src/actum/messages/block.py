"""A block of rendered text: one message as a model sees it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from ..schema.json import JsonObject

BLOCK_SIGIL = "¶"


class Volatility(IntEnum):
    """How soon a block changes: never in a run, only by growing, or with every tick."""

    FROZEN = 0
    APPENDED = 1
    DERIVED = 2


@dataclass(frozen=True, slots=True)
class Block:
    """One message as the model will see it."""

    role: Literal["system", "user", "assistant"]
    text: str
    volatility: Volatility = Volatility.FROZEN
    media: JsonObject | None = None
    """The message whose content goes with the text."""


def of_origin(message: JsonObject) -> Volatility:
    """What calls have written comes after all that the author wrote, which is frozen."""
    return Volatility.APPENDED if "_call" in message else Volatility.FROZEN
