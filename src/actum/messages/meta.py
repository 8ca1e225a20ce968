"""`meta` `{meta}`: the identity of the Idea that the request is part of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..schema.json import JsonObject, encode
from .kind import BLOCK_SIGIL, Block, Key, Kind, View, of_origin


@dataclass(frozen=True, slots=True)
class Meta:
    """Path, version and the like."""

    meta: JsonObject

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        return {"type": "meta", "meta": self.meta}


def _show(message: JsonObject, _: View) -> Iterable[Block]:
    yield Block("user", f"{BLOCK_SIGIL}meta\n{encode(message['meta'])}", of_origin(message))


KINDS = [
    Kind(
        type="meta",
        about="The identity of the Idea.",
        keys={"meta": Key(types=("object",), is_required=True, about="Path, version and the like.")},
        value=Meta,
        show=_show,
    )
]
