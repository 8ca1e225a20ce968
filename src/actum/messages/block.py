"""A block of rendered text, and what a kind of message is to the runtime (M7, M8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, Protocol

from ..protocol.context import Context
from ..schema.json import JsonObject

BLOCK_SIGIL = "¶"


class Volatility(IntEnum):
    """How soon a block changes: never in a run, only by growing, or with every tick (M7)."""

    FROZEN = 0
    APPENDED = 1
    DERIVED = 2


@dataclass(frozen=True, slots=True)
class Block:
    """One message as the model will see it."""

    role: Literal["system", "user", "assistant"]
    text: str
    volatility: Volatility = Volatility.FROZEN


class MessageObject(Protocol):
    """A message as an object: what an Activity may return to have it appended as it is (A4)."""

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        ...


@dataclass(slots=True)
class View:
    """The context as one rendering goes through it; `shown` are the data kinds that have been shown (M7)."""

    context: Context
    shown: set[str] = field(default_factory=set[str])


Show = Callable[[JsonObject, View], Iterable[Block]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of message: its `type`, its value as a class, and how it is shown."""

    type: str
    value: type[Any] | None
    show: Show


def of_origin(message: JsonObject) -> Volatility:
    """What a call has written comes behind everything that stood before the run; the author's word is frozen."""
    return Volatility.APPENDED if "_call" in message else Volatility.FROZEN
