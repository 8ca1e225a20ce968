"""`text` `{text, role?}`: words for the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..schema.json import JsonObject
from .kind import ROLE, Block, Key, Kind, View, of_origin


@dataclass(frozen=True, slots=True)
class Text:
    """Words, said by the user unless a role says otherwise."""

    text: str
    role: Literal["system", "user", "assistant"] = "user"

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        role = {} if self.role == "user" else {"role": self.role}
        return {"type": "text", "text": self.text, **role}


def _show(message: JsonObject, _: View) -> Iterable[Block]:
    yield Block(message.get("role", "user"), message["text"], of_origin(message))


KINDS = [
    Kind(
        type="text",
        about="A text, by the user where no role is named.",
        keys={"text": Key(types=("string",), is_required=True, about="What is said."), "role": ROLE},
        value=Text,
        show=_show,
    )
]
