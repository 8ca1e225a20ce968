"""`error` `{call, error}`: what went wrong with a call or an answer, told to the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..schema.json import JsonObject, encode, is_object
from ..schema.quoting import summary
from .kind import BLOCK_SIGIL, Block, Key, Kind, View, Volatility


@dataclass(frozen=True, slots=True)
class Error:
    """Why a call failed or was refused; without a call, what was wrong with the answer."""

    error: str
    call: JsonObject | None = None

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        return {"type": "error", "call": self.call, "error": self.error}


def _show(message: JsonObject, view: View) -> Iterable[Block]:
    of = f" in {encode(view.call(message))}" if message.get("call") is not None else ""
    yield Block("user", f"{BLOCK_SIGIL}error{of}\n{view.error(message)}", Volatility.APPENDED)


def _complaint(message: JsonObject) -> str | None:
    call = message.get("call")
    is_call = call is None or is_object(call)
    return None if is_call else f"'call' of an error must be a call, or null, not {summary(call)}"


KINDS = [
    Kind(
        type="error",
        about="What went wrong with a call.",
        keys={
            "error": Key(is_required=True, about="What went wrong."),
            "call": Key(about="The call that it is about."),
        },
        judge=_complaint,
        value=Error,
        show=_show,
    )
]
