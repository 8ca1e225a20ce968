"""`plan` `{plan, mode?, output?}`: the calls of an answer that carry over into the next tick (P2, P3).

It is not shown as it stands: what of it is still open is known to the run, which shows that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..schema.json import JsonObject, encode
from .block import BLOCK_SIGIL, Block, Kind, View, Volatility


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls to be made, and what the answer is once they have been."""

    plan: Sequence[JsonObject]
    mode: Literal["eager", "lazy"] = "eager"
    output: Any = None

    def to_dict(self) -> JsonObject:
        """The message as JSON."""
        message: JsonObject = {"type": "plan", "plan": [dict(call) for call in self.plan]}
        if self.mode != "eager":
            message["mode"] = self.mode
        return message if self.output is None else {**message, "output": self.output}


def _show(_message: JsonObject, _view: View) -> Iterable[Block]:
    return ()


def open_calls(waiting: Sequence[JsonObject], owed: Sequence[JsonObject]) -> Iterable[Block]:
    """The calls that stand open: some wait for a value, some for their `_output` by the model itself (C4, P2)."""
    if waiting:
        lines = "\n".join(encode(call) for call in waiting)
        yield Block("user", f"{BLOCK_SIGIL}plan, runs by itself when its references resolve\n{lines}", _DERIVED)
    if owed:
        lines = "\n".join(encode(call) for call in owed)
        yield Block("user", f"{BLOCK_SIGIL}owed, make these calls again with their _output\n{lines}", _DERIVED)


_DERIVED = Volatility.DERIVED

KINDS = [Kind(type="plan", value=Plan, show=_show)]
