"""`system`, `user`, `assistant` `{message}`, and the raw `{role, content}`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ..schema.json import JsonObject, text_or_json
from .kind import ROLE, Block, Key, Kind, View, of_origin

RAW = "raw"
"""The kind of messages that have a role but no type."""


@dataclass(frozen=True, slots=True)
class _Words:
    message: str
    type: ClassVar[Literal["system", "user", "assistant"]]

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        return {"type": self.type, "message": self.message}


class System(_Words):
    """Instructions."""

    type = "system"


class User(_Words):
    """What the user said."""

    type = "user"


class Assistant(_Words):
    """What the assistant said."""

    type = "assistant"


def _show(message: JsonObject, _: View) -> Iterable[Block]:
    yield Block(message["type"], message["message"], of_origin(message))


def _show_raw(message: JsonObject, _: View) -> Iterable[Block]:
    content = message["content"]
    yield Block(message["role"], text_or_json(content), of_origin(message))


_MESSAGE = {"message": Key(types=("string",), is_required=True, about="What is said.")}

KINDS = [
    Kind(type="system", about="An instruction.", keys=_MESSAGE, value=System, show=_show),
    Kind(type="user", about="What the user says.", keys=_MESSAGE, value=User, show=_show),
    Kind(type="assistant", about="What was answered before.", keys=_MESSAGE, value=Assistant, show=_show),
    Kind(
        type=RAW,
        about="A message as chat models take it.",
        keys={
            "role": replace(ROLE, is_required=True),
            "content": Key(is_required=True, about="What is said, in the form of the model's provider."),
        },
        show=_show_raw,
    ),
]
