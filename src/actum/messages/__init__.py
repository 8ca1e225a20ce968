"""The kinds of messages, one file each: form, words, value, and how it is shown. A new kind is a new file, no edit.

A file of this package that holds kinds lists them in its `KINDS`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, TypeGuard

from ..schema.json import JsonObject
from .data import Data, Input, State
from .error import Error
from .kind import Block, Key, Kind, View, Volatility
from .media import Audio, File, Image, Media
from .meta import Meta
from .plan import Plan
from .role import Assistant, System, User
from .text import Text
from .tool import ToolMessage

__all__ = [
    "KINDS",
    "Assistant",
    "Audio",
    "Block",
    "Data",
    "Error",
    "File",
    "Image",
    "Input",
    "Key",
    "Kind",
    "Media",
    "MessageObject",
    "Meta",
    "Plan",
    "State",
    "System",
    "Text",
    "ToolMessage",
    "User",
    "View",
    "Volatility",
]


class MessageObject(Protocol):
    """A message as an object: what an Activity may return to have it appended as it is."""

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        ...


KINDS: dict[str, Kind] = {
    kind.type: kind
    for module in iter_modules(__path__)
    for kind in getattr(import_module(f"{__name__}.{module.name}"), "KINDS", ())
}
"""Every kind by its `type`."""

_OBJECTS = tuple(kind.value for kind in KINDS.values() if kind.value is not None)


def is_message(value: object) -> TypeGuard[MessageObject]:
    """Whether a value is a message object, which an Activity may return to have it appended as it is (A4)."""
    return isinstance(value, _OBJECTS)
